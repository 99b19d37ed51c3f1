"""The page around its tabs, what several tabs have, and what the server says when something fails, in Korean."""

from __future__ import annotations

# Of Gradio's parts.
LABELS = {
    "title": "추측 디코딩 탐색기",
    "lead": "빠른 초안 모델이 토큰 여러 개를 앞서 추측하고, 목표 모델이 한 번의 패스로 모두 검증합니다.",
    "lead_marks": "색과 기호는 추측한 토큰이 각각 어떻게 되었는지 보여 줍니다. 일치했거나, 거부되었거나, FLy에서는 목표 모델의 선택과 다른데도 유지된 것입니다. 목표 모델이 확신하지 못했고 뒤의 초안이 잘 이어졌기 때문입니다.",
    "newcomer": "처음이신가요? 수업부터",
    "theme_toggle": "밝게 / 어둡게",
    # What several tabs have.
    "prompt": "프롬프트",
    "prompt_placeholder": "질문을 입력하거나 아래 예시를 고르세요.",
    "stop": "중지",
    "pair": "모델 쌍",
    "pair_fetched": "처음 쓸 때 내려받음",
    "pair_missing": "이 컴퓨터에 없음",
    "preset": "FLy 프리셋",
    "preset_custom": "사용자 지정",
    "warm_waiting": "모델은 처음 실행할 때 불러옵니다.",
    # After the name of a pair.
    "warm_loading": "메모리로 불러오는 중입니다. 지금 실행을 눌러도 됩니다.",
    "warm_ready": "메모리에 있습니다.",
    "warm_failed": "미리 불러오지 못했습니다",
}

# Of the server.
NOTICES = {
    "error_title": "실행하지 않았습니다",
    "failed_title": "실행에 실패했습니다",
    "import_title": "열지 못했습니다",
    "import_refused": "{name}: 실행 기록이 아닙니다. {reason}",
    "unexpected": "실행에 실패했습니다: {error}. 페이지는 계속 쓸 수 있습니다. 자세한 내용은 서버 로그에 있습니다.",
    "disk_full": "서버의 디스크가 가득 차서 저장할 수 없습니다. 페이지는 계속 쓸 수 있습니다.",
}

# Where a pace is known from.
PACES = {
    "here": "이 컴퓨터의 최근 실행",
    "recorded": "다른 곳에서 기록한 실행({device}). 이 컴퓨터와 다를 수 있음",
}
