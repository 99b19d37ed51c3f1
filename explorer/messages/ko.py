"""The Korean catalogue: one sentence for each code of en.py. Particles never follow a gap."""

MESSAGES = {
    "config.form_needs_cpu": "목표 모델 형식 {form}: dtype을 지정하지 않은 CPU에서만 쓸 수 있습니다. --dtype을 빼고 --device cpu를 쓰세요",
    "prompt.empty": "프롬프트가 비어 있습니다. 한 단어 이상 입력하세요",
}
