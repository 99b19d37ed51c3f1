"""The bytes behind ids: what the tokenizer decodes, byte for byte, special tokens included."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.engine.models.vocabulary import Vocabulary
from explorer.pieces import pieces_of, text_of

MULTILINGUAL = [
    "The quick brown fox, 1,234.50 €.",
    "Größenwahn über Ärger, ça va déjà?",
    "漢字とひらがなとカタカナ。한국어 문장입니다. 中文句子，带标点。",
    "Привет, мир! Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم",
    "สวัสดีชาวโลก नमस्ते दुनिया ওহে বিশ্ব",
    "🎉👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 \u200b\u00a0\u2028 tab\t newline\n\r\n",
    "x = {'a': [1, 2], \"b\": None}\n\tif x: return  # done",
    "   leading and trailing   ",
    "\x00\x01\x7f � <|im_end|> <|not_special|>",
]


@given(st.text() | st.sampled_from(MULTILINGUAL))
def test_bytes_of_a_text_are_the_text(tokenizer, text):
    """Emoji and CJK split across tokens become U+FFFD where ids are decoded one by one."""
    vocabulary = Vocabulary(tokenizer)
    ids = tokenizer(text).input_ids
    assert text_of(ids, vocabulary) == text == tokenizer.decode(ids, skip_special_tokens=False)
    assert "".join(piece.text for piece in pieces_of(vocabulary[i] for i in ids)) == text


@given(st.lists(st.integers(0, 266), max_size=24))
def test_any_ids_decode_as_the_tokenizer_decodes_them(tokenizer, ids):
    """Also ids that are no whole text: stray bytes, special tokens in the middle of a character."""
    assert text_of(ids, Vocabulary(tokenizer)) == tokenizer.decode(ids, skip_special_tokens=False)


def test_it_is_a_table_of_all_ids(tokenizer):
    vocabulary = Vocabulary(tokenizer)
    assert len(vocabulary) == 267 == len(list(vocabulary))
    assert vocabulary[264] == b"<|endoftext|>"
    assert sorted(vocabulary[i] for i in range(256)) == [bytes([i]) for i in range(256)]
    assert vocabulary[tokenizer.convert_tokens_to_ids("Ã©")] == "é".encode()


def wrapped(vocab, decoder, added=()):
    from tokenizers import AddedToken, Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(vocab, []))
    backend.decoder = decoder
    backend.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in added])
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def test_sentencepiece_like_tokens():
    """Llama-2's vocabulary: a mark for spaces, bytes spelt <0xE2>."""
    from tokenizers import decoders

    decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer = wrapped({"▁a": 0, "b": 1, "<0xE2>": 2, "<0x9C>": 3, "<0x93>": 4, "▁": 5}, decoder, ["</s>"])
    vocabulary = Vocabulary(tokenizer)
    for ids in ([0, 1, 5, 2, 3, 4, 6], [2, 3], [5, 5, 1]):
        expected = tokenizer.decode(ids, skip_special_tokens=False)
        if "�" not in expected:  # a stray byte is one U+FFFD there and may be another count here
            assert text_of(ids, vocabulary) == expected
    assert vocabulary[2] == b"\xe2"


def test_a_hole_in_the_table_is_empty():
    """Ids that no text has: the model may still choose them."""
    from tokenizers import decoders

    vocabulary = Vocabulary(wrapped({"a": 0, "b": 5}, decoders.ByteLevel()))
    assert len(vocabulary) == 6
    assert vocabulary[3] == b""


def test_a_byte_level_token_that_is_not_spelt_in_bytes():
    """Some byte-level vocabularies hold plain tokens; one such id in a top-8 list ended the run with a KeyError."""
    from tokenizers import decoders

    tokenizer = wrapped({"a": 0, "a b": 1, "日": 2}, decoders.ByteLevel())
    vocabulary = Vocabulary(tokenizer)
    for ids in ([0], [1], [2], [0, 1, 2]):
        assert text_of(ids, vocabulary) == tokenizer.decode(ids, skip_special_tokens=False)


@pytest.fixture(scope="module")
def real(real_pair):
    return real_pair.tokenizer, Vocabulary(real_pair.tokenizer)


@pytest.mark.real
@pytest.mark.parametrize("text", MULTILINGUAL)
def test_multilingual_texts(real, text):
    tokenizer, vocabulary = real
    ids = tokenizer(text).input_ids
    assert text_of(ids, vocabulary) == tokenizer.decode(ids, skip_special_tokens=False)
    assert "".join(piece.text for piece in pieces_of(vocabulary[i] for i in ids)) == text


@pytest.mark.real
def test_every_id(real):
    """Each id in a frame of its own, where a decoder cannot join it with a neighbour."""
    tokenizer, vocabulary = real
    frame = tokenizer("a", add_special_tokens=False).input_ids
    for token in range(len(vocabulary)):
        ids = [*frame, token, *frame]
        assert text_of(ids, vocabulary) == tokenizer.decode(ids, skip_special_tokens=False), token
