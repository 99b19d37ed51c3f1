"""Drafting: the tokens of one round before the target has seen them, and the drafters that propose them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch

from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.engine.sampling import Sampler, check_numbers
from explorer.trace import Source

# Scores of the block just drafted, from the hidden state [m, d] that produced each of its tokens and its probability [m]: [m].
Score = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(slots=True)
class Draft:
    """The drafted tokens of one round, growing block by block: lists over its K tokens."""

    ids: list[int] = field(default_factory=list)
    probs: list[float | None] = field(default_factory=list)  # under the drafter's distribution
    sources: list[Source] = field(default_factory=list)
    # q [V] of each token; empty when greedy, unless the rule reads them
    distributions: list[torch.Tensor] = field(default_factory=list)
    entropies: list[float] = field(
        default_factory=list
    )  # of the drafter's distribution, nats; empty where no length policy reads them
    scores: list[float] = field(default_factory=list)  # of the tokens of all scored blocks: they come first
    ended: bool = False  # a stop id was drafted: the draft ends with it

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def from_pool(self) -> int:
        """Tokens of a phrase that the target's pass added after the drafter's own."""
        return self.sources.count("phrase pool")

    def copy(self) -> Draft:
        """The same tokens, to go on from; greedy."""
        return self.without_first(0)

    def without_first(self, count: int) -> Draft:
        """All but the first `count` tokens as a draft of its own; greedy, without scores."""
        rest = Draft(self.ids[count:], self.probs[count:], self.sources[count:])
        rest.ended = self.ended and len(rest) > 0
        return rest

    def add(self, token: int, prob: float | None, source: Source, stop_ids: frozenset[int]) -> None:
        """Append one token, unless the draft has ended; raises NotNumbers where its probability is none."""
        if not self.ended:
            if prob is not None:
                check_numbers([prob], "head" if source == "features" else "draft")
            self.ids.append(token)
            self.probs.append(prob)
            self.sources.append(source)
            self.ended = token in stop_ids


class Drafter(Protocol):
    """Proposes tokens after the committed ones. Sees ids and, for feature-fed drafters, states of committed tokens."""

    forward_seconds: float

    def prefill(self, ids: list[int]) -> None:
        """Read the prompt without its last token."""

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        """Draft up to `count` more tokens after `sequence` (all committed ids) and what the draft holds already.

        score: applied to the new block before it comes to the host, so that both take one transfer.
        """

    def roll_back(self, length: int) -> None:
        """Keep the first `length` tokens of the sequence: the round is over, and what was rejected leaves the cache."""

    def close(self) -> None:
        """Free all memory of this run."""


class ModelDrafter:
    """A draft model with its own cache, one token per forward; one transfer to the host per block."""

    def __init__(
        self,
        context: Context | PackedContext,
        sampler: Sampler,
        stop_ids: frozenset[int],
        entropies: bool = False,
        distributions: bool = False,
    ):
        """entropies: whether the length policy reads the entropy of each token. distributions: whether the rule reads the
        whole distribution of each token also when greedy."""
        self.context = context
        self._sampler = sampler
        self._stop_ids = stop_ids
        self._wants_entropies = entropies
        self._keeps_distributions = distributions or not sampler.greedy

    @property
    def forward_seconds(self) -> float:
        return self.context.forward_seconds

    def prefill(self, ids: list[int]) -> None:
        self.context.prefill(self._tensor(ids[self.context.length :]))  # nothing, in a cache shared with the target

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        # The cache lacks the last committed token, and after a fully accepted draft also the last drafted one before it.
        token = self._tensor([*sequence, *draft.ids][self.context.length :])
        steps, states = [], []
        for _ in range(count):
            columns = self._pick(draft, self.context.feed(token, rows=1))
            token = columns[0]
            steps.append(torch.stack([column.double() for column in columns]))
            states.append(self.context.states)
        columns = torch.cat(steps, dim=1)  # [2 or 3, count]
        if score:
            scores = score(torch.cat(states), columns[1])
            columns = torch.cat([columns, scores.double()[None]])
        columns = columns.tolist()
        scores = columns.pop() if score else []
        self._add(draft, columns, ["model"] * count, scores)

    def _add(self, draft: Draft, columns: list[list[float]], sources: list[Source], scores: list[float]) -> None:
        """Append a block given as ids, probabilities and, where wanted, entropies, up to the first stop id."""
        before = len(draft)
        for token, prob, source in zip(*columns[:2], sources):
            draft.add(int(token), min(prob, 1.0), source, self._stop_ids)
        added = len(draft) - before
        draft.entropies += [value for column in columns[2:] for value in column[:added]]
        draft.scores += scores[:added]

    def _pick(self, draft: Draft, logits: torch.Tensor) -> list[torch.Tensor]:
        """Of each row of logits [n, V] one token, its probability and, where wanted, the entropy, each [n]; the draft keeps q
        where the target's side reads it."""
        token, q = self._sampler.pick(logits), self._sampler.distribution(logits)
        if self._keeps_distributions:
            draft.distributions += q.unbind()
        columns = [token, q.gather(1, token[:, None])[:, 0]]
        if self._wants_entropies:
            columns.append(torch.special.entr(q).sum(dim=-1))
        return columns

    def roll_back(self, length: int) -> None:
        self.context.crop(length)

    def close(self) -> None:
        self.context.close()

    def _tensor(self, ids: list[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.long, device=self.context.language_model.device)
