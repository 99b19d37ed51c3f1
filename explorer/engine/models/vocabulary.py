"""The bytes of each token id, read off the tokenizer itself, whatever way it spells its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from explorer.errors import UserError

_BYTE_OF = {char: byte for byte, char in bytes_to_unicode().items()}

Spelling = Callable[[str], bytes]  # a token in the middle of a text -> what it adds to the text


class UnsupportedTokenizer(UserError):
    """A tokenizer whose tokens cannot be read one by one."""


class Vocabulary(Mapping[int, bytes]):
    """Token id -> bytes, computed on demand.

    The bytes of a sequence, joined and decoded once, are what the tokenizer decodes with nothing skipped, but for a space at either end:
    some decoders leave out the one before the first token or after the last, which is kept here because output continues a prompt. Where
    transformers tidies the whole text (clean_up_tokenization_spaces), only what lies within a token is tidied here.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast):
        """Raises UnsupportedTokenizer for one that is a program and no table (ByT5's)."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise UnsupportedTokenizer("tokenizer.no_table", tokenizer=type(tokenizer).__name__)
        self._tokenizer = tokenizer
        self._added = {token: text.content for token, text in tokenizer.added_tokens_decoder.items()}
        settings = json.loads(backend.to_str())
        tidies = tokenizer.clean_up_tokenization_spaces and settings["model"]["type"] != "BPE"  # as transformers does
        self._spell = _spelling(settings["decoder"], tokenizer.clean_up_tokenization if tidies else str)
        self._size = 1 + max(tokenizer.get_vocab().values())
        self._known: dict[int, bytes] = {}

    def __getitem__(self, token: int) -> bytes:
        if token not in self._known:
            text = self._added.get(token) or self._tokenizer.convert_ids_to_tokens(token)
            # None is a hole in the table: an id no text is ever encoded to.
            self._known[token] = b"" if text is None else self._spell(text)
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


def _spelling(decoder: dict[str, Any] | None, tidied: Callable[[str], str]) -> Spelling:
    """How a decoder, by its settings in tokenizer.json, writes a token; tidied: what is done to a text last."""
    steps = (decoder or {}).get("decoders", [decoder] if decoder else [])
    kinds = {step["type"]: step for step in steps}
    if "ByteLevel" in kinds:
        return _bytes_spelt
    if not kinds:  # words with a space between
        return lambda text: tidied(f" {text}").encode()
    if step := kinds.get("WordPiece"):
        return lambda text: tidied(_word_piece(text, step)).encode()
    if step := kinds.get("BPEDecoder"):
        return lambda text: text.replace(step["suffix"], " ").encode()
    replaced = [(step["pattern"], step["content"]) for step in steps if step["type"] == "Replace"]
    texts = [(pattern["String"], content) for pattern, content in replaced if "String" in pattern]
    texts += [(step["replacement"], " ") for step in steps if step["type"] == "Metaspace"]
    return lambda text: _sentence_piece(text, texts or [("▁", " ")])


def _bytes_spelt(text: str) -> bytes:
    known = all(char in _BYTE_OF for char in text)  # else a plain token, which the tokenizer decodes as it is
    return bytes(_BYTE_OF[char] for char in text) if known else text.encode()


def _word_piece(text: str, step: dict[str, Any]) -> str:
    """A token goes on with the word before it where its prefix says so. Punctuation stands close to words if the decoder cleans up."""
    if text.startswith(step["prefix"]):
        return text.removeprefix(step["prefix"])
    return _close(f" {text}") if step["cleanup"] else f" {text}"


def _close(text: str) -> str:
    for loose in (" .", " ?", " !", " ,", " n't", " 'm", " 's", " 've", " 're"):
        text = text.replace(loose, loose[1:])
    return text


def _sentence_piece(text: str, replaced: list[tuple[str, str]]) -> bytes:
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        return bytes([int(text[3:5], 16)])
    for pattern, content in replaced:
        text = text.replace(pattern, content)
    return text.encode()
