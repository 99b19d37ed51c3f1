"""`python -m explorer judge-head`: the judge head of a target. collect: mismatches of drafts, labelled by what they do to the answer."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.errors import UserError
from explorer.prompts import CHECKABLE, EXAMPLES, HELD_OUT

if TYPE_CHECKING:
    from explorer.engine.pair import Pair
    from explorer.judging.labels import Drafter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pair", metavar="P", help="a name of `explorer pairs`, or TARGET,DRAFT (default: the embedded pair)"
    )
    parser.add_argument(
        "--drafts", metavar="P", nargs="*", default=["smollm2-135m-distilled"],
        help="more pairs of the same target, whose drafts' mismatches are labelled too (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, default=Path("runs/judge-head/data"), help="folder of the shards")
    parser.add_argument("--device", metavar="D", help="default: cuda if present, else cpu")
    steps = parser.add_subparsers(dest="step", required=True)

    collect = steps.add_parser("collect", help="write the missing shards of labelled mismatches")
    collect.add_argument("--shards", type=_shards, default=range(44), metavar="START:STOP")
    collect.add_argument("--rows", type=int, default=14, help="prompts per shard")
    collect.add_argument("--max-new-tokens", type=int, default=40)
    collect.add_argument("--seed", type=int, default=17)
    collect.add_argument(
        "--exclude", type=Path, nargs="*", default=[CHECKABLE, HELD_OUT, EXAMPLES / "prompts.jsonl"],
        help='JSON lines with a "prompt": prompts close to these are dropped (default: the checkable, the held-out and the example prompts)',
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run one step; raises UserError."""
    if args.step == "collect":
        from explorer.judging.collect import collect

        pair, drafters = load(args)
        settings = {"rows": args.rows, "max_new": args.max_new_tokens, "seed": args.seed}
        collect(pair, drafters, args.data, args.shards, settings, args.exclude)
    return 0


def load(args: argparse.Namespace) -> tuple[Pair, list[Drafter]]:
    """The pair whose target is to have a head, and all drafts that may say something else. Raises UserErrors."""
    from explorer.engine import loading
    from explorer.engine.pair import lay_out
    from explorer.engine.registry import default_pair, find_pair, load_pair
    from explorer.judging.labels import Drafter
    from explorer.pacer.sides import read_draft

    name = args.pair or default_pair(args.device)
    pair = load_pair(name, args.device)
    drafters, where = [Drafter.of(pair)], loading.placement(args.device, None)
    for other in args.drafts:
        known = find_pair(other)
        if known.target != find_pair(name).target or known.cross_tokenizer:
            raise UserError(f"{other} has another target or vocabulary than {name}: its draft cannot be judged beside")
        draft = lay_out(read_draft(known, where), pair.vocab_size, "quantized" if where.packed else None)
        drafters.append(Drafter(known.name, draft, None))
    return pair, drafters


def _shards(text: str) -> range:
    start, stop = text.split(":")
    return range(int(start), int(stop))
