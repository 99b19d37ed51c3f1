"""Drafting: the tokens of one round before the target has seen them, and the drafters that propose them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch

from explorer.engine.model import Context, LanguageModel
from explorer.engine.sampling import Sampler
from explorer.trace import Source


@dataclass(slots=True)
class Draft:
    """The drafted tokens of one round, growing block by block."""

    ids: list[int] = field(default_factory=list)
    probs: list[float | None] = field(default_factory=list)  # under the drafter's distribution
    sources: list[Source] = field(default_factory=list)
    distributions: list[torch.Tensor] = field(default_factory=list)  # q [V] of each token; empty when greedy
    ended: bool = False  # a stop id was drafted: the draft ends with it

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, token: int, prob: float | None, source: Source, stop_ids: frozenset[int]) -> None:
        """Append one token, unless the draft has ended."""
        if not self.ended:
            self.ids.append(token)
            self.probs.append(prob)
            self.sources.append(source)
            self.ended = token in stop_ids


class Drafter(Protocol):
    """Proposes tokens after the committed ones. Sees ids and, for feature-fed drafters, states of committed tokens."""

    forward_seconds: float

    def prefill(self, ids: list[int]) -> None:
        """Read the prompt without its last token."""

    def extend(self, draft: Draft, sequence: list[int], count: int) -> None:
        """Draft up to `count` more tokens after `sequence` (all committed ids) and what the draft holds already."""

    def settle(self, length: int) -> None:
        """Forget drafted tokens beyond the first `length` of the sequence: the round is over."""

    def close(self) -> None:
        """Free all memory of this run."""


class ModelDrafter:
    """A draft model with its own cache, one token per forward; one transfer to the host per block."""

    def __init__(self, model: LanguageModel, sampler: Sampler, stop_ids: frozenset[int]):
        self.context: Context = model.open()
        self._sampler = sampler
        self._stop_ids = stop_ids

    @property
    def forward_seconds(self) -> float:
        return self.context.forward_seconds

    def prefill(self, ids: list[int]) -> None:
        self.context.prefill(self._tensor(ids))

    def extend(self, draft: Draft, sequence: list[int], count: int) -> None:
        # The cache lacks the last committed token, and after a fully kept draft also the last drafted one before it.
        token = self._tensor([*sequence, *draft.ids][self.context.length :])
        steps = []
        for _ in range(count):
            token, prob = self._pick(draft, self.context.feed(token, rows=1))
            steps.append(torch.stack([token.double(), prob.double()]))
        for token_id, prob in torch.cat(steps, dim=1).T.tolist():
            draft.add(int(token_id), min(prob, 1.0), "model", self._stop_ids)

    def _pick(self, draft: Draft, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One token per row of logits [n, V] with its probability, both [n]; above temperature 0 the draft keeps q."""
        token, q = self._sampler.pick(logits), self._sampler.distribution(logits)
        if not self._sampler.greedy:
            draft.distributions += q.unbind()
        return token, q.gather(1, token[:, None])[:, 0]

    def settle(self, length: int) -> None:
        self.context.crop(length)

    def close(self) -> None:
        self.context.close()

    def _tensor(self, ids: list[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.long, device=self.context.language_model.device)
