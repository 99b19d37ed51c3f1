"""`python -m explorer tables`: the tables in the documents, made anew from the files of figures."""

from __future__ import annotations

import argparse
import sys

from explorer.cli.options import add_switch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_switch(parser, "--check", "write nothing; exit with 1 where a table is not that of its file")


def main(args: argparse.Namespace) -> int:
    """Write the tables, or say which are stale."""
    from explorer.bench.tables import ROOT, documents, stale, write_tables

    pages = stale(documents()) if args.check else write_tables(documents())
    for page in pages:
        print(f"{page.relative_to(ROOT)}: {'stale' if args.check else 'written'}", file=sys.stderr)
    return 1 if args.check and pages else 0
