"""A tiny random model as a GGUF file, with a byte-level vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gguf
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.convert_slow_tokenizer import bytes_to_unicode

TEXT = [*bytes_to_unicode().values(), "th"]  # 257 tokens
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def write_gguf(path: Path, control: Sequence[str] = ("<|eot_id|>",), **ids: int) -> None:
    """A Llama of float32 weights; control: tokens behind those of the text; ids: eos, eot, eom by their id."""
    size = len(TEXT) + len(control)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=256, initializer_range=0.4, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[: len(TEXT)] *= 3.0
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*TEXT, *control])
    writer.add_token_types([gguf.TokenType.NORMAL] * len(TEXT) + [gguf.TokenType.CONTROL] * len(control))
    writer.add_token_merges(["t h"])
    for name, token in ids.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token)
    for name, tensor in model.state_dict().items():
        writer.add_tensor(_file_name(name), tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _file_name(name: str) -> str:
    whole = {"model.embed_tokens.weight": "token_embd", "model.norm.weight": "output_norm", "lm_head.weight": "output"}
    if name in whole:
        return f"{whole[name]}.weight"
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{NAMES[part]}.weight"
