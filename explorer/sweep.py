"""`python -m explorer sweep`: theta x W (x draft length) over a set of prompts, every distinct round computed once (engine/grid.py).

`accelerate launch -m explorer sweep ...` splits the prompts over processes; the first one merges, chooses and writes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import product

import torch

from explorer.analysis.loosened import loosened_table
from explorer.analysis.points import Limit, Point, csv_of, markdown, points_of, recommend
from explorer.analysis.sweep import Measured, Pass, PromptRuns, Run, Sweep, merged, run_of
from explorer.config import DecodeConfig
from explorer.engine.decode import check_prompt, decode
from explorer.engine.grid import decode_grid
from explorer.engine.pair import Pair
from explorer.engine.recorder import Recorder, plain
from explorer.engine.registry import default_pair, load_pair
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.options import as_options
from explorer.pacer.shipped import attach, with_choice
from explorer.prompts import HELD_OUT, PromptItem, read_prompts
from explorer.trace import Prompt, Round, Seconds

WARM = 16  # tokens
SHOWN = 30  # loosened tokens printed; the file holds all


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
    return tuple(dict.fromkeys([plain(base), *exact, lookup, *grid]))


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
            raise UserError(
                f"prompt {index + 1} is a held-out one: those are for measuring, nothing may be tuned on them. "
                "Take others, like examples/checkable.jsonl"
            )
        try:
            prompt = pair.encode(item.prompt, points[0].raw_prompt)
            check_prompt(pair, list(prompt.ids), points[0])
        except UserError as error:
            raise UserError(f"prompt {index + 1}: {error}") from None
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
                passes.append(Pass(everyone, len(first.drafted), first.seconds))
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
) -> Iterator[tuple[Measured, ...] | None]:
    """Run points over the swept prompts as separate runs, for measured speeds: None after every round, then the results.

    All points take a prompt before the next one, so that a machine whose speed drifts slows them alike.
    """
    known = {prompt.index: prompt for prompt in sweep.prompts}
    mine = [task for task in todo if task.index in known]
    measured = [Measured(point, 0, 0, len(mine), Seconds()) for point in points]
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


# Command line ---------------------------------------------------------------------------------------------------------


def main(args: argparse.Namespace, base: DecodeConfig, items: Sequence[PromptItem]) -> int:
    """Sweep these prompts, write CSV and JSON, print the table, the choice and what it loosens on stdout, progress on stderr."""
    grid = args.thetas, args.windows, args.draft_lengths or [base.draft_length]
    points = sweep_points(base, *grid)  # what cannot be is refused before any loading
    with Processes(args.device) as processes:
        pair = load_pair(
            args.pair or default_pair(processes.device), processes.device, args.dtype, progress=processes.say
        )
        if base.needs_layer:
            cards = attach(pair, args.pacer_layer)
            points = sweep_points(with_choice(base, cards, vars(args)), *grid)
        for note in dict.fromkeys(note for point in points for note in point.notes):
            processes.say(f"note: {as_options(note)}")
        todo = tasks(pair, items, points)
        own = todo[processes.rank :: processes.count]
        done: list[PromptRuns] = []
        passes = 0
        try:
            for one in sweep_prompts(pair, own, points):
                if one is None:
                    passes += 1
                else:
                    done.append(one)
                    processes.say(f"prompt {len(done)} of {len(own)}: {passes} target passes for {len(points)} points")
        except KeyboardInterrupt:  # what is complete is kept
            processes.say("stopped")
        part = Sweep(pair.provenance(), points, tuple(done), partial=len(done) < len(own))
        parts = processes.gathered(part)
    if processes.rank:
        return 0
    sweep = merged(parts)
    if not sweep.prompts:
        raise UserError("stopped before the first prompt was through: there is nothing to write")
    limit = Limit(args.limit_nats, args.limit_lost)
    if not sweep.partial:
        chosen = recommend(points_of(sweep), limit).point.index
        with suppress(KeyboardInterrupt):  # then nothing is measured
            *_, measured = run_again(pair, todo, sweep, sorted({0, chosen}))
            sweep = replace(sweep, measured=measured)
    figures = points_of(sweep)
    write_whole(args.out, csv_of(sweep, figures))
    sweep.save(args.out.with_suffix(".json"))
    print(report(sweep, figures, limit))
    return 0


def report(sweep: Sweep, points: Sequence[Point], limit: Limit) -> str:
    """The sweep in Markdown: all points, what the sweep cost, the choice and the tokens it loosens."""
    choice, cost = recommend(points, limit), sweep.cost
    where = sweep.provenance
    parts = [
        markdown(points),
        f"{where.pair}, {len(sweep.prompts)} prompt{'s' if len(sweep.prompts) > 1 else ''}{' (stopped early)' if sweep.partial else ''}, at most "
        f"{sweep.points[0].max_new_tokens} tokens each, target {where.dtype['target']}, draft {where.dtype['draft']}, "
        f"{where.device}, {where.date[:10]}. Ids, log-probabilities and answers: measured. Speeds: modelled from the rounds "
        "of this sweep, prefill apart.",
        f"Cost: {cost.passes} target passes and {cost.drafted} drafted tokens for {cost.points} points; separate runs make "
        f"{cost.separate_passes} and {cost.separate_drafted}. {cost.seconds:.1f} s (measured) against {cost.separate_seconds:.1f} s "
        f"(modelled: every pass as often as separate runs make it): {cost.ratio:.2f}.",
        "**Chosen: " + choice.point.name + "**\n" + "\n".join(f"- {reason}" for reason in choice.reasons),
    ]
    if sweep.measured:
        parts.append(_run_again_text(sweep, points))
    if choice.refused:
        parts.append(
            "Faster, but outside the limit:\n"
            + "\n".join(f"- {point.name}: {'; '.join(reasons)}" for point, reasons in choice.refused)
        )
    loosened = [token for prompt in sweep.prompts for token in prompt.run(choice.point.index).loosened]
    if loosened:
        shown = f", the first {SHOWN}" if len(loosened) > SHOWN else ""
        parts.append(f"Tokens it loosens ({len(loosened)}{shown}):\n\n" + loosened_table(loosened[:SHOWN]))
    return "\n\n".join(parts)


def _run_again_text(sweep: Sweep, points: Sequence[Point]) -> str:
    """The measured speeds beside the modelled ones."""
    plain = next(one for one in sweep.measured if one.point == 0)
    lines = []
    for one in sweep.measured:
        point, times = points[one.point], one.tokens_per_second / plain.tokens_per_second
        lines.append(
            f"- {point.name}: {one.tokens_per_second:.1f} tokens/s, {times:.2f} times plain greedy (measured); modelled "
            f"{point.tokens_per_second:.1f} ({one.tokens_per_second / point.tokens_per_second - 1:+.1%}) and "
            f"{point.times_plain:.2f} ({times / point.times_plain - 1:+.1%}); the sweep's ids on {one.same_ids} of "
            f"{one.prompts} prompts"
        )
    return "Run again, prompt by prompt in turn:\n" + "\n".join(lines)


class Processes:
    """The processes of `accelerate launch`, or this one alone."""

    def __init__(self, device: str | None):
        """device: as asked for; each process takes its own GPU where none was."""
        self.rank, self.count, self.device = 0, int(os.environ.get("WORLD_SIZE", "1")), device
        self._state = None
        if self.count > 1:
            from accelerate import PartialState

            # Left to itself on a machine without a GPU, it takes every process for the only one.
            self._state = PartialState(cpu=device == "cpu" or not torch.cuda.is_available())
            self.rank = self._state.process_index
            self.device = device or str(self._state.device)

    def say(self, message: str) -> None:
        """One line of progress on stderr."""
        print(message if self.count == 1 else f"[{self.rank}] {message}", file=sys.stderr)

    def gathered(self, part: Sweep) -> list[Sweep]:
        """The parts of all processes, in each of them."""
        if self._state is None:
            return [part]
        from accelerate.utils import gather_object

        return gather_object([part])

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._state:
            self._state.destroy_process_group()
