"""What the page says in Korean, by subject: the modules, names and keys of en.

Glossary, kept by all Korean texts (explorer/messages/ko.py too):
  models    목표 모델 target, 초안 모델 draft model, 초안 생성기 drafter, 모델 쌍 pair, 층 layer, 헤드 head
  a run     실행 run, 라운드 round, 패스 pass through a model (통과 is for what passes a gate or a threshold), 순전파 forward,
            초안 draft, 프리필 prefill, 예산 budget, 일반 그리디 plain greedy
  verdicts  일치 exact, 보류 deferred, 완화 relaxed, 거부 refused, 폐기 discarded, 교정 correction, 보너스 bonus, 불일치 mismatch
  rules     정확 규칙 exact rule (as a choice 정확히 일치), 느슨한 규칙 loose rule, 망설임 doubt, 윈도우 window, 척도 measure
  figures   측정 measured, 모델링 modelled, 재현 replayed, 반사실 counterfactual, 충실도 fidelity, 로그 확률 log-probability
Particles never follow a token or a number whose last sound is not known.
"""

from explorer.ui.catalogue.ko import compare, explore, knobs, lesson, page, tune

__all__ = ["compare", "explore", "knobs", "lesson", "page", "tune"]
