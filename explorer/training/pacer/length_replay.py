"""Length policies replayed on collected texts: rounds as they would go, time by a cost model. Nothing here is measured.

Under the exact rule a replay is the very sequence of rounds of a run (the text is the target's whatever is drafted). Under the
loose rule a round that leaves the target's text is followed by one that starts where it left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product

import torch

from explorer.config import DecodeConfig
from explorer.engine.drafters.draft import Draft
from explorer.engine.drafters.lengths import ConfidenceLength, FixedLength, HeuristicLength, LengthPolicy, PacerLength
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.training.pacer.costs import Costs
from explorer.training.pacer.data import DraftedText, accepted, draft_at


@dataclass
class Start:
    """All a policy can meet from one row on; lists by draft length or token."""

    probs: list[float]  # [L]
    scores: list[float]  # [L]
    accepted: list[int]  # [L + 1] how many of a draft of that length the rule accepts
    advance: list[int]  # [L + 1] rows the text then moves on
    open_end: bool = (
        False  # the record ends after a mismatch, where a draft would go on: nothing of that is ever accepted
    )


@torch.inference_mode()
def starts(
    layer: PreVerificationLayer, text: DraftedText, config: DecodeConfig, stop_ids: frozenset[int]
) -> list[Start]:
    """Every row of a text as a start of rounds of at most `config.draft_length` tokens."""
    rounds = [draft_at(text, row, config.draft_length) for row in range(len(text.choices))]
    size, width = max(map(len, rounds)), text.states.shape[1]
    states, probs = torch.zeros(len(rounds), size, width), torch.zeros(len(rounds), size)
    for i, round_ in enumerate(rounds):
        states[i, : len(round_)], probs[i, : len(round_)] = round_.states.float(), round_.probs
    scores = layer(states, probs).sigmoid()
    table = []
    for i, round_ in enumerate(rounds):
        lengths = range(len(round_) + 1)
        if config.rule == "exact":
            counts = [min(length, round_.agreed) for length in lengths]
        else:
            counts = [accepted(round_[:length], config, stop_ids) for length in lengths]
        advance = [min(count, round_.agreed) + 1 for count in counts]
        mine = slice(len(round_))
        open_end = len(round_) - round_.agreed - 1 == text.branch_ids.shape[1] and len(round_) < config.draft_length
        table.append(Start(probs[i, mine].tolist(), scores[i, mine].tolist(), counts, advance, open_end))
    return table


@dataclass
class Replayed:
    """Sums over the rounds of one policy."""

    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    calls: int = 0
    seconds: float = 0.0

    @property
    def tau(self) -> float:
        return self.tokens / self.rounds

    @property
    def speed(self) -> float:
        """Tokens per second, replayed."""
        return self.tokens / self.seconds


def replay(texts: list[list[Start]], make: Callable[[], LengthPolicy], longest: int, costs: Costs) -> Replayed:
    """Run every text under a fresh policy."""
    total = Replayed()
    for table in texts:
        policy, row = make(), 0
        while row < len(table):
            start = table[row]
            length, unseen, calls = _draft(policy, start, longest)
            policy.adapt(length + unseen, start.accepted[length])
            _count(total, start, length, calls, costs, unseen)
            row += start.advance[length]
    return total


def _draft(policy: LengthPolicy, start: Start, longest: int) -> tuple[int, int, int]:
    """Drafted tokens of one round, those of its last block that were not recorded, and layer calls: the engine's own loop over
    recorded tokens."""
    draft, room, calls, unseen = Draft(), min(longest, len(start.probs)), 0, 0
    while len(draft) < room:
        wanted = min(policy.next_block(draft), longest - len(draft))
        count = min(wanted, room - len(draft))
        if count <= 0:
            break
        if start.open_end:
            unseen = wanted - count
        now = slice(len(draft), len(draft) + count)
        draft.ids += [0] * count
        draft.probs += start.probs[now]
        if policy.score and len(draft) < room:
            draft.scores += start.scores[now]
            calls += 1
    return len(draft), unseen, calls


def oracle(texts: list[list[Start]], longest: int, costs: Costs) -> Replayed:
    """Drafts exactly what will be accepted, which nobody can know: an upper bound of tau per drafted token, and of speed wherever drafting a token that
    is accepted costs less than a target pass gains by it."""
    total = Replayed()
    for table in texts:
        row = 0
        while row < len(table):
            start = table[row]
            length = max(start.accepted[: longest + 1])
            _count(total, start, length, 0, costs)
            row += start.advance[length]
    return total


def _count(total: Replayed, start: Start, length: int, calls: int, costs: Costs, unseen: int = 0) -> None:
    total.tokens += start.accepted[length] + 1
    total.rounds += 1
    total.drafted += length + unseen
    total.calls += calls
    total.seconds += costs.round(length + unseen, calls)


class _Recorded:
    """Stands for the layer where its scores are known already."""

    seconds = 0.0

    def reset(self) -> None:
        """Nothing is kept."""

    def score(self, states: torch.Tensor, probs: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("scores come from the record")


def pacer_policy(config: DecodeConfig) -> Callable[[], LengthPolicy]:
    return lambda: PacerLength(config, _Recorded())


def comparators(longest: int) -> dict[str, Callable[[], LengthPolicy]]:
    """Fixed lengths and the heuristics that need nothing but the draft's probabilities, by name."""
    table: dict[str, Callable[[], LengthPolicy]] = {
        f"fixed {k}": (lambda k=k: FixedLength(k)) for k in range(1, longest + 1)
    }
    table |= {
        f"confidence {t:.2f}": (lambda t=t: ConfidenceLength(longest, t))
        for t in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    }
    table |= {
        f"heuristic {k}": (lambda k=k: HeuristicLength(k)) for k in sorted({min(k, longest) for k in (8, 12, 20)})
    }
    return table


def grid(base: DecodeConfig) -> Iterable[DecodeConfig]:
    """The settings of PACER that are tried."""
    thresholds, growths = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8), (1.0, 1.02, 1.05, 1.1, 1.2)
    least = sorted({0, base.window + 1}) if base.rule == "fly" else [0]
    for t, rho, b, minimum in product(thresholds, growths, (1, 2, 3, 4, 6, 8), least):
        yield replace(base, length="pacer", threshold=t, growth=rho, block_size=b, least_draft=minimum)
