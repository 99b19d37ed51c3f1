"""The sweep that one visitor asked for last, and what may be asked of it while it runs and after."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, replace

from explorer.config import DecodeConfig
from explorer.sweep import wire
from explorer.sweep.points import Limit, Point, points_of
from explorer.sweep.record import MeasuredPoint, Sweep
from explorer.ui.jobs import Job, Log, PageSession
from explorer.ui.languages import visitors_language
from explorer.ui.tune.plan import SweepPlan


class SweepResults:
    """What is through of one sweep, and the text of its view. The limit may move while prompts come through.

    name: unique. plan, configs: what was asked for. log: the text; it only grows. sweep, points: None and () before the first prompt is through.
    """

    def __init__(self, plan: SweepPlan, configs: tuple[DecodeConfig, ...], limit: Limit):
        self.name = secrets.token_hex(4)
        self.plan, self.configs = plan, configs
        self.log = Log()
        self.sweep: Sweep | None = None
        self.points: tuple[Point, ...] = ()
        self._limit = limit
        self._lock = threading.Lock()

    def add(self, sweep: Sweep) -> None:
        """One more prompt is through: its figures and the choice go to the view."""
        with self._lock:
            self.sweep, self.points = sweep, points_of(sweep)
            self.log.append(wire.done(sweep, self.points))
            self.log.append(wire.choice(self.points, self._limit, visitors_language()))

    def choose(self, limit: Limit) -> str | None:
        """Recommend under another limit; returns the text to send, None where a running sweep sends it or nothing is through."""
        with self._lock:
            self._limit = limit
            if not self.points:
                return None
            return self.log.append_outside(wire.choice(self.points, limit, visitors_language()))

    def add_measured(self, measured: tuple[MeasuredPoint, ...]) -> None:
        """Points were run again, plain greedy first; earlier measurements of the same points go."""
        with self._lock:
            again = {point.point for point in measured}
            others = tuple(point for point in self.sweep.measured if point.point not in again)
            self.sweep = replace(self.sweep, measured=(*others, *measured))
            for point in measured:
                self.log.append(wire.measured(point, measured[0], self.points))
            self.log.append(wire.end(self.sweep, "measured"))


@dataclass(frozen=True)
class SweepTask:
    """Sweep from the start, or (point) run one point of a sweep again."""

    results: SweepResults
    point: int | None = None


@dataclass
class TuneSession(PageSession[SweepTask]):
    """The newest sweep of one visitor, and the work on it."""

    @property
    def results(self) -> SweepResults | None:
        """Of the newest sweep; None before the first, and after the page was closed."""
        job = self.job
        return job.request.results if job else None


def job_of(task: SweepTask) -> Job[SweepTask]:
    """Its text goes on where the sweep's ended."""
    return Job(task, task.results.log)
