"""Outcome labels on tiny models: what one replaced token does to an answer that was planted in the target's own text."""

import dataclasses
from contextlib import closing

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.errors import UserError
from explorer.pieces import text_of
from explorer.prompts import PromptItem
from explorer.training.common.collection import shard_path
from explorer.training.judge.collect import collect, describe, label_all
from explorer.training.judge.data import read_folder, read_shard, table_of
from explorer.training.judge.labels import SPARE, NamedDraft, disagreements, is_settled, label

LONGEST = 14


@pytest.fixture(scope="module")
def planted(make_pair, with_stop_ids):
    """A pair without stop ids whose draft is often wrong, a prompt, its greedy answer, and an item that asks for the last
    character of that answer: right as it stands, and settled by nothing before."""
    pair = with_stop_ids(make_pair("packed-llama", 0.3))
    prompt = "Hello there"
    ids = list(pair.encode(prompt).ids)
    greedy = _greedy(pair, ids, LONGEST)
    text = text_of(greedy, pair.vocabulary)
    return pair, ids, greedy, PromptItem(prompt, answer=text[-1:], check="contains")


def _greedy(pair, ids, count):
    config = DecodeConfig(rule="autoregressive", max_new_tokens=count)
    return [token for round_ in decode(pair, list(ids), config) for token in round_.emitted]


def test_a_label_is_what_the_target_really_writes_after_the_token(planted):
    """Each continuation against a plain run of its own from the replaced token on."""
    pair, ids, greedy, item = planted
    labelled, states, _ = label(pair, [NamedDraft.of(pair)], item, LONGEST)
    assert labelled.text == text_of(greedy, pair.vocabulary)
    assert len(labelled.mismatches) == len(states) > 4
    assert {mismatch.important for mismatch in labelled.mismatches} == {True, False}, "the planted answer must tell"
    for mismatch in labelled.mismatches:
        start = [*greedy[: mismatch.position], mismatch.token]
        alone = start + _greedy(pair, [*ids, *start], LONGEST + SPARE - len(start))
        text = text_of(alone, pair.vocabulary)
        assert text.startswith(mismatch.text)
        assert mismatch.important is not item.is_right(text)
        assert greedy[mismatch.position] != mismatch.token


@torch.inference_mode()
def test_the_states_are_those_after_the_replaced_token(planted):
    pair, ids, greedy, item = planted
    labelled, states, _ = label(pair, [NamedDraft.of(pair)], item, LONGEST)
    for mismatch, state in zip(labelled.mismatches, states):
        text = torch.tensor([[*ids, *greedy[: mismatch.position], mismatch.token]])
        expected = pair.oracle.base_model(input_ids=text).last_hidden_state[0, -1]
        assert torch.allclose(state, expected, atol=1e-4)


@torch.inference_mode()
def test_mismatches_are_the_drafts_own_choices_along_the_greedy_text(planted, make_pair):
    """Both drafts: one equal to the target, which never disagrees, and the noisy one, against its own forward."""
    pair, ids, greedy, _ = planted
    equal = dataclasses.replace(NamedDraft.of(make_pair("llama", 0.0)), name="equal")
    with closing(pair.target.open()) as target:
        places = list(disagreements(pair, target, [equal, NamedDraft.of(pair)], ids, greedy))
    assert {place.drafts for place in places} == {(pair.name,)}
    logits = pair.draft.open().feed(torch.tensor([*ids, *greedy[:-1]]), rows=len(greedy))
    choices = logits.argmax(-1).tolist()
    assert [(p.position, p.token) for p in places] == [
        (i, c) for i, (c, g) in enumerate(zip(choices, greedy)) if c != g
    ]


def test_both_drafts_that_say_the_same_make_one_mismatch(planted):
    pair, ids, greedy, _ = planted
    twin = dataclasses.replace(NamedDraft.of(pair), name="twin")
    with torch.inference_mode(), closing(pair.target.open()) as target:
        places = list(disagreements(pair, target, [NamedDraft.of(pair), twin], ids, greedy))
    assert len(places) > 4
    assert {place.drafts for place in places} == {(pair.name, "twin")}


def test_stop_ids_are_no_mismatches(planted, with_stop_ids):
    """Neither where the draft would stop nor where the target does."""
    pair, ids, greedy, _ = planted
    with torch.inference_mode(), closing(pair.target.open()) as target:
        token = next(disagreements(pair, target, [NamedDraft.of(pair)], ids, greedy)).token
    stopped = with_stop_ids(pair, token)
    with torch.inference_mode(), closing(pair.target.open()) as target:
        assert all(p.token != token for p in disagreements(stopped, target, [NamedDraft.of(pair)], ids, greedy))


def test_what_stands_behind_a_settled_answer_is_left_out(planted):
    pair, ids, greedy, item = planted
    early = dataclasses.replace(item, answer=text_of(greedy[:4], pair.vocabulary))
    labelled, states, settled = label(pair, [NamedDraft.of(pair)], early, LONGEST)
    assert settled > 0
    assert all(mismatch.position < 4 for mismatch in labelled.mismatches)
    assert len(states) == len(labelled.mismatches)


def test_a_wrong_answer_gives_no_labels(planted):
    pair, *_, item = planted
    assert label(pair, [NamedDraft.of(pair)], dataclasses.replace(item, answer="£££"), LONGEST)[0] is None
    number = PromptItem(item.prompt, answer="7", check="number")
    assert label(pair, [NamedDraft.of(pair)], number, LONGEST)[0] is None, (
        "its last number is not known where it goes on"
    )


@pytest.mark.parametrize(
    ("check", "answer", "text", "settled"),
    [
        ("contains", "red", "a red", True), ("contains", "red", "a re", False),
        ("words", "red", "a red", False), ("words", "red", "a red,", True), ("words", "red", "a reddish.", False),
        ("words", "red hat", "Red, hat ", True), ("line", "yes", "yes", False), ("line", "yes", "yes\nor", True),
        ("number", "7", "It is 7.", False),
    ],
)  # fmt: skip
def test_settled_is_what_no_further_text_can_change(check, answer, text, settled):
    item = PromptItem("?", answer=answer, check=check)
    assert is_settled(item, text) is settled
    if settled:
        assert all(item.is_right(text + more) for more in ("x", " 8", "\nno", "dish", ""))


# On disk --------------------------------------------------------------------------------------------------------------


def test_a_collection_resumes_and_refuses_other_settings(planted, tmp_path):
    pair, *_, item = planted
    pair = dataclasses.replace(pair, fingerprints={"target": "sampled-sha256:aa"})
    items = [item, dataclasses.replace(item, prompt="Then the inner hand."), dataclasses.replace(item, answer="£££")]
    settings, said = {"rows": 2, "max_new": LONGEST, "seed": 1}, []
    arguments = (pair, [NamedDraft.of(pair)], tmp_path, range(2), settings, [], items)
    said += [line for line in collect(*arguments) if isinstance(line, str)]
    assert len(said) == 2
    assert "2 prompts" in said[0]
    first, second = read_folder(tmp_path)
    assert (first.asked, second.asked) == (2, 1)
    rows = table_of([first, second])
    assert len(rows) == len(rows.states) == len(rows.mismatches) == sum(len(text.mismatches) for text in first.texts)
    before = shard_path(tmp_path, 0).read_bytes()
    shard_path(tmp_path, 1).unlink()
    said += [line for line in collect(*arguments) if isinstance(line, str)]
    assert len(said) == 3, "only what was missing"
    assert shard_path(tmp_path, 0).read_bytes() == before
    with pytest.raises(UserError, match="begun with other settings"):
        list(collect(*arguments[:4], settings | {"seed": 2}, [], items))


def test_damaged_shards_are_refused(planted, tmp_path):
    pair, *_, item = planted
    shard = label_all(pair, [NamedDraft.of(pair)], [item], LONGEST)
    assert "answered rightly" in describe(shard)
    path = shard_path(tmp_path, 0)
    for junk in (b"", b"\xff" * 64):
        path.write_bytes(junk)
        with pytest.raises(UserError, match="is damaged"):
            read_shard(path)
    with pytest.raises(UserError, match="no labelled mismatches"):
        read_folder(tmp_path / "empty")
