"""Token text: the piece of text that each token of a sequence adds, with characters split over tokens shown once.

Byte-level vocabularies cut characters apart, so text is joined as bytes: the pieces of a sequence, joined, always equal
one decode of the whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """What one token adds to the text. `hex` is set where the token is only part of a character."""

    text: str
    hex: str | None = None

    @property
    def label(self) -> str:
        """The token for a person who sees it alone: its text, or its bytes where it is not whole characters."""
        return self.text if self.hex is None else f"⟨{self.hex}⟩"


def piece_of(token: bytes) -> Piece:
    """One token on its own."""
    text = token.decode("utf-8", "replace")
    return Piece(text, None if text.encode() == token else token.hex(" "))


def pieces_of(tokens: Iterable[bytes]) -> list[Piece]:
    """The pieces of a sequence of tokens, one each; a split character appears at the token that completes it."""
    tokens = list(tokens)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces = []
    for position, token in enumerate(tokens, 1):
        pieces.append(next_piece(decoder, token, final=position == len(tokens)))
    return pieces


def next_piece(decoder: codecs.IncrementalDecoder, token: bytes, final: bool = False) -> Piece:
    """The piece of the next token of a sequence; decoder: of UTF-8, that has read all tokens before it."""
    text = decoder.decode(token, final)
    return Piece(text, None if text.encode() == token else token.hex(" "))


def text_of(ids: Iterable[int], vocabulary: Mapping[int, bytes]) -> str:
    """The text of token ids: the bytes of all, decoded once."""
    return b"".join(vocabulary[token] for token in ids).decode("utf-8", "replace")
