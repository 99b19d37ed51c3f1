"""`python -m explorer bench`: this engine beside transformers' own decoding, forms of a target, or forward times of random weights."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.cli.files import check_writable
from explorer.cli.options import add_layer, add_pair, add_switch, count, knob_number, named
from explorer.errors import UserError
from explorer.prompts import HELD_OUT, read_prompts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_pair(parser)
    parser.add_argument(
        "--prompts",
        metavar="F",
        type=Path,
        default=HELD_OUT,
        help="JSON lines with a prompt each (default: the held-out prompts)",
    )
    parser.add_argument("--limit", metavar="N", type=count, help="only the first N prompts")
    parser.add_argument(
        "--rows", metavar="TEXT", action="append", type=named,
        help="only plain greedy and rows whose name holds this; may be repeated (default: all rows, which takes long)",
    )  # fmt: skip
    parser.add_argument(
        "--row", metavar="TEXT", action="append", default=[],
        help="one more row beside those of --rows, like 'exact length=pacer threshold=0.6 drafter=model+lookup'; may be repeated",
    )  # fmt: skip
    add_layer(parser)
    parser.add_argument("--passes", metavar="N", type=count, default=3, help="times all prompts are run (default: 3)")
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=knob_number("max_new_tokens"),
        default=64,
        help="tokens per prompt (default: 64)",
    )
    parser.add_argument(
        "--draft-length",
        metavar="K",
        type=knob_number("draft_length"),
        action="append",
        help="drafted tokens per round (default: 8); may be repeated",
    )
    parser.add_argument(
        "--peer", choices=("llama.cpp",),
        help="one more row: this program's plain greedy decoding of the target's GGUF file, if node and node-llama-cpp are installed",
    )  # fmt: skip
    parser.add_argument(
        "--gguf", metavar="FILE", type=Path,
        help="with --peer: a GGUF file of the target (default: the one the target comes from, if it comes from one)",
    )  # fmt: skip
    parser.add_argument(
        "--peer-path", metavar="FOLDER", type=Path,
        help="with --peer: the folder that holds node_modules (default: the working folder or one above it)",
    )  # fmt: skip
    instead = parser.add_mutually_exclusive_group()
    add_switch(
        instead,
        "--forms",
        "instead: what the target in float32, int8 and int4 costs in fidelity against float32, its speed and memory",
    )
    instead.add_argument(
        "--synthetic",
        metavar="SHAPE",
        help="instead: forward times of random weights of TARGET+DRAFT, like 7b+0.5b, or sizes like 896x24x14x2x4864+576x2x9x3",
    )
    parser.add_argument(
        "--trace",
        metavar="TRACE.json",
        type=Path,
        action="append",
        help="with --synthetic: a recorded run whose acceptance is modelled (default: those in examples/runs); may be repeated",
    )
    parser.add_argument("--out", metavar="F.json", type=Path, help="also write the figures as JSON")


def main(args: argparse.Namespace) -> int:
    """Measure, and print the figures."""
    check_writable(args.out)
    if args.trace and not args.synthetic:
        raise UserError("bench.trace_without_shape")
    if (args.gguf or args.peer_path) and not args.peer:
        raise UserError("bench.gguf_without_peer")
    if args.gguf and not args.gguf.is_file():
        raise UserError("bench.no_gguf", file=args.gguf)
    if args.synthetic:
        from explorer.bench import synthetic

        return synthetic.main(args)
    items = read_prompts(args.prompts)[: args.limit]
    if args.forms:
        from explorer.bench import fidelity

        return fidelity.main(args, items)
    from explorer.bench import comparison

    return comparison.main(args, items)
