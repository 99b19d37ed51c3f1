"""What the server remembers of one visitor in the Explore tab between two events."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from explorer.files import name_part
from explorer.trace import Trace
from explorer.ui.explore.request import RunRequest
from explorer.ui.jobs import Job, PageSession

OWN = "own"  # the choice of the visitor's own run among the recorded ones


class OwnRun:
    """A visitor's own run that has ended, to come back to.

    name: of its job. pair: as it was asked for. text: for the view.
    """

    def __init__(self, name: str, trace: Trace, text: str, pair: str):
        self.name, self.trace, self.text, self.pair = name, trace, text, pair
        self._lock = threading.Lock()
        self._file: Path | None = None
        self._is_forgotten = False

    def save(self, folder: Path) -> Path:
        """Write the whole record."""
        path = folder / f"trace-{name_part(self.trace.provenance.pair)}-{self.name}.json"
        self.trace.save(path)
        return path

    def record(self, folder: Path) -> Path | None:
        """The record as a file that stays until the run is forgotten; None after that."""
        with self._lock:
            if not self._is_forgotten:
                self._file = self._file or self.save(folder)
            return self._file

    def forget(self) -> None:
        with self._lock:
            self._is_forgotten = True
            if self._file:
                self._file.unlink(missing_ok=True)
            self._file = None


@dataclass
class ExploreSession(PageSession[RunRequest]):
    """The run that is made, the last one that ended, and which of all runs is on show."""

    own: OwnRun | None = None  # the last run that ended
    shown: str = ""  # the recorded run on show; OWN: the visitor's own; "": none, or one that is being made

    def begin(self, job: Job[RunRequest]) -> None:
        with self.lock:
            super().begin(job)
            self.drop_own()
            self.shown = ""

    def finish(self, job: Job[RunRequest], own: OwnRun) -> None:
        """Remember a run that has ended, unless it was replaced by another or the page was closed."""
        with self.lock:
            if self.is_current(job):
                self.own, self.shown = own, OWN

    def drop_own(self) -> None:
        """Forget the visitor's own run."""
        with self.lock:
            if self.own:
                self.own.forget()
            self.own = None

    def forget(self) -> None:
        with self.lock:
            super().forget()
            self.drop_own()
            self.shown = ""
