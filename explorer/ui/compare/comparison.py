"""One comparison as the tab shows it: the target alone, A and B in turn on one engine, line by line."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any

from explorer import wire
from explorer.analysis.parting import Parting, near_tie_gap, parting
from explorer.config import DecodeConfig
from explorer.pieces import text_of
from explorer.trace import Baseline, Prompt, Round, Trace
from explorer.ui.backend import Backend
from explorer.ui.compare.request import ComparisonRequest
from explorer.ui.jobs import Job
from explorer.ui.messages import in_visitors_language
from explorer.ui.run_text import end_event
from explorer.ui.streams import long_step
from explorer.wire import line


def header(job: Job[ComparisonRequest], title: str) -> str:
    """The first line: it clears the view. title: of the pair."""
    configs = job.request.configs
    return line(
        {
            "compare": job.name,
            "title": title,
            "prompt": job.request.prompt,
            "configs": [asdict(config) for config in configs],
            "notes": [[in_visitors_language(caution) for caution in config.notes] for config in configs],
        }
    )


def comparison_lines(backend: Backend, job: Job[ComparisonRequest]) -> Generator[str, None, list[Trace]]:
    """Lines as explorer/wire.py has them for a run, `{"side": n}` before those of each: 0 the target alone, 1 A, 2 B.

    Returns the traces of the sides that have rounds.
    """
    asked = job.request
    yield line({"phase": "loading"})
    pair = yield from long_step(job, backend.load(asked.pair), "loading")
    if pair is None:
        yield line({"phase": "stopped"})
        return []
    prompt = pair.encode(asked.prompt, asked.configs[0].raw_prompt)
    yield line({"phase": "warming"})
    with closing(backend.warm_up(pair, prompt, asked.configs[1:])) as warming:
        for _ in warming:
            yield ""
            if job.is_cancelled:
                break
    yield line({"phase": "running"})
    sides = [_Side(backend, pair, prompt, config) for config in asked.configs]
    if not job.is_cancelled:
        with closing(backend.decode_in_turn(pair, prompt, asked.configs)) as steps:
            yield from _in_turn(job, sides, steps)
    traces: list[Trace] = []
    for number, side in enumerate(sides):
        if not side.recorder.rounds:
            break
        trace = side.recorder.trace(Baseline.of(traces[0].rounds) if traces and not traces[0].partial else None)
        traces.append(trace)
        yield line({"side": number}) + side.encoder.tail() + line(end_event(trace))
    whole = len(traces) == len(sides) and not any(trace.partial for trace in traces)
    if whole:
        yield from _partings(*traces)
    yield line({"phase": "done" if whole else "stopped"})
    return traces


class _Side:
    """One of the runs that are compared, while it is made."""

    def __init__(self, backend: Backend, pair: Any, prompt: Prompt, config: DecodeConfig):
        self.recorder = backend.recorder(pair, prompt, config)
        self.encoder = wire.RunEncoder(pair.vocabulary, pair.stop_ids)


def _in_turn(
    job: Job[ComparisonRequest], sides: list[_Side], steps: Iterator[tuple[int, Round] | None]
) -> Iterator[str]:
    """The lines of all runs as their rounds come."""
    shown = None
    for step in steps:
        if step is None:  # still being made
            yield ""
        else:
            number, round_ = step
            sides[number].recorder.add(round_)
            switch = "" if number == shown else line({"side": number})
            shown = number
            yield switch + sides[number].encoder.round(round_)
        if job.is_cancelled:
            return


def _partings(alone: Trace, a: Trace, b: Trace) -> Iterator[str]:
    """Where each side leaves the target's own text, and where B leaves A's."""
    for number, trace in enumerate((a, b), 1):
        yield line({"side": number}) + line({"parting": _parting(trace, alone)})
    gap = near_tie_gap(alone.provenance.dtype["target"])
    yield line({"apart": _parting(b, a), "gap": gap})


def _parting(trace: Trace, other: Trace) -> dict[str, Any] | None:
    """Where a run leaves another's text, in words and figures; None where it does not."""
    found: Parting | None = parting(trace, other)
    if found is None:
        return None
    return {
        "index": found.index,
        "kind": found.kind,
        "cause": found.cause,
        "gap": found.gap,
        "tie": found.near_tie,
        "ours": text_of(found.ours, trace.vocabulary),
        "theirs": text_of(found.theirs, other.vocabulary),
    }
