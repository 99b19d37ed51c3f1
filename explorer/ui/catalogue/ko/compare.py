"""The Compare tab, in Korean."""

from __future__ import annotations

from typing import Any

from explorer.ui.catalogue.ko.knobs import VALUES, WORDS

LABELS = {
    "tab": "비교",
    "lead": "프롬프트 하나를 두 설정과 목표 모델 단독으로, 같은 엔진에서 라운드마다 번갈아 디코딩합니다. 각 텍스트가 목표 모델의 텍스트에서 갈라지는 곳과, 그것이 FLy 때문인지 거의 동률이었기 때문인지 보여 줍니다.",
    "run": "비교 실행",
    "adopt": "탐색 탭의 설정 가져오기",
    "more": "설정 더 보기",
}

# How long it will take.
EXPECTED = {
    "plan": "각각 최대 {tokens}토큰의 실행 세 번.",
    "about": "텍스트가 예산을 다 쓸 때의 예상 시간: {time}. 모델링의 근거: {source}.",
    "seconds": "약 {seconds}초",
    "minutes": "약 {minutes}분",
    "unknown": "첫 비교 전에는 걸리는 시간을 알 수 없습니다.",
}

# What its view says.
VIEW: dict[str, Any] = {
    "empty": "텍스트 세 개가 생성되는 대로 여기에 나타납니다: 목표 모델 단독, A, B. 번갈아 한 번씩 재므로 바쁜 컴퓨터도 세 실행을 똑같이 늦춥니다.",
    "idle": "준비됨.",
    "phases": {
        "preparing": "차례를 기다리는 중",
        "loading": "모델 불러오는 중",
        "warming": "예열 중(측정하지 않음)",
        "running": "라운드마다 번갈아 실행 중",
        "done": "완료",
        "stopped": "중지됨",
        "failed": "실패",
    },
    "own": "목표 모델 단독",
    "dtypes": "목표 {target}, 초안 {draft}",
    "ignored": "무시함: {settings}",
    "text": "텍스트: {side}",
    "parted": "여기서 목표 모델의 텍스트와 갈라짐",
    "left": "{side} 갈라지는 곳",
    "partings": {
        "title": "텍스트가 갈라지는 곳",
        "none": "{side}: {tokens}토큰 동안 갈라지지 않음(기준: {other}).",
        "leaves": "{side}: 토큰 {index}에서 갈라짐(기준: {other}). 기준은 {theirs}, 여기는 {ours}.",
        "target": "목표 모델의 텍스트",
        "apart": "{side}, {other}: 토큰 {index}에서 서로 갈라짐. {other}: {theirs}, {side}: {ours}.",
        "together": "{side}, {other}: 서로 갈라지지 않음.",
        "fly": "FLy가 한 일: 목표 모델이 고르지 않았을 초안 토큰을 유지했습니다.",
        "fly_tie": "FLy가 초안 토큰을 유지했지만, 목표 모델의 상위 두 후보가 거의 동률이라 수치 오차로도 같은 일이 생길 수 있었습니다.",
        "relaxed": "느슨한 규칙이 한 일: 목표 모델이 고르지 않았을 초안 토큰이지만 규칙의 한도 안에 있었습니다.",
        "numeric": "거의 동률: 목표 모델 자신의 선택이지만 여러 행을 한 번에 계산하면서 반올림이 달라졌습니다. FLy 때문이 아닙니다.",
        "other": "이 패스에서 목표 모델 자신이 고른 토큰이고 동률도 아닙니다. FLy가 유지한 것이 아니며, 이만한 반올림 차이는 예상되지 않습니다.",
        "gap": "목표 모델의 상위 두 후보의 차이는 {gap} nat이며, {limit} 미만이면 거의 동률로 봅니다.",
        "tie": "거의 동률",
    },
    "figures": {
        "title": "나란히 본 수치",
        "name": "수치",
        "tau": "목표 모델 패스당 토큰 수(τ)",
        "kept": "라운드당 유지된 초안 토큰",
        "speed": "초당 토큰, 측정",
        "speedup": "목표 모델 단독 대비 배수, 측정",
        "tokens": "토큰",
        "passes": "목표 모델 패스",
        "logprob": "목표 모델의 평균 로그 확률, 토큰당 nat",
        "end": "끝난 이유",
    },
    "times": "시간이 쓰인 곳, 측정",
    "same_settings": "A와 B의 설정이 같습니다.",
    "knobs": WORDS,
    "values": VALUES,
}  # fmt: skip
