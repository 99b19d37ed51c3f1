"""The layer in a run: one call per block, reading the round's earlier blocks from a cache of its own."""

from __future__ import annotations

from time import perf_counter

import torch
from torch import Tensor

from explorer.engine.drafters.pacer.layer import PreVerificationLayer, offsets, sureness
from explorer.engine.models.attention import RowSight
from explorer.engine.models.checkpoint import ModuleTensors
from explorer.engine.models.graph import Graph
from explorer.engine.models.linears import Form
from explorer.engine.models.packed import PackedLayer, rms_norm, rotation_table

CAPACITY = 64  # tokens of a round: the largest draft length there is


class PackedScorer:
    """The layer in the CPU layout of engine/models/packed.py, shared by all runs."""

    def __init__(self, layer: PreVerificationLayer, form: Form = "int8"):
        with torch.inference_mode():
            self.layer = layer.float().eval()
            self.block = PackedLayer(ModuleTensors(layer.block), "", layer.config, form)
            places = offsets(0, CAPACITY, layer.shape.longest, torch.device("cpu"))
            self.rotation = rotation_table(layer.rotary, layer.shape.longest, layer.shape.head_dim)[places]

    def open(self) -> PackedRound:
        return PackedRound(self)


class PackedRound:
    """One run's rounds, one after another."""

    def __init__(self, scorer: PackedScorer):
        self._scorer = scorer
        shape = scorer.layer.shape
        self._cache = torch.zeros(CAPACITY, 2 * shape.kv_heads, shape.head_dim)
        self.seconds = 0.0
        self.reset()

    def reset(self) -> None:
        self._past, self._survival = 0, 1.0

    def score(self, states: Tensor, probs: Tensor) -> Tensor:
        start = perf_counter()
        layer, past, n = self._scorer.layer, self._past, len(states)
        sure = sureness(probs, self._survival)
        x = layer.inputs(states, sure, past)
        x = self._scorer.block(x, self._cache, past, self._scorer.rotation[past : past + n, None], RowSight(n, past))
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


class FixedScorer:
    """The layer as torch modules on fixed buffers, one graph per block size where there is CUDA.

    Every call computes all places of the longest round, which a GPU does in the time of one; places after the block are
    garbage that causal attention keeps out. One set of buffers serves all runs: it holds one round, and rounds are drafted
    one after another, whosever they are.
    """

    def __init__(self, layer: PreVerificationLayer, device: torch.device, dtype: torch.dtype):
        self.layer = layer.to(device, dtype).eval()
        self._first = torch.zeros(1, dtype=torch.long, device=device)
        self._states = torch.zeros(CAPACITY, layer.shape.hidden_size, dtype=dtype, device=device)
        self._probs = torch.ones(CAPACITY, device=device)
        self._blocks: dict[int, tuple[Tensor, Tensor, Graph]] = {}  # by size: states, probabilities, the work on them

    def open(self) -> FixedRound:
        return FixedRound(self)

    def score(self, states: Tensor, probs: Tensor, first: int) -> Tensor:
        """Scores [m] of the tokens from offset `first` of the round, after all those before them."""
        size = len(states)
        if size not in self._blocks:
            block = torch.zeros_like(states, dtype=self._states.dtype), torch.zeros_like(probs)
            self._blocks[size] = *block, Graph(lambda: self._work(*block), self._states.device)
        fixed_states, fixed_probs, graph = self._blocks[size]
        self._first.fill_(first)
        fixed_states.copy_(states)
        fixed_probs.copy_(probs)
        return graph()[0].clone()

    def _work(self, states: Tensor, probs: Tensor) -> tuple[Tensor]:
        places = torch.arange(len(states), device=states.device) + self._first
        self._states.index_copy_(0, places, states)
        self._probs.index_copy_(0, places, probs)
        logits = self.layer(self._states[None], self._probs[None])[0]
        return (logits.index_select(0, places).float().sigmoid(),)


class FixedRound:
    """One run's rounds, one after another."""

    def __init__(self, scorer: FixedScorer):
        self._scorer = scorer
        self.seconds = 0.0  # on a GPU this is launch time
        self.reset()

    def reset(self) -> None:
        self._past = 0

    def score(self, states: Tensor, probs: Tensor) -> Tensor:
        start = perf_counter()
        scores = self._scorer.score(states, probs.float(), self._past)
        self._past += len(states)
        self.seconds += perf_counter() - start
        return scores
