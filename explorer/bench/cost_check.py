"""Whether modelled speeds are true: the recorded rounds of one run of the benchmark at the costs of another, beside what that one measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from explorer.analysis.cost_files import KEY
from explorer.analysis.costs import CostProfile, Work
from explorer.analysis.markdown import markdown_table
from explorer.bench.measured import Measured
from explorer.errors import UserError
from explorer.schema import parse_json, read
from explorer.trace import Provenance, Seconds

WITHIN = 0.10  # of the measured speed


def costs_of(passes: Sequence[Mapping[str, Sequence[Measured]]], where: Provenance) -> CostProfile:
    """What the rounds of a benchmark took: of this engine's rows those that a model or a lookup drafts, else those of a head."""
    runs = [one for by_row in passes for row in by_row.values() for one in row if one.works]
    by_head = [any("features" in round_.sources for round_ in one.rounds) for one in runs]
    chosen = runs if all(by_head) else [one for one, head in zip(runs, by_head) if not head]
    # Plain greedy alone has no drafts: beside a head's rows, which are left out then, its draft step would be nothing.
    if not any(work.steps for one in chosen for work in one.works):
        chosen = runs
    samples = ((work, round_.seconds) for one in chosen for work, round_ in zip(one.works, one.rounds))
    return CostProfile.measured(where.pair, samples, where)


@dataclass(frozen=True)
class MeasuredRow:
    """A line of a file of `bench --out`, as far as this check reads it."""

    row: str
    tokens: int
    seconds: Seconds | None
    work: Work | None

    @property
    def tokens_per_second(self) -> float:
        """The prefill apart."""
        return self.tokens / self.seconds.decode


@dataclass(frozen=True)
class MeasuredBench:
    """A file of `bench --out`, as far as this check reads it."""

    provenance: Provenance
    lines: tuple[MeasuredRow, ...]
    costs: CostProfile


@dataclass(frozen=True, slots=True)
class Checked:
    """One row of both files. Speeds in tokens per second, the prefill apart."""

    row: str
    before: float  # measured, where the rounds were recorded
    measured: float  # where the costs come from
    modelled: float  # the recorded rounds at these costs
    own: float  # its own rounds at these costs: what the model gets wrong where the text is the same

    @property
    def off(self) -> float:
        """The modelled speed against the measured one."""
        return self.modelled / self.measured - 1

    @property
    def own_off(self) -> float:
        """The same of its own rounds."""
        return self.own / self.measured - 1


def read_bench(path: Path) -> MeasuredBench:
    """A file of `bench --out`; raises UserError, also for one from before such files held costs."""
    data = parse_json(path.read_bytes())
    if not isinstance(data, dict) or KEY not in data or "lines" not in data:
        raise UserError("file.wrong", file=path, reason=UserError("costs.none"))
    try:
        return read(MeasuredBench, data)
    except UserError as error:
        raise UserError("file.wrong", file=path, reason=error) from None


def check(recorded: MeasuredBench, other: MeasuredBench) -> list[Checked]:
    """The rows of this engine that both have; raises UserError where there is none."""
    theirs = {row.row: row for row in other.lines if row.work and row.seconds}
    found = []
    for row in recorded.lines:
        if row.work and row.seconds and row.row in theirs:
            mine = theirs[row.row]
            speeds = (one.tokens_per_second for one in (row, mine))
            modelled = (other.costs.tokens_per_second(one.tokens, one.work) for one in (row, mine))
            found.append(Checked(row.row, *speeds, *modelled))
    if not found:
        raise UserError("costs.no_common_row")
    return found


def report(recorded: MeasuredBench, other: MeasuredBench) -> tuple[str, bool]:
    """The check in Markdown, and whether every row is within the bound."""
    rows = check(recorded, other)
    head = ["row", "recorded, tokens/s", "measured, tokens/s", "modelled, tokens/s", "off", "own rounds off"]
    body = [
        [
            one.row,
            f"{one.before:.2f}",
            f"{one.measured:.2f}",
            f"{one.modelled:.2f}",
            f"{one.off:+.1%}",
            f"{one.own_off:+.1%}",
        ]
        for one in rows
    ]
    good = sum(abs(one.off) <= WITHIN for one in rows)
    recorded_on, measured_on = (_where(one.provenance) for one in (recorded, other))
    text = (
        f"Recorded: {recorded_on}. Measured, and the costs: {measured_on}. Modelled: the recorded rounds at these costs. Speeds without the "
        f"prefill. Where the texts differ, so do the rounds: the last column models the measured run's own rounds. {good} of {len(rows)} "
        f"rows within {WITHIN:.0%}."
    )
    return f"{markdown_table(head, body)}\n\n{text}", good == len(rows)


def _where(provenance: Provenance) -> str:
    forms = ", ".join(f"{side} {form}" for side, form in provenance.dtype.items())
    return f"{provenance.pair}, {forms}, {provenance.device}, {provenance.date[:10]}"
