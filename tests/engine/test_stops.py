"""Where a text ends: stop ids, stop strings and the budget, whichever comes first, at the same token for text and records."""

import dataclasses

import pytest

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.pieces import text_of
from explorer.stops import Stop, StopRule
from explorer.trace import Trace
from explorer.verdicts import Verdict

PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
COUNT = 20
EXACT = DecodeConfig(rule="exact", draft_length=5, max_new_tokens=COUNT)
SHAPES = ("llama", "packed-llama")


def ids_of(rounds) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


@pytest.fixture(scope="module")
def endless(make_pair, with_stop_ids):
    """A pair that nothing stops, and what it writes."""

    def of(shape="llama", noise=None):
        pair = with_stop_ids(make_pair(shape, noise))
        rounds = list(decode(pair, list(PROMPT), EXACT))
        assert len(ids_of(rounds)) == COUNT
        return pair, ids_of(rounds)

    return of


# Stop ids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stop_id_ends_the_text_wherever_it_falls(shape, endless, with_stop_ids, record, plain_greedy_ids, tmp_path):
    """A stop id accepted mid-block and decoding ran on (transformers#47912): at every index of the text, as a drafted
    token, as the correction and as the bonus, at every place of a draft. The draft knows the same stop."""
    pair, ids = endless(shape)
    kinds, places = set(), set()
    for draft_length in (2, 5, 25):
        for token in dict.fromkeys(ids[::2] if draft_length == 25 else ids):
            end = ids.index(token) + 1
            stopped = with_stop_ids(pair, token, 3)
            config = dataclasses.replace(EXACT, draft_length=draft_length)
            trace = record(stopped, PROMPT, config)
            assert list(trace.output_ids) == ids[:end]
            assert trace.stop == Stop("stop_id")
            kinds.add(trace.rounds[-1].emitted_kinds[-1])
            places.add(len(trace.rounds[-1].emitted))
            assert all(token not in round_.drafted[:-1] for round_ in trace.rounds), "a draft ends at its first stop id"
            per_token = [value for round_ in trace.rounds for value in round_.emitted_logprobs]
            assert len(per_token) == len(trace.output_ids) == sum(len(r.emitted_kinds) for r in trace.rounds)
            assert trace.text == pair.tokenizer.decode(ids[: end - 1])
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace
    assert kinds >= {"exact", "correction", "bonus"}
    assert len(places) > 3
    token = ids[7]
    assert plain_greedy_ids(pair, PROMPT, COUNT, {token}) == ids[: ids.index(token) + 1], "the oracle stops there too"


def test_several_stop_ids_the_first_in_the_text_wins(endless, with_stop_ids):
    pair, ids = endless()
    for first, second in ((2, 9), (9, 2), (5, 6)):
        stopped = with_stop_ids(pair, ids[first], ids[second])
        end = min(ids.index(ids[first]), ids.index(ids[second])) + 1
        assert ids_of(decode(stopped, list(PROMPT), EXACT)) == ids[:end]


def test_no_stop_id_at_all(endless):
    """A crash where no stop id is configured (transformers PR#46790)."""
    pair, ids = endless()
    assert pair.stop_ids == frozenset()
    assert len(ids) == COUNT


def test_stop_ids_come_from_every_place_that_names_some(make_model, tokenizer):
    """Llama 3.1 lists several in its generation settings and one in its config."""
    from explorer.engine.pair import Pair

    target, draft = make_model("llama", 0), make_model("llama", 1)
    target.generation_config.eos_token_id = [7, 8]
    target.config.eos_token_id = 11
    draft.config.eos_token_id = 5
    assert Pair.of("p", target, draft, tokenizer).stop_ids == {7, 8, 11, tokenizer.eos_token_id}, (
        "the draft's own has no say"
    )
    target.generation_config.eos_token_id = target.config.eos_token_id = -1  # "none", in some configurations
    assert Pair.of("p", target, draft, tokenizer).stop_ids == {tokenizer.eos_token_id}
    target.generation_config.eos_token_id = target.config.eos_token_id = None
    assert Pair.of("p", target, draft, tokenizer).stop_ids == {tokenizer.eos_token_id}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [0, 1])
def test_a_stop_id_is_never_loosened(shape, window, endless, with_stop_ids, record):
    """FLy that deletes the target's end of text and goes on writing, or keeps a stop id the target did not want."""
    pair, _ = endless(shape, 0.06)
    config = DecodeConfig(rule="fly", theta=0.0, window=window, draft_length=6, max_new_tokens=COUNT)
    free = record(pair, PROMPT, config)
    deferred = [
        (drafted, row.argmax)
        for round_ in free.rounds
        for drafted, row, verdict in zip(round_.drafted, round_.rows, round_.verdicts)
        if verdict is Verdict.DEFERRED
    ]
    assert deferred
    refused = 0
    for stop in {token for tokens in deferred for token in tokens}:
        trace = record(with_stop_ids(pair, stop), PROMPT, config)
        for round_ in trace.rounds:
            for drafted, replacement, verdict in zip(round_.drafted, round_.replacement, round_.verdicts):
                assert verdict is not Verdict.DEFERRED or stop not in (drafted, replacement)
                refused += verdict is Verdict.STOP
        assert stop not in trace.output_ids[:-1]
    assert refused


def test_a_stop_beats_the_budget_at_the_same_token(endless, with_stop_ids, record):
    """A length cap tested before the stop (sglang#31599): the reason would be wrong."""
    pair, ids = endless()
    token = next(token for place, token in enumerate(ids) if place > 3 and token not in ids[:place])
    end = ids.index(token) + 1
    trace = record(with_stop_ids(pair, token), PROMPT, dataclasses.replace(EXACT, max_new_tokens=end))
    assert (trace.stop.reason, list(trace.output_ids)) == ("stop_id", ids[:end])
    rule = StopRule(
        dataclasses.replace(EXACT, max_new_tokens=3, stop_strings=("c",)), frozenset(), {0: b"a", 1: b"b", 2: b"c"}
    )
    assert rule.cut([0, 1], (2,)) == ((2,), Stop("stop_string", 2))


# Stop strings --------------------------------------------------------------------------------------------------------


VOCABULARY = {
    0: b"a",
    1: b"b",
    2: b"ab",
    3: b"EN",
    4: b"D.",
    5: b"\xf0\x9f",
    6: b"\x8e\x89",
    7: b"xENDy",
    8: b"",
    9: b"<eos>",
}


def cut(output, committed, *strings, budget=100, stop_ids=frozenset({9})):
    config = DecodeConfig(stop_strings=tuple(strings), max_new_tokens=budget)
    return StopRule(config, stop_ids, VOCABULARY).cut(output, committed)


@pytest.mark.parametrize(
    ("output", "committed", "strings", "emitted", "stop"),
    [
        ([0], (1, 1), (), (1, 1), None),
        ([0], (1, 9, 1), (), (1, 9), Stop("stop_id")),
        ([], (0, 3, 4, 0), ("END",), (0, 3, 4), Stop("stop_string", 1)),  # spans two tokens of a block
        ([0, 3], (4, 0), ("END",), (4,), Stop("stop_string", 1)),  # spans two rounds
        ([0], (7, 0), ("END",), (7,), Stop("stop_string", 2)),  # inside one token
        ([], (0, 1, 0), ("b", "ab"), (0, 1), Stop("stop_string", 0)),  # both complete here: the earliest in the text
        ([], (0, 1, 0), ("ab", "b"), (0, 1), Stop("stop_string", 0)),  # however they are listed (vllm PR#49391)
        ([], (5, 6, 0), ("🎉",), (5, 6), Stop("stop_string", 0)),  # a character split over tokens
        ([], (0, 5, 6, 1), ("🎉b",), (0, 5, 6, 1), Stop("stop_string", 1)),  # offsets count characters
        ([], (0, 9), ("zz",), (0, 9), Stop("stop_id")),
        ([], (3, 9), ("EN",), (3,), Stop("stop_string", 0)),
        ([0], (8, 8), ("b",), (8, 8), None),
    ],
)
def test_stop_strings(output, committed, strings, emitted, stop):
    assert cut(output, committed, *strings) == (emitted, stop)


def test_the_prompt_is_not_searched_for_stop_strings():
    assert cut([], (0,), "ENDa") == ((0,), None)


def test_the_budget_is_counted_in_ids():
    assert cut([0, 0], (1, 1, 1), budget=4) == ((1, 1), Stop("budget"))
    assert cut([0, 0], (1, 9), budget=4) == ((1, 9), Stop("stop_id"))
    assert cut([0, 0, 3], (4,), "END", budget=4) == ((4,), Stop("stop_string", 2))


@pytest.mark.parametrize("draft_length", [1, 3, 5, 12])
def test_a_stop_string_ends_a_run_like_one_decoded_token_by_token(draft_length, endless, record, tmp_path):
    """Stop text spanning tokens and rounds, missed inside a kept run (sglang PR#25980) or skipped by a long one
    (ArcticInference#161); ids and records left past it (vllm PR#47616)."""
    pair, ids = endless("qwen2")
    # Random models write few whole characters, so each id stands for three letters here.
    readable = dataclasses.replace(pair, vocabulary={token: f"{token:03}".encode() for token in range(pair.vocab_size)})
    whole, ends = text_of(ids, readable.vocabulary), set()
    for place in range(0, len(whole) - 4, 7):
        string = whole[place : place + 4]
        config = dataclasses.replace(EXACT, draft_length=draft_length, stop_strings=("never there", string))
        trace = record(readable, PROMPT, config)
        end = next(n for n in range(COUNT + 1) if string in text_of(ids[:n], readable.vocabulary))
        assert list(trace.output_ids) == ids[:end]
        assert trace.stop == Stop("stop_string", whole.index(string))
        assert trace.text == whole[: whole.index(string)]
        assert len([v for r in trace.rounds for v in r.emitted_logprobs]) == end
        trace.save(tmp_path / "t.json")
        assert Trace.load(tmp_path / "t.json") == trace
        ends.add(end)
    assert len(ends) > 4


def test_a_stop_string_is_found_in_words_that_no_token_spells_with_their_spaces(make_pair, with_stop_ids):
    """Word-level vocabularies: the words were run together, so a stop string with a space was never found."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from explorer.engine.models.vocabulary import Vocabulary

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(267)}, "w0"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    words = Vocabulary(PreTrainedTokenizerFast(tokenizer_object=backend))
    pair = dataclasses.replace(with_stop_ids(make_pair("llama")), vocabulary=words)
    ids = ids_of(decode(pair, list(PROMPT), EXACT))
    stopped = dataclasses.replace(EXACT, stop_strings=(f"w{ids[6]} w{ids[7]}",))
    assert ids_of(decode(pair, list(PROMPT), stopped)) == ids[:8]
