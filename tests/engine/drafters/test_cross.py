"""Cross-tokenizer pairs: texts that survive both tokenizers, and rounds that are the target's own text."""

import copy
import dataclasses
import random
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pairs import OraclePair
from rounds import grid_rounds, ids_of_rounds

from explorer.bench.measured import row_name
from explorer.bench.rows import THEIR_ASSISTED, THEIR_PLAIN, their_rows
from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.cross import (
    TAIL,
    CrossDrafter,
    TextSide,
    common_prefix,
    complete,
    whole_text,
)
from explorer.engine.drafters.draft import Draft
from explorer.engine.models.registry import UnknownPair, find_pair, public_name
from explorer.engine.models.vocabulary import Vocabulary
from explorer.engine.open_pair import OpenPair
from explorer.engine.pair import DraftSide, Pair, PairMismatch, check_same_vocabulary
from explorer.trace import Trace

EXACT = DecodeConfig(rule="exact", draft_length=5, max_new_tokens=28)
TEXT = "<|im_start|>user\nthe band and the other hand<|im_end|>\n<|im_start|>assistant\nthe "
OTHER_MERGES = [("a", "n"), ("n", "d"), ("h", "e"), ("t", "he"), ("Ġ", "the"), ("e", "r"), ("o", "n"), ("Ġ", "h")]
OTHER_SPECIAL = ["<|end|>", "<|im_start|>"]  # one of the target's, and a stop id of another text


def other_tokenizer():
    """All bytes in another order, other merges, other special tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    chars = list(bytes_to_unicode().values())
    random.Random(5).shuffle(chars)
    vocab = {char: index for index, char in enumerate(chars)}
    vocab |= {left + right: 256 + index for index, (left, right) in enumerate(OTHER_MERGES)}
    backend = Tokenizer(models.BPE(vocab, OTHER_MERGES))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in OTHER_SPECIAL])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")


def sentencepiece_like():
    """Spaces as ▁, one before every text, a start id before every text, bytes for what is not in the table."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcdefghijklmnopqrstuvwxyz"]
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("a", "n"), ("an", "d"), ("▁", "and"), ("▁", "h"), ("o", "n")]
    vocab = {piece: index for index, piece in enumerate([*pieces, *(left + right for left, right in merges)])}
    backend = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    backend.add_special_tokens([AddedToken(token, special=True) for token in ("<unk>", "<s>", "</s>")])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", bos_token="<s>")


TOKENIZERS = {"bytes": other_tokenizer, "pieces": sentencepiece_like}


def side(tokenizer) -> TextSide:
    vocabulary = Vocabulary(tokenizer)
    return TextSide(tokenizer, vocabulary, len(vocabulary))


@pytest.fixture(scope="module")
def sides(tokenizer):
    return {"target": side(tokenizer)} | {name: side(make()) for name, make in TOKENIZERS.items()}


@pytest.fixture(scope="module")
def crossed(make_model, tokenizer):
    """A target and a draft of the same layers, whose embeddings stand where its own tokenizer puts them: often right where
    both split a text alike."""

    def build(shape: str = "llama", packed: bool = False, seed: int = 0, other: str = "bytes") -> Pair:
        target = make_model(shape, seed)
        own = TOKENIZERS[other]()
        draft = copy.deepcopy(target)
        draft.resize_token_embeddings(len(own), mean_resizing=False)
        by_bytes = {piece: token for token, piece in Vocabulary(tokenizer).items()}
        with torch.no_grad():
            for name in ("get_input_embeddings", "get_output_embeddings"):
                table, new = getattr(target, name)().weight, getattr(draft, name)().weight
                for token, piece in Vocabulary(own).items():
                    if piece in by_bytes:
                        new[token] = table[by_bytes[piece]]
        draft.config.eos_token_id = draft.generation_config.eos_token_id = own.eos_token_id
        return OraclePair.of(
            "crossed", target, draft, tokenizer, draft_tokenizer=own, target_form="float32" if packed else None
        )

    return build


def ids_of(pair, text=TEXT):
    return pair.tokenizer(text).input_ids


# Texts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["target", "bytes", "pieces"])
@given(before=st.binary(max_size=12), data=st.one_of(st.text(max_size=20).map(str.encode), st.binary(max_size=12)))
def test_what_is_encoded_spells_the_same_bytes(name, sides, before, data):
    """Whatever comes, and whatever stands before it: a prefix of the bytes, and all of them where the table holds all."""
    if any(special in before + data for special in (b"<|", b"<s>", b"</s>", b"<unk>", "▁".encode())):
        return  # texts of special tokens, and the sign that a sentencepiece table has for spaces
    one = sides[name]
    ids = one.encode(one.encode([], before), data)
    assert one.bytes_of(ids) == data


def test_the_border_is_kept_and_the_inside_is_merged(sides):
    """After "the" stands as t, h, e nothing is merged into it; a text of its own is split as the tokenizer splits it."""
    target = sides["target"]
    t, h = target.encode([], b"t"), target.encode([], b"h")
    assert target.encode([*t, *h], b"e and the") == [*target.encode([], b"e"), *target.encode([], b" and the")]
    # A space in front is the text's own: no sentencepiece space is added, none is lost.
    pieces = sides["pieces"]
    assert [pieces.bytes_of([token]) for token in pieces.encode(pieces.encode([], b"x"), b"the and")] == [
        b"the",
        b" and",
    ]


def test_only_the_start_of_a_character_waits():
    euro, smile = "€".encode(), "😀".encode()
    assert complete(b"a" + euro[:1]) == (b"a", euro[:1])
    assert complete(b"a" + euro[:2]) == (b"a", euro[:2])
    assert complete(smile[:3]) == (b"", smile[:3])
    for whole in (b"", b"a", euro, smile, b"\x80", b"\xff"[:0], b"a\x80\x80"):
        assert complete(whole) == (whole, b"")
    assert whole_text(euro[1:] + b"abc") == "abc"
    assert common_prefix([1, 2, 3], [1, 2, 4]) == 2
    assert common_prefix([], [1]) == 0


# Rounds --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drafter", ["model", "model+lookup"])
@pytest.mark.parametrize(("shape", "packed"), [("llama", False), ("qwen2", True), ("llama", True)])
@pytest.mark.parametrize("other", ["bytes", "pieces"])
def test_exact_is_plain_greedy(shape, packed, drafter, other, crossed, plain_greedy_ids):
    pair = crossed(shape, packed, other=other)
    for text in (TEXT, "caf\u00e9 the"):
        config = dataclasses.replace(EXACT, drafter=drafter)
        ids = [token for round_ in decode(pair, ids_of(pair, text), config) for token in round_.emitted]
        assert ids == plain_greedy_ids(pair, ids_of(pair, text), 28)


def test_drafts_are_kept_now_and_then(crossed):
    """Else the tests of whole texts say nothing about what a round hands on to the next."""
    pair = crossed()
    rounds = list(decode(pair, ids_of(pair), EXACT))
    assert {0} < {round_.accepted for round_ in rounds}
    assert sum(len(round_.drafted) for round_ in rounds) > len(rounds)


def test_the_draft_reads_no_text_twice(crossed, monkeypatch):
    """Between rounds it re-reads at most what re-tokenising a suffix may have changed, never the prompt."""
    pair, fed = crossed(), []
    context = type(pair.draft.open())
    feed = context.feed

    def counted(self, ids, rows):
        if self.language_model is pair.draft:
            fed.append(len(ids))
        return feed(self, ids, rows)

    monkeypatch.setattr(context, "feed", counted)
    rounds = list(decode(pair, ids_of(pair), EXACT))
    assert len(rounds) > 3
    assert max(fed) <= TAIL + EXACT.draft_length < len(pair.draft_side.tokenizer(TEXT).input_ids)


def test_probabilities_are_those_of_the_drafts_tokens(crossed, sides):
    """A token of the target shows the product over the draft's tokens that begin in it, and none where none begins."""
    pair = crossed()

    class Scripted:
        """A draft in its own tokens, some of them several of the target's, some of them a part of one."""

        forward_seconds = 0.0

        def __init__(self, context, pieces):
            self.context, self.pieces = context, pieces

        def extend(self, draft, sequence, count, score=None):
            for piece in self.pieces[len(draft) : len(draft) + count]:
                draft.add(*piece, "model", frozenset())

        def roll_back(self, length):
            """Nothing is held."""

    own = sides["bytes"]
    space, he, an, d = (own.encode([], text)[0] for text in (b" ", b"he", b"an", b"d"))
    inner = Scripted(
        pair.draft.open(), [(own.encode([], b" the")[0], 0.5), (space, 0.25), (he, 0.5), (an, 0.5), (d, 0.5)]
    )
    drafter = CrossDrafter(inner, sides["target"], own, pair.stop_ids, pair.vocab_size, greedy=True)
    draft = Draft()
    drafter.extend(draft, ids_of(pair, "x"), 5)
    shown = [(sides["target"].bytes_of([token]), prob) for token, prob in zip(draft.ids, draft.probs, strict=True)]
    assert shown == [(b" the", 0.5), (b" ", 0.25), (b"h", 0.5), (b"e", None), (b"and", 0.25)]


def test_a_stop_id_of_the_draft_is_one_of_the_targets(crossed, monkeypatch):
    pair = crossed()
    with torch.inference_mode():
        opened = OpenPair(pair, EXACT)
        drafter = opened.drafter
        sequence = ids_of(pair)
        opened.prefill(sequence[:-1])
        stop = pair.draft_side.tokenizer.eos_token_id

        def extend(draft, known, count, score=None):
            draft.add(*pair.draft_side.tokenizer("a").input_ids, 0.5, "model", pair.draft_side.stop_ids)
            draft.add(stop, 0.25, "model", pair.draft_side.stop_ids)

        monkeypatch.setattr(drafter._inner, "extend", extend)
        draft = Draft()
        drafter.extend(draft, sequence, 5)
        opened.close()
    assert draft.ids[-1] in pair.stop_ids
    assert (draft.ended, draft.probs) == (True, [0.5, 0.25])


@pytest.mark.parametrize("length", ["confidence", "entropy", "heuristic"])
def test_length_policies_steer_it(length, crossed, record, plain_greedy_ids):
    pair = crossed(packed=True)
    trace = record(pair, ids_of(pair), dataclasses.replace(EXACT, length=length, threshold=0.3))
    assert list(trace.output_ids) == plain_greedy_ids(pair, ids_of(pair), 28)
    assert trace.provenance.cross_tokenizer
    assert Trace.from_json(trace.to_json()) == trace


def test_the_draft_stops_where_its_own_context_ends(make_model, crossed, plain_greedy_ids):
    pair = crossed()
    length = len(pair.draft_side.tokenizer(TEXT).input_ids)
    pair.draft.context_limit = length + 12
    rounds = list(decode(pair, ids_of(pair), EXACT))
    assert [token for round_ in rounds for token in round_.emitted] == plain_greedy_ids(pair, ids_of(pair), 28)
    assert len(rounds[0].drafted)
    assert not len(rounds[-1].drafted)
    pair.draft.context_limit = length - 1  # not even the prompt fits
    assert not any(round_.drafted for round_ in decode(pair, ids_of(pair), EXACT))


def test_above_temperature_0_its_tokens_are_a_certain_proposal(crossed):
    """Accepted with the target's own probability: lossless whatever the draft's q over its own vocabulary was."""
    pair = crossed()
    config = dataclasses.replace(EXACT, temperature=1.0, max_new_tokens=20)
    first, second = (list(decode(pair, ids_of(pair), config)) for _ in range(2))
    assert [round_.emitted for round_ in first] == [round_.emitted for round_ in second]
    with torch.inference_mode():
        opened = OpenPair(pair, config)
        opened.prefill(ids_of(pair)[:-1])
        draft = Draft()
        opened.drafter.extend(draft, ids_of(pair), 4)
        opened.close()
    assert [int(q.argmax()) for q in draft.distributions] == draft.ids
    assert all(float(q.max()) == float(q.sum()) == 1 for q in draft.distributions)


def test_a_grid_comes_to_the_texts_of_separate_runs(crossed):
    pair = crossed()
    configs = [
        dataclasses.replace(EXACT, rule="fly", theta=theta, window=window)
        for theta in (0.0, 0.2, 1.2)
        for window in (0, 1)
    ]
    rounds, _ = grid_rounds(pair, ids_of(pair), configs)
    for config, mine in zip(configs, rounds):
        assert ids_of_rounds(mine) == ids_of_rounds(decode(pair, ids_of(pair), config))


def test_policies_that_score_tokens_are_refused(crossed):
    scorer = SimpleNamespace(open=lambda: SimpleNamespace(score=None, seconds=0.0))
    pair = dataclasses.replace(crossed(), scorers={"exact": scorer})
    for change in ({"length": "pacer"}, {"length": "survival"}, {"length": "adaedl"}, {"rule": "kl"}):
        with pytest.raises(ConfigError, match="cross-tokenizer"):
            next(decode(pair, ids_of(pair), dataclasses.replace(EXACT, **change)))


# Names ---------------------------------------------------------------------------------------------------------------


def test_the_mode_is_asked_for_in_the_name(tokenizer):
    with pytest.raises(PairMismatch, match="TARGET,DRAFT,cross-tokenizer"):
        check_same_vocabulary(tokenizer, other_tokenizer())
    known = find_pair("own/target, own/draft, cross-tokenizer")
    assert (known.cross_tokenizer, known.target, known.draft) == (True, "own/target", "own/draft")
    assert public_name(known) == "own/target,own/draft,cross-tokenizer"
    assert not find_pair("own/target,own/draft").cross_tokenizer
    for wrong in ("a,b,c", "a,cross-tokenizer", "a,,cross-tokenizer", "a,b,cross-tokenizer,d"):
        if wrong != "a,cross-tokenizer":  # a draft of that name is odd, but a name
            with pytest.raises(UnknownPair):
                find_pair(wrong)


def test_models_of_the_embedded_pairs_can_be_named_on_the_spot():
    known = find_pair("smollm2-135m-instruct,own/draft")
    assert known.target == find_pair("smollm2-135m").target


def test_the_draft_side_knows_its_own_stop_ids(crossed):
    pair = crossed()
    assert isinstance(pair.draft_side, DraftSide)
    assert pair.draft_side.stop_ids == {pair.draft_side.tokenizer.eos_token_id}
    assert pair.draft.vocab_size == len(pair.draft_side.vocabulary)


def test_transformers_own_row_has_both_tokenizers(crossed):
    """Its universal assisted decoding, beside ours in the bench."""
    pair = crossed()
    rows = their_rows(pair, dataclasses.replace(EXACT, max_new_tokens=6), [3])
    ids = ids_of(pair, "the band and the other hand and the ")
    assert rows[row_name(THEIR_ASSISTED, 3)](ids).ids == rows[THEIR_PLAIN](ids).ids
