"""What one row of the benchmark gives for one prompt, and the names of the rows that others look for. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.costs import Work
from explorer.trace import Round, Seconds

PLAIN = "plain greedy"
DRAFT_ALONE = "draft alone, plain greedy"
LLAMA_CPP = "llama.cpp, plain greedy"
EXACT, EXACT_WITH_LOOKUP = "exact", "exact, model + lookup"
COLD, WARM = (f"exact, Ouroboros (suffixes), {pool} pool" for pool in ("cold", "warm"))
TREE_NODES = 8  # with the last committed token 9 rows of a pass, which a CPU still reads in little more time than one


@dataclass(frozen=True, slots=True)
class Measured:
    """One row on one prompt: output ids, wall seconds, target passes, and what only this engine's own rounds say."""

    ids: tuple[int, ...]
    wall: float
    passes: int
    rounds: tuple[Round, ...] = ()  # none: not this engine's, or of another model than the target
    works: tuple[Work, ...] = ()  # of each round, where it is of this pair in its own form
    scores: tuple[float, ...] = ()  # the target's log-probability of each token, nats, where no round has it

    @property
    def seconds(self) -> Seconds:
        """Where the engine says the time went."""
        return sum((round_.seconds for round_ in self.rounds), Seconds())

    @property
    def logprobs(self) -> tuple[float, ...]:
        """The target's log-probability of each emitted token, nats; none where nobody asked the target."""
        return self.scores or tuple(value for round_ in self.rounds for value in round_.emitted_logprobs)

    @property
    def drafts(self) -> dict[int, tuple[int, ...]]:
        """What was drafted, by the length of the text it was drafted after."""
        return {round_.length_before: round_.drafted for round_ in self.rounds}


def fastest_name(form: str) -> str:
    """What the row of the target in its fastest form is called."""
    return f"{form} target (fastest form), plain greedy"


def is_plain(row: str) -> bool:
    """Whether a row decodes the target one token a pass, in whatever form and by whatever program."""
    return row.endswith("plain greedy") and row != DRAFT_ALONE


def is_exact(row: str) -> bool:
    """Whether a row drafts and gives plain greedy's ids."""
    return row.replace(",", " ").split()[0] == "exact"


def row_name(name: str, length: int) -> str:
    """What a row with a fixed draft length is called."""
    return f"{name}, K = {length}"
