"""The record of a sweep: what every point (a DecodeConfig) came to on every prompt. Read and written as a trace is (version 2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from explorer.analysis.costs import Work, work_of
from explorer.analysis.loosened import Loosened, loosened
from explorer.analysis.metrics import summarize
from explorer.config import DecodeConfig
from explorer.files import write_whole
from explorer.prompts import PromptItem
from explorer.schema import SchemaError, parse_json, read, write
from explorer.stops import StopReason
from explorer.trace import MAX_FILE_BYTES, Provenance, Seconds, Trace

SCHEMA_VERSION = 2


@dataclass(frozen=True)
class Run:
    """One text of one prompt, with the points whose rounds made it."""

    points: tuple[int, ...]  # indices into Sweep.points
    ids: tuple[int, ...]
    text: str
    stop: StopReason
    drafted: int  # tokens of all rounds, behind the cuts included
    work: Work
    kept: int  # drafted tokens in the output
    logprob: float  # of the target, nats, summed over the output
    loosened: tuple[Loosened, ...]
    right: bool | None = None  # None: the prompt has no answer

    def __post_init__(self) -> None:
        if not (self.points and self.ids and self.passes and len(self.loosened) <= self.kept <= self.drafted):
            raise SchemaError("sweep.record_run")

    @property
    def passes(self) -> int:
        """Target passes: rounds."""
        return self.work.rounds


@dataclass(frozen=True)
class Pass:
    """One target pass that was computed, once for all points that share it. Seconds: measured; the prefill in a first one."""

    points: tuple[int, ...]
    drafted: int
    work: Work
    seconds: Seconds

    def __post_init__(self) -> None:
        if self.work.rounds != 1:
            raise SchemaError("sweep.record_pass")


@dataclass(frozen=True)
class PromptRuns:
    """One prompt under all points."""

    index: int  # in the prompt set
    item: PromptItem
    prompt_tokens: int
    runs: tuple[Run, ...]
    passes: tuple[Pass, ...]

    def run(self, point: int) -> Run:
        """What the point came to."""
        return next(run for run in self.runs if point in run.points)


@dataclass(frozen=True)
class MeasuredPoint:
    """One point run again for real over the same prompts, one after the other."""

    point: int
    tokens: int
    same_ids: int  # prompts whose ids are those of the sweep
    prompts: int
    seconds: Seconds

    @property
    def tokens_per_second(self) -> float:
        """The prefill apart."""
        return self.tokens / self.seconds.decode


@dataclass(frozen=True)
class Cost:
    """What the swept points cost together, and what they would cost as separate runs: target passes, drafted tokens, seconds.

    Passes and tokens are counted. Seconds are those of the passes as measured in the sweep, each counted as often as a
    separate run would make it.
    """

    points: int
    passes: int
    separate_passes: int
    drafted: int
    separate_drafted: int
    seconds: float
    separate_seconds: float

    @property
    def ratio(self) -> float:
        """Shared seconds over separate ones."""
        return self.seconds / self.separate_seconds


@dataclass(frozen=True)
class Sweep:
    """A sweep over prompts. `points[0]` is plain greedy; points with rule fly are what was swept, the others references."""

    provenance: Provenance
    points: tuple[DecodeConfig, ...]
    prompts: tuple[PromptRuns, ...]
    partial: bool = False  # stopped before the last prompt
    measured: tuple[MeasuredPoint, ...] = ()
    schema: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.schema != SCHEMA_VERSION:
            raise SchemaError("sweep.record_version", version=self.schema, known=SCHEMA_VERSION)
        if [point.rule for point in self.points[:1]] != ["autoregressive"]:
            raise SchemaError("sweep.record_first")
        everyone = list(range(len(self.points)))
        for place, prompt in enumerate(self.prompts):
            if sorted(point for run in prompt.runs for point in run.points) != everyone:
                raise SchemaError("sweep.record_points", place=place)
        passes = [one for prompt in self.prompts for one in prompt.passes]
        if any(not 0 <= point < len(everyone) for one in (*passes, *self.measured) for point in _points(one)):
            raise SchemaError("sweep.record_index")

    @property
    def swept(self) -> tuple[int, ...]:
        """Indices of the points of the loose rule."""
        return tuple(index for index, point in enumerate(self.points) if point.rule == "fly")

    @property
    def cost(self) -> Cost | None:
        """Of the swept points; None before the first prompt is through."""
        swept, shared = frozenset(self.swept), []
        for prompt in self.prompts:
            shared += [(one, count) for one in prompt.passes if (count := len(swept.intersection(one.points)))]
        if not shared:
            return None
        return Cost(
            points=len(swept),
            passes=len(shared),
            separate_passes=sum(count for _, count in shared),
            drafted=sum(one.drafted for one, _ in shared),
            separate_drafted=sum(one.drafted * count for one, count in shared),
            seconds=sum(one.seconds.total for one, _ in shared),
            separate_seconds=sum(one.seconds.total * count for one, count in shared),
        )

    def save(self, path: str | Path) -> None:
        """Write one JSON file, complete or not at all."""
        write_whole(path, json.dumps(write(self), ensure_ascii=False, allow_nan=False, separators=(",", ":")))

    @classmethod
    def load(cls, path: str | Path) -> Sweep:
        """Read a sweep as hostile input; raises SchemaError, OSError."""
        size = Path(path).stat().st_size
        if size > MAX_FILE_BYTES:
            raise SchemaError("sweep.record_bytes", size=f"{size:,}", limit=f"{MAX_FILE_BYTES:,}")
        return read(cls, parse_json(Path(path).read_bytes()))


def _points(one: Pass | MeasuredPoint) -> tuple[int, ...]:
    return one.points if isinstance(one, Pass) else (one.point,)


def run_of(trace: Trace, points: Sequence[int], item: PromptItem) -> Run:
    """The run that `points` share, from the trace of one of them."""
    summary = summarize(trace)
    return Run(
        points=tuple(points),
        ids=trace.output_ids,
        text=trace.text,
        stop=trace.stop.reason,
        drafted=summary.drafted,
        work=work_of(trace),
        kept=summary.kept,
        logprob=sum(value for round_ in trace.rounds for value in round_.emitted_logprobs),
        loosened=tuple(loosened(trace)),
        right=item.is_right(trace.text),
    )


def merged(parts: Iterable[Sweep]) -> Sweep:
    """The parts of one sweep, each over other prompts, as one; partial where a part is. Raises ValueError for unlike parts."""
    first, *rest = parts = list(parts)
    if any(part.points != first.points or part.provenance.weights != first.provenance.weights for part in rest):
        raise ValueError("these are not parts of one sweep: their points or weights differ")
    prompts = sorted((prompt for part in parts for prompt in part.prompts), key=lambda prompt: prompt.index)
    return replace(
        first,
        prompts=tuple(prompts),
        partial=any(part.partial for part in parts),
        measured=tuple(one for part in parts for one in part.measured),
    )
