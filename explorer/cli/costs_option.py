"""The option --costs, which several commands share, and what the command line says of a cost profile."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from explorer.analysis.cost_files import find_profile
from explorer.analysis.costs import CostProfile
from explorer.analysis.markdown import markdown_table
from explorer.cli.options import named


def add_costs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--costs",
        metavar="NAME|FILE",
        type=named,
        help="model speeds at these costs: a name that `python -m explorer costs` lists, or a file of a cost profile, of `bench --out` or of "
        "a recorded run",
    )


def costs_of(args: argparse.Namespace) -> CostProfile | None:
    """The profile that --costs names; raises UserError."""
    return find_profile(args.costs) if args.costs else None


def heading(profile: CostProfile) -> str:
    """Whose costs these are, in a line."""
    pair = " / ".join(filter(None, (profile.target, profile.draft)))
    parts = [
        pair,
        *(f"{side} {form}" for side, form in profile.forms.items()),
        profile.device,
        profile.date[:10],
        profile.citation,
        profile.url,
    ]
    ratios = ", ratios only: a target pass of one token is 1" if profile.unit == "pass" else ""
    told = "; ".join(filter(None, parts))
    sentences = [f"Costs of {profile.name} ({profile.source}{ratios}){': ' + told if told else ''}.", profile.assumes]
    return " ".join(filter(None, [*sentences, "Speeds at these costs are modelled."]))


def profile_table(profiles: Iterable[CostProfile]) -> str:
    """Profiles as a Markdown table with their sources below."""
    profiles = list(profiles)
    head = ["name", "source", "target", "draft", "unit", "draft step", "pass of 1", "pass of 9", "step / pass"]
    body = [
        [one.name, one.source, one.target, one.draft, one.unit, *(f"{time:.3g}" for time in (one.step, one.pass_time(1), one.pass_time(9))),
         f"{one.step / one.pass_time(1):.2f}"]
        for one in profiles
    ]  # fmt: skip
    return "\n\n".join([markdown_table(head, body), *map(heading, profiles)])
