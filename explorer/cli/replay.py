"""`python -m explorer replay`: what changes in a recorded run under other settings of the rule, round by round."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from explorer.analysis.best_length import best_length, length_estimates
from explorer.analysis.costs import CostProfile, Work, work_of
from explorer.analysis.replay import ReplayedRound, first_change, replay, spans
from explorer.cli import terminal
from explorer.cli.costs_option import add_costs, costs_of, heading
from explorer.cli.files import load_trace
from explorer.cli.options import add_knob, config_of, given_knobs, without_effect
from explorer.config import RULE_KNOBS, knobs
from explorer.conflicts import ruled_out
from explorer.errors import UserError
from explorer.pieces import text_of
from explorer.trace import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("trace", metavar="TRACE.json", type=Path, help="as `run --out` or the page writes it")
    for knob in knobs():
        if knob.name in RULE_KNOBS:
            add_knob(parser, knob, never=ruled_out(knob.name, "replay"))
    add_costs(parser)


def main(args: argparse.Namespace) -> int:
    """Print every round under the new settings, and the figures of all."""
    trace, costs = load_trace(args.trace), costs_of(args)
    if not any(round_.drafted for round_ in trace.rounds):
        raise UserError("record.no_drafts", file=args.trace, rule=trace.config.rule)
    config = config_of(args, trace.config)
    for sentence in without_effect(given_knobs(args), config):
        print(f"note: {sentence}", file=sys.stderr)
    rounds = replay(trace, config)
    for round_, recorded in zip(rounds, trace.rounds):
        before, after = (terminal.letters(judgement.verdicts) for judgement in (round_.before, round_.after))
        line = f"round {round_.index + 1}: {before}"
        if before != after:
            line += f" -> {after}  kept {round_.before.accepted} -> {round_.after.accepted}"
        if round_.changed:
            line += f"  {text_of(round_.committed(recorded), trace.vocabulary)!r}"
        print(line + ("  (counterfactual)" if round_.counterfactual else ""))
    shown = {verdict for one in rounds for judgement in (one.before, one.after) for verdict in judgement.verdicts}
    print(terminal.letter_key(shown), file=sys.stderr)
    changed = first_change(rounds)
    print(
        "no round commits other tokens: the run would be the same"
        if changed is None
        else f"replayed: exact up to and including round {changed + 1}, the first to commit other tokens; "
        "after it conditional on the recorded text",
        file=sys.stderr,
    )
    for name, span in zip(("exact", "counterfactual"), spans(rounds, trace)):
        if span.passes:
            print(
                f"replayed per round, {name}: rounds {span.passes}, tau {span.tau:.2f}, {terminal.counts_text(span.counts, ', ')}",
                file=sys.stderr,
            )
    if costs:
        print(f"{heading(costs)}\n{_speeds(trace, rounds, costs)}", file=sys.stderr)
    return 0


def _speeds(trace: Trace, replayed: Sequence[ReplayedRound], costs: CostProfile) -> str:
    """The recorded run, its rounds under the new settings, and the best draft length, at these costs."""
    work, tokens = work_of(trace), len(trace.output_ids)
    lines = [_speed("the run as recorded", tokens, work, costs)]
    if any(round_.changed for round_ in replayed):
        again = sum(len(one.emitted(recorded, trace.stop_ids)) for one, recorded in zip(replayed, trace.rounds))
        lines.append(_speed("replayed per round", again, work, costs))
    if best := best_length(length_estimates(trace, costs)):
        name = f"K = {best.length}" if best.length else "plain greedy"
        lines.append(
            f"best draft length up to the recorded one, estimated: {name}, {best.times_plain:.2f} x plain (modelled)"
        )
    return "\n".join(lines)


def _speed(name: str, tokens: int, work: Work, costs: CostProfile) -> str:
    speed = costs.tokens_per_second(tokens, work)
    shown = "" if speed is None else f"{speed:.2f} tokens/s, "
    return f"{name}: {shown}{costs.times_plain(tokens, work):.2f} x plain (modelled, the prefill apart)"
