"""Cross-tokenizer pairs: a draft model with a vocabulary of its own, whose text is tokenised again for the target.

Every round starts from bytes: those of the committed tokens become ids of the draft, of which its cache keeps the longest common
prefix; those it drafts become ids of the target. Nothing depends on how the two vocabularies are related, and nothing is lost:
only tokens whose bytes are exactly the drafted ones are proposed. The idea is that of transformers' universal assisted decoding;
the target only ever judges its own tokens, so its output is as exact as with any other drafter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from explorer.engine.drafters.draft import Draft, ModelDrafter, Score
from explorer.trace import Source

TAIL = 8  # tokens before a text that decide how it is split: what merges across the border is within them
STRAY = re.compile("([\udc80-\udcff]+)")  # bytes that are no text, as Python's surrogateescape has them
_CHAR_OF = bytes_to_unicode()
ANCHORS = ("\n", "(", "0")  # texts to stand before one, for tokenizers that put a space before whatever comes first


class TextSide:
    """One tokenizer as bytes in, ids out."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, vocabulary: Mapping[int, bytes], size: int):
        """size: ids from here on are none, because their model has no rows for them."""
        self._tokenizer, self._vocabulary, self._size = tokenizer, vocabulary, size
        # What it puts before every text.
        self.start: list[int] = [token for token in tokenizer("").input_ids if token < size]

    def bytes_of(self, ids: Sequence[int]) -> bytes:
        """What ids spell, one after another."""
        return b"".join(self._vocabulary[token] for token in ids)

    def size(self, token: int) -> int:
        """Bytes of one token."""
        return len(self._vocabulary[token])

    def encode(self, before: Sequence[int], data: bytes) -> list[int]:
        """Ids that continue the ids `before` with exactly these bytes, as far as this tokenizer has such ids.

        What it would merge across the border is split there, because `before` stands. Bytes that are no text become ids of one
        byte each.
        """
        ids: list[int] = []
        for piece in STRAY.split(data.decode(errors="surrogateescape")):
            if STRAY.match(piece):
                found = self._byte_ids(piece.encode(errors="surrogateescape"))
            else:
                found = self._after([*before, *ids], piece)
            if found is None:
                break
            ids += found
        return ids

    def spelled_otherwise(self, data: bytes) -> list[int]:
        """The tokenizer's own ids of these bytes, read as text, whose bytes may be others."""
        return self._ids(data.decode(errors="replace"))

    def _ids(self, text: str) -> list[int]:
        return [token for token in self._tokenizer(text, add_special_tokens=False).input_ids if token < self._size]

    def _byte_ids(self, data: bytes) -> list[int] | None:
        """One id for each byte; None where this vocabulary lacks one."""
        known, ids = self._tokenizer.get_vocab(), []
        for byte in data:
            found = (known[name] for name in (f"<0x{byte:02X}>", _CHAR_OF[byte]) if name in known)
            token = next((token for token in found if self._vocabulary[token] == bytes([byte])), None)
            if token is None:
                return None
            ids.append(token)
        return ids

    def _after(self, before: Sequence[int], text: str) -> list[int] | None:
        """Ids of a text after the ids `before`; None where this tokenizer has none with exactly its bytes."""
        if not text:
            return []
        tails = (whole_text(self.bytes_of(before[-TAIL:])), "", *ANCHORS)
        return next((ids for tail in tails if (ids := self._continued(tail, text)) is not None), None)

    def _continued(self, before: str, text: str) -> list[int] | None:
        """Ids of `text` after `before`; None where a token spans the border, or where the tokenizer changes the text."""
        ids = self._ids(before + text)
        whole, found = (before + text).encode(), self.bytes_of(ids)
        if found not in (whole, b" " + whole):
            return None
        border, place = len(found) - len(text.encode()), 0
        for index, token in enumerate(ids):
            if place >= border:
                return ids[index:] if place == border else None
            place += self.size(token)
        return None


def whole_text(data: bytes) -> str:
    """The text at the end of `data`, from its first whole character on."""
    for start in range(min(4, len(data) + 1)):
        try:
            return data[start:].decode()
        except UnicodeDecodeError:
            continue
    return ""


def complete(data: bytes) -> tuple[bytes, bytes]:
    """`data` without the bytes at its end that are only the beginning of a character, and those bytes."""
    for size in range(1, min(3, len(data)) + 1):
        lead = data[-size]
        if lead >= 0xC0:  # the first byte of a character of 2, 3 or 4
            wanted = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            if wanted > size:
                return data[:-size], data[-size:]
            break
        if lead < 0x80:
            break
    return data, b""


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two lists begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


class CrossDrafter:
    """Drafts with a model of another vocabulary. Its tokens are its likeliest ones at any temperature: to the target they are a
    certain proposal (q is 1), as those of prompt lookup are, so sampling stays lossless."""

    def __init__(
        self,
        inner: ModelDrafter,
        target: TextSide,
        draft: TextSide,
        stop_ids: frozenset[int],
        vocab_size: int,
        greedy: bool,
    ):
        """inner: drafts greedily in the draft's ids; stop_ids, vocab_size: the target's; greedy: whether the run is."""
        self._inner, self._target, self._own = inner, target, draft
        self._stop_ids, self._vocab_size, self._greedy = stop_ids, vocab_size, greedy
        self._ids: list[int] = []  # the committed text as the draft reads it
        self._draft = Draft()  # what it drafted after that, in its own ids
        self._pending = b""  # committed bytes after the last whole character: the draft has to repeat them first

    @property
    def forward_seconds(self) -> float:
        return self._inner.forward_seconds

    def prefill(self, ids: list[int]) -> None:
        self._align(ids)
        if len(self._ids) < self._limit:
            self._inner.prefill(self._ids)

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        """score is never given: a layer's states would belong to the draft's tokens (make_drafter refuses)."""
        if not len(draft):
            self._align(sequence)
        wanted = len(draft) + count
        longest = min(self._limit - len(self._ids), 4 * wanted)  # of a draft that spells out every token
        proposal = self._retokenised(sequence)
        while proposal is not None and len(proposal) < wanted and self._can_go_on(longest):
            drafted = len(self._draft)
            self._inner.extend(self._draft, self._ids, min(wanted - len(proposal), longest - drafted))
            if len(self._draft) == drafted:
                break
            proposal = self._retokenised(sequence)
        for name in ("ids", "probs", "sources", "distributions", "entropies"):
            setattr(draft, name, getattr(proposal or Draft(), name)[:wanted])
        draft.ended = bool(draft.ids) and draft.ids[-1] in self._stop_ids

    def _can_go_on(self, longest: int) -> bool:
        return bool(self._ids) and not self._draft.ended and len(self._draft) < longest

    def roll_back(self, length: int) -> None:
        """Nothing yet: what of the draft's cache still holds follows from the text of the next round."""

    def close(self) -> None:
        self._inner.close()
        self._ids, self._draft = [], Draft()

    @property
    def _limit(self) -> int:
        """The longest text the draft was made for, in its own tokens."""
        return self._inner.context.language_model.context_limit or 2**31

    def _align(self, sequence: Sequence[int]) -> None:
        """Align the draft with the committed text: its ids, and its cache cut to those it has read already."""
        held = [*self._ids, *self._draft.ids][: self._inner.context.length]
        data, self._pending = complete(self._target.bytes_of(after_start(sequence, self._target.start)))
        ids = self._draft_ids(held, data)
        # The last one is read again where it was read before: its row is what drafting starts from.
        self._inner.roll_back(min(common_prefix(ids, held), max(len(ids) - 1, 0)))
        self._ids, self._draft = ids, Draft()

    def _draft_ids(self, held: list[int], data: bytes) -> list[int]:
        """The draft's ids of a text: those it holds as far as they spell it, but for the last few, and the rest anew."""
        start = self._own.start
        keep, place, kept_bytes = 0, 0, 0
        for index, token in enumerate(held[len(start) :][:-TAIL], 1):
            if not data.startswith(piece := self._own.bytes_of([token]), place):
                break
            place += len(piece)
            if place == len(data) or data[place] & 0xC0 != 0x80:  # not inside a character
                keep, kept_bytes = index, place
        before, rest = held[len(start) : len(start) + keep], data[kept_bytes:]
        ids = self._own.encode(before, rest)
        if self._own.bytes_of(ids) != rest:  # a tokenizer that changes texts: the draft may read it so
            ids = self._own.spelled_otherwise(rest)
        return [*start, *before, *ids]

    def _retokenised(self, sequence: Sequence[int]) -> Draft | None:
        """What the draft has drafted so far in this round, as tokens of the target with what is known of each; None where it
        does not go on with the character that the committed text ends in."""
        drafted = self._draft
        spelled = drafted.ids[:-1] if drafted.ended else drafted.ids
        data = self._own.bytes_of(spelled)
        border = len(self._pending)
        if data[:border] != self._pending[: len(data)]:
            return None
        tokens = self._target.encode(sequence, complete(data[border:])[0])
        places = [border]
        for token in tokens:
            places.append(places[-1] + self._target.size(token))
        proposal = Draft()
        starts = self._starts(spelled)
        for token, begin, end in zip(tokens, places, places[1:]):
            inside = [i for i, place in enumerate(starts) if begin <= max(place, border) < end]
            self._add(proposal, token, inside)
        spelled_out = places[-1] == len(data)
        if drafted.ended and spelled_out and (stop := self._stop_for(drafted.ids[-1])) is not None:
            self._add(proposal, stop, [len(drafted) - 1])
        return proposal

    def _starts(self, ids: Sequence[int]) -> list[int]:
        """Where each of the draft's tokens begins, in bytes."""
        starts, place = [], 0
        for token in ids:
            starts.append(place)
            place += self._own.size(token)
        return starts

    def _add(self, proposal: Draft, token: int, inside: list[int]) -> None:
        """Append a token of the target in which the named tokens of the draft begin."""
        if proposal.ended:
            return
        drafted, prob = self._draft, None
        if inside:
            prob = 1.0
            for index in inside:
                prob *= drafted.probs[index]
        looked_up = inside and all(drafted.sources[index] == "lookup" for index in inside)
        source: Source = "lookup" if looked_up else "model"
        proposal.add(token, prob, source, self._stop_ids)
        if drafted.entropies:
            proposal.entropies.append(sum(drafted.entropies[index] for index in inside))
        if not self._greedy:
            q = torch.zeros(self._vocab_size)
            q[token] = 1
            proposal.distributions.append(q)

    def _stop_for(self, token: int) -> int | None:
        """The target's stop id for one of the draft's: that of the same text, else its first."""
        same = [stop for stop in self._stop_ids if self._target.bytes_of([stop]) == self._own.bytes_of([token])]
        return min(same or self._stop_ids, default=None)


def after_start(sequence: Sequence[int], start: Sequence[int]) -> Sequence[int]:
    """A text's ids without those that its tokenizer puts before every text: they are no text."""
    return sequence[len(start) :] if start and list(sequence[: len(start)]) == list(start) else sequence
