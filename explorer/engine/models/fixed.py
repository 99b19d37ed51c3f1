"""A draft model on buffers of fixed size: nothing in a step depends on the length of the text, so that a GPU can replay it.

The same verbs and the same ids as model.py, which stays the oracle: keys and values lie in one buffer per layer, entries
beyond the text are masked, and positions are tensors. Steps of one or two tokens (two after a fully accepted draft) run as CUDA
graphs where there is CUDA; prefills and longer feeds run as they are.
"""

from __future__ import annotations

from time import perf_counter

import torch
from torch import Tensor
from transformers import PreTrainedModel

from explorer.engine.models.graph import Graph
from explorer.engine.models.model import PLAIN, LanguageModel, head_dim_of

ROPE_TYPES = ("default", "linear", "llama3")  # others look at the positions on the host
SMALLEST = 1024  # positions of a buffer, which doubles when a text outgrows it
RECORDED = 2  # tokens of the longest step that is recorded
SPARE = 2  # idle buffers kept of each size: a comparison runs two sequences at once


def supports(model: PreTrainedModel) -> bool:
    """Whether a model can work on fixed buffers: full attention, positions left to the device, all of it on one."""
    config = model.config
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        config.model_type in PLAIN
        and not getattr(model, "hf_device_map", None)
        and not getattr(config, "use_sliding_window", False)
        and rope.get("rope_type", "default") in ROPE_TYPES
    )


class FixedModel(LanguageModel):
    """A LanguageModel whose contexts work on fixed buffers, lent to one context at a time and kept for the next."""

    def __init__(self, model: PreTrainedModel, vocab_size: int, recorded: int = RECORDED):
        """recorded: tokens of the longest step that is recorded as a graph; other arguments and errors as LanguageModel."""
        super().__init__(model, vocab_size)
        self.recorded = recorded
        self._idle: list[Buffers] = []

    def open(self, states: bool = False) -> FixedContext:
        """Start an empty sequence; states are always kept, they cost nothing here."""
        return FixedContext(self)

    def borrow(self, length: int) -> Buffers:
        """Buffers of the smallest size that holds `length` positions: idle ones, else new ones.

        Never larger ones, though some may be idle: a step reads the whole buffer, so its time would depend on who ran before.
        """
        capacity = SMALLEST
        while capacity < length:
            capacity *= 2
        index = next((i for i, buffers in enumerate(self._idle) if buffers.capacity == capacity), None)
        return Buffers(self, capacity) if index is None else self._idle.pop(index)

    def give_back(self, buffers: Buffers) -> None:
        """The next sequence may use them, with the graphs that were recorded on them; beyond SPARE of a size they are freed."""
        if sum(idle.capacity == buffers.capacity for idle in self._idle) < SPARE:
            self._idle.append(buffers)
        else:
            buffers.free()


class Buffers:
    """The key-value memory of one sequence and the steps recorded on it. What the memory holds is its context's business."""

    def __init__(self, owner: FixedModel, capacity: int):
        model, device = owner.model, owner.device
        config = model.config
        # A layer's keys come first, then its values.
        shape = (config.num_hidden_layers, 2, 1, config.num_key_value_heads, capacity, head_dim_of(config))
        self.capacity = capacity
        self.entries = torch.zeros(shape, dtype=model.dtype, device=device)
        self._owner, self._model = owner, model
        self._first = torch.zeros(1, dtype=torch.long, device=device)  # position of the first token that is fed
        self._places = torch.arange(capacity, device=device)
        self._ids: dict[int, Tensor] = {}  # what the steps of each size read
        self._steps: dict[tuple[int, int], Graph] = {}  # by tokens fed and rows wanted
        self._positions = self._places[:0]  # of the tokens of the forward in progress

    def feed(self, ids: Tensor, first: int, rows: int) -> tuple[Tensor, Tensor]:
        """Feed ids [n] at positions from `first`: float32 logits [rows, V] and final states [rows, d] of the last rows.

        Both may be overwritten by the next feed.
        """
        self._first.fill_(first)
        if len(ids) > self._owner.recorded:
            return self._forward(ids, rows)
        size = len(ids)
        if (size, rows) not in self._steps:
            fixed = self._ids.setdefault(size, torch.zeros_like(ids))
            self._steps[size, rows] = Graph(lambda: self._forward(fixed, rows), self.entries.device)
        self._ids[size].copy_(ids)
        return self._steps[size, rows]()

    def prefill(self, ids: Tensor, first: int) -> None:
        """Feed ids [n] whose predictions nobody needs: the head is not computed."""
        self._first.fill_(first)
        self._states(ids)

    def free(self) -> None:
        """Let go of the memory and the graphs at once: they and these buffers refer to each other."""
        self._steps.clear()
        self._ids.clear()
        self.entries = self.entries[:0].clone()

    def update(self, keys: Tensor, values: Tensor, layer: int, **_: object) -> tuple[Tensor, Tensor]:
        """transformers' layers hand their new keys and values [1, kv heads, n, head dim] in, and attend to what comes back."""
        held = self.entries[layer]
        held[0].index_copy_(2, self._positions, keys)
        held[1].index_copy_(2, self._positions, values)
        return held[0], held[1]

    def _forward(self, ids: Tensor, rows: int) -> tuple[Tensor, Tensor]:
        states = self._states(ids)[len(ids) - rows :]
        logits = self._model.get_output_embeddings()(states)
        return logits[:, : self._owner.vocab_size].float(), states

    def _states(self, ids: Tensor) -> Tensor:
        self._positions = self._places[: len(ids)] + self._first
        visible = self._places <= self._positions[:, None]  # [n, capacity]
        return self._model.base_model(
            input_ids=ids[None], attention_mask=visible[None, None], position_ids=self._positions[None], cache=self,
            use_cache=True,
        ).last_hidden_state[0]  # fmt: skip


class FixedContext:
    """One sequence in a FixedModel: which tokens its buffers hold, and the verbs to add and take back."""

    def __init__(self, model: FixedModel):
        self.language_model = model
        self.length = 0  # tokens held
        self.states: Tensor | None = None  # [rows, d] of the last feed, after the final norm
        self.tapped: Tensor | None = None  # inputs of layers, which other contexts keep: no head is fed from here
        self.forward_seconds = 0.0  # inside model forwards; on a GPU this is launch time
        self._buffers: Buffers | None = None

    def prefill(self, ids: Tensor) -> None:
        """Feed ids [n] whose predictions nobody needs: the head is not computed."""
        if len(ids):
            start = perf_counter()
            self._reserve(len(ids)).prefill(ids, self.length)
            self._count(start, ids)

    def feed(self, ids: Tensor, rows: int) -> Tensor:
        """Feed ids [n] and return float32 logits [rows, V] of the last `rows` of them, which the next feed may overwrite."""
        start = perf_counter()
        logits, states = self._reserve(len(ids)).feed(ids, self.length, rows)
        self.states = states.clone()
        self._count(start, ids)
        return logits

    def crop(self, length: int) -> None:
        """Take tokens back so that at most `length` are held: their entries are masked until others take their place."""
        self.length = min(self.length, length)

    def close(self) -> None:
        """Give the buffers back for the next sequence."""
        if self._buffers:
            self.language_model.give_back(self._buffers)
        self._buffers, self.length = None, 0

    def _reserve(self, more: int) -> Buffers:
        """Buffers with room for more tokens, with what is held so far."""
        held, needed = self._buffers, self.length + more
        if held is None or held.capacity < needed:
            self._buffers = self.language_model.borrow(needed)
            if held:
                self._buffers.entries[..., : self.length, :] = held.entries[..., : self.length, :]
                self.language_model.give_back(held)
        return self._buffers

    def _count(self, start: float, ids: Tensor) -> None:
        self.forward_seconds += perf_counter() - start
        self.length += len(ids)
