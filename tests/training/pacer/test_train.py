"""Labels, batches and training on tiny texts."""

import dataclasses
import itertools
import random

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.errors import UserError
from explorer.training.common.progress import finish
from explorer.training.common.training_log import read_log
from explorer.training.pacer.data import draft_at, read_folder, read_shard, walk, write_shard
from explorer.training.pacer.train import LayerRecipe, calibrate, collate, loss_of, measure, sample_rounds, train

EXACT = DecodeConfig(rule="exact")


def test_shards_come_back_as_written(collected, tmp_path):
    texts = collected("llama")
    write_shard(tmp_path / "shard-00000.safetensors", texts)
    again = read_shard(tmp_path / "shard-00000.safetensors")
    for text, other in zip(texts, again, strict=True):
        for field in dataclasses.fields(text):
            mine, its = getattr(text, field.name), getattr(other, field.name)
            assert mine == its if field.name == "prompt_length" else torch.equal(mine, its), field.name
    assert [path.name for path in tmp_path.iterdir()] == ["shard-00000.safetensors"]


def test_held_out_prompts_are_never_trained_on(collected, tmp_path):
    """Templates repeat themselves: the same prompt may stand in several shards."""
    texts = collected("llama")
    for index, chosen in enumerate((texts[:1], texts[:3], texts[2:])):
        write_shard(tmp_path / f"shard-{index:05}.safetensors", chosen)
    (tmp_path / "settings.json").write_text('{"rule": "exact"}')
    _, held_out, others = read_folder(tmp_path, 1, EXACT)
    assert [text.prompt.tolist() for text in held_out] == [texts[0].prompt.tolist()]
    assert [t.prompt.tolist() for t in others] == [texts[i].prompt.tolist() for i in (1, 2, 2, 3)]


@pytest.mark.parametrize("length", [1, 3, 6])
def test_a_walk_is_a_run_of_fixed_length(length, make_pair, with_stop_ids, collected):
    """Under the exact rule the rounds of a text are those of decoding its prompt, up to where the text was cut."""
    pair = with_stop_ids(make_pair("qwen2"), 1)
    for text in collected("qwen2"):
        config = dataclasses.replace(EXACT, draft_length=length, max_new_tokens=len(text.answer))
        real = [len(r.emitted) for r in decode(pair, text.ids[: text.prompt_length].tolist(), config)]
        walked = [count + 1 for _, count in walk(text, itertools.repeat(length), config, frozenset({1}))]
        assert walked[:-2] == real[: len(walked) - 2]
        assert len(walked) > 4


def test_labels_stand_beside_the_states_that_produced_their_tokens(hand_text):
    """Drafts x1..x4 with two kept are labelled 1 1 0 0 on h0..h3; pairing x_i with h_i trains on another question."""
    text = hand_text([1, 1, 0, 1, 1, 1])
    round_ = draft_at(text, 0, 4)
    batch = collate([(round_, 2)], LayerRecipe(tail=6))
    assert batch.labels.tolist() == [[1, 1, 0, 0]]
    assert torch.equal(batch.states[0, :3], text.states[:3].float())
    assert torch.equal(batch.states[0, 3], text.branch_states[0, 0].float())
    assert round_.ids.tolist() == [*text.answer[:2].tolist(), 7, 8]


def test_padding_and_late_tokens_weigh_nothing(hand_text):
    rounds = [(draft_at(hand_text([1] * 9), 0, 8), 8), (draft_at(hand_text([1, 0, 1, 1]), 0, 8), 1)]
    batch = collate(rounds, LayerRecipe(tail=2, negative_weight=3.0))
    assert batch.weight.tolist() == [[1.0] * 8, [1.0, 3.0, 3.0, 0, 0, 0, 0, 0]]
    logits = torch.zeros(2, 8)
    changed = logits.clone()
    changed[1, 3:] = 50.0
    assert loss_of(changed, batch) == loss_of(logits, batch) == pytest.approx(0.6931, abs=1e-4)


def test_the_share_of_kept_tokens_follows_the_draft_length(hand_text):
    """Thresholds tuned with one collection length are wrong for a layer trained with another."""
    rng = random.Random(0)
    texts = [hand_text([rng.random() < 0.8 for _ in range(150)], seed=i) for i in range(20)]
    shares = {}
    for longest in (5, 13):
        pairs = sample_rounds(texts, LayerRecipe(longest=longest), frozenset(), random.Random(1))
        shares[longest] = sum(count for _, count in pairs) / sum(len(round_) for round_, _ in pairs)
    assert shares[5] == pytest.approx(0.538, abs=0.04)
    assert shares[13] == pytest.approx(sum(0.8**i for i in range(1, 14)) / 13, abs=0.04)


def test_rounds_start_at_every_kind_of_place(hand_text):
    """A policy changes where rounds start; a layer trained on the starts of one length would never see the others."""
    text = hand_text([1] * 60)
    starts = {
        round_.start
        for seed in range(20)
        for round_, _ in sample_rounds([text], LayerRecipe(), frozenset(), random.Random(seed))
    }
    assert len(starts) > 50


@pytest.fixture
def learnable(hand_text):
    """Texts whose draft agrees where the first number of the state that produced the token is positive."""

    def build(count, seed):
        texts = []
        for i in range(count):
            rng = torch.Generator().manual_seed(seed * 100 + i)
            match = torch.rand(30, generator=rng) < 0.8
            text = hand_text(match.tolist(), d=32, seed=seed * 100 + i)
            text.states[:, 0] = torch.where(match, 3.0, -3.0).half()
            texts.append(text)
        return texts

    return build


RECIPE = LayerRecipe(epochs=4, batch=8, rate=1e-3, longest=8)


def fresh(make_pair, **switches):
    return PreVerificationLayer.beside(make_pair("llama").oracle_draft, **switches)


def test_it_learns_what_the_states_say(make_pair, learnable, tmp_path):
    layer = fresh(make_pair)
    figures = finish(train(layer, learnable(24, 1), learnable(8, 2), frozenset(), tmp_path, RECIPE))
    assert figures["auc_within_offset"] > 0.95 > 0.6 > figures["auc_within_offset_survival"]
    assert figures == measure(layer, learnable(8, 2), RECIPE, frozenset()) | {"epoch": figures["epoch"]}
    assert (tmp_path / "log.jsonl").read_text().count("loss_held_out") == RECIPE.epochs


def test_calibration_works_where_the_layer_lies(make_pair, learnable, monkeypatch):
    """Rounds come from the host, and training goes on a GPU where there is one. No device but `meta` is everywhere."""
    devices = []

    class OneStep(torch.optim.SGD):
        def __init__(self, parameters, **_):
            super().__init__(parameters, lr=0.1)

    def watched(logits, batch):
        devices.extend(tensor.device.type for tensor in (logits, batch.labels, batch.weight, batch.probs))
        return loss_of(logits, batch)

    monkeypatch.setattr(torch.optim, "LBFGS", OneStep)
    monkeypatch.setattr("explorer.training.pacer.train.loss_of", watched)
    rounds = sample_rounds(learnable(2, 1), RECIPE, frozenset(), random.Random(0))
    calibrate(fresh(make_pair).to("meta"), rounds, RECIPE)
    assert set(devices) == {"meta"}


@pytest.mark.parametrize("probability", [True, False])
def test_it_starts_from_what_is_kept(make_pair, learnable, probability):
    """A pair that drafts for itself keeps nearly everything however small the product of the probabilities is: a layer that says
    the product from the start unlearns that for epochs."""
    layer, rounds = (
        fresh(make_pair, probability=probability),
        sample_rounds(learnable(24, 1), RECIPE, frozenset(), random.Random(0)),
    )
    rounds = [(round_, len(round_)) for round_, _ in rounds]
    rounds[0] = rounds[0][0], 0
    calibrate(layer, rounds, RECIPE)
    batch = collate(rounds, RECIPE)
    scores = layer(batch.states, batch.probs).sigmoid()[batch.weight > 0]
    assert scores.mean().item() == pytest.approx(batch.labels[batch.weight > 0].mean().item(), abs=0.02)


def test_without_states_it_knows_less(make_pair, learnable, tmp_path):
    """The baseline `offsets only, states zeroed` must lose, or the layer is a fixed length in disguise."""

    def blind(texts):
        for text in texts:
            text.states.zero_()
            text.branch_states.zero_()
        return texts

    layer = fresh(make_pair, probability=False)
    figures = finish(train(layer, blind(learnable(24, 1)), blind(learnable(8, 2)), frozenset(), tmp_path, RECIPE))
    assert figures["auc_within_offset"] < 0.6


@pytest.mark.parametrize("after", [False, True], ids=["before the checkpoint is there", "after"])
def test_resumed_training_gives_the_same_weights(after, make_pair, learnable, tmp_path, killed_at_save):
    def run(name, recipe=RECIPE):
        layer = fresh(make_pair)
        figures = finish(
            train(layer, learnable(12, 1), learnable(4, 2), frozenset(), tmp_path / name, recipe, save_every=3)
        )
        return layer.state_dict(), figures

    whole, figures = run("whole")
    with killed_at_save(4, after):
        run("parts")
    resumed, again = run("parts")
    assert again == figures
    logs = [
        [{name: value for name, value in line.items() if name != "seconds"} for line in read_log(tmp_path / name)]
        for name in ("whole", "parts")
    ]
    assert logs[0] == logs[1], "each step is logged once"
    assert all(torch.equal(tensor, resumed[name]) for name, tensor in whole.items())
    with pytest.raises(UserError, match="another recipe"):
        run("parts", dataclasses.replace(RECIPE, seed=2))
