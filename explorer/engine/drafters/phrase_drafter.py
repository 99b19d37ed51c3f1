"""Ouroboros' draft side (arXiv 2402.13720): the draft model makes new phrases and confirms known ones in the forward that drafts.

Look-ahead decoding (arXiv 2402.02057). Beside the newest token a forward reads a window of W guesses about each of the next
positions, refined level by level; what the model says of the last level completes W n-grams, which go into the phrase pool. It also
reads the pool's phrases of the newest token, each on its own. The one that agrees furthest with the model's own choices is taken, so one
forward drafts up to a phrase and one token. Greedy: the tokens are those the model drafts alone (up to rounding).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from explorer.engine import ranking
from explorer.engine.drafters.draft import Draft, ModelDrafter, Score
from explorer.engine.drafters.phrases import Phrase, PhrasePool, candidates
from explorer.engine.models.branched import BranchedText, branched, feed_branched
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.engine.sampling import Sampler
from explorer.trace import Branch, Source, longest


class PhraseDrafter(ModelDrafter):
    """A draft model with a look-ahead window. Each forward needs its result on the host: one transfer per forward."""

    def __init__(
        self,
        context: Context | PackedContext,
        sampler: Sampler,
        stop_ids: frozenset[int],
        *,
        pool: PhrasePool,
        window: int,
        length: int,
        entropies: bool = False,
        distributions: bool = False,
    ):
        """window: W, also the number of phrases tried at once; length: tokens of a phrase, the levels of the window."""
        super().__init__(context, sampler, stop_ids, entropies, distributions)
        self._pool, self._width, self._length = pool, window, length
        self._window: list[list[int]] = []  # [length][W]: level 0 stands on the next W positions

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        """As Drafter.extend; each forward also refines the window by one level and adds W phrases to the pool."""
        wanted = len(draft) + count
        states, probs = [], []
        while len(draft) < wanted and not draft.ended:
            known = [*sequence, *draft.ids]
            pending, held = known[self.context.length :], self.context.length
            # One place is left for the model's own token, which follows the confirmed ones.
            room = wanted - len(draft) - 1
            phrases = candidates(self._pool, known[-1], self._width, room, self._stop_ids)
            levels = self._levels(known)
            packed = self._pack(pending, levels, phrases)
            logits = feed_branched(self.context, packed)
            own = ranking.argmax(logits).tolist()
            last = len(pending) - 1  # the row that the next token is read off
            rows = self._confirm(own, last, packed, phrases)
            self._move_window(own, len(pending), packed, levels, len(rows) - 1)
            index = torch.tensor(rows, device=logits.device)
            columns = self._pick(draft, logits[index])
            if score:
                states.append(self.context.states[index])
                probs.append(columns[1])
            self.context.keep(held, [*range(last), *rows])
            sources: list[Source] = ["drafted phrase"] * (len(rows) - 1) + ["model"]
            self._add(draft, [column.tolist() for column in columns], sources, [])
        if score and not draft.ended:
            draft.scores += score(torch.cat(states), torch.cat(probs)).tolist()

    def _levels(self, known: Sequence[int]) -> list[list[int]]:
        """The window; at first filled with tokens of the text, from its end backwards."""
        if not self._window:
            size = len(known)
            self._window = [
                [known[-1 - (level * self._width + column) % size] for column in range(self._width)]
                for level in range(self._length)
            ]
        return self._window

    def _pack(self, pending: list[int], levels: list[list[int]], phrases: Sequence[Phrase]) -> BranchedText:
        """Level 0 follows the pending tokens; each of its columns is followed by its further levels; phrases stand on their own."""
        first, *further = levels
        device = self.context.language_model.device
        branches = [(len(pending) + column, [level[column] for level in further]) for column in range(self._width)]
        branches = [branch for branch in branches if branch[1]] + [(len(pending) - 1, phrase) for phrase in phrases]
        trunk = torch.tensor([*pending, *first], device=device)
        return branched(trunk, [(at, torch.tensor(ids, dtype=torch.long, device=device)) for at, ids in branches])

    def _confirm(self, own: list[int], last: int, packed: BranchedText, phrases: Sequence[Phrase]) -> list[int]:
        """The rows that the drafted tokens are read off: the newest token's, then those of the confirmed part of a phrase."""
        if not phrases:
            return [last]
        starts = packed.starts[-len(phrases) :]
        branches = [
            Branch(tuple(phrase), (own[last], *own[start : start + len(phrase) - 1]))
            for phrase, start in zip(phrases, starts)
        ]
        best = longest(branches)
        return [last, *range(starts[best], starts[best] + branches[best].agreed)]

    def _move_window(
        self, own: list[int], pending: int, packed: BranchedText, levels: list[list[int]], confirmed: int
    ) -> None:
        """W new phrases for the pool, and the window one level further, moved on by what was confirmed."""
        depth = self._length - 1
        ends = [packed.starts[column] + depth - 1 if depth else pending + column for column in range(self._width)]
        new = [own[end] for end in ends]
        moved = [*levels[1:], new]
        for column, key in enumerate(levels[0]):
            self._pool.add(key, [level[column] for level in moved])
        shift = confirmed % self._width
        self._window = [[*level[shift:], *level[:shift]] for level in moved]
