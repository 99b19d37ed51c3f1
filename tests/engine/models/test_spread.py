"""Targets larger than one device: parts of a tiny target on disk or off the device, as accelerate places them; the same ids."""

import dataclasses

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.load_pair import load_folders
from explorer.engine.models import fixed, loading
from explorer.engine.models.loading import Placement, placement
from explorer.engine.models.model import LanguageModel, output_device

CONFIG = DecodeConfig(rule="fly", theta=0.02, window=1, draft_length=4, max_new_tokens=24)
PROMPT = [39, 68, 75, 75, 78, 258, 82]
LAYERS_ON_DISK = {"model.embed_tokens": "cpu", "model.layers.0": "disk", "model.layers.1": "cpu", "model.norm": "cpu",
                  "model.rotary_emb": "cpu", "lm_head": "cpu"}  # fmt: skip
ENDS_ON_DISK = {"model.embed_tokens": "disk", "model.layers": "cpu", "model.norm": "disk", "model.rotary_emb": "cpu",
                "lm_head": "disk"}  # fmt: skip


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def folders(request, make_pair, tmp_path_factory):
    """A pair on disk, and its ids with all of it in memory."""
    pair, folder = make_pair(request.param), tmp_path_factory.mktemp("spread")
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(folder / side)
        pair.tokenizer.save_pretrained(folder / side)
    return {side: folder / side for side in ("target", "draft")}, ids_of(pair)


def ids_of(pair):
    return [(round_.drafted, round_.emitted) for round_ in decode(pair, PROMPT, CONFIG)]


@pytest.mark.parametrize("device_map", [LAYERS_ON_DISK, ENDS_ON_DISK, "auto"], ids=["layers", "ends", "auto"])
def test_a_spread_target_gives_the_same_ids(device_map, folders):
    where = Placement(torch.device("cpu"), torch.float32, None, device_map)
    pair = load_folders("spread", folders[0], {"target": "t", "draft": "d"}, where)
    placed = {parameter.device.type for parameter in pair.target.model.parameters()}
    assert placed == ({"cpu"} if device_map == "auto" else {"cpu", "meta"})
    assert pair.target.device == pair.draft.device == torch.device("cpu"), "where the logits are made"
    assert not getattr(pair.draft.model, "hf_device_map", None), "the draft lies in one piece"
    assert ids_of(pair) == folders[1]


def test_weights_that_visit_the_device_layer_by_layer_give_the_same_ids(folders):
    """All of the target off the device (meta) between its forwards."""
    from accelerate import cpu_offload

    paths, expected = folders
    where = Placement(torch.device("cpu"), torch.float32, None)
    pair = load_folders("offloaded", paths, {"target": "t", "draft": "d"}, where)
    cpu_offload(pair.target.model, execution_device=torch.device("cpu"))
    assert {parameter.device.type for parameter in pair.target.model.parameters()} == {"meta"}
    assert output_device(pair.target.model) == torch.device("cpu")
    pair = dataclasses.replace(pair, target=LanguageModel(pair.target.model, pair.vocab_size))
    assert ids_of(pair) == expected


def test_the_name_auto_spreads_and_is_never_packed(folders):
    where = placement("auto", None)
    assert (where.device_map, where.form, where.device.type) == ("auto", None, "cpu")


def test_one_buffer_cannot_serve_layers_in_several_places(folders):
    """As a draft that drafts for itself in the same dtype would be."""
    where = Placement(torch.device("cpu"), torch.float32, None, LAYERS_ON_DISK)
    assert not fixed.supports(loading.read_model(folders[0]["target"], where))
