"""Prompt lookup, alone and inside the draft model."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.lookup import continuation
from explorer.trace import Trace

REPEATING = [39, 68, 75, 75, 78, 258, 82, 66, 39, 68, 75, 75, 78, 258, 82, 66, 39, 68, 75]
EXACT = DecodeConfig(rule="exact", draft_length=5, max_new_tokens=28)
SHAPES = ("llama", "qwen2", "mistral", "packed-llama")


def naive(sequence, count):
    for size in (4, 3, 2, 1):
        if len(sequence) >= 2 * size:
            for start in range(len(sequence) - 2 * size + 1):
                if sequence[start : start + size] == sequence[-size:]:
                    return sequence[start + size :][:count]
    return []


@given(st.lists(st.integers(0, 3) | st.sampled_from([256, 2**24, 151_935]), max_size=30), st.integers(0, 9))
def test_equals_a_naive_search(sequence, count):
    """A search over bytes must not match across the border of two ids, and must end where there is nothing to find."""
    assert continuation(sequence, count) == naive(sequence, count)


def test_the_earliest_occurrence_of_the_longest_suffix():
    """The worked example of the specification: abcdXabcdYabcd proposes X a b c d Y, not Y a b c d."""
    text = [ord(c) for c in "abcdXabcdYabcd"]
    assert "".join(map(chr, continuation(text, 6))) == "XabcdY"
    assert continuation([], 5) == continuation([7], 5) == continuation([1, 2, 3], 5) == []
    assert continuation([1, 1], 5) == [1]


@pytest.mark.parametrize("drafter", ["lookup", "model+lookup"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("draft_length", [1, 2, 5, 7, 25])
def test_exact_is_plain_greedy(drafter, shape, draft_length, make_pair, plain_greedy_ids):
    """EOS, positions and caches went wrong for lookup separately (transformers PR#31301)."""
    pair = make_pair(shape)
    config = dataclasses.replace(EXACT, drafter=drafter, draft_length=draft_length)
    ids = [token for round_ in decode(pair, list(REPEATING), config) for token in round_.emitted]
    assert ids == plain_greedy_ids(pair, REPEATING, EXACT.max_new_tokens)


@pytest.mark.parametrize("shape", ["llama", "qwen2", "mistral"])
@pytest.mark.parametrize("rule", ["exact", "fly"])
def test_acceleration_by_lookup_drafts_the_same_tokens(shape, rule, make_pair):
    """Lookup proposes to the draft model only; the drafted tokens are those of the model alone."""
    pair = make_pair(shape)
    config = dataclasses.replace(EXACT, rule=rule, theta=0.2, window=2, draft_length=7)
    alone, accelerated = (
        list(decode(pair, list(REPEATING), dataclasses.replace(config, drafter=drafter)))
        for drafter in ("model", "model+lookup")
    )
    assert [r.drafted for r in alone] == [r.drafted for r in accelerated]
    assert [r.verdicts for r in alone] == [r.verdicts for r in accelerated]
    for ours, theirs in zip(alone, accelerated):
        assert list(ours.draft_probs) == pytest.approx(list(theirs.draft_probs), abs=1e-4)


@pytest.mark.parametrize("drafter", ["lookup", "model+lookup"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_records_say_where_tokens_came_from(drafter, temperature, make_pair, record, tmp_path):
    pair = make_pair("qwen2", 0.0)
    config = dataclasses.replace(EXACT, drafter=drafter, temperature=temperature, rule="fly")
    trace = record(pair, REPEATING * 2, config)
    sources = {source for round_ in trace.rounds for source in round_.sources}
    assert sources <= ({"lookup"} if drafter == "lookup" else {"lookup", "model"})
    assert all((prob is None) == (drafter == "lookup") for round_ in trace.rounds for prob in round_.draft_probs)
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace


def test_lookup_alone_needs_no_draft_model(make_pair, monkeypatch):
    pair = make_pair("llama")
    monkeypatch.setattr(
        type(pair.draft), "open", lambda self, *_: pytest.fail("opened") if self is pair.draft else original(self)
    )
    rounds = list(decode(pair, list(REPEATING), dataclasses.replace(EXACT, drafter="lookup")))
    assert any(round_.drafted for round_ in rounds)


def original(self):
    from explorer.engine.models.model import Context

    return Context(self)


@pytest.mark.parametrize("drafter", ["lookup", "model+lookup"])
def test_a_draft_ends_at_its_first_stop_id(drafter, make_pair, with_stop_ids, plain_greedy_ids):
    """A stop id inside a repeated passage, accepted mid-block."""
    pair = make_pair("llama")
    free = plain_greedy_ids(pair, REPEATING, 28, frozenset())
    for stop in dict.fromkeys(free[3:20]):
        stopped = with_stop_ids(pair, stop)
        rounds = list(decode(stopped, list(REPEATING), dataclasses.replace(EXACT, drafter=drafter)))
        assert [token for r in rounds for token in r.emitted] == free[: free.index(stop) + 1]
        assert all(stop not in r.drafted[:-1] for r in rounds)
