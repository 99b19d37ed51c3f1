"""`python -m explorer judge`: verdicts on drafts that are given as JSON lines."""

from __future__ import annotations

import argparse
import sys

from explorer import cases
from explorer.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = cases.FIELDS
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-",
        help="JSON lines, like examples/drafts.jsonl; - or nothing reads stdin",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Print the verdicts of each line."""
    if args.file == "-" and sys.stdin is None:
        raise UserError("draft.no_input")
    with sys.stdin.buffer if args.file == "-" else open(args.file, "rb") as lines:  # as bytes: only newlines end a line
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    print(cases.judge_line(line))
                except UserError as error:
                    raise UserError("file.line", number=number, reason=error) from None
    return 0
