"""`python -m explorer pacer`: PACER's pre-verification layer for a pair. collect: rounds of draft and target; train: a layer
that predicts which drafted tokens will be kept; evaluate: how well it does, and the thresholds to run it with.
"""

import argparse
from pathlib import Path

from explorer.prompts import EXAMPLES, HELD_OUT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pair", metavar="P", help="a name of `explorer pairs`, or TARGET,DRAFT (default: the embedded pair)"
    )
    parser.add_argument("--data", type=Path, default=Path("runs/pacer/data"), help="folder of the shards")
    parser.add_argument("--device", metavar="D", help="default: cuda if present, else cpu")
    steps = parser.add_subparsers(dest="step", required=True)

    collect = steps.add_parser("collect", help="write the missing shards of rounds")
    collect.add_argument(
        "--rule", choices=("exact", "fly"), default="exact", help="fly asks the target about branches too"
    )
    collect.add_argument("--shards", type=_shards, default=range(40), metavar="START:STOP")
    collect.add_argument("--rows", type=int, default=32, help="prompts per shard")
    collect.add_argument("--max-new-tokens", type=int, default=96)
    collect.add_argument("--seed", type=int, default=11)
    collect.add_argument("--dtype", help="of the target while it writes (default: float32, on cuda bfloat16)")
    collect.add_argument(
        "--exclude", type=Path, nargs="*", default=[HELD_OUT, EXAMPLES / "prompts.jsonl"],
        help='JSON lines with a "prompt": prompts close to these are dropped (default: the held-out prompts and the examples)',
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run one step; raises UserError."""
    from explorer.engine.registry import default_pair

    name = args.pair or default_pair()
    if args.step == "collect":
        from explorer.pacer.collect import collect
        from explorer.pacer.sides import load_sides, on_device

        sides = load_sides(name, args.device, args.dtype)
        settings = {"rule": args.rule, "rows": args.rows, "max_new": args.max_new_tokens, "seed": args.seed}
        with on_device(sides):
            collect(sides, args.data, args.shards, settings, args.exclude)
    return 0


def _shards(text: str) -> range:
    start, stop = text.split(":")
    return range(int(start), int(stop))
