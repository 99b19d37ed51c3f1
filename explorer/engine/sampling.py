"""From logits to tokens: the choices of the draft, and what the target accepts, replaces and adds.

Greedy: a drafted token matches where it is the target's argmax, which is also the replacement. Above temperature 0 it is
lossless speculative sampling (Leviathan et al. 2023, arXiv 2211.17192): accept x with probability min(1, p(x) / q(x)), else
draw from the residual max(p - q, 0). FLy on top defers what that draw rejects. The paper's released code does something
else: it draws two tokens from p and accepts a draft that equals either, which does not preserve p even without FLy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import torch

from explorer.engine import ranking
from explorer.errors import UserError
from explorer.messages import Message


class NotNumbers(UserError):
    """A model whose logits are NaN or infinite: its weights are damaged, or too large for their number format."""


def check_numbers(probs: Iterable[float], side: Literal["target", "draft", "head"]) -> None:
    """Raise NotNumbers where one of these probabilities, which a side gave, is none."""
    if any(map(math.isnan, probs)):
        raise NotNumbers("model.not_numbers", side=Message(f"side.{side}"))


class Sampler:
    """All random draws of one run, from one seeded generator, so that a run can be repeated."""

    def __init__(self, temperature: float, seed: int, device: torch.device):
        self.temperature = temperature
        self._generator = torch.Generator(device).manual_seed(seed)

    @property
    def greedy(self) -> bool:
        """Whether every choice is the likeliest token."""
        return self.temperature == 0

    def distribution(self, logits: torch.Tensor) -> torch.Tensor:
        """Probabilities [.., V] that tokens are drawn from; temperature 1 where the run is greedy."""
        if self.greedy:
            return torch.softmax(logits, dim=-1)
        peak = logits.amax(dim=-1, keepdim=True)  # a tiny temperature overflows the others to minus infinity only
        return torch.softmax((logits - peak) / max(self.temperature, 1e-6), dim=-1)

    def pick(self, logits: torch.Tensor) -> torch.Tensor:
        """One token id per row: logits [R, V] -> ids [R]."""
        if self.greedy:
            return ranking.argmax(logits)
        return self._draw(self.distribution(logits))

    def verify(
        self,
        logits: torch.Tensor,
        argmax: torch.Tensor,
        drafted: torch.Tensor,
        draft_distribution: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The native outcome of every position, also past the cut.

        logits: target's [K + 1, V], and their argmax [K + 1]; drafted: ids [K]; draft_distribution: q [K, V] that they were drawn from (unused when
        greedy). Returns match [K], bool, and replacement ids [K + 1]: committed if the cut falls there; last: the bonus.
        """
        if self.greedy:
            return drafted == argmax[:-1], argmax
        p = self.distribution(logits)
        if not len(drafted):
            return drafted.bool(), self._draw(p)
        index = drafted[:, None]
        uniform = torch.rand(index.shape, device=p.device, dtype=p.dtype, generator=self._generator)
        match = uniform * draft_distribution.gather(1, index) < p[:-1].gather(1, index)
        residual = (p[:-1] - draft_distribution).clamp_(min=0)
        empty = residual.sum(dim=-1, keepdim=True) <= 0  # p equals q: nothing is ever rejected, any draw will do
        residual = torch.where(empty, p[:-1], residual)
        return match[:, 0], self._draw(torch.cat([residual, p[-1:]]))

    def _draw(self, weights: torch.Tensor) -> torch.Tensor:
        # Rows of NaN give any token, and NaN as its probability, which is told when it comes to the host: to look for them here would
        # make a GPU wait, and to draw from them would break it.
        return torch.multinomial(weights.nan_to_num(nan=1.0), 1, generator=self._generator)[..., 0]
