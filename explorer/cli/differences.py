"""`python -m explorer differences`: what the differences between FLy's paper and its code amount to in recorded runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.analysis.differences import table
from explorer.cli.files import load_trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "traces", metavar="TRACE.json", type=Path, nargs="+", help="recorded runs, like examples/runs/*"
    )


def main(args: argparse.Namespace) -> int:
    """Print the counts as a table."""
    print(table([load_trace(path) for path in args.traces]))
    return 0
