"""The rule judge: scores of the state behind each drafted token, read in the same pass; heads on disk."""

import dataclasses
import json

import pytest
import torch
from rounds import grid_rounds, ids_of_rounds
from safetensors.torch import load_file, save_file

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.models.model import UnsupportedModel
from explorer.engine.models.registry import JUDGES, known_pairs
from explorer.engine.verification.judge_head import (
    CARD,
    WEIGHTS,
    JudgeHead,
    JudgeHeadCard,
    JudgeHeadError,
    find,
    read_judge_head,
)
from explorer.trace import SchemaError, Trace
from explorer.training.judge.card import save
from explorer.verdicts import Verdict

PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
BASE = DecodeConfig(rule="judge", judge_run=4, draft_length=6, max_new_tokens=30)
EXACT = dataclasses.replace(BASE, rule="exact")


@pytest.mark.parametrize(
    "changes", [{}, {"drafter": "model+lookup"}, {"phrases": 2, "phrase_length": 3, "draft_length": 2}], ids=str
)
@pytest.mark.parametrize("shape", ["llama", "packed-llama", "self-llama"])
@torch.inference_mode()
def test_every_score_is_of_the_state_after_its_token(shape, changes, make_pair, with_stop_ids, with_judge_head, record):
    """Against transformers' own modules over the same text in one pass: the state at a drafted token, not the one that chose it."""
    pair = with_judge_head(with_stop_ids(make_pair(shape, 0.08)))
    pool = None
    if "phrases" in changes:  # that knows what the target will say
        pool, text = PhrasePool(3, pair.stop_ids), [t for r in decode(pair, list(PROMPT), EXACT) for t in r.emitted]
        pool.read(text, len(text))
    trace = record(pair, PROMPT, dataclasses.replace(BASE, **changes), pool=pool)
    sequence, seen = list(PROMPT), 0
    for round_ in trace.rounds:
        text = torch.tensor([sequence + list(round_.drafted)])
        states = pair.oracle.base_model(input_ids=text).last_hidden_state[0, len(sequence) :]
        expected = pair.judge_head.scores(states).tolist()
        assert [row.harmless for row in round_.rows[:-1]] == pytest.approx(expected, abs=1e-4)
        assert round_.rows[-1].harmless is None, "nothing was drafted there"
        seen += round_.from_pool if pool else len(round_.drafted)
        sequence += round_.emitted
    assert seen > 5


@pytest.mark.parametrize("tree", [0, 12])
@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
@torch.inference_mode()
def test_scores_of_a_heads_chain_and_of_a_trees_path(tree, shape, headed, with_judge_head, record):
    """The path of a tree is not where the fed columns stand, so its states must move with its keys and values."""
    pair = with_judge_head(headed(shape))
    config = dataclasses.replace(BASE, drafter="features", draft_length=4, tree=tree, tree_width=3)
    sequence, seen = list(PROMPT), 0
    for round_ in record(pair, PROMPT, config).rounds:
        text = torch.tensor([sequence + list(round_.drafted)])
        states = pair.oracle.base_model(input_ids=text).last_hidden_state[0, len(sequence) :]
        assert [row.harmless for row in round_.rows[:-1]] == pytest.approx(
            pair.judge_head.scores(states).tolist(), abs=1e-4
        )
        seen += len(round_.drafted) > 1
        sequence += round_.emitted
    assert seen > 1


def test_at_most_so_many_in_a_row_are_kept(make_pair, with_stop_ids, with_judge_head, record):
    pair = with_judge_head(with_stop_ids(make_pair("llama", 0.3)))
    longest = {}
    for most in (1, 2, 16):
        trace = record(pair, PROMPT, dataclasses.replace(BASE, judge_threshold=0.0, judge_run=most))
        letters = ["".join("r" if v is Verdict.RELAXED else "-" for v in round_.verdicts) for round_ in trace.rounds]
        longest[most] = max(len(run) for line in letters for run in line.split("-"))
    assert (longest[1], longest[2]) == (1, 2)
    assert longest[16] > 2


def test_many_settings_at_once_are_those_of_single_runs(make_pair, with_stop_ids, with_judge_head):
    pair = with_judge_head(with_stop_ids(make_pair("llama", 0.08)))
    configs = [dataclasses.replace(BASE, **change) for change in ({}, {"judge_threshold": 0.3}, {"rule": "exact"})]
    rounds, _ = grid_rounds(pair, PROMPT, configs)
    for config, mine in zip(configs, rounds):
        assert ids_of_rounds(mine) == ids_of_rounds(decode(pair, list(PROMPT), config))
    assert ids_of_rounds(rounds[1]) != ids_of_rounds(rounds[2]), "the head must have kept something"


def test_a_target_without_a_head_is_refused_in_one_line(pair, make_pair, with_judge_head):
    with pytest.raises(ConfigError, match="this pair has none") as refused:
        next(decode(pair, list(PROMPT), BASE))
    assert "\n" not in str(refused.value)
    judged = with_judge_head(make_pair("gemma3"))
    with pytest.raises(UnsupportedModel, match="hidden states of gemma3"):
        next(decode(judged, list(PROMPT), BASE))


def test_only_this_rule_records_scores_and_hostile_ones_are_refused(make_pair, with_judge_head, record):
    pair = with_judge_head(make_pair("llama", 0.08))
    data = record(pair, PROMPT, BASE).to_json()
    assert Trace.from_json(json.loads(json.dumps(data))).to_json() == data
    exact = record(pair, PROMPT, dataclasses.replace(BASE, rule="exact")).to_json()
    assert not any("harmless" in row for round_ in exact["rounds"] for row in round_["rows"])
    for value, words in ((1.5, "harmless must lie from 0 to 1"), (-0.1, "harmless must"), ("x", "a finite number")):
        spoilt = json.loads(json.dumps(data))
        spoilt["rounds"][0]["rows"][0]["harmless"] = value
        with pytest.raises(SchemaError, match=words):
            Trace.from_json(spoilt)
    verdicts = json.loads(json.dumps(data))
    for round_ in verdicts["rounds"]:
        for row in round_["rows"]:
            row["harmless"] = 0.0 if "harmless" in row else None
    with pytest.raises(SchemaError, match="the rule gives other verdicts"):
        Trace.from_json(verdicts)


# On disk --------------------------------------------------------------------------------------------------------------


def make_card(pair, **changes):
    card = JudgeHeadCard(
        ("tiny-llama",), "sampled-sha256:aa", "float32", pair.target.width, {"prompts": 3}, {"decay": 0.1}, {"auc": 0.8}
    )
    return dataclasses.replace(card, **changes)


@pytest.fixture
def written(pair, tmp_path):
    torch.manual_seed(0)
    head = JudgeHead(torch.randn(pair.target.width), torch.tensor(0.25))
    save(tmp_path / "one", head, make_card(pair))
    return tmp_path / "one", head


def test_a_head_comes_back_as_written(written, pair):
    folder, head = written
    again, card = read_judge_head(folder)
    assert card == make_card(pair)
    assert torch.equal(again.weight, head.weight)
    assert again.bias == head.bias
    states = torch.randn(4, pair.target.width)
    assert torch.equal(again.scores(states), torch.sigmoid(states @ head.weight + 0.25))


def test_a_head_is_found_by_its_targets_weights_then_by_the_pairs_name(written, pair, tmp_path):
    assert find(pair.name, "sampled-sha256:other", tmp_path) == written[0], "by name"
    save(tmp_path / "two", written[1], make_card(pair, pairs=("else",), target="sampled-sha256:other"))
    assert find(pair.name, "sampled-sha256:other", tmp_path) == tmp_path / "two", "weights count more than a name"
    assert find("unknown", "unknown", tmp_path) is None


def test_a_head_is_named_in_the_record_of_the_pair_that_has_it(written, pair):
    judged = pair.with_judge_head(written[0])
    assert "judge head" not in pair.provenance().weights
    assert judged.provenance().weights["judge head"].startswith("sampled-sha256:")
    save(written[0], JudgeHead(torch.zeros(16), torch.tensor(0.0)), make_card(pair, width=16))
    with pytest.raises(JudgeHeadError, match="width 16, this one has 32"):
        judged.with_judge_head(written[0])


@pytest.mark.parametrize(
    "change",
    [{"width": 48}, {"width": "x"}, {"width": -1}, {"pairs": None}, {"metrics": {"auc": float("nan")}}, {"target": 7}],
    ids=str,
)
def test_hostile_cards_are_refused(change, written):
    folder, _ = written
    (folder / CARD).write_text(json.dumps(json.loads((folder / CARD).read_text()) | change))
    with pytest.raises(JudgeHeadError):
        read_judge_head(folder)


def test_hostile_weights_are_refused(written):
    folder, _ = written
    weights = load_file(folder / WEIGHTS)
    for spoilt in (
        {"weight": weights["weight"]},
        weights | {"more": torch.zeros(1)},
        weights | {"bias": torch.tensor(float("nan"))},
        weights | {"weight": weights["weight"].long()},
    ):
        save_file(spoilt, folder / WEIGHTS)
        with pytest.raises(JudgeHeadError):
            read_judge_head(folder)
    for junk in (b"", b"\x80\x04pickle", b"\xff" * 64):
        (folder / WEIGHTS).write_bytes(junk)
        with pytest.raises(JudgeHeadError, match="not a safetensors file"):
            read_judge_head(folder)
    (folder / WEIGHTS).unlink()
    with pytest.raises(JudgeHeadError, match="holds no head"):
        read_judge_head(folder)


def test_what_ships_can_be_read_and_is_for_known_pairs():
    """A head without its README, for a pair that is gone, or whose README tells other figures than its card would mislead."""
    known = {pair.name: pair for pair in known_pairs()}
    folders = [path.parent for path in JUDGES.glob(f"*/{CARD}")]
    assert folders
    for folder in folders:
        head, card = read_judge_head(folder)
        assert head.weight.abs().max() > 0
        assert all(known[name].has_judge_head for name in card.pairs)
        assert len({known[name].target for name in card.pairs}) == 1, "one target"
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert f"AUC {card.metrics['test_auc']:.3f}" in readme
        assert card.target in readme
    assert not known["qwen2_5-coder-1_5b"].has_judge_head
