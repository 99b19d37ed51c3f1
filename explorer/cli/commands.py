"""The commands of `python -m explorer`: a module each, with `add_arguments(parser)` and `main(args)`. None imports torch at its top."""

from __future__ import annotations

import argparse

from explorer.cli import (
    bench,
    costs,
    deferred,
    differences,
    distill,
    export,
    gpu_check,
    judge,
    judge_head,
    pacer,
    pairs,
    replay,
    run,
    sweep,
    tables,
)
from explorer.cli.options import Parser

COMMANDS = (
    ("run", run, "decode one prompt, its tokens marked by verdict, and tell the figures"),
    ("judge", judge, "judge drafts given as JSON lines"),
    ("replay", replay, "what changes in a recorded run under other thresholds, round by round"),
    ("deferred", deferred, "the tokens that a loose rule kept in recorded runs, in context, to judge by eye"),
    ("differences", differences, "what the differences between FLy's paper and its code amount to in recorded runs"),
    ("export", export, "a recorded run as one page that needs no server, or as a table"),
    ("pairs", pairs, "known pairs, whether their weights are here, sizes"),
    ("bench", bench, "this engine beside transformers' own, one run"),
    ("costs", costs, "cost profiles of other machines and pairs, a sweep costed again, the check of modelled speeds"),
    ("gpu-check", gpu_check, "the CUDA path against the CPU's, and graphs against eager: one report"),
    ("sweep", sweep, "theta x W over a set of prompts: speed against fidelity, and the point to choose"),
    ("distill", distill, "make the draft of the embedded pair"),
    ("pacer", pacer, "collect for, train and evaluate PACER's pre-verification layer"),
    ("judge-head", judge_head, "collect labels for, train and evaluate the judge head of a target"),
    ("tables", tables, "the tables in the documents, made anew from the files of figures"),
)


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands; what it parses holds the `main` of the command."""
    parser = Parser(prog="python -m explorer", description="See speculative decoding: run, judge, replay and compare.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, module, help in COMMANDS:
        command = commands.add_parser(name, help=help)
        module.add_arguments(command)
        command.set_defaults(main=module.main)
    return parser
