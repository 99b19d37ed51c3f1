"""The bytes behind ids: what the tokenizer decodes, byte for byte, special tokens included."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.engine.models.vocabulary import UnsupportedTokenizer, Vocabulary
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


CORPUS = ["seven eleven, is it seven? don't we'll they've I'm it's re-do . ! [x]", "the seventh element's elements!"]
SPECIAL = ["[UNK]", "[EOS]"]


def of_words():
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    backend = Tokenizer(models.WordLevel({"[UNK]": 0}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return backend, trainers.WordLevelTrainer(special_tokens=SPECIAL)


def of_word_pieces(cleanup: bool = True):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece("##", cleanup)
    return backend, trainers.WordPieceTrainer(vocab_size=120, special_tokens=SPECIAL, show_progress=False)


def of_suffixes():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Whitespace(), decoders.BPEDecoder("</w>")
    options = {"vocab_size": 120, "end_of_word_suffix": "</w>", "special_tokens": SPECIAL, "show_progress": False}
    return backend, trainers.BpeTrainer(**options)


def of_marked_words():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace("_"), decoders.Metaspace("_")
    options = {"vocab_size": 80, "unk_token": "[UNK]", "special_tokens": SPECIAL, "show_progress": False}
    return backend, trainers.UnigramTrainer(**options)


KINDS = {
    "words": (of_words, {}),
    "tidied words": (of_words, {"clean_up_tokenization_spaces": True}),
    "word pieces": (of_word_pieces, {}),
    "word pieces, loose": (lambda: of_word_pieces(False), {}),
    "word pieces, tidied": (lambda: of_word_pieces(False), {"clean_up_tokenization_spaces": True}),
    "suffixes": (of_suffixes, {}),
    "another mark": (of_marked_words, {}),
}


@pytest.fixture(scope="module")
def trained():
    from transformers import PreTrainedTokenizerFast

    made = {}

    def of(kind: str):
        if kind not in made:
            build, options = KINDS[kind]
            backend, trainer = build()
            backend.train_from_iterator(CORPUS * 3, trainer)
            made[kind] = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="[EOS]", **options)
        return made[kind]

    return of


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_tokens_of_any_kind_are_the_tokenizers_own_text(kind, trained, data):
    """They were shown run together (`sevenseven!`), with their marks (`##`, `</w>`), and no stop string was ever found."""
    tokenizer = trained(kind)
    vocabulary = Vocabulary(tokenizer)
    first = tokenizer.convert_tokens_to_ids("[EOS]")
    known = [
        i for i in vocabulary if "'" not in tokenizer.convert_ids_to_tokens(i)
    ]  # tidied together with both neighbours
    ids = [first, *data.draw(st.lists(st.sampled_from(known), max_size=12)), first]
    assert text_of(ids, vocabulary).strip(" ") == tokenizer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize(("kind", "expected"), [("words", " is it seven ?"), ("word pieces", " is it seven?"), ("suffixes", "is it seven ? "), ("another mark", " is it seven?")])  # fmt: skip
def test_a_sentence_of_each_kind(kind, expected, trained):
    tokenizer = trained(kind)
    assert text_of(tokenizer("is it seven?", add_special_tokens=False).input_ids, Vocabulary(tokenizer)) == expected


def test_a_tokenizer_without_a_table_is_refused_in_one_line():
    from transformers import ByT5Tokenizer

    with pytest.raises(UnsupportedTokenizer, match="of the kind ByT5Tokenizer cannot be used here") as error:
        Vocabulary(ByT5Tokenizer())
    assert len(str(error.value).splitlines()) == 1


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
