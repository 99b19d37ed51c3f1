"""`python -m explorer export`: a recorded run as one page that needs no server, or as a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.cli.files import check_writable, load_trace
from explorer.errors import UserError
from explorer.files import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("trace", metavar="TRACE.json", type=Path, help="as `run --out` or the page writes it")
    parser.add_argument(
        "--html", metavar="F.html", type=Path, help="write a page: strip, lanes and what-if, opened from a file"
    )
    parser.add_argument("--csv", metavar="F.csv", type=Path, help="write one row per round")


def main(args: argparse.Namespace) -> int:
    """Write the files that were named."""
    if not args.html and not args.csv:
        raise UserError("file.nothing_to_write")
    for path in (args.html, args.csv):
        check_writable(path)
    from explorer.ui.exports import page, rounds_csv

    trace = load_trace(args.trace)
    if args.html:
        write_whole(args.html, page(trace))
    if args.csv:
        write_whole(args.csv, rounds_csv(trace), "utf-8-sig")  # marked, so that spreadsheets read it right
    return 0
