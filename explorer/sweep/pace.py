"""How long a sweep or some runs will take on a device, modelled from rounds that were measured there or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.analysis.costs import CostProfile, Work
from explorer.sweep.points import costs_of
from explorer.sweep.record import Sweep
from explorer.trace import Trace

# Rounds of one draft length over all thetas and windows, as a multiple of those of one run: measured 1.2 to 1.5 for 6 to 30 points
# on the embedded pair. A weaker draft parts the points sooner and shares less.
TREE = 1.5


@dataclass(frozen=True, slots=True)
class Pace:
    """What rounds take, and how far one gets."""

    costs: CostProfile
    tau: float
    prefill: float  # seconds of both sides
    device: str

    @classmethod
    def of_run(cls, trace: Trace) -> Pace | None:
        """From a recorded run; None where it has no round with a draft."""
        rounds = [round_ for round_ in trace.rounds if round_.drafted]
        if not rounds:
            return None
        return cls(
            CostProfile.of_trace(trace),
            sum(len(round_.emitted) for round_ in rounds) / len(rounds),
            trace.seconds.prefill,
            trace.provenance.device,
        )

    @classmethod
    def of_sweep(cls, sweep: Sweep) -> Pace | None:
        """From the passes of an earlier sweep; None before its first prompt is through."""
        drafts = any(one.drafted for prompt in sweep.prompts for one in prompt.passes)
        exact = next((index for index, point in enumerate(sweep.points) if point.rule == "exact"), None)
        if not drafts or exact is None:
            return None
        runs = [prompt.run(exact) for prompt in sweep.prompts]
        return cls(
            costs_of(sweep),
            sum(len(run.ids) for run in runs) / sum(run.passes for run in runs),
            max(prompt.passes[0].seconds.prefill for prompt in sweep.prompts),
            sweep.provenance.device,
        )

    def sweep_seconds(self, prompts: int, tokens: int, lengths: Sequence[int]) -> float:
        """All prompts, each of which ends at its budget: plain greedy, prompt lookup (as slow at worst), the grid at every length."""
        alone = self._seconds(Work.plain(1))
        grids = sum(TREE * tokens / self.tau * self._seconds(Work.of_round(length)) for length in lengths)
        return prompts * (2 * tokens * alone + grids + (2 + len(lengths)) * self.prefill)

    def runs_seconds(self, tokens: int, lengths: Sequence[int]) -> float:
        """Runs of one prompt that write `tokens` each, by their draft lengths; 0 is the target alone."""
        return sum(
            self.prefill
            + (
                tokens / self.tau * self._seconds(Work.of_round(length))
                if length
                else self._seconds(Work.plain(tokens))
            )
            for length in lengths
        )

    def _seconds(self, work: Work) -> float:
        return self.costs.time(work) / 1e3
