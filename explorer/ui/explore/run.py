"""One run as the Explore tab shows it: its first line, and the lines that come about while it is made."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from explorer import wire
from explorer.trace import Trace
from explorer.ui.backend import Backend
from explorer.ui.explore.request import RunRequest
from explorer.ui.jobs import Job
from explorer.ui.run_text import end_event
from explorer.ui.streams import long_step
from explorer.wire import line


def header(job: Job[RunRequest]) -> str:
    """The first line: it clears the view."""
    asked = job.request
    return wire.header(job.name, asked.pair, asked.title, asked.prompt, asked.config, crossed=asked.crossed)


def run_lines(backend: Backend, job: Job[RunRequest]) -> Generator[str, None, Trace | None]:
    """The lines of a run as they come about; returns its trace, None where it was stopped before it began."""
    asked, config = job.request, job.request.config
    yield line({"phase": "loading"})
    pair = yield from long_step(job, backend.load(asked.pair), "loading")
    if pair is None:
        yield line({"phase": "stopped"})
        return None
    prompt = pair.encode(asked.prompt, config.raw_prompt)
    recorder = backend.recorder(pair, prompt, config)
    encoder = wire.RunEncoder(pair.vocabulary, pair.stop_ids)
    yield line({"phase": "running"})
    with closing(backend.decode(pair, prompt, config)) as rounds:
        for round_ in rounds:
            if round_ is None:
                yield ""
                continue
            recorder.add(round_)
            yield encoder.round(round_)
            if job.is_cancelled:
                break
    yield encoder.tail()
    baseline = None
    if asked.baseline and recorder.ended and not job.is_cancelled:
        yield line({"phase": "baseline"})
        baseline = yield from long_step(job, backend.baseline(pair, prompt, config), "baseline")
    trace = recorder.trace(baseline)
    yield line(end_event(trace))
    return trace
