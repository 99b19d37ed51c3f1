"""`python -m explorer gpu-check`: the CUDA path against the CPU's, and graphs against eager: one report."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.cli.files import check_writable
from explorer.cli.options import count, knob_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--prompts", metavar="N", type=count, default=3, help="of the examples (default: 3)")
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=knob_number("max_new_tokens"),
        default=64,
        help="tokens per run (default: 64)",
    )
    parser.add_argument(
        "--synthetic", metavar="SHAPE", help="as of bench (default: 7b+0.5b; without a GPU small models)"
    )
    parser.add_argument("--run", metavar="TRACE.json", type=Path, help="write a run recorded on the GPU")
    parser.add_argument("--out", metavar="F.md", type=Path, help="also write the report")


def main(args: argparse.Namespace) -> int:
    """Print the report; 1 where the check fails."""
    check_writable(args.out)
    check_writable(args.run)
    from explorer.bench import gpu_check

    return gpu_check.main(args)
