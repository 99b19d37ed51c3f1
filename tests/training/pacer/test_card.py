"""Layers on disk: read back as written, refused when hostile, named for the weights they were trained for."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from explorer.bench.pacer_rows import adaptive_rows, read_row
from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer.card import CARD, WEIGHTS, Card, CardError, Choice, Rule, load, read_card, save
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.drafters.pacer.shipped import SHIPPED, card_for, find, with_choice
from explorer.training.pacer.train import LayerRecipe

MINE = {"target": "sampled-sha256:aa", "draft": "sampled-sha256:bb"}


def make_card(layer, rule="exact", pair="tiny", weights=MINE):
    return Card(
        pair, weights, {"target": "float32", "draft": "int8"}, layer.shape, Rule(rule, 0.05, 3, "normalized"),
        {"texts": 3, "rows": 90}, LayerRecipe().numbers, {"auc": 0.9}, {"exact": Choice(0.6, 1.1, 3, 10)},
    )  # fmt: skip


@pytest.fixture
def written(make_pair, tmp_path):
    layer = PreVerificationLayer.beside(make_pair("llama").oracle_draft)
    save(tmp_path / "layer", layer, make_card(layer))
    return tmp_path / "layer", layer


def test_a_layer_comes_back_as_written(written):
    folder, layer = written
    again, card = load(folder)
    assert card == make_card(layer)
    for name, tensor in layer.state_dict().items():
        assert torch.equal(tensor.bfloat16().float(), again.state_dict()[name]), name
    assert LayerRecipe.of(card) == LayerRecipe()
    assert sorted(path.name for path in folder.iterdir()) == [CARD, WEIGHTS]


def test_other_weights_are_warned_of(written):
    card = read_card(written[0])
    assert card.warning(MINE) is None
    assert "other weights of the draft" in str(card.warning({**MINE, "draft": "sampled-sha256:cc"}))
    assert "target and the draft" in str(card.warning({}))


def spoil(folder, **changes):
    data = json.loads((folder / CARD).read_text())
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = data
        for name in parents:
            place = place[name]
        place[last] = value
    (folder / CARD).write_text(json.dumps(data))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape__hidden_size": 10**9}, {"shape__hidden_size": 48}, {"shape__heads": -1}, {"shape__family": "../../etc"},
        {"shape__longest": 2**40}, {"shape__eps": 0}, {"shape": None}, {"weights": ["a"]}, {"pair": {"__class__": "x"}},
        {"rule__theta": "0.1"}, {"metrics__auc": float("nan")}, {"choices__exact__threshold": True}, {"shape__position": False},
    ],
    ids=str,
)  # fmt: skip
def test_hostile_cards_are_refused(changes, written):
    spoil(written[0], **changes)
    with pytest.raises(CardError):
        load(written[0])


def test_hostile_files_are_refused(written):
    folder, _ = written
    weights = load_file(folder / WEIGHTS)
    name = next(iter(weights))
    for bad in (
        {**weights, "extra": torch.zeros(2)},
        {key: tensor for key, tensor in weights.items() if key != name},
        {**weights, name: torch.full_like(weights[name], float("nan"))},
        {**weights, name: weights[name].to(torch.int32)},
        {**weights, name: weights[name][..., :1].contiguous()},
    ):
        save_file(bad, folder / WEIGHTS)
        with pytest.raises(CardError):
            load(folder)
    for junk in (b"", b"\x80\x04pickle", b"\xff" * 64, b'{"a": 1}'):
        (folder / WEIGHTS).write_bytes(junk)
        with pytest.raises(CardError, match="safetensors"):
            load(folder)
    (folder / WEIGHTS).unlink()
    with pytest.raises(CardError, match="holds no"):
        load(folder)
    (folder / CARD).write_text("[" * 5000)
    with pytest.raises(CardError):
        read_card(folder)
    (folder / CARD).write_bytes(b" " * (2**20 + 1))
    with pytest.raises(CardError, match="larger"):
        read_card(folder)
    with pytest.raises(CardError, match="holds no"):
        read_card(folder / "nothing")


def test_the_layer_for_these_very_weights_comes_first(make_pair, tmp_path):
    pair = make_pair("llama")
    layer = PreVerificationLayer.beside(pair.oracle_draft)
    save(tmp_path / "a", layer, make_card(layer, pair=pair.name, weights={"target": "x", "draft": "y"}))
    assert find(pair.name, pair.fingerprints, tmp_path) == {"exact": tmp_path / "a"}, "a pair of this name"
    save(tmp_path / "b", layer, make_card(layer, weights=dict(pair.fingerprints)))
    save(tmp_path / "c", layer, make_card(layer, rule="fly", weights=dict(pair.fingerprints)))
    save(tmp_path / "d", layer, make_card(layer, pair="another"))
    assert find(pair.name, pair.fingerprints, tmp_path) == {"exact": tmp_path / "b", "fly": tmp_path / "c"}


@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_an_attached_layer_steers_runs(shape, make_pair, with_stop_ids, written):
    pair = with_stop_ids(make_pair(shape)).with_pacer_layer(written[0])
    cards = pair.cards
    assert card_for(cards, "fly") is card_for(cards, "exact") is cards["exact"]
    config = with_choice(DecodeConfig(rule="exact", length="pacer", max_new_tokens=24), cards, {"growth"})
    assert (config.threshold, config.growth, config.block_size, config.draft_length) == (0.6, 1.05, 3, 10)
    rounds = list(decode(pair, [39, 68, 75, 75], config))
    assert {block.threshold for round_ in rounds for block in round_.blocks[:1]} <= {0.6, None}
    assert any(0 < score < 1 for round_ in rounds for block in round_.blocks for score in block.scores)
    assert sum(round_.seconds.preverify for round_ in rounds) > 0
    plain = DecodeConfig(rule="autoregressive", max_new_tokens=24)
    text = [token for round_ in decode(pair, [39, 68, 75, 75], plain) for token in round_.emitted]
    assert [token for round_ in rounds for token in round_.emitted] == text


def test_a_layer_of_another_width_is_refused(make_model, make_pair, tmp_path):
    layer = PreVerificationLayer.beside(make_model("llama", 0, hidden_size=64))
    save(tmp_path, layer, make_card(layer))
    with pytest.raises(CardError, match="width 64"):
        make_pair("llama").with_pacer_layer(tmp_path)


def test_rows_of_a_table_are_read_from_text(make_pair, written):
    base = DecodeConfig(max_new_tokens=16)
    cards = {"exact": read_card(written[0])}
    rows = adaptive_rows(make_pair("llama"), base, cards, ["fly length=pacer threshold=0.25 least_draft=4"])
    assert rows["exact, pacer"].threshold == rows["fly, pacer, model + lookup"].threshold == 0.6
    assert rows["fly, pacer, model + lookup"].drafter == "model+lookup"
    own = rows["fly length=pacer threshold=0.25 least_draft=4"]
    assert (own.rule, own.threshold, own.least_draft, own.growth, own.max_new_tokens) == ("fly", 0.25, 4, 1.1, 16)
    assert rows["exact, confidence"].threshold == 0.4
    assert not any("pacer" in name for name in adaptive_rows(make_pair("llama"), base, {}))
    for bad in ("length=pacer", "exact length", "exact threshold=high", "exact threshold=7", "exact nothing=1"):
        with pytest.raises(ValueError):  # noqa: PT011
            read_row(bad, base, cards)


def test_what_ships_can_be_read():
    for path in sorted(SHIPPED.glob("*/card.json")):
        layer, card = load(path.parent)
        assert card.choices
        assert card.metrics["auc_within_offset"] > 0.5
        assert (path.parent / WEIGHTS).stat().st_size <= 40e6
        assert layer.shape == card.shape
