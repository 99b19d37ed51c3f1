"""Whose costs speeds are modelled with, in Korean: said by the run view and by the Tune tab."""

from __future__ import annotations

from typing import Any

CHOICE: dict[str, Any] = {
    "label": "비용 기준",
    "sources": {"measured": "다른 곳에서 측정", "published": "발표된 수치", "entered": "직접 입력"},
    "yours": "내 비용",
    "own": "직접 입력한 숫자",
    "file": "파일",
    "numbers": {"step": "초안 스텝, ms", "pass": "토큰 하나의 목표 모델 패스, ms", "row": "패스의 토큰 하나가 늘 때마다, ms"},
    "numbers_needed": "0 이상의 숫자 세 개가 필요하며, 패스 시간은 0보다 커야 합니다. 그때까지는 이 실행의 비용을 씁니다.",
    "open": "파일 열기",
    "file_hint": "비용 프로필, 또는 내 컴퓨터에서 python -m explorer bench --out으로 만든 파일. 이 브라우저를 벗어나지 않습니다.",
    "not_a_profile": "{name}: 비용 프로필이 없습니다.",
    "ratio": "발표된 것은 비율뿐입니다. 초안 스텝은 목표 모델 패스의 {ratio}배이며, 초당 토큰 수는 알 수 없습니다.",
    "figures": "초안 스텝 {step} ms, 토큰 하나의 목표 모델 패스 {pass} ms.",
    "flat": "초안 전체를 검증하는 패스는 토큰 하나의 패스와 같은 비용으로 봅니다.",
}  # fmt: skip
