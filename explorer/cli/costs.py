"""`python -m explorer costs`: the cost profiles that ship, a recorded sweep costed again, and the check of modelled speeds."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from explorer.analysis.cost_files import save_profile, shipped_profiles
from explorer.bench.cost_check import read_bench, report
from explorer.cli.costs_option import add_costs, costs_of, heading, profile_table
from explorer.cli.files import check_writable
from explorer.cli.options import nats, whole
from explorer.cli.sweep_report import report as sweep_report
from explorer.errors import UserError
from explorer.sweep.points import Limit, points_of
from explorer.sweep.record import Sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_costs(parser)
    parser.add_argument(
        "--sweep",
        metavar="F.json",
        type=Path,
        help="a recorded sweep (`sweep --out`): its points at these costs, and the one to choose",
    )
    parser.add_argument(
        "--limit-nats", metavar="X", type=nats, default=0.10, help="with --sweep: as of `sweep` (default: 0.1)"
    )
    parser.add_argument(
        "--limit-lost", metavar="N", type=whole, default=0, help="with --sweep: as of `sweep` (default: 0)"
    )
    parser.add_argument(
        "--check", metavar="F.json", type=Path, nargs=2,
        help="two files of `bench --out` with the same rows: the rounds of the first at the costs of the second, against what that one "
        "measured; the exit code is 1 where a row is off by more than 10 %%",
    )  # fmt: skip
    parser.add_argument("--out", metavar="F.json", type=Path, help="write the profile of --costs, for assets/costs")


def main(args: argparse.Namespace) -> int:
    """Print a table, the sweep's report or the check on stdout."""
    check_writable(args.out)
    costs = costs_of(args)
    if (args.sweep or args.out) and not costs:
        raise UserError("costs.which")
    if args.check:
        text, within = report(*map(read_bench, args.check))
        print(text)
        return 0 if within else 1
    if args.out:
        save_profile(replace(costs, name=args.out.stem), args.out)  # a profile that ships is named like its file
    if args.sweep:
        try:
            sweep = Sweep.load(args.sweep)
        except UserError as error:
            raise UserError("file.wrong", file=args.sweep, reason=error) from None
        print(heading(costs) + "\n")
        print(sweep_report(sweep, points_of(sweep, costs), Limit(args.limit_nats, args.limit_lost), costs))
        return 0
    print(profile_table([costs] if costs else shipped_profiles().values()))
    return 0
