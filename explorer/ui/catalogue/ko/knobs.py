"""The knobs: their labels and help, their choices, and what sentences and tables call them, in Korean. Labels are those of the messages."""

from __future__ import annotations

from explorer.messages.ko import MESSAGES
from explorer.ui.page_knobs import page_knobs

LABELS = {knob.name: MESSAGES[f"knob.{knob.name}"] for knob in page_knobs()}
# A line, or one for each choice that it depends on.
HELP = {
    "rule": {
        "autoregressive": "초안 없이 목표 모델이 패스마다 토큰을 하나씩 직접 씁니다.",
        "exact": "초안 토큰은 목표 모델의 선택과 같을 때만 유지됩니다. 따라서 텍스트는 목표 모델의 것과 같습니다.",
        "fly": "목표 모델이 확신하지 못하고 다음 초안 토큰이 모두 일치하면 불일치도 유지합니다. 판정을 그 토큰들에 미루는(보류) 것입니다.",
        "typical": "Medusa 방식: 목표 모델이 보기에 충분히 그럴듯한 불일치를 유지합니다. 그리디 전용.",
        "topk": "목표 모델의 상위 k개 후보에 드는 불일치를 유지합니다. 그리디 전용.",
        "margin": "MARS 방식: 목표 모델의 두 번째 후보가 첫 번째에 바짝 뒤따르면 유지합니다. 그리디 전용.",
        "kl": "초안 모델과 목표 모델의 분포가 거의 같은 곳의 불일치를 유지합니다. 그리디 전용.",
        "judge": "결과로 학습한 헤드가 중요하지 않다고 보는 불일치를 유지합니다. 그리디 전용.",
    },
    "theta": "목표 모델의 엔트로피가 이 값 이상인 곳에서만 불일치를 보류할 수 있습니다.",
    "window": "보류한 불일치 뒤로 모두 일치해야 하는 초안 토큰의 수.",
    "entropy": {
        "normalized": "전체 어휘의 엔트로피를 ln V로 나눈 값, 0~1. 논문 본문의 척도.",
        "top3": "가장 유력한 토큰 세 개의 부분합, 단위 nat, 0~1.099. 공개 코드의 척도.",
    },
    "window_includes_mismatch": "공개 코드의 세는 방식: 뒤에 W개가 아니라 W - 1개가 일치하면 됩니다.",
    "typical_epsilon": "엔트로피와 상관없이 이 확률보다 높은 불일치는 유지합니다.",
    "typical_delta": "또는 이 값에 exp(-엔트로피)를 곱한 값이 더 작으면, 그보다 높을 때 유지합니다. 엔트로피의 단위는 nat.",
    "top_k": "목표 모델의 상위 k개 안에 드는 불일치를 유지합니다. 1이면 아무것도 유지하지 않습니다.",
    "margin": "목표 모델의 두 번째 후보가 로그 확률에서 첫 번째보다 이만큼까지 뒤지면 유지합니다.",
    "kl_limit": "KL(target || draft), 즉 두 모델의 분포 차이가 이 값보다 작은 곳의 불일치를 유지합니다.",
    "kl_confidence": "목표 모델의 가장 유력한 토큰이 이 확률보다 높으면 아무것도 유지하지 않습니다.",
    "judge_threshold": "판정 헤드의 점수가 이 값 이상인 불일치를 유지합니다. 0.5는 그 헤드를 위해 고른 지점입니다.",
    "judge_run": "연달아 유지하는 불일치는 이 개수까지입니다. 0이면 아무것도 유지하지 않습니다.",
    "drafter": {
        "model": "초안 모델이 토큰을 하나씩 씁니다.",
        "lookup": "모델을 쓰지 않습니다. 마지막 단어들을 지금까지의 텍스트에서 찾아, 거기서 뒤따르던 토큰을 초안으로 삼습니다.",
        "model+lookup": "조회로 찾은 토큰 여러 개를 초안 모델이 순전파 한 번으로 확인합니다. 초안은 같고 더 빨리 나옵니다.",
        "model+phrases": "Ouroboros 방식: 초안 모델이 도중에 스스로 만든 구절을 확인합니다. 그리디 전용.",
        "features": "목표 모델의 내부 상태를 입력받는 EAGLE-3 헤드가 초안을 한 줄로, 또는 여러 갈래의 트리로 씁니다.",
    },
    "length": {
        "fixed": "언제나 토큰 K개 뒤에 멈춥니다.",
        "pacer": "학습된 작은 층이, 한 블록에서 유지될 토큰이 너무 적다고 예측하면 멈춥니다.",
        "confidence": "초안 모델이 낮은 확률을 준 토큰 뒤에 멈춥니다.",
        "entropy": "SVIP 방식: 초안 모델 자신의 엔트로피가 높은 토큰 뒤에 멈춥니다.",
        "heuristic": "지난번 길이에서, 모두 유지되었으면 2개 더, 아니면 1개 덜 씁니다.",
        "adaedl": "엔트로피로 본 수락률 하한이, 라운드를 따라 움직이는 임계값보다 낮은 토큰 뒤에 멈춥니다.",
        "survival": "SpecDec++ 방식: 지금까지의 초안 중 하나라도 거부될 가능성이 크다고 PACER 층이 예측하면 멈춥니다.",
        "throughput": "토큰 하나를 더 쓰는 시간이, 이 기계에서 잰 바로, 아낄 것으로 예상되는 시간보다 길 때 멈춥니다.",
        "pacer-throughput": "PACER와 같지만 t 대신 잰 비용에서 구한 임계값을 씁니다.",
    },
    "draft_length": "한 라운드에 추측하는 토큰의 최대 개수.",
    "block_size": "층이 다음 판단을 할 때까지 추측하는 토큰의 수.",
    "threshold": {
        "pacer": "첫 블록에 필요한 예상 수락률.",
        "confidence": "계속하는 데 필요한 토큰의 최소 확률.",
        "entropy": "계속할 수 있는 값의 최댓값: 토큰 엔트로피(nat)에 0.15를 곱한 것의 제곱근.",
        "adaedl": "처음에, 계속하는 데 필요한 최소 수락률.",
        "survival": "계속할 수 있는 확률의 최댓값: 지금까지의 토큰 중 하나라도 거부될 확률.",
    },
    "growth": "블록이 통과할 때마다 임계값에 이 값을 곱합니다. 1이면 그대로입니다.",
    "statistic": "PACER가 블록 점수의 무엇을 임계값과 비교할지 정합니다.",
    "least_draft": "토큰이 이만큼 모이기 전에는 초안을 끝내지 않습니다. 초안이 W개 이하면 FLy는 아무것도 보류할 수 없습니다.",
    "phrases": "Ouroboros 방식: 구절 풀에서 꺼내 초안 뒤에 붙여 목표 모델의 같은 패스에서 함께 검증하는 구절의 수. 0이면 쓰지 않습니다.",
    "phrase_length": "후보 구절 하나의 최대 토큰 수.",
    "phrase_window": "초안 순전파마다 새로 만드는 구절의 수이자 시도하는 기존 구절의 수.",
    "tree": "이어질 수 있는 여러 갈래로 된 트리에서 가장 유력한 토큰들을 EAGLE-2처럼 한 번의 패스로 모두 검증합니다. 깊이는 최대 K. 0이면 사슬 하나만 만듭니다. CPU에는 8이 알맞고, 논문은 60입니다.",
    "tree_width": "노드 하나에서 살펴보는 다음 토큰의 수이자, 한 단계에서 이어 가는 노드의 수.",
    "schedule": {
        "serial": "초안을 만든 뒤 검증합니다.",
        "pearl": "목표 모델이 검증하는 동안 초안을 계속 만듭니다. 여기서는 차례로 실행하고, 동시에 실행할 때의 시간은 모델링합니다. 정확히 일치 규칙과 고정 길이에서만.",
    },
    "max_new_tokens": "생성할 토큰의 최대 개수. 여기서 텍스트가 끝납니다.",
    "temperature": "0이면 그리디. 0보다 크면 두 모델 모두 샘플링합니다.",
    "seed": "난수 시드. 온도가 0보다 클 때만 씁니다.",
    "raw_prompt": "목표 모델의 대화 템플릿 없이 텍스트를 그대로 넣습니다.",
}
PRESETS = {
    "explorer": "탐색기",
    "paper": "논문 본문",
    "released": "공개 코드",
    "vllm": "vLLM 이식판",
}

CHOICES = {
    "rule": {
        "autoregressive": "목표 모델 단독",
        "exact": "정확히 일치",
        "fly": "FLy(느슨한 보류 검증)",
        "typical": "전형적 수락(Medusa)",
        "topk": "상위 k개",
        "margin": "근소한 차순위(MARS)",
        "kl": "KL 한도",
        "judge": "판정 헤드(결과로 학습)",
    },
    "drafter": {
        "model": "초안 모델",
        "lookup": "프롬프트 조회",
        "model+lookup": "모델 + 조회",
        "model+phrases": "모델 + 구절",
        "features": "EAGLE-3 헤드",
    },
    "length": {
        "fixed": "고정 길이",
        "pacer": "PACER",
        "confidence": "확률",
        "entropy": "SVIP 엔트로피",
        "heuristic": "휴리스틱",
        "adaedl": "AdaEDL",
        "survival": "생존 확률",
        "throughput": "처리량",
        "pacer-throughput": "PACER, 비용 기준",
    },
    "entropy": {
        "normalized": "정규화",
        "top3": "상위 3개",
    },
    "statistic": {
        "mean": "평균",
        "min": "최솟값",
        "product": "곱",
    },
    "schedule": {
        "serial": "차례로",
        "pearl": "겹쳐서(PEARL)",
    },
}
GROUPS = {
    "verifying": "검증",
    "drafting": "초안 생성",
    "writing": "출력",
}
UNITS = {
    "tokens": "토큰",
    "nats": "nat",
}

# What sentences and tables call the knobs, and their values.
WORDS = {
    "rule": "규칙",
    "entropy": "척도",
    "theta": "θ",
    "window": "W",
    "window_includes_mismatch": "윈도우에 불일치 포함",
    "typical_epsilon": "전형적 수락 ε",
    "typical_delta": "전형적 수락 δ",
    "top_k": "상위 k",
    "margin": "차순위 한도",
    "kl_limit": "KL 한도",
    "kl_confidence": "KL 확신 한도",
    "judge_threshold": "판정 임계값",
    "judge_run": "연속 판정 한도",
    "drafter": "초안 생성기",
    "length": "길이 정책",
    "draft_length": "초안 길이 K",
    "phrases": "후보 구절",
    "phrase_length": "구절 길이",
    "phrase_window": "동시에 만드는 구절",
    "tree": "트리 노드",
    "tree_width": "트리 너비",
    "schedule": "진행 방식",
    "max_new_tokens": "예산",
    "temperature": "온도",
    "seed": "시드",
    "raw_prompt": "원문 프롬프트",
    "block_size": "블록 크기",
    "threshold": "임계값",
    "growth": "증가율",
    "statistic": "블록 통계량",
    "least_draft": "최소 초안 길이",
}
VALUES = {
    "fly": "FLy",
    "typical": "전형적 수락",
    "topk": "상위 k개",
    "margin": "근소한 차순위",
    "kl": "KL 한도",
    "judge": "판정 헤드",
    "exact": "정확히 일치",
    "autoregressive": "목표 모델 단독",
    "normalized": "정규화",
    "top3": "상위 3개",
    "true": "예",
    "false": "아니요",
}
