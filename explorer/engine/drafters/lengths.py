"""Length policies: when drafting stops. They see the draft's side only, never the target's view of the round they steer."""

from __future__ import annotations

import math
from typing import Protocol

import torch

from explorer.config import DecodeConfig
from explorer.engine.drafters.draft import Draft, Score
from explorer.trace import Block

SVIP_SCALE = 0.15  # c of sqrt(c H), arXiv 2411.18462
ADAEDL_SCALE = 0.2  # gamma of 1 - sqrt(gamma H), arXiv 2410.18351
ADAEDL_ACCEPTANCE, ADAEDL_STEP = 0.9, 0.01  # wanted acceptance and largest step of the threshold (AdaEDLLength)


class LengthPolicy(Protocol):
    """Decides, block by block, how many more tokens to draft. The caller enforces K and the budget's room."""

    score: Score | None  # computed for every block that leaves room for another one
    seconds: float  # spent in score

    def next_block(self, draft: Draft) -> int:
        """How many tokens to draft next; 0 ends the draft. An empty draft begins a round."""

    def blocks(self, draft: Draft) -> tuple[Block, ...]:
        """The decisions of the round, once its draft is complete."""

    def adapt(self, drafted: int, accepted: int) -> None:
        """The round is over: what came of its draft may steer the next one."""


class FixedLength:
    """Always K tokens, in one block."""

    score: Score | None = None
    seconds = 0.0

    def __init__(self, length: int):
        self.length = length

    def next_block(self, draft: Draft) -> int:
        return self.length - len(draft)

    def blocks(self, draft: Draft) -> tuple[Block, ...]:
        return ()

    def adapt(self, drafted: int, accepted: int) -> None:
        """A fixed length stays."""


class HeuristicLength(FixedLength):
    """transformers' `heuristic` schedule: two more after a fully accepted draft, else one less; at least 1, at most K, K first."""

    def __init__(self, longest: int):
        super().__init__(longest)
        self._longest = longest

    def adapt(self, drafted: int, accepted: int) -> None:
        if not drafted:  # a lookup that found nothing says nothing of lengths
            return
        self.length = min(self.length + 2, self._longest) if accepted == drafted else max(self.length - 1, 1)


class ConfidenceLength(FixedLength):
    """transformers' assistant confidence: stop after a token that the draft gives less than `threshold`.

    The host reads every token before the next is drafted: one transfer per token.
    """

    def __init__(self, longest: int, threshold: float):
        super().__init__(longest)
        self._threshold = threshold

    def next_block(self, draft: Draft) -> int:
        return 0 if len(draft) and self._stops(draft) else 1

    def _stops(self, draft: Draft) -> bool:
        prob = draft.probs[-1]  # None: decided with the token before (cross.py)
        return prob is not None and prob < self._threshold


class EntropyLength(ConfidenceLength):
    """SVIP (arXiv 2411.18462): stop after a token where sqrt(0.15 H) of the draft exceeds `threshold`; H in nats."""

    def _stops(self, draft: Draft) -> bool:
        return math.sqrt(SVIP_SCALE * max(draft.entropies[-1], 0.0)) > self._threshold


class AdaEDLLength(ConfidenceLength):
    """AdaEDL (arXiv 2410.18351): stop after a token where 1 - sqrt(0.2 H), a lower bound on its acceptance, is below a threshold
    that moves with the rounds; H is the draft's entropy in nats.

    The threshold is moved as in Draft & Verify (arXiv 2309.08168, its released code): up by 0.01 where the moving average of the
    acceptance is below 0.9, else down, unless the draft had K tokens already; smoothed with 0.9, the average with 0.5 from 0.
    """

    def __init__(self, longest: int, threshold: float):
        super().__init__(longest, threshold)
        self._acceptance = 0.0
        self._blocks: list[Block] = []

    def next_block(self, draft: Draft) -> int:
        if not len(draft):
            self._blocks = []
        return super().next_block(draft)

    def _stops(self, draft: Draft) -> bool:
        bound = max(1 - math.sqrt(ADAEDL_SCALE * max(draft.entropies[-1], 0.0)), 0.0)
        stops = bound < self._threshold
        self._blocks.append(Block(1, (bound,), bound, self._threshold, not stops))
        return stops

    def blocks(self, draft: Draft) -> tuple[Block, ...]:
        return with_rest(self._blocks, draft)

    def adapt(self, drafted: int, accepted: int) -> None:
        if not drafted:
            return
        self._acceptance = 0.5 * self._acceptance + 0.5 * accepted / drafted
        wanted = self._threshold
        if self._acceptance < ADAEDL_ACCEPTANCE:
            wanted += ADAEDL_STEP
        elif drafted < self.length:
            wanted -= ADAEDL_STEP
        self._threshold = min(max(0.9 * self._threshold + 0.1 * wanted, 0.0), 1.0)


class RoundScorer(Protocol):
    """A pre-verification layer in one run."""

    def reset(self) -> None:
        """A new round begins: nothing of the last one is read again."""

    def score(self, states: torch.Tensor, probs: torch.Tensor) -> torch.Tensor:
        """Predicted acceptance [m] of the next m tokens of the round, from the hidden states [m, d] that produced them and
        their probabilities [m]; on the device, without waiting for it."""

    seconds: float


class BlockScorer(Protocol):
    """A trained pre-verification layer, shared by all runs of its pair."""

    def open(self) -> RoundScorer:
        """For one run."""


class PacerLength:
    """PACER (arXiv 2602.01274): draft in blocks of b; a block whose predicted acceptance lies below t ends the draft and is
    still sent, one that passes multiplies t by rho. t starts anew in every round; the comparison comes before the growth.
    """

    def __init__(self, config: DecodeConfig, scorer: RoundScorer):
        self._config, self._scorer = config, scorer
        self.score: Score = scorer.score
        self._blocks: list[Block] = []

    @property
    def seconds(self) -> float:
        return self._scorer.seconds

    def next_block(self, draft: Draft) -> int:
        if not len(draft):
            self._blocks, self._threshold = [], self._first_threshold
            self._scorer.reset()
        elif not self._passes(draft):
            return 0
        return self._config.block_size

    def _passes(self, draft: Draft) -> bool:
        """Decide on the newest block, which has just been scored."""
        scores = draft.scores[sum(block.size for block in self._blocks) :]
        value = self._value(draft, scores)
        passed = value >= self._threshold or len(draft) < self._config.least_draft
        self._blocks.append(Block(len(scores), tuple(scores), value, self._threshold, passed))
        if passed:
            self._threshold *= self._growth
        return passed

    @property
    def _first_threshold(self) -> float:
        return self._config.threshold

    @property
    def _growth(self) -> float:
        return self._config.growth

    def _value(self, draft: Draft, scores: list[float]) -> float:
        """What is compared with the threshold; scores: of the newest block."""
        return statistic(scores, self._config.statistic)

    def blocks(self, draft: Draft) -> tuple[Block, ...]:
        return with_rest(self._blocks, draft)

    def adapt(self, drafted: int, accepted: int) -> None:
        """The layer is not trained while it runs."""


class SurvivalLength(PacerLength):
    """SpecDec++'s rule (arXiv 2405.19715) on PACER's scores: end the draft once 1 - prod of all its scores exceeds `threshold`.

    The product is the predicted chance that everything drafted so far is accepted; SpecDec++ trains a head of its own for it.
    """

    _growth = 1.0

    @property
    def _first_threshold(self) -> float:
        return 1 - self._config.threshold

    def _value(self, draft: Draft, scores: list[float]) -> float:
        return math.prod(draft.scores)


def with_rest(blocks: list[Block], draft: Draft) -> tuple[Block, ...]:
    """The decisions of a round and, where nothing was left to decide, the undecided rest of its draft."""
    rest = len(draft) - sum(block.size for block in blocks)
    return (*blocks, *([Block(rest, (), None, None, False)] if rest else []))


def statistic(scores: list[float], name: str) -> float:
    """One figure for a block [m] -> the mean, the smallest or the product of its scores."""
    return {
        "mean": lambda: sum(scores) / len(scores),
        "min": lambda: min(scores),
        "product": lambda: math.prod(scores),
    }[name]()
