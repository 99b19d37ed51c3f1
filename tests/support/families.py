"""Tiny random models of many families, and a draft for each: a noisy copy of it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
import transformers as hf
from transformers import PretrainedConfig, PreTrainedModel

VOCABULARY = 267  # of the tokenizer in conftest.py
SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.4, "tie_word_embeddings": False,
    "bos_token_id": None, "eos_token_id": None, "pad_token_id": 264,
}  # fmt: skip
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 32, "short_factor": [1.0] * 4,
    "long_factor": [2.0, 3.0, 4.0, 5.0],
}  # fmt: skip
HEADED = {**SIZES, "head_dim": 8}
WINDOWED = {**HEADED, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}
VISION = {
    "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
}  # fmt: skip
GPT = {key: SIZES[key] for key in ("vocab_size", "initializer_range", "bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings")}  # fmt: skip

# Configurations by what is particular about them.
FAMILIES: dict[str, Callable[[], PretrainedConfig]] = {
    "phi3 longrope": lambda: hf.Phi3Config(**SIZES, rope_parameters=LONGROPE, original_max_position_embeddings=32),
    "phimoe longrope": lambda: hf.PhimoeConfig(
        **SIZES,
        rope_parameters={**LONGROPE, "short_mscale": 1.0, "long_mscale": 1.2},
        original_max_position_embeddings=32,
    ),
    "llama longrope": lambda: hf.LlamaConfig(**SIZES, rope_parameters=LONGROPE),
    "llama dynamic": lambda: hf.LlamaConfig(
        **SIZES, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    ),
    "llama yarn": lambda: hf.LlamaConfig(
        **SIZES,
        rope_parameters={
            "rope_type": "yarn", "factor": 8.0, "rope_theta": 10000.0, "original_max_position_embeddings": 32,
        },
    ),
    "llama4 chunked": lambda: hf.Llama4TextConfig(
        **{**HEADED, "layer_types": ["chunked_attention", "full_attention"]}, attention_chunk_size=16, no_rope_layers=[1, 0],
        intermediate_size_mlp=64, num_local_experts=2,
    ),
    "gemma3 multimodal": lambda: hf.Gemma3Config(
        text_config=hf.Gemma3TextConfig(**WINDOWED).to_dict(), vision_config=VISION, mm_tokens_per_image=4,
        tie_word_embeddings=False,
    ),
    "gemma2 softcap": lambda: hf.Gemma2Config(
        **HEADED, sliding_window=8, query_pre_attn_scalar=8, attn_logit_softcapping=5.0, final_logit_softcapping=10.0
    ),
    "gpt-oss sinks": lambda: hf.GptOssConfig(
        **WINDOWED, num_local_experts=4, num_experts_per_tok=2,
        rope_parameters={"rope_type": "yarn", "factor": 8.0, "rope_theta": 10000.0, "original_max_position_embeddings": 32},
    ),
    "bloom alibi": lambda: hf.BloomConfig(**GPT, hidden_size=32, n_layer=2, n_head=4),
    "mpt alibi": lambda: hf.MptConfig(**GPT, d_model=32, n_layers=2, n_heads=4, max_seq_len=256),
    "gpt-neo local": lambda: hf.GPTNeoConfig(
        **GPT, hidden_size=32, num_layers=2, num_heads=4, intermediate_size=64, attention_types=[[["global", "local"], 1]],
        window_size=8, max_position_embeddings=256,
    ),
}  # fmt: skip


def tiny_family(name: str, spread: float = 4.0, noise: float = 0.03) -> tuple[PreTrainedModel, PreTrainedModel]:
    """Target and draft of a family; spread: the standard deviation of the target's logits, so that its choices are clear."""
    torch.manual_seed(0)
    target = hf.AutoModelForCausalLM.from_config(FAMILIES[name]()).eval()
    with torch.inference_mode():
        scale = spread / target(torch.arange(20)[None]).logits.std().item()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        target.get_output_embeddings().weight *= scale
        draft = copy.deepcopy(target)
        for parameter in draft.parameters():
            size = parameter.std() if parameter.ndim > 1 else parameter.abs().mean()
            parameter += noise * size * torch.randn(parameter.shape, generator=generator)
    return target, draft
