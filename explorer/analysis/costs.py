"""What rounds take on a machine: the work they make, whatever it takes there, and cost profiles, which say what it takes.

Verdicts do not depend on speed. So a recorded run, or a point of a sweep, can be costed again: its work at what another machine,
another form of the weights or another pair takes for it. Such a time is *modelled*, and knows nothing of contexts far longer than
those that were measured. The prefill is never part of it. explorer/ui/web/twins/costs.js is its twin.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from explorer.config import DecodeConfig
from explorer.schema import MAX_FLOAT, SchemaError
from explorer.trace import Baseline, Provenance, Round, Seconds, Trace

STALL = 10  # times the median: such a phase says that the machine was held up, not what the work takes
MAX_ROWS = 1_000_000  # of one target pass


@dataclass(frozen=True)
class Work:
    """What some rounds make a machine do, the prefill apart."""

    steps: int = 0  # forwards of the draft model or head
    blocks: int = 0  # blocks that PACER's layer scored
    passes: dict[int, int] = field(default_factory=dict)  # target passes by their rows, the tokens that each is fed

    def __post_init__(self) -> None:
        if min(self.steps, self.blocks, *self.passes.values(), 0) < 0 or min(self.passes, default=1) < 1:
            raise SchemaError("costs.work")

    @property
    def rounds(self) -> int:
        """A round is one target pass."""
        return sum(self.passes.values())

    @classmethod
    def of_round(cls, drafted: int, blocks: int = 0) -> Work:
        """A round whose tokens a model drafted one by one."""
        return cls(drafted, blocks, {drafted + 1: 1})

    @classmethod
    def plain(cls, tokens: int) -> Work:
        """Plain greedy decoding: a pass of one row for each token."""
        return cls(passes={1: tokens})


def total(works: Iterable[Work]) -> Work:
    """All of them together."""
    steps, blocks, passes = 0, 0, Counter()
    for work in works:
        steps, blocks = steps + work.steps, blocks + work.blocks
        passes.update(work.passes)
    return Work(steps, blocks, dict(sorted(passes.items())))


def works_of(rounds: Sequence[Round], config: DecodeConfig) -> list[Work]:
    """The work of each of some rounds in a row.

    A token that was looked up is free: whoever confirms several of them takes one forward, which yields one token of its own. A tree takes a
    forward for each level. Under PEARL's schedule a draft is the work of the round that made it, while the target verified.
    """
    works, made_before = [], False
    for round_ in rounds:
        scored = sum(bool(block.scores) for block in round_.blocks) if config.needs_layer else 0
        steps = len(round_.ahead) if config.drafter != "lookup" else 0
        works.append(Work(steps + (0 if made_before else _steps(round_)), scored, {round_.verified + 1: 1}))
        made_before = bool(round_.ahead)
    return works


def work_of(trace: Trace) -> Work:
    """The work of a whole run."""
    return total(works_of(trace.rounds, trace.config))


def _steps(round_: Round) -> int:
    if round_.tree:
        return max(round_.tree.depths)
    return sum(source in ("model", "features") for source in round_.sources)


@dataclass(frozen=True)
class CostProfile:
    """What a machine takes for the work of a pair: where the figures come from, and what they are."""

    name: str
    source: Literal["measured", "published", "entered"]
    unit: Literal["ms", "pass"]  # milliseconds; or, where only ratios are known, target passes of one row
    step: float  # one draft step
    passes: dict[int, float]  # one target pass, by its rows
    block: float = 0.0  # PACER's layer over one block
    other: float = 0.0  # all else of a round
    target: str = ""
    draft: str = ""
    forms: dict[str, str] = field(default_factory=dict)  # number formats, by `target` and `draft`; empty: not told
    device: str = ""
    date: str = ""  # ISO 8601; of a measurement
    citation: str = ""  # of what was published: the work, and the place in it
    url: str = ""
    assumes: str = ""  # what was not published, and is taken for granted

    def __post_init__(self) -> None:
        times = (self.step, *self.passes.values(), self.block, self.other)
        if not all(0 <= time <= MAX_FLOAT for time in times):
            raise SchemaError("costs.negative")
        if not self.passes or not all(0 < rows <= MAX_ROWS and self.passes[rows] > 0 for rows in self.passes):
            raise SchemaError("costs.passes")
        if self.source == "published" and not self.citation:
            raise SchemaError("costs.no_citation")

    @classmethod
    def measured(
        cls, name: str, samples: Iterable[tuple[Work, Seconds]], where: Provenance, baseline: Baseline | None = None
    ) -> CostProfile:
        """From measured rounds, as the work and the seconds of each; stalls are left out.

        Means, because a draft that ends at a stop id may have cost as much as a full one, and because a run pays for the slow rounds too.
        Where a pass over more rows was measured to take less, both take their common mean: that is noise, and would decide about lengths.
        baseline: more passes of one row. Raises ValueError where there is no round.
        """
        phases: dict[str, list[tuple[float, int]]] = defaultdict(list)  # (seconds, units of work)
        passes: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for work, seconds in samples:
            (rows,) = work.passes
            passes[rows].append((seconds.verify, 1))
            rest = seconds.other
            for phase, spent, count in (("step", seconds.draft, work.steps), ("block", seconds.preverify, work.blocks)):
                if count:
                    phases[phase].append((spent, count))
                else:
                    rest += spent
            phases["other"].append((rest, 1))
        if not passes:
            raise ValueError("no measured round to learn costs from")
        other = _usual(phases["other"])
        known = {rows: (_usual(found), len(found)) for rows, found in passes.items()}
        if baseline:
            alone = max(1e3 * baseline.seconds.decode / len(baseline.ids) - other, 0.0)
            known[1] = _pooled((alone, len(baseline.ids)), known.get(1, (0.0, 0)))
        return cls(
            name=name,
            source="measured",
            unit="ms",
            step=_usual(phases["step"]),
            passes=_never_falling(known),
            block=_usual(phases["block"]),
            other=other,
            target=where.target,
            draft=where.draft or "",
            forms=dict(where.dtype),
            device=where.device,
            date=where.date,
        )

    @classmethod
    def of_trace(cls, trace: Trace) -> CostProfile:
        """What the machine that recorded a run took there."""
        samples = zip(works_of(trace.rounds, trace.config), (round_.seconds for round_ in trace.rounds))
        return cls.measured(trace.provenance.pair, samples, trace.provenance, trace.baseline)

    def pass_time(self, rows: int) -> float:
        """One target pass: between known row counts, and beyond the largest, drawn on straight, but never downwards.

        Below the smallest nothing is known, and no time is made up: it takes what the smallest does.
        """
        known = sorted(self.passes)
        place = bisect_left(known, rows)
        if len(known) == 1 or place == 0 or (place < len(known) and known[place] == rows):
            return self.passes[known[min(place, len(known) - 1)]]
        place = min(place, len(known) - 1)
        low, high = known[place - 1], known[place]
        slope = (self.passes[high] - self.passes[low]) / (high - low)
        return self.passes[low] + max(slope, 0.0) * (rows - low)

    def time(self, work: Work) -> float:
        """All of it, in the profile's unit."""
        time = work.steps * self.step + work.blocks * self.block + work.rounds * self.other
        for rows, count in work.passes.items():  # one by one, as the twin adds: both break ties alike
            time += count * self.pass_time(rows)
        return time

    def tokens_per_second(self, tokens: int, work: Work) -> float | None:
        """None where only ratios are known."""
        return 1e3 * tokens / self.time(work) if self.unit == "ms" else None

    def times_plain(self, tokens: int, work: Work) -> float:
        """The same tokens by plain greedy decoding, over this work."""
        return self.time(Work.plain(tokens)) / self.time(work)


TINY = 1e-9  # ms: a clock that saw nothing pass


def _usual(samples: Sequence[tuple[float, int]]) -> float:
    """Milliseconds of one unit, stalls left out; 0 where there is no sample."""
    if not samples:
        return 0.0
    limit = STALL * median(seconds / units for seconds, units in samples)
    kept = [(seconds, units) for seconds, units in samples if seconds / units <= limit]
    return 1e3 * sum(seconds for seconds, _ in kept) / sum(units for _, units in kept)


Mean = tuple[float, int]  # of so many samples


def _pooled(one: Mean, other: Mean) -> Mean:
    count = one[1] + other[1]
    return (one[0] * one[1] + other[0] * other[1]) / count, count


def _never_falling(known: dict[int, Mean]) -> dict[int, float]:
    """Times by rows, none below one of fewer rows: the nearest such to what was measured (isotonic regression by pooling neighbours)."""
    pools: list[tuple[Mean, list[int]]] = []
    for rows, mean in sorted(known.items()):
        pool = (mean, [rows])
        while pools and pools[-1][0][0] >= pool[0][0]:
            earlier = pools.pop()
            pool = (_pooled(earlier[0], pool[0]), earlier[1] + pool[1])
        pools.append(pool)
    return {rows: max(mean[0], TINY) for mean, members in pools for rows in members}
