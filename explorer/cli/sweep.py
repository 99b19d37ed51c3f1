"""`python -m explorer sweep`: theta x W (x draft length) over a set of prompts, as a table, with the point to choose.

`accelerate launch -m explorer sweep ...` splits the prompts over processes; the first one merges, chooses and writes.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from explorer.cli.costs_option import add_costs, costs_of, heading
from explorer.cli.files import check_writable
from explorer.cli.options import (
    add_knob,
    add_layer,
    add_pair,
    as_options,
    config_of,
    count,
    given_knobs,
    knob_named,
    nats,
    numbers,
    offers_of,
    whole,
    without_effect,
)
from explorer.cli.processes import Processes
from explorer.cli.sweep_report import report
from explorer.config import DecodeConfig, knobs
from explorer.conflicts import ruled_out
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.prompts import read_prompts
from explorer.sweep.points import Limit, csv_of, points_of, recommend
from explorer.sweep.record import PromptRuns, Sweep, merged

# Knobs that all points share.
SWEPT_ALIKE = ("entropy", "window_includes_mismatch", "drafter", "length", "block_size", "threshold", "growth", "statistic",
               "least_draft", "tree", "tree_width", "max_new_tokens", "stop_strings", "raw_prompt")  # fmt: skip
SWEPT = replace(DecodeConfig(), max_new_tokens=64)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_pair(parser)
    parser.add_argument(
        "--prompts", metavar="F", type=Path, required=True,
        help='JSON lines: "prompt", and where it can be checked "answer" and how ("check"), like examples/checkable.jsonl',
    )  # fmt: skip
    parser.add_argument("--limit", metavar="N", type=count, help="only the first N prompts")
    for name, knob in (("thetas", "theta"), ("windows", "window"), ("draft_lengths", "draft_length")):
        knob = knob_named(knob)
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="A,B,..",
            type=numbers(knob),
            required=name != "draft_lengths",
            help=f"{knob.help} [each {knob.range_text}{f' {knob.unit}' if knob.unit else ''}]",
        )
    for knob in knobs():
        if knob.name in SWEPT_ALIKE:
            add_knob(parser, knob, never=ruled_out(knob.name, "sweep"), base=SWEPT)
    add_layer(parser)
    parser.add_argument(
        "--limit-nats",
        metavar="X",
        type=nats,
        default=0.10,
        help="choose a point at most this far below plain greedy in mean target log-probability per token (default: 0.1)",
    )
    parser.add_argument(
        "--limit-lost",
        metavar="N",
        type=whole,
        default=0,
        help="choose a point that loses at most so many right answers (default: 0)",
    )
    add_costs(parser)
    parser.add_argument(
        "--out", metavar="F.csv", type=Path, required=True, help="the points; everything goes to F.json"
    )


def main(args: argparse.Namespace) -> int:
    """Sweep the prompts, write CSV and JSON, print the table, the choice and what it loosens on stdout, progress on stderr."""
    check_writable(args.out)
    if args.out.suffix == ".json":
        raise UserError("sweep.out_is_json")
    base, costs = config_of(args, SWEPT), costs_of(args)
    given = [*given_knobs(args), *(["pacer_layer"] if args.pacer_layer else [])]
    for sentence in without_effect(given, base):
        print(f"note: {sentence}", file=sys.stderr)
    items = read_prompts(args.prompts)[: args.limit]
    from explorer.engine.drafters.pacer.shipped import with_choice
    from explorer.engine.load_pair import load_pair
    from explorer.engine.models.registry import default_pair
    from explorer.sweep.runner import run_again, sweep_points, sweep_prompts, tasks

    grid = args.thetas, args.windows, args.draft_lengths or [base.draft_length]
    points = sweep_points(base, *grid)  # what cannot be is refused before any loading
    with Processes(args.device) as processes:
        name = args.pair or default_pair(processes.device)
        for point in points:
            point.check_with(offers_of(name, args))
        pair = load_pair(name, processes.device, args.dtype, args.target_form, processes.say)
        if base.needs_layer:
            if args.pacer_layer:
                pair = pair.with_pacer_layer(args.pacer_layer)
            points = sweep_points(with_choice(base, pair.cards, vars(args)), *grid)
        for note in dict.fromkeys([*(note for point in points for note in point.notes), *pair.provenance().notes]):
            processes.say(f"note: {as_options(str(note))}")
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
        raise UserError("sweep.stopped_early")
    limit = Limit(args.limit_nats, args.limit_lost)
    if not sweep.partial:
        chosen = recommend(points_of(sweep, costs), limit).point.index
        with suppress(KeyboardInterrupt):  # then nothing is measured
            *_, measured = run_again(pair, todo, sweep, sorted({0, chosen}))
            sweep = replace(sweep, measured=measured)
    figures = points_of(sweep, costs)
    write_whole(args.out, csv_of(sweep, figures, costs))
    sweep.save(args.out.with_suffix(".json"))
    if costs:
        print(heading(costs) + "\n")
    print(report(sweep, figures, limit, costs))
    return 0
