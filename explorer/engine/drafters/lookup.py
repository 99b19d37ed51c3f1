"""Prompt lookup: text that repeats itself drafts itself. On its own, or inside the draft model (FLy's multi-level acceleration).

The rule is that of the FLy release (spec of arXiv 2511.22972, section on multi-level acceleration): the longest suffix of 4
to 1 tokens that occurred before, its *earliest* occurrence, the tokens that followed it there. Where nothing matches nothing
is proposed (the release proposes dummy ids, which are harmless but pollute acceptance figures).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import torch

from explorer.engine.drafters.draft import Draft, ModelDrafter, Score
from explorer.engine.sampling import Sampler

MAX_NGRAM = 4
MAX_CANDIDATE = 6  # tokens proposed to the draft model at once


def continuation(sequence: Sequence[int], count: int) -> list[int]:
    """Up to `count` tokens that followed the earliest earlier occurrence of the longest matching suffix; may be empty.

    The occurrence must lie before the suffix; what follows it may run into the suffix.
    """
    for size in range(min(MAX_NGRAM, len(sequence) // 2), 0, -1):
        start = _find(sequence[:-size], sequence[-size:])
        if start is not None:
            return list(sequence[start + size : start + size + count])
    return []


def _find(sequence: Sequence[int], pattern: Sequence[int]) -> int | None:
    """Index of the first occurrence. A search over bytes is a hundred times faster here than one over Python integers."""
    haystack, needle = array("q", sequence).tobytes(), array("q", pattern).tobytes()
    place = haystack.find(needle)
    while place > 0 and place % 8:  # found across the border of two integers
        place = haystack.find(needle, place + 1)
    return place // 8 if place >= 0 else None


class LookupDrafter:
    """Drafts what followed the last tokens when they occurred before; no draft model at all."""

    forward_seconds = 0.0

    def __init__(self, sampler: Sampler, vocab_size: int, stop_ids: frozenset[int]):
        self._sampler, self._vocab_size, self._stop_ids = sampler, vocab_size, stop_ids

    def prefill(self, ids: list[int]) -> None:
        """Nothing to read: every search goes over the whole sequence."""

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        """score is never given: there are no hidden states (DecodeConfig refuses the policies that need them)."""
        for token in continuation([*sequence, *draft.ids], count):
            draft.add(token, None, "lookup", self._stop_ids)
            if not self._sampler.greedy:  # a certain proposal: q is 1 at the token
                q = torch.zeros(self._vocab_size)
                q[token] = 1
                draft.distributions.append(q)

    def roll_back(self, length: int) -> None:
        """Nothing to take back: every search goes over the sequence that is given."""

    def close(self) -> None:
        """Nothing to free."""


class LookupModelDrafter(ModelDrafter):
    """A draft model accelerated by prompt lookup: it confirms several proposed tokens in one forward.

    Drafted tokens are those the model alone would draft (up to rounding); loose rules are never applied at this level. Each
    forward needs its result on the host, so there is one transfer per forward instead of one per block.
    """

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        """As Drafter.extend, up to MAX_CANDIDATE looked-up tokens confirmed by each forward."""
        wanted = len(draft) + count
        states, probs = [], []
        while len(draft) < wanted and not draft.ended:
            known = [*sequence, *draft.ids]
            # One place is left for the model's own token, which follows the confirmed ones.
            proposed = continuation(known, min(MAX_CANDIDATE, wanted - len(draft) - 1))
            logits = self.context.feed(self._tensor([*known[self.context.length :], *proposed]), rows=len(proposed) + 1)
            columns = self._pick(draft, logits)
            picked = columns[0].tolist()
            confirmed = next((i for i, token in enumerate(proposed) if picked[i] != token), len(proposed))
            self.context.crop(len(known) + confirmed)
            del draft.distributions[len(draft) + confirmed + 1 :]
            if score:
                states.append(self.context.states[: confirmed + 1])
                probs.append(columns[1][: confirmed + 1])
            sources = ["lookup"] * confirmed + ["model"]
            self._add(draft, [column[: confirmed + 1].tolist() for column in columns], sources, [])
        if score and not draft.ended:
            draft.scores += score(torch.cat(states), torch.cat(probs)).tolist()
