"""What a round takes on one device by the number of drafted tokens: learnt from measured rounds, used to model others.

A modelled time says what rounds of these sizes take on the device that was measured, whatever text they are made on. It knows
nothing of contexts far longer than the measured ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median

from explorer.trace import Seconds

STALL = 10  # times the median: such a phase says that the machine was held up, not what the work takes


@dataclass(frozen=True, slots=True)
class RoundTime:
    """Mean seconds of the phases of `samples` measured rounds of one size, stalls left out.

    The mean, because a draft that ends at a stop id may have cost as much as a full one, and because a run pays for the slow
    rounds too.
    """

    drafted: int
    draft: float
    preverify: float
    verify: float  # one target pass over drafted + 1 rows, the measurement of the rows included
    other: float
    samples: int

    @property
    def total(self) -> float:
        return self.draft + self.preverify + self.verify + self.other


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """The rounds of one way of drafting on one device, shortest draft first."""

    sizes: tuple[RoundTime, ...]

    @classmethod
    def of(cls, measured: Iterable[tuple[int, Seconds]]) -> RoundTimes:
        """From measured rounds as (drafted tokens, seconds); raises ValueError where there is none."""
        by_size: dict[int, list[Seconds]] = defaultdict(list)
        for drafted, seconds in measured:
            by_size[drafted].append(seconds)
        if not by_size:
            raise ValueError("no measured round to learn times from")
        return cls(
            tuple(
                RoundTime(
                    drafted,
                    *(
                        _usual([getattr(one, phase) for one in known])
                        for phase in ("draft", "preverify", "verify", "other")
                    ),
                    samples=len(known),
                )
                for drafted, known in sorted(by_size.items())
            )
        )

    def seconds(self, drafted: int) -> float:
        """One round of `drafted` tokens: between known sizes, and beyond the largest, drawn on straight."""
        known = [size.drafted for size in self.sizes]
        place = bisect_left(known, drafted)
        if len(known) == 1 or place == 0 or (place < len(known) and known[place] == drafted):
            return self.sizes[min(place, len(known) - 1)].total
        place = min(place, len(known) - 1)
        low, high = self.sizes[place - 1], self.sizes[place]
        slope = (high.total - low.total) / (high.drafted - low.drafted)
        return max(low.total + slope * (drafted - low.drafted), low.total)

    def run(self, drafted: Iterable[int]) -> float:
        """A run of rounds, the prefill apart."""
        return sum(map(self.seconds, drafted))


def _usual(values: list[float]) -> float:
    limit = STALL * median(values)
    return fmean(value for value in values if value <= limit)
