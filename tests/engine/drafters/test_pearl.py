"""PEARL's schedule: a pipeline of drafts by hand, against the two-state machine as the paper tells it, and on tiny pairs."""

import dataclasses
import random

import pytest

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.draft import Draft
from explorer.engine.drafters.pearl import Pipeline
from explorer.engine.recorder import plain
from explorer.sweep.grid import decode_grid
from explorer.trace import Trace

SHAPES = ("llama", "qwen2", "mistral", "gemma3", "packed-llama", "packed-qwen2", "self-qwen2")
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
COUNT = 24
CONFIG = DecodeConfig(rule="exact", schedule="pearl", draft_length=3, max_new_tokens=COUNT)


class Scripted:
    """Drafts what a function of the text so far says."""

    def __init__(self, next_token, stop_ids=frozenset()):
        self._next, self._stop_ids = next_token, stop_ids

    def extend(self, draft: Draft, sequence: list[int], count: int, score=None) -> None:
        for _ in range(count):
            draft.add(self._next([*sequence, *draft.ids]), 1.0, "model", self._stop_ids)


def schedule(
    draft_next, target_next, gamma: int, budget: int, stop_ids=frozenset()
) -> list[tuple[int, list[int], list[int]]]:
    """Rounds of the pipeline from an empty text: (tentative tokens, drafted ahead, committed)."""
    pipeline, drafter = Pipeline(gamma), Scripted(draft_next, stop_ids)
    text, rounds = [0], []
    while len(text) - 1 < budget:
        tentative, ahead = pipeline.draft(drafter, text, budget - (len(text) - 1) - 1)
        own = [target_next([*text, *tentative.ids[:place]]) for place in range(len(tentative) + 1)]
        match = [ours == theirs for ours, theirs in zip(tentative.ids, own)]
        pipeline.advance(match, own)
        kept = match.index(False) if False in match else len(match)
        committed = [*tentative.ids[:kept], own[kept]]
        text += committed
        rounds.append((len(tentative), ahead.ids, committed))
        if stop_ids & set(committed):
            break
    return rounds


def two_states(draft_next, target_next, gamma: int, budget: int) -> list[list[int]]:
    """The paper's machine, in its own words: pre-verify the first of gamma tokens; post-verify while the next gamma are made."""
    text, commits, tentative = [0], [], None
    while len(text) - 1 < budget:
        made = list(text) + (tentative or [])
        for _ in range(gamma):
            made.append(draft_next(made))
        new = made[-gamma:]
        tested = [*(tentative or []), new[0]]  # pre-verify: the first one only; post-verify: gamma of them
        committed = []
        for token in tested:
            own = target_next([*text, *committed])
            committed.append(own)
            if own != token:
                tentative = None
                break
        else:
            tentative = new[1:]
        commits.append(committed)
        text += committed
    return commits


def test_the_schedule_by_hand():
    """gamma 3, the draft right for 9 tokens, then wrong: 1 token from pre-verify, then 3 a pass, and back."""
    target = lambda text: len(text) % 100  # noqa: E731
    draft = lambda text: 77 if len(text) == 10 else target(text)  # noqa: E731
    rounds = schedule(draft, target, gamma=3, budget=16)
    assert rounds[:6] == [
        (0, [1, 2, 3], [1]),  # pre-verify: the first is right
        (2, [4, 5, 6], [2, 3, 4]),  # post-verify
        (2, [7, 8, 9], [5, 6, 7]),
        (2, [77, 11, 12], [8, 9, 10]),  # the target's own token is not 77: all three are thrown away
        (0, [11, 12, 13], [11]),  # pre-verify again
        (2, [14, 15], [12, 13, 14]),  # no more than there is room for
    ]


@pytest.mark.parametrize("gamma", [1, 2, 3, 5])
@pytest.mark.parametrize("right", [0.0, 0.5, 0.9, 1.0])
def test_the_schedule_is_the_papers_two_states(gamma, right):
    chance = random.Random(f"{gamma} {right}")
    table = {length: (chance.random() < right) for length in range(80)}
    target = lambda text: sum(text[-3:]) % 11 + 1  # noqa: E731
    draft = lambda text: target(text) if table[len(text)] else 50  # noqa: E731
    ours = [committed for _, _, committed in schedule(draft, target, gamma, 40)]
    theirs = two_states(draft, target, gamma, 40)
    whole = sum(len(one) for one in ours[:-2])  # the last drafts are shortened to the room left
    flat = [token for one in theirs for token in one]
    assert ours[:-2] == theirs[: len(ours) - 2]
    assert [token for one in ours for token in one] == flat[:40]
    assert whole > 20


def test_nothing_is_drafted_behind_a_stop():
    target = lambda text: 9 if len(text) == 6 else len(text)  # noqa: E731
    rounds = schedule(target, target, gamma=4, budget=30, stop_ids=frozenset({9}))
    assert rounds == [(0, [1, 2, 3, 4], [1]), (3, [5, 9], [2, 3, 4, 5]), (1, [], [9, 7])]


@pytest.fixture(scope="module")
def greedy(make_pair, plain_greedy_ids):
    return {shape: plain_greedy_ids(make_pair(shape), PROMPT, COUNT) for shape in SHAPES}


@pytest.mark.parametrize("shape", SHAPES)
def test_pearl_is_plain_greedy(shape, make_pair, greedy):
    """Nothing unverified at the end, also where the budget cuts a draft; a rolled-back draft goes on behind the right text."""
    pair, kept = make_pair(shape), set()
    for gamma in (1, 2, 3, 6):
        rounds = list(decode(pair, list(PROMPT), dataclasses.replace(CONFIG, draft_length=gamma)))
        assert [token for round_ in rounds for token in round_.emitted] == greedy[shape]
        kept |= {(round_.goes_on, bool(round_.drafted)) for round_ in rounds[:-1]}
        assert all(len(round_.ahead) <= gamma and len(round_.drafted) < max(gamma, 2) for round_ in rounds)
    assert kept == {(True, True), (True, False), (False, True), (False, False)}, "every way between the states"


@pytest.mark.parametrize("drafter", ["lookup", "model+lookup"])
def test_any_drafter_takes_the_schedule(drafter, pair, record, greedy):
    trace = record(pair, PROMPT, dataclasses.replace(CONFIG, drafter=drafter))
    assert list(trace.output_ids) == greedy["llama"]


def test_stop_ids_end_the_text(pair, with_stop_ids, record, greedy):
    output = greedy["llama"]
    stop = next(token for token in output[6:] if token not in output[:6])
    trace = record(with_stop_ids(pair, stop), PROMPT, CONFIG)
    assert list(trace.output_ids) == output[: output.index(stop) + 1]
    assert trace.stop.reason == "stop_id"


def test_a_record_is_consistent_and_says_so(pair, record):
    trace = record(pair, PROMPT, CONFIG)
    data = trace.to_json()
    assert Trace.from_json(data) == trace
    index = next(i for i, round_ in enumerate(trace.rounds) if round_.goes_on and len(round_.ahead) > 1)
    data["rounds"][index]["ahead"][1] = data["rounds"][index]["ahead"][0] ^ 1
    data["vocabulary"].setdefault(str(data["rounds"][index]["ahead"][1]), "x")
    with pytest.raises(ValueError, match="drafted ahead"):
        Trace.from_json(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "fly"}, "rule exact"),
        ({"length": "heuristic"}, "length policy fixed"),
        ({"phrases": 2}, "Candidate phrases to 0"),
        ({"temperature": 0.5}, "temperature to 0"),
    ],
)
def test_what_does_not_go_with_it_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(CONFIG, **change)


def test_the_target_alone_has_no_schedule(pair):
    (first, *_) = decode(pair, list(PROMPT), plain(CONFIG))
    assert (first.drafted, first.ahead) == ((), ())


def test_sweeps_are_refused(pair):
    with pytest.raises(ConfigError, match="schedule pearl"):
        next(decode_grid(pair, PROMPT, [CONFIG]))
