"""What the differences between FLy's paper, its released code and this project amount to, counted on recorded runs.

    python -m explorer differences examples/runs/0[1-8]*.json

prints the table of docs/papers.md. Every round is judged on its recorded text (*replayed per round*); nothing here is a speed.
Knows traces and the rule, no models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from explorer.analysis.markdown import markdown_table
from explorer.analysis.replay import replay
from explorer.config import PRESETS, DecodeConfig
from explorer.errors import UserError
from explorer.trace import Round, Row, Trace, judge_rows
from explorer.verdicts import Verdict

RELEASED = PRESETS["released"].settings
UNGATED = 0.01  # nats: a threshold at or below it means "no gate" in the released code


@dataclass(frozen=True)
class Difference:
    """One difference in words, and what it does in the given runs."""

    what: str
    consequence: str


def differences(traces: Sequence[Trace]) -> list[Difference]:
    """All of them, in the order of docs/papers.md; runs without a draft count for nothing. Raises UserError where none has one."""
    traces = [trace for trace in traces if _drafted(trace)]
    if not traces:
        raise UserError("record.no_drafts_among")
    counted = (
        ("entropy: mismatches that pass the gate", _gates),
        ("entropy: great doubt that the top-3 sum takes for none", _flat),
        (f"gate: mismatches below {UNGATED} nats, kept where theta 0.01 means no gate", _ungated),
        ("window: tokens deferred with W following / W including the mismatch", _countings),
        ("presets: drafted tokens kept per round", _presets),
        ("stop ids: mismatches that involve one", _stops),
        ("two draws instead of one: first drafted tokens that pass", _draws),
        ("counters: drafted tokens reported as accepted, as deferred", _counters),
    )
    return [Difference(what, count(traces)) for what, count in counted]


def _gates(traces: Sequence[Trace]) -> str:
    rows = _mismatches(traces)
    points = (("paper text", "normalized", 0.3), ("released code", "top3", 0.3), ("explorer", "normalized", 0.05))
    passing = [f"{name} {sum(row.entropy(measure) >= theta for row in rows)}" for name, measure, theta in points]
    return f"{', '.join(passing)}; of {len(rows)}"


def _flat(traces: Sequence[Trace]) -> str:
    doubtful = [row.entropy_top3 for row in _mismatches(traces) if row.entropy_normalized >= 0.3]
    least = f", the least sum is {min(doubtful):.3f}" if doubtful else ""
    return f"{sum(value < 0.3 for value in doubtful)} of {len(doubtful)} with normalized entropy of 0.3 or more{least}"


def _ungated(traces: Sequence[Trace]) -> str:
    rows = _mismatches(traces)
    return f"{sum(row.entropy_top3 < UNGATED for row in rows)} of {len(rows)}"


def _countings(traces: Sequence[Trace]) -> str:
    def deferred(window: int, includes: bool) -> int:
        settings = {**RELEASED, "window": window, "window_includes_mismatch": includes}
        return sum(judged.count(Verdict.DEFERRED) for judged in _judged(traces, rule="fly", **settings))

    return ", ".join(f"W = {window}: {deferred(window, False)} / {deferred(window, True)}" for window in (3, 6))


def _presets(traces: Sequence[Trace]) -> str:
    def kept(**settings: Any) -> float:
        return _mean(sum(verdict.is_accepted for verdict in judged) for judged in _judged(traces, **settings))

    loose = (f"{name} {kept(rule='fly', **preset.settings):.2f}" for name, preset in PRESETS.items())
    return ", ".join([f"exact {kept(rule='exact'):.2f}", *loose])


def _stops(traces: Sequence[Trace]) -> str:
    involved = loosened = 0
    for trace in traces:
        config = replace(trace.config, rule="fly")
        for round_ in _drafted(trace):
            unguarded = judge_rows(round_.match, round_.rows[:-1], [False] * len(round_.match), config).verdicts
            for protected, match, verdict in zip(round_.protected, round_.match, unguarded):
                involved += protected and not match
                loosened += protected and verdict is Verdict.DEFERRED
    return f"{involved}, of which {loosened} would be deferred without the guard"


def _draws(traces: Sequence[Trace]) -> str:
    """At temperature 1, from the target's probability p of each first drafted token: one draw lets it pass with p, a match with
    either of two with 2p - p^2. The token emitted is then p (1 - p) away from the target's distribution (total variation)."""
    chances = [math.exp(round_.rows[0].drafted_logprob) for trace in traces for round_ in _drafted(trace)]
    one, two = _mean(chances), _mean(2 * p - p * p for p in chances)
    away = _mean(p * (1 - p) for p in chances)
    return f"{two:.1%} instead of {one:.1%}, {away:.3f} away from the target's distribution (modelled)"


def _counters(traces: Sequence[Trace]) -> str:
    """The released code sums its mask over the whole draft, also behind the cut, and counts deferred tokens before the gate."""
    kept = deferred = summed = before_gate = 0
    for trace in traces:
        config = replace(trace.config, rule="fly", **RELEASED)
        for round_ in _drafted(trace):
            causal = round_.judge(config).verdicts
            kept += sum(verdict.is_accepted for verdict in causal)
            deferred += causal.count(Verdict.DEFERRED)
            for position, match in enumerate(round_.match):
                summed += _alone(round_, position, config).is_accepted
                before_gate += not match and _alone(round_, position, replace(config, theta=0.0)).is_accepted
    return f"{summed} where {kept} are kept, {before_gate} where {deferred} are deferred"


def _alone(round_: Round, position: int, config: DecodeConfig) -> Verdict:
    """The verdict of one position whatever stands before it."""
    match = [True] * position + list(round_.match[position:])
    return judge_rows(match, round_.rows[:-1], [False] * len(match), config).verdicts[position]


def _judged(traces: Sequence[Trace], **settings: Any) -> list[tuple[Verdict, ...]]:
    """The verdicts of every round that has a draft, under other settings."""
    again = (replay(trace, replace(trace.config, **settings)) for trace in traces)
    return [one.after.verdicts for rounds in again for one in rounds if one.after.verdicts]


def _drafted(trace: Trace) -> list[Round]:
    return [round_ for round_ in trace.rounds if round_.drafted]


def _mismatches(traces: Sequence[Trace]) -> list[Row]:
    """The target's rows at every disagreement, also behind a cut."""
    rounds = (round_ for trace in traces for round_ in trace.rounds)
    return [row for round_ in rounds for row, match in zip(round_.rows, round_.match) if not match]


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)


def table(traces: Sequence[Trace]) -> str:
    """The differences as a Markdown table."""
    return markdown_table(["difference", "in these runs"], [[one.what, one.consequence] for one in differences(traces)])
