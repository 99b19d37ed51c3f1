"""Weights that are damaged or too large for their format: NaN comes out, and one line says whose."""

from __future__ import annotations

import copy

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.pair import Pair
from explorer.engine.sampling import NotNumbers

RUNS = {
    "exact": {},
    "drawn": {"temperature": 1.0},
    "barely drawn": {"temperature": 1e-6},
    "fly": {"rule": "fly", "theta": 0.1},
    "kl": {"rule": "kl"},
    "lookup beside": {"drafter": "model+lookup"},
    "phrases": {"drafter": "model+phrases", "phrases": 2},
    "a policy that reads each token": {"length": "entropy"},
    "pearl": {"schedule": "pearl"},
}
ALONE = {"autoregressive": {"rule": "autoregressive"}, "lookup": {"drafter": "lookup"}, "lookup, drawn": {"drafter": "lookup", "temperature": 1.0}}  # fmt: skip


def damaged(model, value: float):
    changed = copy.deepcopy(model)
    with torch.no_grad():
        changed.model.layers[1].mlp.down_proj.weight[3, 3] = value
    return changed


def run(pair, settings, prompt=(1, 2, 3, 1, 2)):
    return list(decode(pair, list(prompt), DecodeConfig(**{"rule": "exact", "max_new_tokens": 8, **settings})))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e38])
@pytest.mark.parametrize("form", [None, "float32"])
@pytest.mark.parametrize("name", RUNS | ALONE)
def test_output_that_is_no_numbers_is_one_line(name, form, value, pair, tokenizer):
    for side in ("draft", "target"):
        target = damaged(pair.oracle, value) if side == "target" else pair.oracle
        draft = damaged(pair.oracle_draft, value) if side == "draft" else pair.oracle_draft
        spoilt = Pair.of("p", target, draft, tokenizer, target_form=form)
        if side == "draft" and name in ALONE:
            assert run(spoilt, ALONE[name])
            continue
        with pytest.raises(NotNumbers, match=f"the output of the {side} is not numbers"):
            run(spoilt, (RUNS | ALONE)[name])


@pytest.mark.parametrize("settings", [{}, {"tree": 6}, {"temperature": 1.0}])
def test_a_head_is_named_too(settings, headed):
    pair = headed("packed-llama")
    weight = pair.head.head.norm.weight
    kept = weight.clone()
    with torch.no_grad():
        weight.fill_(torch.nan)
    try:
        with pytest.raises(NotNumbers, match="the output of the head is not numbers"):
            run(pair, {"drafter": "features", **settings})
    finally:
        with torch.no_grad():
            weight.copy_(kept)


def test_on_the_command_line(pair, tmp_path, refused, capsys):
    for side, model in (("target", pair.oracle), ("draft", damaged(pair.oracle_draft, float("nan")))):
        model.save_pretrained(tmp_path / side)
        pair.tokenizer.save_pretrained(tmp_path / side)
    capsys.readouterr()  # of saving
    name = f"{tmp_path / 'target'},{tmp_path / 'draft'}"
    for temperature in (0, 1):
        said = refused(
            "run", "--prompt", "Hi", "--pair", name, "--quiet", "--temperature", temperature, "--rule", "exact"
        )
        assert "the output of the draft is not numbers" in said
