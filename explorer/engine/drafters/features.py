"""Feature-fed drafting: an EAGLE-3 head (eagle.py) that starts from the target's states of the committed text.

A round's draft is a chain, likeliest token after likeliest token, or a tree of several continuations at once (trees.py).
"""

from __future__ import annotations

import copy
from time import perf_counter
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.engine.drafters.draft import Draft, Score
from explorer.engine.drafters.eagle import Eagle3Head, taps_of
from explorer.engine.drafters.trees import Node, grow
from explorer.engine.models.linears import Form, Weight, kernel_works, pack
from explorer.engine.models.model import output_device
from explorer.engine.models.packed import GROW
from explorer.engine.sampling import Sampler


class Tapped(Protocol):
    """A context on the target that keeps the inputs of some layers."""

    length: int
    tapped: Tensor | None  # [n, 3d] of the last n tokens it holds


class FeatureModel:
    """A head beside its target: weights that many contexts may share."""

    def __init__(self, head: Eagle3Head, target: nn.Module, vocab_size: int, form: Form | None = None):
        """target: transformers' model, whose embeddings the head reads where it has none; vocab_size: the tokenizer's; form:
        pack the projections for a CPU, None runs them as they are, in the target's dtype."""
        self.taps = taps_of(target.config.get_text_config().num_hidden_layers)
        own = head.embed_tokens
        self.embedding = (target.get_input_embeddings() if own is None else own).weight.detach()
        self.device, dtype = output_device(target), target.dtype
        self.embedding = self.embedding.to(self.device, dtype)
        self.head = copy.deepcopy(head).to(self.device, dtype).eval()
        self.head.embed_tokens = None
        self.vocabulary = head.vocabulary.to(self.device)  # [rows]
        self.outside = self.vocabulary >= vocab_size  # [rows]: padding of the target's table
        self.vocab_size = vocab_size
        form = form if form and kernel_works(form) else None
        self.dtype_name = str(dtype).removeprefix("torch.")
        if form:
            # The target's raw states have a few entries a hundred times as large as the others: no 8 bits for those.
            self.head.fc = _Packed(self.head.fc, "float32")
            _pack_projections(self.head, form)
            self.dtype_name = f"{self.head.lm_head.call.dtype_name} packed"

    @property
    def weight_bytes(self) -> int:
        """Memory of what the head has of its own."""
        modules = list(self.head.modules())
        packed = sum(module.call.weight_bytes for module in modules if isinstance(module, _Packed))
        return packed + sum(parameter.nbytes for parameter in self.head.parameters())

    def open(self) -> FeatureContext:
        """Start an empty sequence on these weights."""
        return FeatureContext(self)


class _Packed(nn.Module):
    """A packed projection in the place of the module it was made from."""

    def __init__(self, linear: nn.Linear, form: Form):
        super().__init__()
        bias = None if linear.bias is None else linear.bias.detach()
        self.call = pack([Weight(linear.weight.detach(), bias)], form)

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x)


def _pack_projections(module: nn.Module, form: Form) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, _Packed(child, form))
        elif not isinstance(child, _Packed):
            _pack_projections(child, form)


class FeatureContext:
    """The keys and values of one sequence's entries, in static buffers that grow in steps, and the verbs to add and take back."""

    def __init__(self, model: FeatureModel):
        self.language_model = model
        self.forward_seconds = 0.0
        self.close()

    def fuse(self, tapped: Tensor) -> Tensor:
        """The target's states [n, 3d] -> what an entry takes of them [n, d]."""
        start = perf_counter()
        fc = self.language_model.head.fc
        fused = fc(tapped.to(self.language_model.device, self.language_model.embedding.dtype))
        self.forward_seconds += perf_counter() - start
        return fused

    def feed(self, tokens: Tensor, states: Tensor) -> Tensor:
        """Add n entries of tokens [n] and states [n, d], each token the one that follows its state's; the head's own states
        [n, d], from which the next tokens come."""
        past, n, device = self.length, len(tokens), self.language_model.device
        positions = torch.arange(past, past + n, device=device)
        mask = torch.ones(n, past + n, dtype=torch.bool, device=device).tril_(past) if n > 1 else None
        return self._forward(tokens, states, positions, mask)

    def branch(self, tokens: Tensor, states: Tensor, position: int, visible: Tensor) -> Tensor:
        """Add n entries of several continuations at one position: as `feed`; visible [n, held + n], bool: which entries, itself
        among them, each may read."""
        positions = torch.full((len(tokens),), position, device=self.language_model.device)
        return self._forward(tokens, states, positions, visible)

    def _forward(self, tokens: Tensor, states: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        start = perf_counter()
        model, layer, past = self.language_model, self.language_model.head.midlayer, self.length
        total = past + len(tokens)
        self._reserve(total)
        rotation = model.head.rotation(positions)
        q, k, v, residual = layer.project(F.embedding(tokens, model.embedding), states, rotation)
        self._keys[:, past:total], self._values[:, past:total] = k.transpose(0, 1), v.transpose(0, 1)
        attended = F.scaled_dot_product_attention(
            q.transpose(0, 1)[None], self._keys[None, :, :total], self._values[None, :, :total], mask, enable_gqa=True
        )
        self.length = total
        states = layer.finish(residual, attended[0].transpose(0, 1).flatten(1))
        self.forward_seconds += perf_counter() - start
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Float32 logits [n, rows] over the head's vocabulary of its states [n, d]."""
        start = perf_counter()
        model = self.language_model
        logits = model.head.lm_head(model.head.norm(states)).float().masked_fill_(model.outside, -torch.inf)
        self.forward_seconds += perf_counter() - start
        return logits

    def crop(self, length: int) -> None:
        """Take entries back so that at most `length` are held."""
        self.length = min(self.length, length)

    def close(self) -> None:
        """Free the cache."""
        model = self.language_model
        config = model.head.config
        size = (config.num_key_value_heads, 0, config.head_dim)
        self._keys, self._values = (torch.empty(size, dtype=model.embedding.dtype, device=model.device) for _ in "kv")
        self.length = 0

    def _reserve(self, length: int) -> None:
        capacity = self._keys.shape[1]
        if length > capacity:
            grown = -(-length // GROW) * GROW - capacity
            self._keys, self._values = (F.pad(buffer, (0, 0, 0, grown)) for buffer in (self._keys, self._values))


class FeatureDrafter:
    """Drafts with a head, one token per forward; one transfer to the host per block.

    Entry i joins token i + 1 with the target's state at token i. Entries made of the target's states stay from round to round;
    those that a chain or a tree makes of the head's own states are dropped when the round is over. States are stored by their place in the
    text, so that another branch of the same text (grid.py) finds those it shares.
    """

    def __init__(self, model: FeatureModel, sampler: Sampler, stop_ids: frozenset[int], entropies: bool = False):
        """entropies: whether the length policy reads the entropy of each token."""
        self.context = model.open()
        self._model, self._sampler, self._stop_ids, self._wants_entropies = model, sampler, stop_ids, entropies
        stops = torch.tensor(sorted(stop_ids), dtype=torch.long, device=model.device)
        self._ends_text = torch.isin(model.vocabulary, stops)  # [rows]
        self._fused = torch.empty(0, model.head.config.hidden_size, dtype=model.embedding.dtype, device=model.device)
        self._ends: list[int] = []  # after each block of entries made of the target's states: how many there are
        self._last: Tensor | None = None  # [1, d]: the head's state that the last token was drafted from

    @property
    def forward_seconds(self) -> float:
        return self.context.forward_seconds

    def observe(self, target: Tapped) -> None:
        """Take the target's states of its last feed: entries of the committed text are made of them."""
        if target.tapped is None:
            return
        fused = self.context.fuse(target.tapped)
        end, start = target.length, target.length - len(fused)
        if end > len(self._fused):
            self._fused = F.pad(self._fused, (0, 0, 0, -(-end // GROW) * GROW - len(self._fused)))
        self._fused[start:end] = fused

    def prefill(self, ids: list[int]) -> None:
        self._catch_up(ids)

    def extend(self, draft: Draft, sequence: list[int], count: int, score: Score | None = None) -> None:
        """score is never given: the states of a head are not those a layer was trained on (DecodeConfig refuses pacer)."""
        if len(sequence) < 2:  # the target has read nothing yet
            return
        if not len(draft):
            self._last = self._catch_up(sequence)
        else:
            self._last = self.context.feed(self._tensor(draft.ids[-1:]), self._last)
        columns = []
        for step in range(count):
            picked = self._pick(draft)
            columns.append(torch.stack([column.double() for column in picked]))
            if step + 1 < count:
                self._last = self.context.feed(picked[0], self._last)
        table = torch.cat(columns, dim=1).tolist()  # [2 or 3, count]
        before = len(draft)
        for token, prob in zip(*table[:2]):
            draft.add(int(token), min(prob, 1.0), "features", self._stop_ids)
        draft.entropies += [value for column in table[2:] for value in column[: len(draft) - before]]

    def tree(self, sequence: list[int], depth: int, width: int, count: int) -> list[Node]:
        """In place of `extend`: up to `count` nodes of a tree after `sequence` (trees.grow), one forward a level. Greedy."""
        if len(sequence) < 2:  # the target has read nothing yet
            return []
        model, context = self._model, self.context
        states = self._catch_up(sequence)  # [m, d] of the nodes of a level, at first of the committed text
        trunk = position = context.length
        ancestors = torch.zeros(
            1, 0, dtype=torch.bool, device=model.device
        )  # [m, entries after the trunk], itself among them

        def expand(rows: Tensor, parents: Tensor) -> Tensor:
            nonlocal states, ancestors, position
            own = torch.eye(len(rows), dtype=torch.bool, device=model.device)
            ancestors = torch.cat([ancestors[parents], own], dim=1)
            visible = torch.cat([ancestors.new_ones(len(rows), trunk), ancestors], dim=1)
            states = context.branch(model.vocabulary[rows], states[parents], position, visible)
            position += 1
            return context.logits(states)

        first = context.logits(states)
        return grow(first, expand, model.vocabulary, self._ends_text, depth=depth, width=width, count=count)

    def _catch_up(self, ids: list[int]) -> Tensor | None:
        """Make the entries of committed text that are lacking; the head's state after the last of them [1, d]."""
        start, end = self.context.length, len(ids) - 1
        if end <= start:
            return None
        states = self.context.feed(self._tensor(ids[start + 1 :]), self._fused[start:end])
        self._ends.append(end)
        return states[-1:]

    def _pick(self, draft: Draft) -> list[Tensor]:
        """The next token's id in the target's vocabulary, its probability and, where wanted, the entropy, each [1]; above
        temperature 0 the draft keeps q over the whole vocabulary."""
        logits = self.context.logits(self._last)
        row, q = self._sampler.pick(logits), self._sampler.distribution(logits)
        token = self._model.vocabulary[row]
        if not self._sampler.greedy:
            whole = q.new_zeros(self._model.vocab_size)
            inside = ~self._model.outside
            draft.distributions.append(whole.index_put((self._model.vocabulary[inside],), q[0, inside]))
        columns = [token, q.gather(1, row[:, None])[:, 0]]
        if self._wants_entropies:
            columns.append(torch.special.entr(q).sum(dim=-1))
        return columns

    def roll_back(self, length: int) -> None:
        # The entry before the last committed token needs that token, so of `length` tokens one entry less can stay.
        while self._ends and self._ends[-1] > length - 1:
            self._ends.pop()
        self.context.crop(self._ends[-1] if self._ends else 0)

    def close(self) -> None:
        self.context.close()
        self._fused, self._ends, self._last = self._fused[:0].clone(), [], None

    def _tensor(self, ids: list[int]) -> Tensor:
        return torch.tensor(ids, dtype=torch.long, device=self._model.device)
