"""Where one run's text leaves another of the same prompt, and why: FLy kept a token, or the target itself chose another.

The target sees the same text up to there. A pass over K + 1 rows rounds differently from one over a single row, so where its two
likeliest tokens are nearly level it may choose either: a *near-tie*, which no rule is to blame for.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.metrics import first_divergence
from explorer.trace import Round, Trace
from explorer.verdicts import Verdict

AHEAD = 6  # tokens of each text told

# Two log-probabilities closer than this are level. float32 rounds sums over a vocabulary in the third decimal at worst; bfloat16
# holds a logit between 16 and 32 in steps of 0.125, and both of them are rounded.
NEAR_TIE, NEAR_TIE_HALF = 0.01, 0.25


@dataclass(frozen=True, slots=True)
class Parting:
    """The first token of a run that another run's text does not have."""

    index: int  # 0-based, in both outputs
    kind: str  # of the run's token: exact, deferred, relaxed, correction or bonus
    ours: tuple[int, ...]  # ids from there on
    theirs: tuple[int, ...]
    gap: float  # nats between the target's two likeliest tokens there, as this run's pass saw them
    near_tie: bool

    @property
    def cause(self) -> str:
        """`fly`, `relaxed`: a mismatch kept by FLy, by another loose rule. `numeric`: the target's own choice, a near-tie. `target`: its own choice, by more than that."""
        if self.kind == Verdict.DEFERRED:
            return "fly"
        if self.kind == Verdict.RELAXED:
            return "relaxed"
        return "numeric" if self.near_tie else "target"


def near_tie_gap(dtype: str) -> float:
    """The gap below which two log-probabilities of a target in this number format are level."""
    return NEAR_TIE_HALF if dtype.startswith(("bfloat16", "float16")) else NEAR_TIE


def parting(trace: Trace, other: Trace) -> Parting | None:
    """Where the run leaves the other one's text; None where one text is the beginning of the other. Greedy runs of one prompt."""
    ours, theirs = trace.output_ids, other.output_ids
    index = first_divergence(ours, theirs)
    if index is None:
        return None
    round_, position = _place(trace, index)
    top = round_.rows[position].top_logprobs
    gap = top[0] - top[1]
    return Parting(
        index=index,
        kind=round_.emitted_kinds[position],
        ours=ours[index : index + AHEAD],
        theirs=theirs[index : index + AHEAD],
        gap=gap,
        near_tie=gap < near_tie_gap(trace.provenance.dtype["target"]),
    )


def _place(trace: Trace, index: int) -> tuple[Round, int]:
    """The round of an emitted token, and its position there."""
    for round_ in trace.rounds:
        if index < len(round_.emitted):
            return round_, index
        index -= len(round_.emitted)
    raise IndexError("this run has no such token")
