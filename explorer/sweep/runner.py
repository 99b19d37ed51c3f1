"""Many settings over a set of prompts, every distinct round computed once (grid.py), and chosen settings run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product

from explorer.analysis.costs import works_of
from explorer.config import DecodeConfig
from explorer.conflicts import EVERYTHING
from explorer.engine.decode import decode
from explorer.engine.pair import Pair
from explorer.engine.recorder import Recorder, plain
from explorer.errors import UserError
from explorer.prompts import HELD_OUT, PromptItem, read_prompts
from explorer.sweep.grid import decode_grid
from explorer.sweep.record import MeasuredPoint, Pass, PromptRuns, Run, Sweep, run_of
from explorer.trace import Prompt, Round, Seconds

WARM = 16  # tokens


def sweep_points(
    base: DecodeConfig, thetas: Sequence[float], windows: Sequence[int], draft_lengths: Sequence[int]
) -> tuple[DecodeConfig, ...]:
    """The points of a sweep: plain greedy, the exact rule at every length, prompt lookup at the longest, then the grid.

    Raises ConfigError where a combination is impossible.
    """
    lengths = sorted(set(draft_lengths))
    exact = [replace(base, rule="exact", draft_length=length) for length in lengths]
    lookup = replace(base, rule="exact", drafter="lookup", length="fixed", draft_length=lengths[-1])
    grid = [
        replace(base, rule="fly", theta=theta, window=window, draft_length=length)
        for length, window, theta in product(lengths, sorted(set(windows)), sorted(set(thetas)))
    ]
    points = tuple(dict.fromkeys([plain(base), *exact, lookup, *grid]))
    for point in points:
        point.check_with(EVERYTHING, "sweep")
    return points


@dataclass(frozen=True, slots=True)
class Task:
    """One prompt of a set, ready to be fed."""

    index: int
    item: PromptItem
    prompt: Prompt


def tasks(pair: Pair, items: Sequence[PromptItem], points: Sequence[DecodeConfig]) -> tuple[Task, ...]:
    """Encode a prompt set; raises UserError naming a prompt that cannot be decoded, or that is kept for measuring."""
    held_out = {item.prompt for item in read_prompts(HELD_OUT)}
    ready = []
    for index, item in enumerate(items):
        if item.prompt in held_out:
            raise UserError("sweep.held_out", number=index + 1)
        try:
            prompt = pair.encode(item.prompt, points[0].raw_prompt)
            pair.check_prompt(prompt.ids, points[0])
        except UserError as error:
            raise UserError("sweep.prompt", number=index + 1, reason=error) from None
        ready.append(Task(index, item, prompt))
    return tuple(ready)


def sweep_prompts(pair: Pair, todo: Sequence[Task], points: Sequence[DecodeConfig]) -> Iterator[PromptRuns | None]:
    """Run all points over the tasks, one after the other: what each came to, and None after every target pass before it,
    a chance to show progress or to stop. Closing the iterator frees the caches; what was yielded is complete.
    """
    for task in todo[:1]:  # the first rounds of a process are slow, and would be taken for measured times
        list(decode(pair, list(task.prompt.ids), replace(points[0], rule="exact", max_new_tokens=WARM)))
    for task in todo:
        rounds: list[list[Round]] = [[] for _ in points]
        passes = []
        with closing(decode_grid(pair, list(task.prompt.ids), points)) as running:
            for outcomes in running:
                for members, round_ in outcomes:
                    for member in members:
                        rounds[member].append(round_)
                everyone = tuple(sorted(member for members, _ in outcomes for member in members))
                first = outcomes[0][1]
                (work,) = works_of([first], points[everyone[0]])
                passes.append(Pass(everyone, len(first.drafted), work, first.seconds))
                yield None
        runs = _runs(pair, task, points, rounds)
        yield PromptRuns(task.index, task.item, len(task.prompt.ids), runs, tuple(passes))


def _runs(pair: Pair, task: Task, points: Sequence[DecodeConfig], rounds: Sequence[Sequence[Round]]) -> tuple[Run, ...]:
    """The distinct runs among those of all points."""
    together: dict[tuple, list[int]] = {}
    for point, mine in enumerate(rounds):
        together.setdefault(tuple((round_.drafted, round_.emitted) for round_ in mine), []).append(point)
    runs = []
    for members in together.values():
        recorder = Recorder(pair, task.prompt, points[members[0]])
        for round_ in rounds[members[0]]:
            recorder.add(round_)
        runs.append(run_of(recorder.trace(), members, task.item))
    return tuple(runs)


def run_again(
    pair: Pair, todo: Sequence[Task], sweep: Sweep, points: Sequence[int]
) -> Iterator[tuple[MeasuredPoint, ...] | None]:
    """Run points over the swept prompts as separate runs, for measured speeds: None after every round, then the results.

    All points take a prompt before the next one, so that a machine whose speed drifts slows them alike.
    """
    known = {prompt.index: prompt for prompt in sweep.prompts}
    mine = [task for task in todo if task.index in known]
    measured = [MeasuredPoint(point, 0, 0, len(mine), Seconds()) for point in points]
    for task in mine:
        for place, one in enumerate(measured):
            rounds = []
            with closing(decode(pair, list(task.prompt.ids), sweep.points[one.point])) as running:
                for round_ in running:
                    rounds.append(round_)
                    yield None
            ids = tuple(token for round_ in rounds for token in round_.emitted)
            measured[place] = replace(
                one,
                tokens=one.tokens + len(ids),
                same_ids=one.same_ids + (ids == known[task.index].run(one.point).ids),
                seconds=sum((round_.seconds for round_ in rounds), one.seconds),
            )
    yield tuple(measured)
