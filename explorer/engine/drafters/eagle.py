"""An EAGLE-3 head: one decoder layer that continues the target's own states instead of reading the text anew.

The layout is that of the public heads (Li et al. 2025, arXiv 2503.01840; SafeAILab/EAGLE, eagle/model/cnets.py), names of the
weights included. Entry i joins the token x[i+1] with the target's states at x[i], and the head's own vocabulary holds the tokens
it can draft: draft id n stands for the target's id n + d2t[n]. Training and drafting run these same modules.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import LlamaConfig
from transformers.activations import ACT2FN
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from explorer.engine.models.weights import WeightsError
from explorer.errors import is_out_of_memory

Rotation = tuple[Tensor, Tensor]  # cos and sin [.., 1, head_dim]
LARGEST = {
    "hidden_size": 2**16, "intermediate_size": 2**18, "num_attention_heads": 2**10, "num_key_value_heads": 2**10, "head_dim": 2**12,
    "vocab_size": 2**21, "draft_vocab_size": 2**21, "target_hidden_size": 2**16,
}  # fmt: skip
# Settings of heads of other trainers (vLLM, SGLang, speculators) that change what a head computes, and which are not done here, with the
# values under which they change nothing.
NOT_DONE = {
    "norm_output": (False,), "fc_norm": (False,), "norm_before_fc": (False,), "use_mtp_layernorm": (False,), "mlp_bias": (False,),
    "use_aux_hidden_state": (True,), "use_input_layernorm_in_first_layer": (True,), "use_last_layernorm": (True,),
    "parallel_drafting": (False,), "partial_rotary_factor": (1, 1.0), "logit_scale": (1, 1.0), "attn_logit_softcapping": (),
    "final_logit_softcapping": (), "num_hidden_layers": (1,),
}  # fmt: skip
UNREAD = ("t2d",)  # says which target ids have a draft id: follows from d2t


def taps_of(layers: int) -> tuple[int, int, int]:
    """The layers of a target of so many whose inputs a head is fed: early, middle and late."""
    return 2, layers // 2, layers - 3


class Attention(nn.Module):
    """The projections; the caller attends, because chains and whole texts attend differently."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        d, width, bias = config.hidden_size, config.head_dim, config.attention_bias
        self.q_proj = nn.Linear(2 * d, config.num_attention_heads * width, bias=bias)
        self.k_proj = nn.Linear(2 * d, config.num_key_value_heads * width, bias=bias)
        self.v_proj = nn.Linear(2 * d, config.num_key_value_heads * width, bias=bias)
        self.o_proj = nn.Linear(config.num_attention_heads * width, d, bias=bias)


class Mlp(nn.Module):
    """The gated feed-forward projections."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.activation = ACT2FN[config.hidden_act]


class Layer(nn.Module):
    """The decoder layer in two halves, between which the caller attends."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.head_dim = config.head_dim
        self.norm_before_residual = bool(getattr(config, "norm_before_residual", False))
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.hidden_norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = Mlp(config)

    def project(self, tokens: Tensor, states: Tensor, rotation: Rotation) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Embeddings and states [.., d] -> q [.., heads, hd], k and v [.., kv, hd], q and k turned by their places, and the
        residual [.., d]."""
        normed = self.hidden_norm(states)
        x = torch.cat([self.input_layernorm(tokens), normed], dim=-1)
        attention = self.self_attn
        q, k, v = (
            projection(x).unflatten(-1, (-1, self.head_dim))
            for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        return rotate(q, rotation), rotate(k, rotation), v, normed if self.norm_before_residual else states

    def finish(self, residual: Tensor, attended: Tensor) -> Tensor:
        """Add what was attended to, [.., heads * hd], and the MLP to the residual [.., d]."""
        x = residual + self.self_attn.o_proj(attended)
        normed = self.post_attention_layernorm(x)
        return x + self.mlp.down_proj(self.mlp.activation(self.mlp.gate_proj(normed)) * self.mlp.up_proj(normed))


class Eagle3Head(nn.Module):
    """fc fuses three states of the target into one; midlayer, norm and lm_head make the next token of it."""

    def __init__(self, config: LlamaConfig):
        """config: of the head's own config.json, with draft_vocab_size (and target_hidden_size where that differs)."""
        super().__init__()
        self.config = config
        self.fc = nn.Linear(3 * target_width(config), config.hidden_size, bias=False)
        self.midlayer = Layer(config)
        self.norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, draft_rows(config), bias=False)
        self.embed_tokens: nn.Embedding | None = None  # None: the target's
        self.register_buffer("d2t", torch.zeros(draft_rows(config), dtype=torch.long))
        with torch.device("cpu"):  # computed, not stored: also where the weights wait on the meta device
            self._rotary = [
                LlamaRotaryEmbedding(config=config)
            ]  # in a list: it must not follow the weights to bfloat16

    @property
    def vocabulary(self) -> Tensor:
        """The target's id of every draft id [rows]."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def rotation(self, positions: Tensor) -> Rotation:
        """For entries at `positions` [..], in float32."""
        rotary = self._rotary[0]
        if rotary.inv_freq.device != positions.device:
            rotary.to(positions.device)
        cos, sin = rotary(torch.zeros(1, device=positions.device), positions.reshape(1, -1))
        return tuple(table.view(*positions.shape, 1, table.shape[-1]) for table in (cos, sin))


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Queries or keys [.., heads, hd], turned by their places."""
    cos, sin = rotation
    first, second = x.chunk(2, dim=-1)
    return (x * cos + torch.cat([-second, first], dim=-1) * sin).to(x.dtype)


def target_width(config: LlamaConfig) -> int:
    """Size of a hidden state of the target it was made for."""
    return getattr(config, "target_hidden_size", None) or config.hidden_size


def draft_rows(config: LlamaConfig) -> int:
    """How many tokens the head can draft."""
    return getattr(config, "draft_vocab_size", None) or config.vocab_size


def is_head(folder: Path) -> bool:
    """Whether a folder of weights holds an EAGLE-3 head rather than a model."""
    try:
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and any(
        "eagle3" in str(name).lower() for name in settings.get("architectures") or ()
    )


def read_head(folder: Path, target: nn.Module) -> Eagle3Head:
    """The head of a folder, checked against the target it is to draft for (a transformers model); float weights as stored.

    A head without an lm_head of its own uses the target's rows of its vocabulary. Raises WeightsError where the folder holds
    something else, or a head for another target.
    """
    try:
        return _read_head(folder, target)
    except WeightsError:
        raise
    except Exception as error:  # values that no code here foresaw, each failing in its own way
        if is_out_of_memory(error):
            raise
        raise WeightsError(
            "head.unreadable", folder=folder, error=type(error).__name__, reason=str(error)[:120]
        ) from error


def _read_head(folder: Path, target: nn.Module) -> Eagle3Head:
    try:
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        weights = {
            name: tensor for path in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(path).items()
        }
    except Exception as error:  # safetensors raises its own kinds
        raise WeightsError(
            "head.unreadable", folder=folder, error=type(error).__name__, reason=str(error)[:120]
        ) from error
    if not isinstance(settings, dict) or "transformer_layer_config" in settings:
        raise WeightsError("head.layout", folder=folder)
    try:
        config = LlamaConfig.from_dict(settings)
    except Exception as error:  # the class checks its values, each in its own way
        raise WeightsError(
            "head.config_unreadable", folder=folder, error=type(error).__name__, reason=str(error)[:120]
        ) from error
    _check_sizes(config, folder)
    _check_done(settings, config, folder)
    output = target.get_output_embeddings().weight
    wanted = target.config.get_text_config()
    if target_width(config) != wanted.hidden_size:
        raise WeightsError("head.width", folder=folder, own=target_width(config), wanted=wanted.hidden_size)
    _check_taps(settings, wanted.num_hidden_layers, folder)
    weights = {name.removeprefix("model.").replace("layers.0.", "midlayer."): t for name, t in weights.items()}
    weights = {name: tensor for name, tensor in weights.items() if name not in UNREAD and "rotary_emb" not in name}
    with torch.device("meta"):
        head = Eagle3Head(config)
    if "embed_tokens.weight" in weights:
        head.embed_tokens = nn.Embedding(*weights["embed_tokens.weight"].shape, device="meta")
    elif config.hidden_size != wanted.hidden_size:
        raise WeightsError("head.no_embeddings", folder=folder)
    rows = draft_rows(config)
    if "d2t" not in weights and rows == config.vocab_size:
        weights["d2t"] = torch.zeros(rows, dtype=torch.long)  # the whole vocabulary
    if "d2t" in weights and weights["d2t"].shape == (rows,):
        ids = torch.arange(rows) + weights["d2t"].long()
        if ids.min() < 0 or ids.max() >= len(output):
            raise WeightsError("head.ids_outside", folder=folder, largest=int(ids.max()), rows=len(output))
        if len(ids.unique()) < rows:
            raise WeightsError("head.token_twice", folder=folder)
        if "lm_head.weight" not in weights and config.hidden_size == wanted.hidden_size:
            weights["lm_head.weight"] = output.detach()[ids.to(output.device)]
    expected = {name: tuple(tensor.shape) for name, tensor in head.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if found != expected:
        wrong = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))[:3]
        raise WeightsError(
            "head.other_tensors",
            folder=folder,
            tensors=", ".join(
                f"{name} {found.get(name, 'missing')} instead of {expected.get(name, 'nothing')}" for name in wrong
            ),
        )
    weights["d2t"] = weights["d2t"].long()
    head.load_state_dict({name: tensor.to(target.device) for name, tensor in weights.items()}, assign=True)
    return head.requires_grad_(False).eval()


def _check_sizes(config: LlamaConfig, folder: Path) -> None:
    """Refuse sizes that no head has, before any table is made of them."""
    for name, most in LARGEST.items():
        value = getattr(config, name, None)
        if value is None and name in ("draft_vocab_size", "target_hidden_size"):
            continue
        if not isinstance(value, int) or not 1 <= value <= most:
            raise WeightsError("head.config_number", folder=folder, name=name, most=most, value=repr(value)[:40])


def _check_done(settings: dict, config: LlamaConfig, folder: Path) -> None:
    """Refuse a head whose settings ask for more than is done here: it would draft something else, and nobody would know why."""
    nested = settings.get("eagle_config")
    named = {**settings, **(nested if isinstance(nested, dict) else {})}
    asked = [name for name, without in NOT_DONE.items() if named.get(name) not in (None, *without)]
    window = named.get("sliding_window")
    if window is not None and named.get("use_sliding_window") is not False:
        asked.append("sliding_window")
    if any(kind != "full_attention" for kind in named.get("layer_types") or ()):
        asked.append("layer_types")
    if config.hidden_act not in ACT2FN:
        asked.append("hidden_act")
    if asked:
        said = ", ".join(f"{name} {named[name]!r}" for name in asked)
        raise WeightsError("head.not_done", folder=folder, settings=said[:200])


def _check_taps(settings: dict, layers: int, folder: Path) -> None:
    """Refuse a head that was fed other states. Lists count layers by their input or, one lower, by their output."""
    named = settings.get("eagle_aux_hidden_state_layer_ids") or (settings.get("eagle_config") or {}).get(
        "eagle_aux_hidden_state_layer_ids"
    )
    standard = list(taps_of(layers))
    if named and list(named) not in (standard, [layer - 1 for layer in standard]):
        raise WeightsError("head.other_states", folder=folder, named=named, standard=standard)
