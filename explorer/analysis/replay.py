"""What-if: judge the recorded rounds again under other settings of the rule, without a model.

Up to and including the first round whose outcome changes the figures are exact. After it the text would have continued
differently, so every later round is counterfactual: conditional on the recorded text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from explorer.config import RULE_KNOBS, ConfigError, DecodeConfig
from explorer.conflicts import EVERYTHING
from explorer.trace import Round, Trace
from explorer.verdicts import Judgement, MissingEvidence, Verdict


@dataclass(frozen=True, slots=True)
class ReplayedRound:
    """One recorded round under other settings."""

    index: int
    before: Judgement
    after: Judgement
    changed: bool  # other tokens reach the text; a kept token may change its verdict without that
    counterfactual: bool  # an earlier round already ends differently

    def committed(self, recorded: Round) -> tuple[int, ...]:
        """The ids this round commits under the new settings."""
        return (*recorded.drafted[: self.after.accepted], recorded.replacement[self.after.accepted])

    def emitted(self, recorded: Round, stop_ids: Iterable[int]) -> tuple[int, ...]:
        """The ids of this round that reach the text: all it commits, up to a stop id. Stop strings are not looked for again."""
        if not self.changed:
            return recorded.emitted
        ids, stops = self.committed(recorded), frozenset(stop_ids)
        end = next((index for index, token in enumerate(ids, 1) if token in stops), len(ids))
        return ids[:end]


@dataclass(slots=True)
class Span:
    """Figures of some rounds in a row, *replayed per round*: each judged on its own recorded text."""

    passes: int = 0
    tokens: int = 0  # emitted
    counts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def tau(self) -> float | None:
        return self.tokens / self.passes if self.passes else None


def replay(trace: Trace, config: DecodeConfig) -> list[ReplayedRound]:
    """Judge every round of the trace under the rule of `config`; raises ConfigError for a rule without a draft, one that reads
    what was not recorded, and one that cannot go together with how the run drafted (explorer/conflicts.py).

    Which of several phrases a round took does not depend on the rule, and neither does the pool before the first change: so
    a round with phrases is judged again like any other.
    """
    config.check_with(EVERYTHING, "replay")
    if trace.config.drafts:  # the recorded drafts under the new rule: refused where such a run is
        replace(trace.config, **{name: getattr(config, name) for name in RULE_KNOBS})
    replayed, diverged = [], False
    for index, recorded in enumerate(trace.rounds):
        try:
            judgement = recorded.judge(config)
        except MissingEvidence as error:
            raise ConfigError("record.lacks_evidence", reason=error) from None
        before = Judgement(recorded.verdicts)
        # Both begin with the same tokens, and a text that ended among those ends there again.
        alike = min(before.accepted, judgement.accepted)
        changed = before.accepted != judgement.accepted and len(recorded.emitted) > alike
        round_ = ReplayedRound(index, before, judgement, changed, diverged)
        diverged = diverged or changed
        replayed.append(round_)
    return replayed


def first_change(rounds: list[ReplayedRound]) -> int | None:
    """Index of the first round that commits other tokens, None where none does."""
    return next((round_.index for round_ in rounds if round_.changed), None)


def spans(rounds: list[ReplayedRound], trace: Trace) -> tuple[Span, Span]:
    """The figures of a replay: exact up to and including the first changed round, and counterfactual behind it."""
    exact, counterfactual = Span(), Span()
    for round_, recorded in zip(rounds, trace.rounds):
        span = counterfactual if round_.counterfactual else exact
        span.passes += 1
        span.tokens += len(round_.emitted(recorded, trace.stop_ids))
        span.counts.update(round_.after.verdicts)
    return exact, counterfactual
