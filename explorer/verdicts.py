"""The verification rules: which drafted tokens of one round are accepted, and why.

Pure functions over small lists: this module knows booleans, entropies and probabilities, never models, text or torch.
FLy is arXiv 2511.22972; `docs/papers.md` says where the paper's text, its released code and this project differ. The other
loose rules and their sources are in `docs/comparators.md`. A loose rule is one function and its entry in LOOSE_RULES, which
carries its knobs; its twin is in explorer/ui/web/twins/verdicts.js. docs/architecture.md has the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from enum import StrEnum
from typing import Any, Literal

from explorer.errors import UserError
from explorer.knobs import Knob


class Verdict(StrEnum):
    """What became of one drafted token. Where several reasons to reject hold, the first listed here is given."""

    EXACT = "exact"  # the target agrees
    DEFERRED = "deferred"  # a mismatch that FLy accepted
    RELAXED = "relaxed"  # a mismatch that another loose rule accepted, on its own position alone
    STOP = "rejected:stop"  # a mismatch that involves a stop id: never loosened
    GATE = "rejected:gate"  # the target was sure: entropy below theta
    WINDOW = "rejected:window"  # another mismatch followed inside the look-ahead window
    EDGE = "rejected:edge"  # clean so far, but the window does not fit in the draft
    LIMIT = "rejected:limit"  # beyond the threshold of a loose rule other than FLy
    REJECTED = "rejected"  # a mismatch under the exact rule
    DISCARDED = "discarded"  # after the cut: never counted as judged

    @property
    def is_accepted(self) -> bool:
        return self is Verdict.EXACT or self.is_loosened

    @property
    def is_loosened(self) -> bool:
        """Kept though it is not the target's own choice."""
        return self in (Verdict.DEFERRED, Verdict.RELAXED)

    @property
    def is_rejected(self) -> bool:
        return self.value.startswith("rejected")


# A letter for each verdict, in records of a run as text, on a terminal and in the page.
LETTERS = {
    Verdict.EXACT: "E",
    Verdict.DEFERRED: "D",
    Verdict.RELAXED: "L",
    Verdict.STOP: "S",
    Verdict.GATE: "G",
    Verdict.WINDOW: "W",
    Verdict.EDGE: "F",
    Verdict.LIMIT: "T",
    Verdict.REJECTED: "R",
    Verdict.DISCARDED: "·",
}


class MissingEvidence(UserError):
    """A record that does not hold what a rule reads."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts of one round, one per drafted token [K]."""

    verdicts: tuple[Verdict, ...]

    @property
    def accepted(self) -> int:
        """How many drafted tokens are committed: all before the cut."""
        return sum(verdict.is_accepted for verdict in self.verdicts)

    @property
    def cut(self) -> int | None:
        """0-based position of the rejected token, None when the whole draft is accepted."""
        return None if self.accepted == len(self.verdicts) else self.accepted

    @property
    def last(self) -> Literal["correction", "bonus"]:
        """What the target's own token of this round is: it replaces the rejected token or follows a fully accepted draft."""
        return "bonus" if self.cut is None else "correction"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a rule may read of one round: in each list one entry per drafted token [K]; a list that no one asked for is empty.

    All but the last two are of the target's own distribution at that position, raw. None: the record does not say.
    """

    match: Sequence[bool]
    protected: Sequence[bool]
    entropy: Sequence[float] = ()  # in the unit theta is in
    prob: Sequence[float] = ()  # of the drafted token
    top_prob: Sequence[float] = ()  # of the likeliest token
    gap: Sequence[float] = ()  # log-probability of the likeliest token above the drafted one's, nats
    rank: Sequence[int | None] = ()  # of a mismatch: 2 where only one token is likelier; None beyond the recorded ones
    certainty: Sequence[
        float | None
    ] = ()  # exp(-H), H the entropy over the full vocabulary in nats: 1 where it is sure
    divergence: Sequence[float | None] = ()  # KL(target || draft), nats
    harmless: Sequence[
        float | None
    ] = ()  # what a judge head says of the drafted token: 0 where it matters, 1 where not


Settings = Any  # RuleSettings below, made from the entries; a rule reads only its own knobs


@dataclass(frozen=True, slots=True)
class LooseRule:
    """A rule that may accept mismatches. Stop ids are no concern of it: a mismatch that involves one is never shown to it."""

    judge: Callable[[Evidence, int, Settings], Verdict]  # one mismatch, by its position
    help: str
    reads: tuple[str, ...]  # the lists of Evidence it needs
    settings: tuple[Knob, ...]  # its own knobs
    greedy_only: bool = True  # defined for drafts and choices that are not drawn
    # Settings of its knobs under each of which it accepts no mismatch at all, as the exact rule.
    exact_at: tuple[Mapping[str, Any], ...] = ()

    @property
    def knobs(self) -> tuple[str, ...]:
        """The names of its knobs, which are fields of DecodeConfig."""
        return tuple(knob.name for knob in self.settings)


def _fly(evidence: Evidence, position: int, settings: Settings) -> Verdict:
    """Kept where the target is in doubt and the following tokens all match."""
    match, window = evidence.match, settings.window
    if not evidence.entropy[position] >= settings.theta:
        return Verdict.GATE
    following = window - 1 if settings.window_includes_mismatch else window
    if not all(match[position + 1 : position + 1 + following]):
        return Verdict.WINDOW
    return Verdict.EDGE if position + window > len(match) - 1 else Verdict.DEFERRED


def _typical(evidence: Evidence, position: int, settings: Settings) -> Verdict:
    """Medusa's typical acceptance: accepted where the target gives the token more than min(epsilon, delta * exp(-H))."""
    floor = min(settings.typical_epsilon, settings.typical_delta * evidence.certainty[position])
    return _within(evidence.prob[position] > floor)


def _topk(evidence: Evidence, position: int, settings: Settings) -> Verdict:
    """Kept where the token is among the target's k likeliest."""
    rank = evidence.rank[position]
    return _within(rank is not None and rank <= settings.top_k)


def _margin(evidence: Evidence, position: int, settings: Settings) -> Verdict:
    """Kept where the token is the target's runner-up, and close behind its first choice."""
    return _within(evidence.rank[position] == 2 and evidence.gap[position] <= settings.margin)


def _kl(evidence: Evidence, position: int, settings: Settings) -> Verdict:
    """Kept where draft and target think nearly alike, unless the target is all but sure."""
    unsure = evidence.top_prob[position] <= settings.kl_confidence
    return _within(unsure and evidence.divergence[position] < settings.kl_limit)


def _judge(evidence: Evidence, position: int, settings: Settings) -> Verdict:
    """Kept where a judge head finds that the token does not matter, but never more than a few in a row.

    The head learnt from single tokens among the target's own, so what it says is worth less after each one that it accepted.
    """
    first = position
    while first > 0 and not evidence.match[first - 1]:  # what stands before a judged token was accepted
        first -= 1
    in_a_row = position - first + 1
    return _within(in_a_row <= settings.judge_run and evidence.harmless[position] >= settings.judge_threshold)


def _within(holds: bool) -> Verdict:
    return Verdict.RELAXED if holds else Verdict.LIMIT


ENTROPY_MEASURES = ("normalized", "top3")

LOOSE_RULES: dict[str, LooseRule] = {
    "fly": LooseRule(
        _fly,
        "Also keeps a mismatch where the target is unsure and the next drafted tokens all match: the verdict is deferred to them.",
        reads=("entropy",),
        settings=(
            Knob(
                "theta", float, 0.05, "Theta", "A mismatch may be deferred where the target's entropy is at least this.",
                low=0.0, high=1.2, step=0.005, looser="lower",
            ),
            Knob(
                "window", int, 3, "Window W", "How many drafted tokens after a deferred mismatch must all match.",
                low=0, high=32, step=1, unit="tokens", looser="lower",
            ),
            Knob(
                "entropy", str, "normalized", "Entropy measure", "How the target's doubt is measured.",
                choices=ENTROPY_MEASURES,
                choice_help={
                    "normalized": "Over the full vocabulary, divided by ln V: 0 to 1. The paper's text.",
                    "top3": "Partial sum over the three likeliest tokens, in nats: 0 to 1.099. The released code.",
                },
            ),
            Knob(
                "window_includes_mismatch", bool, False, "Window includes the mismatch",
                "The released code's counting: W - 1 tokens must follow, not W.",
            ),
        ),
        greedy_only=False,
    ),
    "typical": LooseRule(
        _typical,
        "As Medusa: keeps a mismatch that the target finds likely enough.",
        reads=("prob", "certainty"),
        settings=(
            Knob(
                "typical_epsilon", float, 0.09, "Typical epsilon",
                "A mismatch is kept above this probability, whatever the entropy.",
                low=0.0, high=1.0, step=0.01, looser="lower",
            ),
            Knob(
                "typical_delta", float, 0.3, "Typical delta",
                "A mismatch is kept also above this times exp(-entropy in nats), where that is less than typical epsilon.",
                low=0.0, high=1.0, step=0.01, looser="lower",
            ),
        ),
    ),
    "topk": LooseRule(
        _topk,
        "Keeps a mismatch among the target's k likeliest tokens.",
        reads=("rank",),
        settings=(
            Knob(
                "top_k", int, 2, "Top k", "A mismatch is kept among the target's k likeliest tokens; 1 keeps none.",
                low=1, high=8, step=1, looser="higher",
            ),
        ),
        exact_at=({"top_k": 1},),
    ),
    "margin": LooseRule(
        _margin,
        "As MARS: keeps the target's second choice where it is close behind the first.",
        reads=("rank", "gap"),
        settings=(
            Knob(
                "margin", float, 1.0, "Margin",
                "The target's second choice is kept at most this far behind its first, in log-probability.",
                low=0.0, high=10.0, step=0.05, unit="nats", looser="higher",
            ),
        ),
    ),
    "kl": LooseRule(
        _kl,
        "Keeps a mismatch where draft and target think nearly alike.",
        reads=("top_prob", "divergence"),
        settings=(
            Knob(
                "kl_limit", float, 0.3, "KL limit", "A mismatch is kept where KL(target || draft) is below this.",
                low=0.0, high=10.0, step=0.05, unit="nats", looser="higher",
            ),
            Knob(
                "kl_confidence", float, 0.9, "KL confidence",
                "Nothing is kept where the target's likeliest token is more probable than this.",
                low=0.0, high=1.0, step=0.01, looser="higher",
            ),
        ),
        exact_at=({"kl_limit": 0.0}, {"kl_confidence": 0.0}),
    ),
    "judge": LooseRule(
        _judge,
        "Keeps a mismatch where a head that was trained on outcomes finds that it does not matter.",
        reads=("harmless",),
        settings=(
            Knob(
                "judge_threshold", float, 0.5, "Judge threshold",
                "A mismatch is kept where the judge head gives it at least this; 0.5 is the point chosen for the head.",
                low=0.0, high=1.0, step=0.01, looser="lower",
            ),
            Knob(
                "judge_run", int, 1, "Judged in a row",
                "At most so many mismatches one after the other are kept; 0 keeps none.",
                low=0, high=16, step=1, unit="tokens", looser="higher",
            ),
        ),
        exact_at=({"judge_run": 0},),
    ),
}  # fmt: skip

RULES = ("autoregressive", "exact", *LOOSE_RULES)

RULE = Knob(
    "rule", str, "fly", "Rule", "How the target verifies drafted tokens.",
    choices=RULES,
    choice_help={
        "autoregressive": "No drafts: the target writes every token itself, one per pass.",
        "exact": "A drafted token stays only where it is the target's own choice, so the text is the target's own.",
        **{name: f"{rule.help}{' Greedy only.' if rule.greedy_only else ''}" for name, rule in LOOSE_RULES.items()},
    },
)  # fmt: skip

# The rule and every knob that only verdicts depend on: what a recorded run can be judged again under.
RULE_SETTINGS = (RULE, *(knob for rule in LOOSE_RULES.values() for knob in rule.settings))

RuleSettings = make_dataclass(
    "RuleSettings",
    [(knob.name, knob.kind, field(default=knob.default)) for knob in RULE_SETTINGS],
    frozen=True,
    slots=True,
)
RuleSettings.__doc__ = "The rule and the knobs of all rules; DecodeConfig is one."


def judge(
    match: Sequence[bool],
    entropy: Sequence[float],
    *,
    rule: str,
    theta: float,
    window: int,
    includes_mismatch: bool = False,
    protected: Sequence[bool] | None = None,
) -> Judgement:
    """Judge the drafted tokens of one round under FLy or the exact rule, from plain lists.

    match, entropy, protected: one entry per drafted token [K]; entropy is in the unit theta is in.
    window: W. Paper counting: the W tokens after a mismatch must match. `includes_mismatch` (the released code's
    counting): the window starts at the mismatch itself, so W - 1 following tokens must. In both, 0-based position j
    can only be deferred if j + W <= K - 1. W = 0 checks no following token at all.

    Every mismatch is judged on the *native* match mask: a deferred mismatch never counts as a match for an earlier
    window, and a mismatch inside a window breaks it whatever its own entropy (paper section 3; vectors in tests/).
    The earliest rejection cuts. Raises UserError on lists of different lengths or an impossible window.
    """
    protected = [False] * len(match) if protected is None else protected
    if len(entropy) != len(match):
        raise UserError("draft.entries", name="entropy", matches=len(match), entries=len(entropy))
    if window < (1 if includes_mismatch else 0):
        raise UserError("draft.window")
    settings = RuleSettings(rule=rule, theta=theta, window=window, window_includes_mismatch=includes_mismatch)
    return judge_evidence(Evidence(match, protected, entropy), settings)


def judge_evidence(evidence: Evidence, settings: Settings) -> Judgement:
    """Judge the drafted tokens of one round under any rule. Each mismatch is judged on its own; the earliest rejection cuts.

    Raises UserError on lists of different lengths, MissingEvidence where the rule needs what is not known.
    """
    loose = LOOSE_RULES.get(settings.rule)
    match, protected = evidence.match, evidence.protected
    for name in ("protected", *(loose.reads if loose else ())):
        if len(getattr(evidence, name)) != len(match):
            entries = len(getattr(evidence, name))
            raise UserError("draft.entries", name=name, matches=len(match), entries=entries)

    def verdict(position: int) -> Verdict:
        if match[position]:
            return Verdict.EXACT
        if loose is None:
            return Verdict.REJECTED
        if protected[position]:
            return Verdict.STOP
        for name in loose.reads:
            # A rank beyond the recorded ones is an answer too.
            if name != "rank" and getattr(evidence, name)[position] is None:
                raise MissingEvidence("draft.no_evidence", rule=settings.rule, name=name)
        return loose.judge(evidence, position, settings)

    verdicts: list[Verdict] = []
    for position in range(len(match)):
        verdicts.append(verdict(position))
        if verdicts[-1].is_rejected:
            verdicts += [Verdict.DISCARDED] * (len(match) - position - 1)
            break
    return Judgement(tuple(verdicts))
