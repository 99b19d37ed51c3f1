"""Ouroboros' phrase pool (arXiv 2402.13720): short continuations by the token before them, collected while the target verifies.

Pure: ids in, ids out. Its sources are the text that was committed, what the target predicted along tried phrases, tails thrown
away after a cut and, with the drafter model+phrases, the draft's own window.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile

from explorer.trace import Branch

ROOM = 20  # phrases held for one token, the newest: W of the released defaults
SHORTEST = 2  # tokens of an agreeing piece of a tail that are worth a phrase

Phrase = tuple[int, ...]


class PhrasePool:
    """Phrases of at most `length` tokens; none goes on after a stop id."""

    def __init__(self, length: int, stop_ids: Collection[int]):
        self._length, self._stop_ids = length, stop_ids
        self._phrases: dict[int, list[Phrase]] = {}  # newest last

    def after(self, token: int, count: int) -> list[Phrase]:
        """Up to `count` phrases that may follow `token`, newest first."""
        return self._phrases.get(token, [])[: -count - 1 : -1]

    def read(self, text: Sequence[int], new: int) -> None:
        """Collect from a text whose last `new` tokens were just committed: every full phrase that ends among them."""
        for end in range(max(len(text) - new, self._length), len(text)):
            start = end + 1 - self._length
            self.add(text[start - 1], text[start : end + 1])

    def correct(self, token: int, branches: Sequence[Branch]) -> None:
        """Overwrite phrases tried after `token` with what the target predicted along them; they are the newest then."""
        for branch in reversed(branches):
            known = self._phrases.get(token, [])
            if branch.ids in known:  # else it was shortened to the room left
                known.remove(branch.ids)
                self.add(token, branch.argmax)

    def salvage(self, drafted: Sequence[int], match: Sequence[bool], cut: int) -> None:
        """Collect from the tail after a rejected token at `cut`: pieces where the target, reading the draft, agrees with it."""
        for place in range(cut, len(drafted) - SHORTEST):
            agreed = len(list(takewhile(bool, match[place + 1 :])))
            if agreed >= SHORTEST:
                self.add(drafted[place], drafted[place + 1 : place + 1 + agreed])

    def add(self, token: int, phrase: Sequence[int]) -> None:
        """Note that a phrase may follow `token`."""
        end = next((index for index, each in enumerate(phrase, 1) if each in self._stop_ids), len(phrase))
        whole = tuple(phrase[: min(end, self._length)])
        known = self._phrases.setdefault(token, [])
        if whole in known:
            known.remove(whole)
        known.append(whole)
        del known[:-ROOM]


def candidates(pool: PhrasePool, token: int, count: int, room: int, stop_ids: frozenset[int]) -> list[Phrase]:
    """Up to `count` different phrases to try after `token`, shortened to `room` tokens; none after a stop id."""
    if token in stop_ids or room <= 0:
        return []
    return list(dict.fromkeys(phrase[:room] for phrase in pool.after(token, count)))
