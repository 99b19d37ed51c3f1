"""The policies that weigh costs: what they decide with given costs, and that they never change what is written."""

import dataclasses
import json

import pytest
from layers import Scripted

from explorer.analysis.costs import CostProfile
from explorer.config import DecodeConfig
from explorer.engine import make_length_policy, step_costs
from explorer.engine.decode import decode
from explorer.engine.drafters.draft import Draft
from explorer.engine.drafters.throughput import SILENT, PacerThroughputLength, Rate, ThroughputLength

PROMPT = [39, 68, 75, 75, 78, 258, 82]


def costs(step: float, passes: dict[int, float]) -> CostProfile:
    return CostProfile("given", "entered", "ms", step, passes)


FLAT = costs(1.0, {1: 10.0, 64: 10.0})  # a pass costs the same however many rows it has
DEAR_FIFTH = costs(1.0, {1: 10.0, 4: 10.0, 5: 40.0, 64: 1810.0})  # every row after the fourth


def drafted(*probs: float) -> Draft:
    draft = Draft()
    for prob in probs:
        draft.add(7, prob, "model", frozenset())
    return draft


def length_of(policy: ThroughputLength, prob: float | None, most: int = 16) -> int:
    """How many tokens a round drafts if each of them gets this probability."""
    draft = Draft()
    while len(draft) < most and policy.next_block(draft):
        draft.add(7, prob, "model", frozenset())
    return len(draft)


def after(policy: ThroughputLength, rounds: int, prob: float, accepted) -> int:
    """The draft length of the round after some in which `accepted(n)` of n tokens were accepted."""
    for _ in range(rounds):
        count = length_of(policy, prob)
        policy.adapt(count, accepted(count))
    return length_of(policy, prob)


def test_sure_drafts_are_long_and_doubtful_ones_short():
    assert length_of(ThroughputLength(16, FLAT), 0.99) > length_of(ThroughputLength(16, FLAT), 0.5) >= 1


def test_no_row_is_drafted_that_costs_more_than_it_brings():
    """The fifth row of a pass costs as much as three whole passes: four rows are all that pays, however sure the draft is."""
    assert length_of(ThroughputLength(16, DEAR_FIFTH), 0.99) == 3
    assert length_of(ThroughputLength(16, FLAT), 0.99) > 3


def test_nothing_is_drafted_where_the_draft_costs_as_much_as_the_target():
    """And one token is tried again now and then, because a text may become easier."""
    policy = ThroughputLength(16, costs(10.0, {1: 10.0, 64: 10.0}))
    lengths = []
    for _ in range(3 * (SILENT + 1)):
        lengths.append(length_of(policy, 0.9))
        policy.adapt(lengths[-1], 0)
    assert set(lengths) == {0, 1}
    assert 2 <= sum(lengths) <= 3


def test_a_draft_whose_doubts_prove_groundless_is_drafted_on():
    """Under a loose rule more is accepted than the draft's probabilities say; under a bad draft less."""
    everything = after(ThroughputLength(16, FLAT), 20, 0.6, lambda count: count)
    nothing = after(ThroughputLength(16, FLAT), 20, 0.6, lambda count: 0)
    assert everything > length_of(ThroughputLength(16, FLAT), 0.6) > nothing


def test_tokens_without_a_probability_count_as_the_run_so_far():
    """Of a draft with a vocabulary of its own some tokens have none."""
    assert 1 <= length_of(ThroughputLength(16, FLAT), None) <= 16


def test_the_rate_is_that_of_the_run():
    """With nothing accepted, time runs and tokens stay behind: less and less has to be expected to go on."""
    rate = Rate(FLAT)
    least = [expected for expected in (0.1, 0.2, 0.3, 0.5, 0.8) if rate.pays(expected, 4)]
    for _ in range(30):
        rate.add(4, 4)
    assert len([expected for expected in (0.1, 0.2, 0.3, 0.5, 0.8) if rate.pays(expected, 4)]) < len(least)


def test_pacers_threshold_is_the_least_mean_that_pays():
    """And grows from block to block: ever more must have been accepted for the next block to count."""
    config = DecodeConfig(rule="exact", length="pacer-throughput", draft_length=24, block_size=4)
    policy, draft = PacerThroughputLength(config, Scripted(0), FLAT), Draft()
    while count := policy.next_block(draft):
        for _ in range(count):
            draft.add(7, 0.95, "model", frozenset())
        draft.scores += [0.95] * count
        if len(draft) == 24:
            break
    blocks = policy.blocks(draft)
    thresholds = [block.threshold for block in blocks if block.threshold is not None]
    assert thresholds == sorted(thresholds)
    assert len(set(thresholds)) == len(thresholds) > 1
    for index, threshold in enumerate(thresholds[:-1]):
        rate, chance, held = Rate(FLAT), 0.95 ** (4 * index), 4 * (index + 1)
        expected = [
            chance * mean**4 * sum(mean**place for place in (1, 2, 3, 4)) for mean in (threshold, threshold - 0.01)
        ]
        assert [rate.pays(value, held, 4) for value in expected] == [True, False]


@pytest.mark.parametrize("length", ["throughput", "pacer-throughput"])
@pytest.mark.parametrize("drafter", ["model", "model+lookup"])
@pytest.mark.parametrize("profile", [FLAT, DEAR_FIFTH], ids=["flat", "dear"])
def test_the_text_is_that_of_plain_greedy_decoding(profile, drafter, length, with_scorer, monkeypatch):
    monkeypatch.setattr(make_length_policy, "step_costs", lambda pair: profile)
    pair = with_scorer("packed-llama", lambda offset: 0.95 - 0.03 * offset)
    config = DecodeConfig(rule="exact", length=length, drafter=drafter, draft_length=12, max_new_tokens=28)
    plain = [
        list(round_.emitted) for round_ in decode(pair, PROMPT, dataclasses.replace(config, rule="autoregressive"))
    ]
    rounds = list(decode(pair, PROMPT, config))
    assert [token for round_ in rounds for token in round_.emitted] == [token for tokens in plain for token in tokens]
    longest = max(len(round_.drafted) for round_ in rounds)
    assert longest <= 4 if profile is DEAR_FIFTH else longest > 4


# What the steps cost ----------------------------------------------------------------------------------------------------


def test_costs_are_measured_once_and_kept(make_pair, tmp_path, monkeypatch):
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    pair = make_pair("packed-llama")
    first = step_costs.step_costs(pair)
    times = list(first.passes.values())
    assert first.step > 0
    assert times == sorted(times)
    monkeypatch.setattr(step_costs, "measure", lambda pair: pytest.fail("measured again"))
    assert step_costs.step_costs(pair) == first


@pytest.mark.parametrize("content", ["{", '{"step": 1.0}', json.dumps({"step": 1.0, "passes": {"x": 2}})])
def test_a_damaged_file_of_costs_is_measured_anew(content, make_pair, tmp_path, monkeypatch):
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    monkeypatch.setattr(step_costs, "measure", lambda pair: FLAT)
    pair = make_pair("packed-llama")
    step_costs.step_costs(pair)
    (stored,) = (tmp_path / "costs").glob("*.json")
    stored.write_text(content)
    assert step_costs.step_costs(pair) == FLAT
    assert json.loads(stored.read_text())["step"] == FLAT.step
