"""The packed CPU layout against transformers' own modules, on tiny models of both supported shapes."""

import pytest
import torch
from pairs import OraclePair

from explorer.engine.models import linears, packed
from explorer.engine.models.checkpoint import Checkpoint
from explorer.engine.models.linears import Int8Linear
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.packed import GROW, PackedModel, supports

IDS = torch.tensor([(7 * i * i + 3 * i + 11) % 250 for i in range(60)])


@pytest.fixture(params=["llama", "qwen2"])
def both(request, make_model, tokenizer):
    """The same weights twice: transformers' modules and the packed float32 layout."""
    model, size = make_model(request.param, 0), len(tokenizer)
    return LanguageModel(model, size), PackedModel(Checkpoint.of(model), size, "float32")


@torch.inference_mode()
def test_logits_are_those_of_transformers(both):
    """Fused projections, interleaved rotation and grouped attention are a layout, not another model."""
    plain, fast = (model.open() for model in both)
    for start, stop in ((0, 20), (20, 21), (21, 29), (29, 60)):
        expected, logits = (context.feed(IDS[start:stop], rows=stop - start) for context in (plain, fast))
        torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_a_row_does_not_depend_on_what_is_fed_with_it(both):
    """A verify pass over K + 1 rows must see what K + 1 single steps see, or `exact` would not be exact."""
    _, fast = both
    at_once, one_by_one = fast.open(), fast.open()
    logits = at_once.feed(IDS, rows=len(IDS))
    steps = torch.cat([one_by_one.feed(token[None], rows=1) for token in IDS])
    torch.testing.assert_close(logits, steps, atol=1e-4, rtol=1e-4)
    assert torch.equal(logits.argmax(-1), steps.argmax(-1))


@torch.inference_mode()
@pytest.mark.parametrize("kept", [0, 1, 17, 39])
def test_cropping_forgets_the_tail_and_nothing_else(both, kept):
    """Entries behind the crop stay in the buffer; they must never be attended to again."""
    _, fast = both
    cropped, fresh = fast.open(), fast.open()
    cropped.prefill(IDS[:40])
    cropped.crop(kept)
    fresh.prefill(IDS[:kept])
    assert cropped.length == fresh.length == kept
    after_crop, expected = (context.feed(IDS[50:55], rows=5) for context in (cropped, fresh))
    torch.testing.assert_close(after_crop, expected, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_the_buffer_grows_without_losing_anything(both, monkeypatch):
    """A text longer than one step of the buffer, fed over the border in pieces."""
    monkeypatch.setattr(packed, "GROW", 16)
    _, fast = both
    assert len(IDS) < GROW
    grown, whole = fast.open(), fast.open()
    for start in range(0, 60, 7):
        logits = grown.feed(IDS[start : start + 7], rows=1)
    expected = whole.feed(IDS, rows=1)
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_contexts_share_no_cache(both):
    _, fast = both
    first, second = fast.open(), fast.open()
    first.prefill(IDS[:10])
    expected = fast.open()
    second.prefill(IDS[30:50])
    expected.prefill(IDS[:10])
    assert torch.equal(first.feed(IDS[10:12], rows=2), expected.feed(IDS[10:12], rows=2))


@torch.inference_mode()
def test_int8_is_close_enough_to_draft_with(make_model, tokenizer):
    """The draft's form: most of its choices are those of float32, and its error is that of eight bits."""
    model = make_model("llama", 0)
    exact, draft = (PackedModel(Checkpoint.of(model), len(tokenizer), form).open() for form in ("float32", "int8"))
    expected, logits = (context.feed(IDS, rows=len(IDS)) for context in (exact, draft))
    assert (expected.argmax(-1) == logits.argmax(-1)).float().mean() > 0.7
    weight = torch.randn(64, 32)
    x = torch.randn(5, 32)
    error = (Int8Linear(weight, None)(x) - x @ weight.T).abs().max() / (x @ weight.T).abs().max()
    assert 0 < error < 0.05


@torch.inference_mode()
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", ["int8", "int4"])
@pytest.mark.parametrize("shape", ["llama", "qwen2"])
def test_rows_have_the_same_bits_whatever_is_fed_with_them(form, shape, threads, make_model, tokenizer, request):
    """What lets a quantized target verify: a pass over K + 1 rows gives the very logits of K + 1 single steps. Over the places
    where the length that rows attend over grows, too."""
    model = PackedModel(Checkpoint.of(make_model(shape, 0, max_position_embeddings=512)), len(tokenizer), form)
    ids = torch.arange(340) * 37 % 250
    for start in (40, 230):

        def logits(rows: int, start: int = start) -> torch.Tensor:
            context, end = model.open(), start + 48
            context.prefill(ids[:start])
            places = range(start, end, rows)
            return torch.cat([context.feed(ids[at : min(at + rows, end)], rows=min(rows, end - at)) for at in places])

        alone = logits(1)
        request.addfinalizer(lambda: torch.set_num_threads(1))
        torch.set_num_threads(threads)
        assert {rows: torch.equal(logits(rows), alone) for rows in (1, 2, 3, 5, 9, 16)} == dict.fromkeys(
            (1, 2, 3, 5, 9, 16), True
        )
        torch.set_num_threads(1)


@torch.inference_mode()
@pytest.mark.parametrize("form", ["int8", "int4"])
def test_a_branch_has_the_bits_of_its_own_text(form, make_model, tokenizer):
    """A phrase or a path of a tree, read beside others, is read as if it were the text."""
    model, ids = PackedModel(Checkpoint.of(make_model("llama", 0)), len(tokenizer), form), torch.arange(80) * 37 % 250
    context = model.open()
    context.prefill(ids[:60])
    # Two continuations after ids[60]: 61, 62 and 70, 71.
    fed, parents = torch.cat([ids[60:63], ids[70:72]]), (None, 0, 1, 0, 3)
    visible = torch.zeros(5, 65, dtype=torch.bool)
    visible[:, :60] = True
    for row, parent in enumerate(parents):
        if parent is not None:
            visible[row] |= visible[parent]
        visible[row, 60 + row] = True
    logits = context.branch(fed, torch.tensor([60, 61, 62, 61, 62]), visible)
    for tail, rows in ((ids[60:63], [0, 1, 2]), (torch.cat([ids[60:61], ids[70:72]]), [0, 3, 4])):
        alone = model.open()
        alone.prefill(ids[:60])
        assert torch.equal(logits[rows], alone.feed(tail, rows=3))


@torch.inference_mode()
def test_a_large_row_does_not_cost_the_others_their_digits():
    """The kernel's one activation scale per call leaked between rows: a later token changed the result of an earlier one."""
    torch.manual_seed(0)
    linear = Int8Linear(torch.randn(64, 32), torch.randn(64))
    x = torch.randn(4, 32)
    alone, beside = linear(x)[:3], linear(torch.cat([x[:3], 100 * x[3:]]))[:3]
    assert torch.equal(alone, beside)


@torch.inference_mode()
def test_a_copy_in_fewer_bits_works_in_the_targets_cache(make_pair):
    """One cache for both: nothing to prefill for the draft, and what it drafts beyond the text is taken back."""
    pair = make_pair("self-llama")
    assert pair.drafts_for_itself
    assert not make_pair("packed-llama").drafts_for_itself
    target = pair.target.open()
    target.prefill(IDS[:20])
    draft = pair.open_draft(target)
    alone = pair.draft.open()
    assert draft.length == 20
    draft.feed(IDS[20:23], rows=1)
    assert target.length == 23
    target.crop(20)
    logits = target.feed(IDS[20:25], rows=5)
    expected = pair.target.open().feed(IDS[:25], rows=5)
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
    assert alone.length == 0, "a context opened on its own keeps its own"


@pytest.mark.parametrize("shape", ["mistral", "gemma3"])
def test_other_shapes_are_left_to_transformers(shape, make_model):
    """A sliding window or another norm in the packed forward would be silently wrong."""
    assert not supports(make_model(shape, 0).config, "float32")


@pytest.mark.parametrize("change", [{"hidden_act": "gelu"}, {"mlp_bias": True}])
def test_llamas_that_differ_are_left_to_transformers(change, make_model):
    assert not supports(make_model("llama", 0, **change).config, "float32")


def test_without_the_kernels_the_pair_still_runs(make_model, tokenizer, monkeypatch, plain_greedy_ids):
    """Another torch build or processor: the same ids from transformers' modules, only slower."""
    from explorer.config import DecodeConfig
    from explorer.engine.decode import decode

    def missing(*_):
        raise NotImplementedError("no such operator")

    monkeypatch.setattr(linears, "pack", missing)
    model = make_model("llama", 0)
    pair = OraclePair.of("fallback", model, model, tokenizer, target_form="float32")
    assert isinstance(pair.target, LanguageModel)
    rounds = decode(pair, [1, 2, 3], DecodeConfig(rule="exact", draft_length=4, max_new_tokens=12))
    assert [token for round_ in rounds for token in round_.emitted] == plain_greedy_ids(pair, [1, 2, 3], 12)


@torch.inference_mode()
def test_the_rotations_reach_as_far_as_the_text(make_model, tokenizer):
    """A model made for four million positions took gigabytes for tables that no text reached."""
    model = make_model("llama", 0, max_position_embeddings=4_194_304)
    packed_model = PackedModel(Checkpoint.of(model), len(tokenizer), "float32")
    context = packed_model.open()
    context.feed(IDS[:10], rows=1)
    assert len(packed_model.rotations(0)) == GROW
    beyond = LanguageModel(model, len(tokenizer)).open(), packed_model.open()
    ids = torch.arange(GROW + 9) % 250
    expected, logits = (one.feed(ids, rows=3) for one in beyond)
    assert len(packed_model.rotations(0)) == 2 * GROW
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
