"""The work of the Tune tab, line by line: a sweep over prompts and points, and points run again for real."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from time import monotonic

from explorer.sweep import wire
from explorer.sweep.record import PromptRuns, Sweep
from explorer.ui.backend import Backend
from explorer.ui.jobs import Job
from explorer.ui.messages import visitors_texts
from explorer.ui.streams import long_step
from explorer.ui.tune.session import SweepTask
from explorer.wire import line

PROGRESS_SECONDS = 0.5  # between two lines of progress


def work_lines(backend: Backend, job: Job[SweepTask]) -> Generator[str, None, Sweep | None]:
    """The lines as they come about; returns what is through by then, None where nothing is."""
    work = sweep_lines if job.request.point is None else measure_lines
    return work(backend, job)


def sweep_lines(backend: Backend, job: Job[SweepTask]) -> Generator[str, None, Sweep | None]:
    """A sweep. The results hold what is through."""
    results, plan = job.request.results, job.request.results.plan
    yield line({"phase": "loading"})
    pair = yield from long_step(job, backend.load(plan.pair), "loading")
    if pair is None:
        yield line({"phase": "stopped"})
        return None
    yield line({"phase": "running"})
    done: list[PromptRuns] = []
    started, reported_at, passes = monotonic(), 0.0, 0
    with closing(backend.sweep(pair, plan.items, results.configs)) as steps:
        for step in steps:
            if isinstance(step, PromptRuns):
                done.append(step)
                partial = len(done) < len(plan.items)
                results.add(Sweep(pair.provenance(), results.configs, tuple(done), partial=partial))
            elif step is not None:
                passes = step
            if monotonic() - reported_at >= PROGRESS_SECONDS and len(done) < len(plan.items):
                reported_at, seconds = monotonic(), monotonic() - started
                left = max(seconds / len(done) * len(plan.items) - seconds, 0) if done else None
                yield wire.progress(passes, len(done) + 1, seconds, left)
            else:
                yield ""
            if job.is_cancelled:
                break
    sweep = results.sweep
    if sweep is None:
        yield line({"phase": "stopped"})
    else:
        yield wire.end(sweep, "stopped" if sweep.partial else "done")
    return sweep


def measure_lines(backend: Backend, job: Job[SweepTask]) -> Generator[str, None, Sweep | None]:
    """The chosen point again for real, in turn with plain greedy (point 0)."""
    results = job.request.results
    sweep = results.sweep
    pair = yield from long_step(job, backend.load(results.plan.pair), "loading")
    if pair is None:
        yield line({"phase": "stopped"})
        return sweep
    reported_at = 0.0
    with closing(backend.measure(pair, sweep, sorted({0, job.request.point}))) as steps:
        for step in steps:
            if isinstance(step, tuple):
                results.add_measured(step)
                break
            if job.is_cancelled:
                yield line({"phase": "stopped"})
                break
            if step is not None and monotonic() - reported_at >= PROGRESS_SECONDS:
                reported_at = monotonic()
                yield line({"phase": "measuring", "message": visitors_texts().tune.MEASURING.format(rounds=step)})
            else:
                yield ""
    return results.sweep
