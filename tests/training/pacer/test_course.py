"""From a loaded pair to a layer in one go, on a tiny pair: the generators that the command and the page share."""

import json

import pytest

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer.card import load
from explorer.training.pacer.collect import collect
from explorer.training.pacer.course import EXCLUDED, SEED, Plan, course
from explorer.training.pacer.data import shard_paths
from explorer.training.pacer.progress import Choosing, Epoch, Shard, Step, Trained
from explorer.training.pacer.sides import sides_of
from explorer.training.pacer.train import Recipe

RECIPE = Recipe(rule="fly", epochs=2, batch=8, longest=8, rate=1e-3)
PLAN = Plan(shards=2, rows=5, tokens=12, recipe=RECIPE)


@pytest.fixture(scope="module")
def pair(make_pair):
    return make_pair("llama")


@pytest.fixture(scope="module")
def followed(pair, tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    return folder, list(course(pair, PLAN, folder / "data", folder / "layer"))


def test_it_tells_every_step_in_order(followed):
    folder, steps = followed
    kinds = [type(step) for step in steps]
    shards = [step for step in steps if isinstance(step, Shard)]
    assert [shard.path.name for shard in shards] == ["shard-00000.safetensors", "shard-00001.safetensors"]
    shares = [step for step in steps[: kinds.index(Shard)] if isinstance(step, float)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert shards[0].texts < len(shares) <= 12 + shards[0].texts
    epochs = [step for step in steps if isinstance(step, Epoch)]
    assert [epoch.epoch for epoch in epochs] == [0, 1, 2]
    for layer, own in zip(epochs[0].calibration, epochs[0].own, strict=True):
        assert layer.predicted == pytest.approx(own.predicted, abs=1e-5), "untrained, it says what the draft's own say"
    assert epochs[2].calibration != epochs[2].own
    trained = [step.loss for step in steps if isinstance(step, Step)]
    assert len(trained) == 2 * (steps.index(epochs[2]) - steps.index(epochs[1]) - 1)
    assert kinds[-2:] == [Choosing, Trained]
    layer, card = load(folder / "layer")
    assert (card.pair, card.rule.rule) == (pair_name(followed), "fly")
    assert card.metrics == {name: float(value) for name, value in steps[-1].metrics.items()}
    assert card.choices["fly"].threshold == steps[-1].choice["threshold"]
    assert {"plain", "fixed", "pacer", "oracle (drafts exactly what is kept)"} <= {
        one["policy"] for one in steps[-1].replayed
    }


def pair_name(followed):
    return json.loads((followed[0] / "data/settings.json").read_text())["pair"]


def test_it_collects_what_the_command_collects(followed, pair, tmp_path):
    settings = {"rule": "fly", "rows": 5, "max_new": 12, "seed": SEED}
    collect(sides_of(pair), tmp_path, range(2), settings, list(EXCLUDED), say=lambda line: None)
    for mine, its in zip(shard_paths(followed[0] / "data"), shard_paths(tmp_path), strict=True):
        assert mine.read_bytes() == its.read_bytes()


def test_what_is_collected_is_not_collected_again(followed, pair, tmp_path):
    steps = list(course(pair, PLAN, followed[0] / "data", tmp_path / "layer"))
    assert isinstance(steps[0], Epoch)
    assert isinstance(steps[-1], Trained)


def test_closed_while_collecting_it_leaves_whole_shards(pair, tmp_path):
    steps = course(pair, PLAN, tmp_path / "data", tmp_path / "layer")
    for step in steps:
        if isinstance(step, Shard):
            next(steps)
            steps.close()
    assert [path.name for path in shard_paths(tmp_path / "data")] == ["shard-00000.safetensors"]
    assert not (tmp_path / "layer").exists()


def test_collecting_leaves_the_pairs_own_models_as_they_are(pair):
    sides = sides_of(pair)
    own, twin = pair.target.model, sides.target
    assert twin.config._attn_implementation == "grouped" != own.config._attn_implementation
    assert all(a is b for a, b in zip(own.parameters(), twin.parameters(), strict=True)), "the weights are there once"


def test_a_layer_of_ones_own_changes_nothing_for_others(followed, pair):
    steered = pair.with_pacer_layer(followed[0] / "layer")
    config = DecodeConfig(rule="exact", length="pacer", block_size=2, threshold=0.3, max_new_tokens=12)
    rounds = list(decode(steered, [5, 90, 14, 33, 8], config))
    assert any(block.scores for round_ in rounds for block in round_.blocks)
    assert not pair.scorers
    assert steered.provenance().weights["pacer"].startswith("sampled-sha256:")
    assert "pacer" not in pair.fingerprints
