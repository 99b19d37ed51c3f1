"""How long a sweep or some runs will take on a device, modelled from rounds that were measured there or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.sweep.cost import RoundTimes
from explorer.sweep.record import Sweep
from explorer.trace import Seconds, Trace

# Rounds of one draft length over all thetas and windows, as a multiple of those of one run: measured 1.2 to 1.5 for 6 to 30 points
# on the embedded pair. A weaker draft parts the points sooner and shares less.
TREE = 1.5


@dataclass(frozen=True, slots=True)
class Pace:
    """What rounds take, and how far one gets."""

    times: RoundTimes
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
            RoundTimes.of((len(round_.drafted), round_.seconds) for round_ in rounds),
            sum(len(round_.emitted) for round_ in rounds) / len(rounds),
            trace.seconds.prefill,
            trace.provenance.device,
        )

    @classmethod
    def of_sweep(cls, sweep: Sweep) -> Pace | None:
        """From the passes of an earlier sweep; None before its first prompt is through."""
        measured: list[tuple[int, Seconds]] = [
            (one.drafted, one.seconds) for prompt in sweep.prompts for one in prompt.passes if one.drafted
        ]
        exact = next((index for index, point in enumerate(sweep.points) if point.rule == "exact"), None)
        if not measured or exact is None:
            return None
        runs = [prompt.run(exact) for prompt in sweep.prompts]
        return cls(
            RoundTimes.of(measured),
            sum(len(run.ids) for run in runs) / sum(run.passes for run in runs),
            max(prompt.passes[0].seconds.prefill for prompt in sweep.prompts),
            sweep.provenance.device,
        )

    def sweep_seconds(self, prompts: int, tokens: int, lengths: Sequence[int]) -> float:
        """All prompts, each of which ends at its budget: plain greedy, prompt lookup (as slow at worst), the grid at every length."""
        alone = self.times.sizes[0].verify + self.times.sizes[0].other
        grids = sum(TREE * tokens / self.tau * self.times.seconds(length) for length in lengths)
        return prompts * (2 * tokens * alone + grids + (2 + len(lengths)) * self.prefill)

    def runs_seconds(self, tokens: int, lengths: Sequence[int]) -> float:
        """Runs of one prompt that write `tokens` each, by their draft lengths; 0 is the target alone."""
        alone = self.times.sizes[0].verify + self.times.sizes[0].other
        return sum(
            self.prefill + (tokens / self.tau * self.times.seconds(length) if length else tokens * alone)
            for length in lengths
        )
