"""Replayed rounds: the engine's own policies over recorded tokens, and what an oracle does and does not prove."""

import dataclasses
import random

import pytest

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.lengths import FixedLength
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.drafters.pacer.scorers import PackedScorer
from explorer.errors import UserError
from explorer.training.pacer.costs import Costs, read_costs
from explorer.training.pacer.evaluate import compare, markdown
from explorer.training.pacer.length_replay import Start, grid, oracle, pacer_policy, replay, starts

CONFIG = DecodeConfig(rule="exact", draft_length=6)
FLAT = Costs(draft=0.1, layer=0.01, verify={0: 1.0, 40: 1.0})


def independent(alpha, texts=60, rows=200, longest=30, seed=0):
    """Texts whose draft is right with one chance everywhere: nothing to predict. Scores are the truth of each token."""
    rng, tables = random.Random(seed), []
    for _ in range(texts):
        match = [rng.random() < alpha for _ in range(rows + longest)]
        table = []
        for row in range(rows):
            agreed = next((i for i in range(longest) if not match[row + i]), longest)
            counts = [min(length, agreed) for length in range(longest + 1)]
            scores = [1.0 if i < agreed else 0.0 for i in range(longest)]
            table.append(Start([0.5] * longest, scores, counts, [count + 1 for count in counts]))
        tables.append(table)
    return tables


def best_fixed(tables, costs, longest=30):
    return max(replay(tables, lambda k=k: FixedLength(k), 40, costs).speed for k in range(1, longest + 1))


@pytest.mark.parametrize(("alpha", "c", "gain"), [(0.8, 0.1, 1.45), (0.7, 0.1, 1.36)])
def test_an_oracle_gains_where_nothing_can_be_predicted(alpha, c, gain):
    """So its gain is an upper bound and no evidence that lengths are predictable."""
    costs = dataclasses.replace(FLAT, draft=c)
    tables = independent(alpha)
    assert oracle(tables, 30, costs).speed / best_fixed(tables, costs) == pytest.approx(gain, abs=0.06)


def test_perfect_scores_reach_the_oracle_in_blocks_of_one():
    tables, costs = independent(0.8), dataclasses.replace(FLAT, layer=0.0)
    config = dataclasses.replace(CONFIG, length="pacer", threshold=0.5, growth=1.0, block_size=1, draft_length=30)
    perfect, bound = replay(tables, pacer_policy(config), 30, costs), oracle(tables, 30, costs)
    assert perfect.tau == pytest.approx(bound.tau)
    assert perfect.drafted - perfect.rounds <= bound.drafted <= perfect.drafted, (
        "the token that fails is drafted and sent"
    )


def test_time_is_what_the_rounds_cost():
    one = Start([0.5] * 4, [0.9, 0.9, 0.1, 0.1], [0, 1, 2, 2, 2], [1, 2, 3, 3, 3])
    config = dataclasses.replace(CONFIG, length="pacer", threshold=0.5, growth=1.0, block_size=1, draft_length=4)
    result = replay([[one]], pacer_policy(config), 4, FLAT)
    assert (result.tokens, result.rounds, result.drafted, result.calls) == (3, 1, 3, 3)
    assert result.seconds == pytest.approx(1.0 + 3 * 0.1 + 3 * 0.01)
    whole = replay([[one]], pacer_policy(dataclasses.replace(config, threshold=0.0)), 4, FLAT)
    assert (whole.drafted, whole.calls) == (4, 3), "no call where K ends the draft"


def test_tokens_behind_the_end_of_the_record_cost_time():
    """Only so many tokens are recorded behind a mismatch; a longer draft would have gone on, and none of that is kept."""
    one = Start([0.5] * 3, [], [0, 1, 1, 1], [1, 2, 2, 2], open_end=True)
    result = replay([[one]], lambda: FixedLength(8), 8, FLAT)
    assert (result.tokens, result.drafted) == (2, 8)
    assert result.seconds == pytest.approx(1.0 + 8 * 0.1)
    ended = dataclasses.replace(one, open_end=False)  # at a stop id
    assert replay([[ended]], lambda: FixedLength(8), 8, FLAT).drafted == 3


@pytest.mark.parametrize("shape", ["llama", "qwen2"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_replay_is_the_run_it_stands_for(shape, block, make_pair, with_stop_ids, collected):
    """Same layer, same thresholds: the rounds of real decoding, token for token, up to where the text was cut."""
    pair = with_stop_ids(make_pair(shape), 1)
    layer = PreVerificationLayer.beside(pair.oracle_draft).eval()
    pair = dataclasses.replace(pair, scorers={"exact": PackedScorer(layer, "float32")})
    config = dataclasses.replace(CONFIG, length="pacer", threshold=0.2, growth=1.1, block_size=block)
    for text in collected(shape):
        table = starts(layer, text, config, frozenset({1}))
        run = dataclasses.replace(config, max_new_tokens=len(text.answer))
        real = list(decode(pair, text.ids[: text.prompt_length].tolist(), run))
        short = table[: len(table) - CONFIG.draft_length]  # the budget shortens drafts at the end of a run
        result = replay([short], pacer_policy(config), CONFIG.draft_length, FLAT)
        same = real[: result.rounds]
        assert result.tokens == sum(len(round_.emitted) for round_ in same)
        assert result.drafted == sum(len(round_.drafted) for round_ in same)
        assert result.calls == sum(block.mean is not None for round_ in same for block in round_.blocks)


def test_every_kind_of_policy_is_compared(collected, make_pair):
    layer = PreVerificationLayer.beside(make_pair("llama").oracle_draft).eval()
    tables = [starts(layer, text, CONFIG, frozenset({1})) for text in collected("llama")]
    lines, choice = compare(tables, CONFIG, FLAT)
    kinds = [line["policy"] for line in lines]
    assert kinds[0] == "plain"
    assert {
        "fixed",
        "confidence",
        "heuristic",
        "pacer",
        "pacer, no growth",
        "oracle (drafts exactly what is kept)",
    } <= set(kinds)
    speeds = {line["policy"]: line["speed"] for line in lines}
    assert speeds["oracle (drafts exactly what is kept)"] >= max(speeds.values())
    assert choice.draft_length == CONFIG.draft_length
    assert any(one.threshold == choice.threshold and one.growth == choice.growth for one in grid(CONFIG))
    figures = {
        "metrics": {"auc": 0.5},
        "offsets": [],
        "calibration": [],
        "replayed": lines,
        "costs": {"where": "a test"},
        "apart": True,
    }
    assert "oracle (drafts exactly what is kept)" in markdown(figures)
    assert "on other texts than their speeds" in markdown(figures)
    assert "on the very text" in markdown(figures | {"apart": False})


def test_costs_are_drawn_on_straight_and_read_as_hostile(tmp_path):
    costs = Costs(0.1, 0.0, {0: 1.0, 4: 1.0, 8: 2.0})
    assert [costs.verify_at(length) for length in (0, 2, 4, 6, 8, 12)] == [1.0, 1.0, 1.0, 1.5, 2.0, 3.0]
    assert costs.round(6, 2) == pytest.approx(1.5 + 0.6)
    path = tmp_path / "costs.json"
    for text in ('{"draft": -1, "layer": 0, "verify": {"0": 1, "4": 2}}', '{"draft": 1}', "[]", '{"draft": 1, "layer": 0, "verify": {"0": 1}}', '{"draft": NaN}'):  # fmt: skip
        path.write_text(text)
        with pytest.raises(UserError, match="costs"):
            read_costs(path)
    path.write_text('{"draft": 0.1, "layer": 0.01, "verify": {"0": 1, "8": 2}, "where": "here"}')
    assert read_costs(path).verify_at(4) == 1.5
