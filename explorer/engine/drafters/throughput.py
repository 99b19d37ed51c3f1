"""Length policies that weigh what more drafted tokens cost on this machine against what they are expected to bring.

Our own choice, after the optimal stopping of SpecDec++ (arXiv 2405.19715) and the analysis of fixed lengths (Leviathan et al., arXiv
2211.17192): those count rounds, or let every pass cost the same; here a pass over n rows costs what it was measured to cost.
"""

from __future__ import annotations

import math
from typing import Protocol

from explorer.config import DecodeConfig
from explorer.engine.drafters.draft import Draft
from explorer.engine.drafters.lengths import FixedLength, PacerLength, RoundScorer
from explorer.trace import Block

PRIOR = 4.0  # tokens that a run begins with, so that its first rounds do not decide alone
FIRST_ACCEPTANCE = 0.8  # of those
SILENT = 8  # rounds without a draft after which one token is tried again: the text may have become easier
FINE = 1 / 512  # of a threshold


class Costs(Protocol):
    """What a machine takes for the parts of a round, in any one unit."""

    step: float  # one draft step

    def pass_time(self, rows: int) -> float:
        """One target pass over so many rows."""


class Rate:
    """Tokens and time of a run so far. Going on with a draft pays as long as its next tokens come faster than the average does: where
    rounds repeat, that maximizes tokens per second."""

    def __init__(self, costs: Costs):
        self._costs = costs
        self._tokens, self._time = PRIOR, PRIOR * costs.pass_time(1)  # plain decoding is what drafting has to beat

    def pays(self, expected: float, drafted: int, more: int = 1) -> bool:
        """Whether `more` tokens after `drafted` ones are worth their time, of which `expected` will be accepted."""
        extra = self._costs.pass_time(drafted + more + 1) - self._costs.pass_time(drafted + 1)
        return expected * self._time >= (more * self._costs.step + extra) * self._tokens

    def add(self, drafted: int, accepted: int) -> None:
        """A round is over."""
        self._tokens += accepted + 1
        self._time += drafted * self._costs.step + self._costs.pass_time(drafted + 1)


class ThroughputLength(FixedLength):
    """Draft one more token while it is expected to pay for the time it takes.

    The chance of a token is the product of the draft's probabilities up to it, each corrected by how many rejections this run had for
    every one that those probabilities promised: a draft may be too sure, and a loose rule accepts more.
    """

    def __init__(self, longest: int, costs: Costs):
        """longest: K, the most there is to draft."""
        super().__init__(longest)
        self._rate = Rate(costs)
        self._rejected = self._feared = 1.0  # rejections, and how many the draft's probabilities made expect
        self._accepted, self._reached = PRIOR * FIRST_ACCEPTANCE, PRIOR
        self._probs: list[float] = []  # of the round's draft
        self._silent = 0

    def next_block(self, draft: Draft) -> int:
        usual = self._accepted / self._reached  # of a token that is not drafted yet
        self._probs = [usual if prob is None else prob for prob in draft.probs]
        caution = self._rejected / self._feared
        chance = math.prod(max(1 - caution * (1 - prob), 0.0) for prob in self._probs) * usual
        return int(self._rate.pays(chance, len(draft)) or (not len(draft) and self._silent >= SILENT))

    def adapt(self, drafted: int, accepted: int) -> None:
        self._silent = 0 if drafted else self._silent + 1
        reached = min(accepted + 1, drafted)
        self._accepted, self._reached = self._accepted + accepted, self._reached + reached
        self._feared += sum(1 - prob for prob in self._probs[:reached])
        self._rejected += accepted < drafted
        self._rate.add(drafted, accepted)
        self._probs = []


class PacerThroughputLength(PacerLength):
    """PACER with the threshold that the costs ask for, in place of t that grows by rho.

    A block's mean predicted acceptance m stands for the chance of each of its tokens and of the next block's. The threshold is the
    least m with which the next block pays; it grows by itself, as ever more must have been accepted for the next block to count.
    """

    def __init__(self, config: DecodeConfig, scorer: RoundScorer, costs: Costs):
        super().__init__(config, scorer)
        self._rate = Rate(costs)
        self._chance = 1.0  # of all blocks before the newest

    def next_block(self, draft: Draft) -> int:
        if not len(draft):
            self._chance = 1.0
        return super().next_block(draft)

    def _passes(self, draft: Draft) -> bool:
        scores = draft.scores[sum(block.size for block in self._blocks) :]
        mean, threshold = sum(scores) / len(scores), self._least(len(draft), len(scores))
        passed = mean >= threshold or len(draft) < self._config.least_draft
        self._blocks.append(Block(len(scores), tuple(scores), mean, threshold, passed))
        self._chance *= mean ** len(scores)
        return passed

    def _least(self, drafted: int, size: int) -> float:
        """The least mean of the newest block, of `size` tokens, with which the next one pays; 1 where none does."""
        more = min(self._config.block_size, self._config.draft_length - drafted)

        def pays(mean: float) -> bool:
            expected = self._chance * mean**size * sum(mean**place for place in range(1, more + 1))
            return self._rate.pays(expected, drafted, more)

        low, high = 0.0, 1.0
        while high - low > FINE:
            middle = (low + high) / 2
            low, high = (low, middle) if pays(middle) else (middle, high)
        return high

    def adapt(self, drafted: int, accepted: int) -> None:
        self._rate.add(drafted, accepted)
