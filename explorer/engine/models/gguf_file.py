"""From a GGUF file to a folder of safetensors, and the grids of its 4-bit tensors beside them."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader, Keys, ReaderTensor
from gguf.quants import Q4_K
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from explorer.engine.models.four_bit import Grid, write_grids

# What transformers calls the projections of a llama or qwen2 file, by their last name there.
PROJECTIONS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TABLES = {"token_embd.weight": "model.embed_tokens.weight", "output.weight": "lm_head.weight"}
FLOATS = (GGMLQuantizationType.F32, GGMLQuantizationType.F16)


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write the model of a GGUF (safetensors), its tokenizer and the grids of its 4-bit tensors into `folder`.

    Dequantized weights are stored in bfloat16, as they come at most in a few bits; a file in 16 or 32 bits in float32, unchanged.
    """
    reader = GGUFReader(gguf)
    in_floats = any(tensor.tensor_type in FLOATS for tensor in reader.tensors if len(tensor.shape) > 1)
    with contextlib.redirect_stderr(io.StringIO()):  # progress bars of the libraries, which cannot be turned off
        # without `dequantize` the weights stay packed and cannot be saved
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            dtype=torch.float32 if in_floats else torch.bfloat16,
            quantization_config=GgufConfig(dequantize=True),
            trust_remote_code=False,
        )
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, trust_remote_code=False)
        model.generation_config.eos_token_id = end_ids(reader) or None
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    if model.config.model_type in ("llama", "qwen2"):
        heads = {"attn_q": model.config.num_attention_heads, "attn_k": model.config.num_key_value_heads}
        turned = heads if model.config.model_type == "llama" else {}
        if grids := grids_of(reader, turned):
            write_grids(grids, folder)


def end_ids(reader: GGUFReader) -> list[int]:
    """The ids a file names as the end of a text, of a turn or of a message: any of them ends an answer."""
    named = (Keys.Tokenizer.EOS_ID, Keys.Tokenizer.EOT_ID, Keys.Tokenizer.EOM_ID)
    return sorted({int(reader.fields[key].contents()) for key in named if key in reader.fields})


def grids_of(reader: GGUFReader, turned: dict[str, int]) -> dict[str, Grid]:
    """The grids of the file's 4-bit tensors by their names in transformers; turned: heads of the tensors whose rows llama.cpp stores
    in another order, each head's two halves interleaved."""
    grids = {}
    for tensor in reader.tensors:
        grid = _grid(tensor)
        if grid is None:
            continue
        if tensor.name in TABLES:
            grids[TABLES[tensor.name]] = grid
        elif tensor.name.startswith("blk.") and (own := tensor.name.split(".")[2]) in PROJECTIONS:
            if own in turned:
                rows = torch.arange(len(grid.low)).unflatten(0, (turned[own], -1, 2)).transpose(1, 2).flatten()
                grid = grid.reordered(rows, 1.0)
            grids[f"model.layers.{tensor.name.split('.')[1]}.{PROJECTIONS[own]}.weight"] = grid
    return grids


def _grid(tensor: ReaderTensor) -> Grid | None:
    """The grid of a tensor [out, in] in one of the 4-bit formats, None for any other format."""
    kind = tensor.tensor_type
    bytes_of = {GGMLQuantizationType.Q4_0: 18, GGMLQuantizationType.Q4_1: 20, GGMLQuantizationType.Q4_K: 144}
    if kind not in bytes_of or len(tensor.shape) != 2:
        return None
    rows = int(tensor.shape[1])
    blocks = np.asarray(tensor.data).reshape(-1, bytes_of[kind])
    if kind == GGMLQuantizationType.Q4_K:  # eight groups under one scale and one offset, each with six bits of its own
        scale, low = (blocks[:, at : at + 2].copy().view(np.float16).astype(np.float32) for at in (0, 2))
        own_scale, own_low = Q4_K.get_scale_min(blocks[:, 4:16].copy())
        scale, low = scale * own_scale.astype(np.float32), -low * own_low.astype(np.float32)
    else:
        scale = blocks[:, 0:2].copy().view(np.float16).astype(np.float32)
        low = (
            -8 * scale
            if kind == GGMLQuantizationType.Q4_0
            else blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
        )
    return Grid(*(torch.from_numpy(part.reshape(rows, -1)) for part in (low, scale)))
