"""The layer in a run: one call per block, reading the round's earlier blocks from a cache of its own."""

from __future__ import annotations

from time import perf_counter

import torch
from torch import Tensor

from explorer.engine.packed import Form, PackedLayer, causal_mask, rms_norm, rotation_table
from explorer.pacer.layer import PreVerificationLayer, offsets, sureness

CAPACITY = 64  # tokens of a round: the largest draft length there is


class PackedScorer:
    """The layer in the CPU layout of engine/packed.py, shared by all runs."""

    def __init__(self, layer: PreVerificationLayer, form: Form = "quantized"):
        with torch.inference_mode():
            self.layer = layer.float().eval()
            self.block = PackedLayer(layer.block, layer.config, form)
            places = offsets(0, CAPACITY, layer.shape.longest, torch.device("cpu"))
            self.rotation = rotation_table(layer.rotary, layer.shape.longest, layer.config)[places]

    def open(self) -> PackedRound:
        return PackedRound(self)


class PackedRound:
    """One run's rounds, one after another."""

    def __init__(self, scorer: PackedScorer):
        self._scorer = scorer
        shape = scorer.layer.shape
        self._cache = torch.empty(CAPACITY, 2 * shape.kv_heads, shape.head_dim)
        self.seconds = 0.0
        self.reset()

    def reset(self) -> None:
        self._past, self._survival = 0, 1.0

    def score(self, states: Tensor, probs: Tensor) -> Tensor:
        start = perf_counter()
        layer, past, n = self._scorer.layer, self._past, len(states)
        mask = causal_mask(n, past, layer.shape.heads // layer.shape.kv_heads)
        sure = sureness(probs, self._survival)
        x = layer.inputs(states, sure, past)
        x = self._scorer.block(x, self._cache, past, self._scorer.rotation[past : past + n, None], mask)
        scores = layer.outputs(rms_norm(x, layer.norm.weight, layer.shape.eps), sure).sigmoid_()
        self._past, self._survival = past + n, self._survival * probs.prod()
        self.seconds += perf_counter() - start
        return scores


class ModuleScorer:
    """The layer as torch modules, on any device: a round is short, so every call reads all of it again."""

    def __init__(self, layer: PreVerificationLayer, device: torch.device, dtype: torch.dtype):
        self.layer = layer.to(device, dtype).eval()
        self.dtype = dtype

    def open(self) -> ModuleRound:
        return ModuleRound(self)


class ModuleRound:
    """One run's rounds, one after another."""

    def __init__(self, scorer: ModuleScorer):
        self._scorer = scorer
        self.seconds = 0.0  # on a GPU this is launch time
        self.reset()

    def reset(self) -> None:
        self._states: list[Tensor] = []
        self._probs: list[Tensor] = []

    def score(self, states: Tensor, probs: Tensor) -> Tensor:
        start = perf_counter()
        self._states.append(states.to(self._scorer.dtype))
        self._probs.append(probs)
        logits = self._scorer.layer(torch.cat(self._states)[None], torch.cat(self._probs)[None])
        scores = logits[0, -len(states) :].float().sigmoid()
        self.seconds += perf_counter() - start
        return scores
