"""The verification rules: which drafted tokens of one round are kept, and why.

Pure functions over small lists: this module knows booleans and entropies, never models, text or torch.
FLy is arXiv 2511.22972; `docs/contracts.md` says where the paper's text, its released code and this project differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Rule = Literal["autoregressive", "exact", "fly"]


class Verdict(StrEnum):
    """What became of one drafted token. Where several reasons to reject hold, the first listed here is given."""

    EXACT = "exact"  # the target agrees
    DEFERRED = "deferred"  # a mismatch that FLy kept
    STOP = "rejected:stop"  # a mismatch that involves a stop id: never loosened
    GATE = "rejected:gate"  # the target was sure: entropy below theta
    WINDOW = "rejected:window"  # another mismatch followed inside the look-ahead window
    EDGE = "rejected:edge"  # clean so far, but the window does not fit in the draft
    REJECTED = "rejected"  # a mismatch under the exact rule
    DISCARDED = "discarded"  # behind the cut: never counted as judged

    @property
    def is_kept(self) -> bool:
        return self in (Verdict.EXACT, Verdict.DEFERRED)

    @property
    def is_rejected(self) -> bool:
        return self.value.startswith("rejected")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts of one round, one per drafted token [K]."""

    verdicts: tuple[Verdict, ...]

    @property
    def kept(self) -> int:
        """How many drafted tokens are committed: all before the cut."""
        return sum(verdict.is_kept for verdict in self.verdicts)

    @property
    def cut(self) -> int | None:
        """0-based position of the rejected token, None when the whole draft is kept."""
        return None if self.kept == len(self.verdicts) else self.kept

    @property
    def last(self) -> Literal["correction", "bonus"]:
        """What the target's own token of this round is: it replaces the rejected token or follows a fully kept draft."""
        return "bonus" if self.cut is None else "correction"


def judge(
    match: Sequence[bool],
    entropy: Sequence[float],
    *,
    rule: Rule,
    theta: float,
    window: int,
    includes_mismatch: bool = False,
    protected: Sequence[bool] | None = None,
) -> Judgement:
    """Judge the drafted tokens of one round.

    match, entropy, protected: one entry per drafted token [K]; entropy is in the unit theta is in.
    window: W. Paper counting: the W tokens after a mismatch must match. `includes_mismatch` (the released code's
    counting): the window starts at the mismatch itself, so W - 1 following tokens must. In both, 0-based position j
    can only be deferred if j + W <= K - 1. W = 0 checks no following token at all.

    Every mismatch is judged on the *native* match mask: a deferred mismatch never counts as a match for an earlier
    window, and a mismatch inside a window breaks it whatever its own entropy (paper section 3; vectors in tests/).
    The earliest rejection cuts. Raises ValueError on lists of different lengths or an impossible window.
    """
    protected = [False] * len(match) if protected is None else protected
    if not len(match) == len(entropy) == len(protected):
        raise ValueError(
            f"match, entropy and protected need one entry per drafted token, got {len(match)}, {len(entropy)} and {len(protected)}"
        )
    if window < 0 or (includes_mismatch and window < 1):
        raise ValueError("window must be at least 0, or at least 1 when it includes the mismatch")

    def verdict(position: int) -> Verdict:
        if match[position]:
            return Verdict.EXACT
        if rule != "fly":
            return Verdict.REJECTED
        if protected[position]:
            return Verdict.STOP
        if not entropy[position] >= theta:
            return Verdict.GATE
        following = window - 1 if includes_mismatch else window
        if not all(match[position + 1 : position + 1 + following]):
            return Verdict.WINDOW
        if position + window > len(match) - 1:
            return Verdict.EDGE
        return Verdict.DEFERRED

    verdicts: list[Verdict] = []
    for position in range(len(match)):
        verdicts.append(verdict(position))
        if verdicts[-1].is_rejected:
            verdicts += [Verdict.DISCARDED] * (len(match) - position - 1)
            break
    return Judgement(tuple(verdicts))
