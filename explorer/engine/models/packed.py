"""A Llama-shaped decoder laid out for a CPU: projections fused and packed once, a static KV buffer, one page of forward.

The linear layers are float32, int8 or int4 (linears.py). In int8 and int4 a row has the same bits whatever is fed with it, so a
target in these forms is exact to the bit; in float32 rounding depends on the number of rows. Models of other shapes run on
transformers' own modules (model.py), which also remain the oracle this module is tested against.
"""

from __future__ import annotations

from time import perf_counter

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PretrainedConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from explorer.engine.models.attention import BranchSight, RowSight, Sight, TextSight, padded
from explorer.engine.models.checkpoint import EMBEDDING, HEAD, Checkpoint, Tensors, read_weight
from explorer.engine.models.four_bit import Grid, fits
from explorer.engine.models.linears import Form, Weight, kernel_works, pack
from explorer.engine.models.model import check_rows, head_dim_of

ROPE_TYPES = ("default", "linear", "llama3")  # those whose tables do not change with the length of the text
GROW = 512  # positions by which the KV buffer grows


def supports(config: PretrainedConfig, form: Form) -> bool:
    """Whether a model of this configuration can be packed here: its shape is known and the kernels are in this torch."""
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        config.model_type in ("llama", "qwen2")
        and config.hidden_act == "silu"
        and not getattr(config, "use_sliding_window", False)
        and not getattr(config, "mlp_bias", False)
        and rope.get("rope_type", "default") in ROPE_TYPES
        and kernel_works(form)
    )


class PackedLayer:
    """One decoder layer: two norms and four packed projections."""

    def __init__(self, tensors: Tensors, prefix: str, config: PretrainedConfig, form: Form):
        """prefix: of the names of its tensors."""
        self.head_dim = head_dim = head_dim_of(config)
        self.heads, self.kv_heads, self.eps = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.rms_norm_eps,
        )
        names = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
        q, k, v, out = (read_weight(tensors, f"{prefix}{name}", form) for name in names)
        gate, up, down = (read_weight(tensors, f"{prefix}mlp.{name}_proj", form) for name in ("gate", "up", "down"))
        # The scale of the attention scores is folded into the queries.
        self.qkv = pack([_interleave(q, head_dim, head_dim**-0.5), _interleave(k, head_dim), v], form)
        self.out = pack([out], form)
        self.gate_up = pack([gate, up], form)
        self.down = pack([down], form)
        self.attention_norm, self.mlp_norm = (
            tensors.get(f"{prefix}{name}_layernorm.weight").float() for name in ("input", "post_attention")
        )

    def __call__(self, x: Tensor, cache: Tensor, past: int, rotation: Tensor, sight: Sight) -> Tensor:
        """x [n, d] -> [n, d]; `cache` [capacity, 2 * kv_heads, head_dim] holds the keys and values of `past` earlier tokens, and
        takes those of x. rotation [n, 1, head_dim / 2]: of the positions of x; sight: which tokens each row of x may read.

        At a batch of one a CPU's time goes into calls as much as into numbers, so every line is one operation where it can
        be, and small ones work in place on what was made just before.
        """
        n, heads, kv, hd = len(x), self.heads, self.kv_heads, self.head_dim
        qkv = self.qkv(rms_norm(x, self.attention_norm, self.eps)).view(n, heads + 2 * kv, hd)
        torch.view_as_complex(qkv[:, : heads + kv].view(n, heads + kv, hd // 2, 2)).mul_(rotation)
        cache[past : past + n] = qkv[:, heads:]
        x = x + self.out(sight.attend(qkv[:, :heads], cache, kv))
        gate_up = self.gate_up(rms_norm(x, self.mlp_norm, self.eps))
        gate, up = gate_up.split(gate_up.shape[1] // 2, dim=1)
        x += self.down(F.silu(gate).mul_(up))
        return x


def _head(checkpoint: Checkpoint, rows: int, form: Form) -> Weight:
    """The first rows of the head. It is where a model is most easily harmed, so form int4 takes 4 bits for it only from a file."""
    value = checkpoint.head[:rows]
    grids = (checkpoint.tables or checkpoint).tensors.grids or {}
    grid = grids.get(EMBEDDING if checkpoint.head is checkpoint.embedding else HEAD)
    if grid is not None:
        grid = grid[:rows]
    elif form == "int4 rounded" and fits(value):
        grid = Grid.spanning(value)
    return Weight(value, grid=grid)


def rotation_table(rotary: torch.nn.Module, count: int, head_dim: int) -> Tensor:
    """The rotations of positions 0 to count - 1 as complex numbers [count, head_dim / 2]."""
    half = head_dim // 2
    cos, sin = rotary(torch.zeros(1), torch.arange(count)[None])  # [1, count, head_dim], halves repeated
    return torch.complex(cos[0, :, :half], sin[0, :, :half])


def _interleave(weight: Weight, head_dim: int, factor: float = 1.0) -> Weight:
    """Reorder each head's rows so that the two halves that rotate together lie side by side, and scale them.

    Queries and keys are permuted alike, so their products are the same; rotation becomes one complex multiplication.
    """
    order = torch.arange(len(weight.value)).unflatten(0, (-1, 2, head_dim // 2)).transpose(1, 2).flatten()
    return Weight(
        weight.value[order].float() * factor,
        None if weight.bias is None else weight.bias[order].float() * factor,
        weight.grid and weight.grid.reordered(order, factor),
    )


class PackedModel:
    """Weights that many contexts may share; the same verbs as LanguageModel."""

    def __init__(self, checkpoint: Checkpoint, vocab_size: int, form: Form):
        """Pack a model whose configuration `supports` accepts, layer by layer; vocab_size: the tokenizer's."""
        check_rows(checkpoint, vocab_size)
        config, tensors = checkpoint.config, checkpoint.tensors
        self.form = form
        self.vocab_size = vocab_size
        self.device = torch.device("cpu")
        self.context_limit = config.max_position_embeddings
        self.head_dim = head_dim_of(config)
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.eps = config.rms_norm_eps
        with torch.inference_mode():
            self.embedding = checkpoint.embedding
            self.head = pack([_head(checkpoint, vocab_size, form)], form)

            def layers(form: Form) -> list[PackedLayer]:
                places = range(config.num_hidden_layers)
                return [PackedLayer(tensors, f"model.layers.{index}.", config, form) for index in places]

            self.layers = layers(form)
            # The 4-bit kernel takes as long for each row of a prompt as for one alone; 8 bits read a prompt in a third of the time.
            self.prompt_layers = layers("int8") if form == "int4 rounded" else self.layers
            self.norm = tensors.get("model.norm.weight").float()
        self._rotary = LlamaRotaryEmbedding(config=config)
        self._rotations = torch.empty(0, 0)

    def rotations(self, count: int) -> Tensor:
        """Of positions 0 to `count` - 1 at least, complex [.., head_dim / 2]; the table grows with the longest text."""
        if len(self._rotations) < count:
            self._rotations = rotation_table(self._rotary, -(-count // GROW) * GROW, self.head_dim)
        return self._rotations

    @property
    def width(self) -> int:
        """Size of a hidden state."""
        return self.embedding.shape[1]

    takes_branches = True  # several continuations at once

    @property
    def dtype_name(self) -> str:
        """What a record calls the form of the weights."""
        body, head = (linear.dtype_name for linear in (self.layers[0].qkv, self.head))
        return f"{body} packed" if body == head else f"{body} packed, head {head}"

    @property
    def weight_bytes(self) -> int:
        """Memory of the weights: projections, head and embedding, which two models made from one share."""
        layers = self.layers if self.prompt_layers is self.layers else [*self.layers, *self.prompt_layers]
        projections = [p for layer in layers for p in (layer.qkv, layer.out, layer.gate_up, layer.down)]
        return self.embedding.nbytes + sum(p.weight_bytes for p in [*projections, self.head])

    def open(self, states: bool = False, cache: KVCache | None = None, taps: tuple[int, ...] = ()) -> PackedContext:
        """Start an empty sequence on these weights, or go on in the cache of another form of the same model.

        `states` changes nothing here: they cost nothing to keep. taps: layers whose inputs each feed keeps.
        """
        return PackedContext(self, cache or KVCache(len(self.layers), self.kv_heads, self.head_dim), taps)


class KVCache:
    """The keys and values of one sequence, side by side as they come out of the projection: one copy stores both."""

    def __init__(self, layers: int, kv_heads: int, head_dim: int):
        self.entries = torch.empty(layers, 0, 2 * kv_heads, head_dim)  # [layers, capacity, 2 * kv_heads, head_dim]
        self.length = 0  # tokens held

    def reserve(self, length: int) -> None:
        """Grow in steps, keeping what is held."""
        capacity = self.entries.shape[1]
        if length > capacity:
            grown = -(-length // GROW) * GROW - capacity
            self.entries = F.pad(self.entries, (0, 0, 0, 0, 0, grown))

    def clear(self) -> None:
        """Free the memory."""
        self.entries, self.length = self.entries[:, :0].clone(), 0


class PackedContext:
    """One sequence in a packed model: which tokens the cache holds, and the verbs to add and take back."""

    def __init__(self, model: PackedModel, cache: KVCache, taps: tuple[int, ...] = ()):
        self.language_model = model
        self._taps = taps
        self.tapped: Tensor | None = (
            None  # [n, len(taps) * d] of the last feed: the inputs of those layers, side by side
        )
        self.cache = cache
        self.forward_seconds = 0.0
        self.states: Tensor | None = None  # [rows, d] of the last feed, after the final norm: the head's input

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return self.cache.length

    def prefill(self, ids: Tensor) -> None:
        """Feed ids [n] whose predictions nobody needs: the head is not computed."""
        if len(ids):
            self._forward(ids, rows=0)

    def feed(self, ids: Tensor, rows: int) -> Tensor:
        """Feed ids [n] and return float32 logits [rows, V] of the last `rows` of them."""
        return self._forward(ids, rows)

    def branch(self, ids: Tensor, positions: Tensor, visible: Tensor) -> Tensor:
        """Feed ids [n] of several continuations at once: logits [n, V]; positions and visible as in Context.branch."""
        return self._forward(ids, len(ids), positions, BranchSight(visible))

    def crop(self, length: int) -> None:
        """Take tokens back so that at most `length` are held."""
        self.cache.length = min(self.length, length)

    def keep(self, held: int, columns: list[int]) -> None:
        """Of the last feed, whose entries begin at `held`, keep those of `columns` [m], in that order; as Context.keep."""
        start = next((place for place, column in enumerate(columns) if place != column), len(columns))
        moved = torch.tensor(columns[start:], dtype=torch.long)
        entries = self.cache.entries
        entries[:, held + start : held + len(columns)] = entries[:, held + moved]
        if self.tapped is not None:
            self.tapped = self.tapped[torch.tensor(columns)]
        self.states = self.states[torch.tensor(columns)]
        self.crop(held + len(columns))

    def close(self) -> None:
        """Free the cache."""
        self.cache.clear()

    def _forward(self, ids: Tensor, rows: int, positions: Tensor | None = None, sight: Sight | None = None) -> Tensor:
        """The whole model: embeddings, layers, norm and head; rows: of logits, 0 leaves the head out."""
        start = perf_counter()
        model, n, past = self.language_model, len(ids), self.length
        total = past + n
        self.cache.reserve(padded(total))
        rotations = model.rotations(total)
        rotation = (rotations[past:total] if positions is None else rotations[positions])[:, None]
        sight = sight or (RowSight(n, past) if rows else TextSight(n, past))
        x = model.embedding[ids].float()  # [n, d]
        inputs = {}
        layers = model.layers if rows else model.prompt_layers
        for index, (layer, entries) in enumerate(zip(layers, self.cache.entries)):
            if index in self._taps:
                inputs[index] = x
            x = layer(x, entries, past, rotation, sight)
        if inputs:
            self.tapped = torch.cat([inputs[index] for index in self._taps], dim=1)
        self.cache.length = total
        self.states = rms_norm(x[n - rows :], model.norm, model.eps)
        logits = model.head(self.states) if rows else x
        self.forward_seconds += perf_counter() - start
        return logits


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x [n, d] scaled to a root mean square of 1 and by `weight` [d]."""
    return x * x.square().mean(dim=-1, keepdim=True).add_(eps).rsqrt_() * weight
