"""`python -m explorer sweep`: theta x W (x draft length) over a set of prompts, as a table, with the point to choose.

`accelerate launch -m explorer sweep ...` splits the prompts over processes; the first one merges, chooses and writes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import torch

from explorer.analysis.loosened import loosened_table
from explorer.cli.options import as_options
from explorer.config import DecodeConfig
from explorer.engine.drafters.pacer.shipped import with_choice
from explorer.engine.load_pair import load_pair
from explorer.engine.models.registry import default_pair
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.prompts import PromptItem
from explorer.sweep.points import Limit, Point, csv_of, markdown, points_of, recommend
from explorer.sweep.record import PromptRuns, Sweep, merged
from explorer.sweep.runner import run_again, sweep_points, sweep_prompts, tasks

SHOWN = 30  # loosened tokens printed; the file holds all


def main(args: argparse.Namespace, base: DecodeConfig, items: Sequence[PromptItem]) -> int:
    """Sweep these prompts, write CSV and JSON, print the table, the choice and what it loosens on stdout, progress on stderr."""
    grid = args.thetas, args.windows, args.draft_lengths or [base.draft_length]
    points = sweep_points(base, *grid)  # what cannot be is refused before any loading
    with Processes(args.device) as processes:
        pair = load_pair(
            args.pair or default_pair(processes.device), processes.device, args.dtype, progress=processes.say
        )
        if base.needs_layer:
            if args.pacer_layer:
                pair = pair.with_pacer_layer(args.pacer_layer)
            points = sweep_points(with_choice(base, pair.cards, vars(args)), *grid)
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
