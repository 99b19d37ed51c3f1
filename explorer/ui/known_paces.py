"""How fast rounds are, by pair: of the last work on this machine, else of a recorded run. For estimates before a run."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.sweep.pace import Pace
from explorer.ui.messages import visitors_texts
from explorer.ui.recordings import Recording


class KnownPaces:
    """What the tabs know together; any of them may ask and tell."""

    def __init__(self, recorded: Sequence[Recording] = ()):
        self._recorded = recorded
        self._here: dict[str, Pace] = {}
        self._elsewhere: dict[str, Pace | None] = {}  # as far as they were asked for

    def remember(self, pair: str, pace: Pace | None) -> None:
        """Remember what rounds of a pair took here; None: nothing was measured."""
        if pace:
            self._here[pair] = pace

    def of(self, pair: str) -> tuple[Pace, str] | None:
        """The pace of a pair and where it is known from, in words; None where it is not known."""
        said = visitors_texts().page.PACES
        if pace := self._here.get(pair):
            return pace, said["here"]
        if pair not in self._elsewhere:
            mine = next((recording for recording in self._recorded if recording.pair == pair), None)
            self._elsewhere[pair] = Pace.of_run(mine.trace()) if mine else None
        pace = self._elsewhere[pair]
        return (pace, said["recorded"].format(device=pace.device)) if pace else None
