"""The bytes of each token id, read off the tokenizer itself, for byte-level and for sentencepiece-like vocabularies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

_BYTE_OF = {char: byte for byte, char in bytes_to_unicode().items()}


class Vocabulary(Mapping[int, bytes]):
    """Token id -> bytes, computed on demand.

    The bytes of a sequence, joined and decoded once, are what the tokenizer decodes with nothing skipped; a sentencepiece
    decoder also drops the very first space of a text, which is kept here because output continues a prompt.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast):
        self._tokenizer = tokenizer
        self._added = {token: text.content for token, text in tokenizer.added_tokens_decoder.items()}
        decoder = json.loads(tokenizer.backend_tokenizer.to_str())["decoder"] or {}
        kinds = {decoder.get("type"), *(part["type"] for part in decoder.get("decoders", ()))}
        self._byte_level = "ByteLevel" in kinds
        self._size = 1 + max(tokenizer.get_vocab().values())
        self._known: dict[int, bytes] = {}

    def __getitem__(self, token: int) -> bytes:
        if token not in self._known:
            self._known[token] = self._bytes(token)
        return self._known[token]

    def __len__(self) -> int:
        """One more than the largest id."""
        return self._size

    def size_for(self, rows: int) -> int:
        """How many ids the logits of a model of so many rows are cut to: all of them, or its rows where only added tokens lie beyond,
        which it can then never give. Tokenizers add some that their model was never made for."""
        beyond = range(rows, self._size)
        return rows if beyond and all(token in self._added for token in beyond) else self._size

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._size))

    def _bytes(self, token: int) -> bytes:
        if token in self._added:
            return self._added[token].encode()
        text = self._tokenizer.convert_ids_to_tokens(token)
        if text is None:  # a hole in the table: an id no text is ever encoded to
            return b""
        if self._byte_level:
            known = all(char in _BYTE_OF for char in text)  # else a plain token, which the tokenizer decodes as it is
            return bytes(_BYTE_OF[char] for char in text) if known else text.encode()
        if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
            return bytes([int(text[3:5], 16)])
        return text.replace("▁", " ").encode()
