"""The figures of every point of a sweep, as heat maps need them, and the point to choose under a fidelity limit.

Speeds here are *modelled*: the work of a point at what the sweep's own rounds took, or at the costs of another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from explorer.analysis.costs import CostProfile, Work, total
from explorer.analysis.markdown import markdown_table
from explorer.analysis.metrics import first_divergence
from explorer.analysis.spreadsheet import csv_table
from explorer.config import DecodeConfig
from explorer.messages import Message
from explorer.sweep.record import Run, Sweep

LEVEL = 0.02  # modelled speeds closer than this are not told apart: the point that changes less is taken


@dataclass(frozen=True, slots=True)
class Point:
    """One point over all prompts of a sweep. Log-probabilities are the target's, in nats per token, pooled over tokens."""

    index: int  # in Sweep.points
    config: DecodeConfig
    prompts: int
    tokens: int
    passes: int
    kept: int  # drafted tokens in the output
    loosened: int  # deferred tokens in the output
    same_ids: int  # prompts whose ids are plain greedy's
    divergences: tuple[int, ...]  # of the other prompts: index of the first token that differs
    mean_logprob: float
    fidelity: float  # mean_logprob above plain greedy's own: negative is worse
    checkable: int  # prompts with an answer
    right: int
    lost: int  # prompts that plain greedy gets right and this point does not
    gained: int
    work: Work
    tokens_per_second: float | None  # modelled, the prefill apart; None where only ratios of costs are known
    times_plain: float  # modelled

    @property
    def tau(self) -> float:
        """Tokens per target pass, the target's own counted."""
        return self.tokens / self.passes

    @property
    def kept_per_round(self) -> float:
        return self.kept / self.passes

    @property
    def loosened_share(self) -> float:
        """Of the tokens of the output."""
        return self.loosened / self.tokens

    @property
    def divergence(self) -> float | None:
        """Median index of the first token that differs, over the prompts where one does."""
        return median(self.divergences) if self.divergences else None

    @property
    def name(self) -> str:
        """The point in words."""
        return name_of(self.config)


def name_of(config: DecodeConfig) -> str:
    """A point of a sweep in words: what distinguishes it from the others."""
    if config.rule == "autoregressive":
        return "plain greedy"
    drafter = {
        "model": "",
        "lookup": ", prompt lookup",
        "model+lookup": ", model + lookup",
        "model+phrases": ", model + phrases",
        "features": f", EAGLE-3 tree of {config.tree}" if config.tree else ", EAGLE-3 chain",
    }[config.drafter]
    length = f"K = {config.draft_length}" + ("" if config.length == "fixed" else f" at most, {config.length}")
    if config.rule == "exact":
        return f"exact{drafter}, {length}"
    including = " including" if config.window_includes_mismatch else ""
    return f"theta {config.theta:g} {config.entropy}, W = {config.window}{including}, {length}{drafter}"


def points_of(sweep: Sweep, costs: CostProfile | None = None) -> tuple[Point, ...]:
    """The figures of all points, in the order of Sweep.points; raises ValueError for a sweep without a finished prompt.

    costs: what speeds are modelled with, None for what the sweep's own rounds took.
    """
    if not sweep.prompts:
        raise ValueError("no prompt of this sweep is through")
    costs = costs or costs_of(sweep)
    plain = [prompt.run(0) for prompt in sweep.prompts]
    plain_logprob = _mean_logprob(plain)
    points = []
    for index, config in enumerate(sweep.points):
        runs = [prompt.run(index) for prompt in sweep.prompts]
        verdicts = [(run.right, reference.right) for run, reference in zip(runs, plain) if run.right is not None]
        tokens, work = _tokens(runs), total(run.work for run in runs)
        differing = [(run.ids, reference.ids) for run, reference in zip(runs, plain) if run.ids != reference.ids]
        points.append(
            Point(
                index=index,
                config=config,
                prompts=len(runs),
                tokens=tokens,
                passes=sum(run.passes for run in runs),
                kept=sum(run.kept for run in runs),
                loosened=sum(len(run.loosened) for run in runs),
                same_ids=len(runs) - len(differing),
                divergences=tuple(
                    min(len(ours), len(theirs)) if (at := first_divergence(ours, theirs)) is None else at
                    for ours, theirs in differing
                ),
                mean_logprob=_mean_logprob(runs),
                fidelity=_mean_logprob(runs) - plain_logprob,
                checkable=len(verdicts),
                right=sum(right for right, _ in verdicts),
                lost=sum(was and not right for right, was in verdicts),
                gained=sum(right and not was for right, was in verdicts),
                work=work,
                tokens_per_second=costs.tokens_per_second(tokens, work),
                times_plain=costs.times_plain(tokens, work),
            )
        )
    return tuple(points)


def costs_of(sweep: Sweep) -> CostProfile:
    """What the rounds of a sweep took on its machine; raises ValueError for a sweep without a finished prompt."""
    samples = ((one.work, one.seconds) for prompt in sweep.prompts for one in prompt.passes)
    return CostProfile.measured(sweep.provenance.pair, samples, sweep.provenance)


def _tokens(runs: Sequence[Run]) -> int:
    return sum(len(run.ids) for run in runs)


def _mean_logprob(runs: Sequence[Run]) -> float:
    return sum(run.logprob for run in runs) / _tokens(runs)


# Choosing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limit:
    """How far a text may stray from the target's own."""

    nats: float = 0.10  # mean target log-probability per token below plain greedy's, at most
    lost: int = 0  # right answers lost, at most

    def reasons(self, point: Point) -> tuple[Message, ...]:
        """Why the point lies outside; empty where it lies inside."""
        reasons = []
        if point.fidelity < -self.nats:
            values = {"nats": f"{-point.fidelity:.3f}", "limit": f"{self.nats:g}"}
            reasons.append(Message("choice.below_limit", values))
        if point.lost > self.lost:
            values = {
                "answers": _answers(point.lost),
                "all": point.right + point.lost - point.gained,
                "limit": self.lost,
            }
            reasons.append(Message("choice.answers_lost", values))
        return tuple(reasons)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The point to choose, why, and what the limit refused."""

    point: Point
    reasons: tuple[Message, ...]
    refused: tuple[tuple[Point, tuple[Message, ...]], ...]  # points that would be faster, fastest first, with why not


def recommend(points: Sequence[Point], limit: Limit = Limit()) -> Recommendation:  # noqa: B008 - frozen
    """The fastest point of the loose rule inside the limit; of nearly equal ones the one that changes the fewest texts, then
    loosens the fewest tokens, then is strictest.

    Where none is faster than the fastest reference (exact, prompt lookup, plain), that one: it changes no text.
    """
    safe = max((point for point in points if point.config.rule != "fly"), key=lambda one: one.times_plain)
    loose = [point for point in points if point.config.rule == "fly"]
    inside = [point for point in loose if not limit.reasons(point)]
    best = max((point.times_plain for point in inside), default=0.0)
    if best > safe.times_plain * (1 + LEVEL):
        level = [point for point in inside if point.times_plain >= best * (1 - LEVEL)]
        chosen = max(level, key=lambda one: (one.same_ids, -one.loosened, one.config.theta, one.config.window))
        fastest = {"inside": len(inside), "all": len(loose), "level": len(level), "share": f"{LEVEL:.0%}"}
        times = {
            "times": f"{chosen.times_plain:.2f}",
            "more": f"{chosen.times_plain / safe.times_plain:.2f}",
            "name": _name(safe),
        }
        cost = {"nats": f"{chosen.fidelity:+.3f}", "answers": _answers(chosen.lost), "gained": chosen.gained}
        cost |= {"all": chosen.checkable, "same": chosen.same_ids, "prompts": chosen.prompts}
        reasons = [
            Message("choice.fastest_of_level" if len(level) > 1 else "choice.fastest", fastest),
            _speed(chosen, times),
            Message("choice.cost", cost),
        ]
    else:
        chosen = safe
        none = {"inside": len(inside), "all": len(loose), "share": f"{LEVEL:.0%}", "name": _name(safe)}
        reasons = [Message("choice.none_faster", none)]
    faster = sorted(
        (point for point in loose if point.times_plain > chosen.times_plain and limit.reasons(point)),
        key=lambda one: -one.times_plain,
    )
    return Recommendation(chosen, tuple(reasons), tuple((point, limit.reasons(point)) for point in faster))


def _speed(point: Point, times: dict[str, Any]) -> Message:
    """How fast it is; where only ratios of costs are known, against plain greedy alone."""
    if point.tokens_per_second is None:
        return Message("choice.times", times)
    return Message("choice.speed", times | {"speed": f"{point.tokens_per_second:.1f}"})


def _name(point: Point) -> Message | str:
    """The name of a reference; that of plain greedy in any language."""
    return Message("choice.plain") if point.config.rule == "autoregressive" else point.name


def _answers(count: int) -> Message:
    return Message("choice.answer" if count == 1 else "choice.answers", {"count": count})


# Tables -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a point, as tables and heat maps show it."""

    name: str  # of the column in CSV
    label: str
    form: str  # format specification
    value: Callable[[Point], float | None]
    more_is_better: bool | None = None  # None: neither


def _place(index: float | None) -> float | None:
    """A token's place in the text, counted from 1 for a person."""
    return None if index is None else index + 1


FIGURES = (
    Figure("tau", "tau", ".2f", lambda point: point.tau, True),
    Figure("kept_per_round", "kept per round", ".2f", lambda point: point.kept_per_round, True),
    Figure("tokens_per_second_modelled", "tokens/s (modelled)", ".1f", lambda point: point.tokens_per_second, True),
    Figure("times_plain_modelled", "x plain (modelled)", ".2f", lambda point: point.times_plain, True),
    Figure("loosened_share", "loosened", ".1%", lambda point: point.loosened_share),
    Figure("same_ids", "same ids", "d", lambda point: point.same_ids, True),
    Figure("median_divergence", "first divergence (median)", ".0f", lambda point: _place(point.divergence), True),
    Figure("nats_per_token", "nats/token", "+.3f", lambda point: point.fidelity, True),
    Figure("right", "right", "d", lambda point: point.right if point.checkable else None, True),
    Figure("lost", "lost", "d", lambda point: point.lost if point.checkable else None, False),
    Figure("gained", "gained", "d", lambda point: point.gained if point.checkable else None),
)


def markdown(points: Sequence[Point]) -> str:
    """All points as a Markdown table."""
    body = []
    for point in points:
        values = [(figure.value(point), figure.form) for figure in FIGURES]
        body.append([point.name, *("-" if value is None else _shown(value, form) for value, form in values)])
    return markdown_table(["point", *(figure.label for figure in FIGURES)], body)


def _shown(value: float, form: str) -> str:
    """Formatted, without the minus sign of a zero that rounding left."""
    text = format(value, form)
    return text.replace("-", "+") if text.startswith("-") and not text.strip("-0.%") else text


OWN_COSTS = "this sweep"
SETTINGS = ("rule", "drafter", "length", "draft_length", "entropy", "theta", "window", "window_includes_mismatch")


def csv_of(sweep: Sweep, points: Sequence[Point], costs: CostProfile | None = None) -> str:
    """All points as CSV, with what was swept in every line; measured speeds where a point was run again. costs: as of points_of."""
    measured = {one.point: one.tokens_per_second for one in sweep.measured}
    settings = {"fly": SETTINGS, "exact": SETTINGS[:4], "autoregressive": SETTINGS[:1]}
    head = [*SETTINGS, "prompts", "tokens", "passes", *(figure.name for figure in FIGURES), "costs_of", "checkable",
            "tokens_per_second_measured", "pair", "device", "date"]  # fmt: skip
    body = [
        [
            *(getattr(point.config, name) if name in settings[point.config.rule] else None for name in SETTINGS),
            point.prompts,
            point.tokens,
            point.passes,
            *(figure.value(point) for figure in FIGURES),
            costs.name if costs else OWN_COSTS,
            point.checkable,
            measured.get(point.index),
            sweep.provenance.pair,
            sweep.provenance.device,
            sweep.provenance.date,
        ]
        for point in points
    ]
    return csv_table(head, body)
