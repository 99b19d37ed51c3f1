"""PEARL's schedule (arXiv 2408.11850): the draft goes on while the target verifies, so that neither waits for the other.

Its two states are one rule here. The target's pass over the tentative tokens t1 .. tm (none: the paper's pre-verify; gamma - 1:
its post-verify) gives their verdicts and one token of its own. Meanwhile the draft makes e1 .. e_gamma after them. If all of t
are accepted and e1 is the target's own token, e2 .. e_gamma are the next tentative tokens; otherwise all of e is thrown away and
both sides go on after what was committed. Every round is a round of the exact rule, so nothing unverified is ever emitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.engine.drafters.draft import Draft, Drafter


class Pipeline:
    """What the draft of one run has made ahead of the target. Greedy, rule exact."""

    def __init__(self, gamma: int):
        self._gamma = gamma
        self._tentative, self._ahead = Draft(), Draft()
        self.goes_on = False  # whether the last pass left the tokens drafted ahead standing

    def draft(self, drafter: Drafter, sequence: list[int], room: int) -> tuple[Draft, Draft]:
        """The tentative tokens after `sequence`, now to be verified, and up to gamma more after them.

        room: tokens that a draft may still have; one more place is left for the target's own.
        """
        tentative, draft = self._tentative, self._tentative.copy()
        count = min(self._gamma, room - len(tentative))
        if count > 0 and not tentative.ended:
            drafter.extend(draft, sequence, count)
        self._ahead = draft.without_first(len(tentative))
        return tentative, self._ahead

    def advance(self, match: Sequence[bool], replacement: Sequence[int]) -> None:
        """To the next round, by what the target said of the tentative tokens [m] and, last, its own choice [m + 1]."""
        self.goes_on = all(match) and self._ahead.ids[:1] == [replacement[-1]]
        self._tentative = self._ahead.without_first(1) if self.goes_on else Draft()
