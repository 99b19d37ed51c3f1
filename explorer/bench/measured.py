"""What one row of the benchmark gives for one prompt, and the names of the rows that others look for. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.costs import Work
from explorer.trace import Round, Seconds

PLAIN = "plain greedy"
EXACT, EXACT_WITH_LOOKUP = "exact", "exact, model + lookup"
COLD, WARM = (f"exact, Ouroboros (suffixes), {pool} pool" for pool in ("cold", "warm"))
TREE_NODES = 8  # with the last committed token 9 rows of a pass, which a CPU still reads in little more time than one


@dataclass(frozen=True, slots=True)
class Measured:
    """One row on one prompt: output ids, wall seconds, target passes, and what only this engine's own rounds say."""

    ids: tuple[int, ...]
    wall: float
    passes: int
    rounds: tuple[Round, ...] = ()  # none: not this engine's
    works: tuple[Work, ...] = ()  # of each round

    @property
    def seconds(self) -> Seconds:
        """Where the engine says the time went."""
        return sum((round_.seconds for round_ in self.rounds), Seconds())

    @property
    def logprobs(self) -> tuple[float, ...]:
        """The target's log-probability of each emitted token, nats."""
        return tuple(value for round_ in self.rounds for value in round_.emitted_logprobs)

    @property
    def drafts(self) -> dict[int, tuple[int, ...]]:
        """What was drafted, by the length of the text it was drafted after."""
        return {round_.length_before: round_.drafted for round_ in self.rounds}


def row_name(name: str, length: int) -> str:
    """What a row with a fixed draft length is called."""
    return f"{name}, K = {length}"
