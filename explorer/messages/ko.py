"""The Korean catalogue: one sentence for each code of en.py. Particles never follow a gap."""

MESSAGES = {
    "prompt.empty": "프롬프트가 비어 있습니다. 한 단어 이상 입력하세요",
}
