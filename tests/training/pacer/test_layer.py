"""The layer: what it reads, and that its serving forms compute what the trained module does."""

import pytest
import torch

from explorer.engine.drafters.pacer.layer import PreVerificationLayer, Shape, UnsupportedDraft, sureness
from explorer.engine.drafters.pacer.scorers import FixedScorer, ModuleScorer, PackedScorer

SWITCHES = [{}, {"position": False}, {"probability": False}, {"position": False, "probability": False}]


@pytest.fixture
def make_layer(make_pair):
    """A layer beside a tiny draft, its head and tables no longer as they start."""

    def build(shape="llama", **switches):
        torch.manual_seed(0)
        layer = PreVerificationLayer.beside(make_pair(shape).oracle_draft, longest=10, **switches)
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                if not name.startswith("block."):
                    parameter += 0.3 * torch.randn(parameter.shape)
        return layer.eval()

    return build


def rounds(count=2, length=9, d=32):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, length, d, generator=generator), torch.rand(
        count, length, generator=generator
    ) * 0.6 + 0.4


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("shape", ["llama", "qwen2"])
@torch.inference_mode()
def test_a_score_depends_on_nothing_drafted_later(shape, switches, make_layer):
    """Blocks are scored while the round grows, padding stands on the right, and rounds of a batch are strangers."""
    layer = make_layer(shape, **switches)
    states, probs = rounds()
    whole = layer(states, probs)
    torch.testing.assert_close(layer(states[:1, :4], probs[:1, :4]), whole[:1, :4], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("blocks", [(9,), (4, 4, 1), (1,) * 9, (2, 5, 2)], ids=str)
@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("shape", ["llama", "qwen2"])
@torch.inference_mode()
def test_serving_block_by_block_is_the_module(shape, switches, blocks, make_layer):
    """The cache of the round, the offsets and the running product carry over from block to block, and not to the next round."""
    layer = make_layer(shape, **switches)
    states, probs = rounds()
    expected = layer(states, probs).sigmoid()
    for run in (
        PackedScorer(layer, "float32").open(),
        ModuleScorer(layer, torch.device("cpu"), torch.float32).open(),
        FixedScorer(layer, torch.device("cpu"), torch.float32).open(),
    ):
        for one_states, one_probs, truth in zip(states, probs, expected):
            run.reset()
            parts = [
                run.score(s, p.double()) for s, p in zip(one_states.split(list(blocks)), one_probs.split(list(blocks)))
            ]
            torch.testing.assert_close(torch.cat(parts), truth, atol=1e-4, rtol=1e-4)
        assert run.seconds > 0


@torch.inference_mode()
def test_eight_bits_are_close(make_layer):
    layer = make_layer("qwen2")
    states, probs = rounds(count=20)
    scorer = PackedScorer(layer)
    scores = []
    for one_states, one_probs in zip(states, probs):
        run = scorer.open()
        scores.append(torch.cat([run.score(s, p) for s, p in zip(one_states.split(3), one_probs.split(3))]))
    assert (torch.stack(scores) - layer(states, probs).sigmoid()).abs().mean() < 0.03


@torch.inference_mode()
def test_rounds_longer_than_the_table_share_its_last_row(make_layer):
    layer = make_layer("llama")
    states, probs = rounds(length=24)
    run = PackedScorer(layer, "float32").open()
    scores = torch.cat([run.score(s, p) for s, p in zip(states[0].split(5), probs[0].split(5))])
    torch.testing.assert_close(scores, layer(states[:1], probs[:1])[0].sigmoid(), atol=1e-4, rtol=1e-4)


def test_it_starts_as_the_drafts_own_last_layer_and_opinion(make_pair):
    """Untrained, it predicts that the draft's probabilities hold: their product."""
    draft = make_pair("qwen2").oracle_draft
    layer = PreVerificationLayer.beside(draft)
    mine = {name.removeprefix("block."): t for name, t in layer.state_dict().items() if name.startswith("block.")}
    theirs = draft.model.layers[-1].state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    states, probs = rounds()
    with torch.no_grad():
        torch.testing.assert_close(layer(states, probs).sigmoid(), probs.cumprod(1), atol=1e-4, rtol=1e-4)


def test_the_seed_decides_what_does_not_start_from_the_draft(make_pair):
    """A recipe names everything that decides the trained weights."""
    draft = make_pair("llama").oracle_draft
    one, again, other = (PreVerificationLayer.beside(draft, seed).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert {name for name in one if not torch.equal(one[name], other[name])} == {
        "position.weight",
        "probability.weight",
    }


def test_switches_change_what_is_read(make_layer):
    states, probs = rounds()
    with torch.no_grad():
        assert torch.equal(
            make_layer(probability=False)(states, probs), make_layer(probability=False)(states, probs / 2)
        )
        layer = make_layer(position=False)
        assert layer.position is None
        layer = make_layer()
        moved = layer.inputs(states, sureness(probs), first=1) - layer.inputs(states, sureness(probs))
        assert moved.abs().max() > 0


@pytest.mark.parametrize("changes", [{"heads": 3}, {"hidden_size": 0}, {"family": "gpt2"}, {"eps": 0.0}, {"longest": 2**30}], ids=str)  # fmt: skip
def test_impossible_shapes_are_refused(changes):
    good = {
        "family": "llama", "hidden_size": 32, "intermediate_size": 64, "heads": 4, "kv_heads": 2, "head_dim": 8, "eps": 1e-6,
        "rope_theta": 1e4,
    }  # fmt: skip
    Shape(**good)
    with pytest.raises(UnsupportedDraft):
        Shape(**(good | changes))


def test_drafts_of_other_families_are_refused(make_model):
    with pytest.raises(UnsupportedDraft, match="gemma3"):
        PreVerificationLayer.beside(make_model("gemma3", 0))
