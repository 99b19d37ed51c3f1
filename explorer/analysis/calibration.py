"""Whether predictions of acceptance hold: predicted against kept, in bins. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.trace import Round


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions from `low` to `high`: how many, their mean, and the share of those tokens that was kept."""

    low: float
    high: float
    count: int
    predicted: float
    kept: float


def calibration(scores: Sequence[float], kept: Sequence[bool], bins: int = 10) -> tuple[Bin, ...]:
    """Bins of equal width over 0 to 1, a score of 1 in the last; empty ones left out."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for score, was_kept in zip(scores, kept, strict=True):
        members[min(int(score * bins), bins - 1)].append((score, was_kept))
    return tuple(
        Bin(
            index / bins,
            (index + 1) / bins,
            len(mine),
            sum(score for score, _ in mine) / len(mine),
            sum(was_kept for _, was_kept in mine) / len(mine),
        )
        for index, mine in enumerate(members)
        if mine
    )


def predictions(rounds: Iterable[Round]) -> tuple[list[float], list[bool]]:
    """Every score of PACER's blocks in some rounds, and whether its token was kept; tokens without a score are left out.

    What stands behind a cut was not kept, as in training: the layer predicts that a token will be committed.
    """
    scores: list[float] = []
    kept: list[bool] = []
    for round_ in rounds:
        position = 0
        for block in round_.blocks:
            scores += block.scores
            kept += [position + offset < round_.accepted for offset in range(len(block.scores))]
            position += block.size
    return scores, kept
