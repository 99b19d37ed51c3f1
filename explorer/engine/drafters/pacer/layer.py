"""The pre-verification layer: one decoder layer of the draft's own shape over the states that produced each drafted token.

What of PACER (arXiv 2602.01274) is public fixes the inputs (hidden states with positional embeddings), the block-wise use and the
training; sizes and details are ours. The layer reads one round only: no prompt, no earlier round.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PretrainedConfig, PreTrainedModel, Qwen2Config
from transformers.models.llama import modeling_llama as llama
from transformers.models.qwen2 import modeling_qwen2 as qwen2

from explorer.engine.models.model import head_dim_of
from explorer.errors import UserError

FAMILIES = {
    "llama": (LlamaConfig, llama.LlamaDecoderLayer, llama.LlamaRotaryEmbedding, llama.LlamaRMSNorm),
    "qwen2": (Qwen2Config, qwen2.Qwen2DecoderLayer, qwen2.Qwen2RotaryEmbedding, qwen2.Qwen2RMSNorm),
}
SURE = 12.0  # largest log-odds the layer is shown


class UnsupportedDraft(UserError):
    """A draft whose shape the layer cannot take."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The draft's shape, and which inputs the layer has beside the states."""

    family: str
    hidden_size: int
    intermediate_size: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    rope_theta: float
    longest: int = 32  # rows of the table of offsets; later tokens share the last
    position: bool = True  # a learned embedding of the offset in the round
    probability: bool = True  # the draft's probability of the token and of the round up to it, as log-odds

    def __post_init__(self) -> None:
        sizes = (self.hidden_size, self.intermediate_size, self.heads, self.kv_heads, self.head_dim, self.longest)
        if self.family not in FAMILIES:
            raise UnsupportedDraft("layer.family", families=", ".join(FAMILIES), family=self.family)
        if not (
            all(0 < size <= 2**16 for size in sizes) and self.heads % self.kv_heads == 0 and self.head_dim % 2 == 0
        ):
            raise UnsupportedDraft("layer.sizes", sizes=sizes)
        if not (0 < self.eps < 1 and 1 <= self.rope_theta <= 1e12):
            raise UnsupportedDraft("layer.numbers", eps=self.eps, theta=self.rope_theta)

    @classmethod
    def of(cls, config: PretrainedConfig, **switches: bool | int) -> Shape:
        """The shape of a draft by its configuration; raises UnsupportedDraft."""
        if config.model_type not in FAMILIES:
            raise UnsupportedDraft("layer.family", families=", ".join(FAMILIES), family=config.model_type)
        return cls(
            config.model_type, config.hidden_size, config.intermediate_size, config.num_attention_heads,
            config.num_key_value_heads, head_dim_of(config), config.rms_norm_eps, config.rope_parameters["rope_theta"], **switches,
        )  # fmt: skip

    @property
    def config(self) -> PretrainedConfig:
        """As transformers describes a model of one such layer."""
        return FAMILIES[self.family][0](
            vocab_size=1, hidden_size=self.hidden_size, intermediate_size=self.intermediate_size, num_hidden_layers=1,
            num_attention_heads=self.heads, num_key_value_heads=self.kv_heads, head_dim=self.head_dim, rms_norm_eps=self.eps,
            max_position_embeddings=self.longest, rope_parameters={"rope_type": "default", "rope_theta": self.rope_theta},
            bos_token_id=None, eos_token_id=None, pad_token_id=None, attn_implementation="sdpa",
        )  # fmt: skip


class PreVerificationLayer(nn.Module):
    """Predicted acceptance of every drafted token of a round, each from what was drafted up to and including it."""

    def __init__(self, shape: Shape, seed: int = 0):
        """seed: of what does not start from a draft's weights."""
        super().__init__()
        self.shape, self.config = shape, shape.config
        _, block, rotary, norm = FAMILIES[shape.family]
        d = shape.hidden_size
        self.block = block(self.config, layer_idx=0)
        self.rotary = rotary(config=self.config)
        self.position = nn.Embedding(shape.longest, d) if shape.position else None
        self.probability = nn.Linear(2, d, bias=False) if shape.probability else None
        self.norm = norm(d, eps=shape.eps)
        self.head = nn.Linear(d, 1)
        # Probabilities also go straight to the output: an untrained layer predicts that the draft's own hold.
        self.sureness = nn.Parameter(torch.tensor([0.0, 1.0])) if shape.probability else None
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for part in (self.position, self.probability):
                if part is not None:
                    part.weight.normal_(0, 0.02, generator=generator)
            self.head.weight.zero_()
            self.head.bias.zero_()

    @classmethod
    def beside(cls, draft: PreTrainedModel, seed: int = 0, **switches: bool | int) -> PreVerificationLayer:
        """For a draft, starting from its last layer, in float32; raises UnsupportedDraft."""
        layer = cls(Shape.of(draft.config, **switches), seed)
        layer.block.load_state_dict(draft.base_model.layers[-1].state_dict())
        return layer.float()

    def inputs(self, states: Tensor, sure: Tensor, first: int = 0) -> Tensor:
        """states [.., L, d] and `sure` of the tokens from offset `first` of their round -> what the block reads [.., L, d]."""
        x = states
        if self.position is not None:
            x = x + self.position(offsets(first, states.shape[-2], self.shape.longest, states.device))
        if self.probability is not None:
            x = x + self.probability(sure.to(x.dtype))
        return x

    def outputs(self, x: Tensor, sure: Tensor) -> Tensor:
        """What the norm after the block gives [.., L, d] -> log-odds of acceptance [.., L], float32."""
        logits = self.head(x)[..., 0].float()
        return logits if self.sureness is None else logits + sure @ self.sureness.float()

    def forward(self, states: Tensor, probs: Tensor) -> Tensor:
        """Whole rounds at once: states [B, L, d], probs [B, L] -> log-odds of acceptance [B, L]; padding on the right is harmless."""
        sure = sureness(probs)
        x = self.inputs(states, sure)
        places = offsets(0, states.shape[1], self.shape.longest, states.device)[None]
        x = self.block(x, position_ids=places, position_embeddings=self.rotary(x, places))
        return self.outputs(self.norm(x), sure)


def offsets(first: int, count: int, longest: int, device: torch.device) -> Tensor:
    """Places of `count` tokens in the table, from offset `first` of their round [count]."""
    return torch.arange(first, first + count, device=device).clamp_(max=longest - 1)


def sureness(probs: Tensor, before: Tensor | float = 1.0) -> Tensor:
    """What the layer is shown of the draft's probabilities [.., L]: log-odds of each, and of the product of all of the round up
    to it, given that of the tokens before: [.., L, 2]."""
    both = torch.stack([probs.float(), probs.float().cumprod(-1) * before], dim=-1)
    return torch.logit(both.clamp(1e-6, 1 - 1e-6)).clamp(-SURE, SURE)
