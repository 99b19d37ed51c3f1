"""`python -m explorer deferred`: the mismatches that a loose rule accepted in recorded runs, in context."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.analysis.loosened import loosened, loosened_table
from explorer.cli.files import load_trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "traces", metavar="TRACE.json", type=Path, nargs="+", help="recorded runs, like examples/runs/*"
    )


def main(args: argparse.Namespace) -> int:
    """Print the loosened tokens as a table."""
    tokens = [token for path in args.traces for token in loosened(load_trace(path))]
    print(loosened_table(tokens) if tokens else "no token was kept against the target's choice")
    return 0
