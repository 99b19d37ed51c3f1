"""Writing a judge head: weights, config.json that the engine reads, and README.md for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import save_file

from explorer.engine.verification.judge_head import CARD, WEIGHTS, JudgeHead, JudgeHeadCard
from explorer.files import replacing, write_whole
from explorer.schema import write

README = """# Judge head for {target_name}

A linear layer of {width} weights and a bias (float32) on the target's last hidden state, after its final norm: `sigmoid(state . weight + bias)`
is high where a drafted token that is not the target's own choice does not matter for the answer. The state is the one after the
drafted token has been read. The bias is set so that 0.5 is the threshold chosen below. Used by `--rule judge` with the pairs
{pairs}; what it takes from where, and what it does to answers, is in docs/comparators.md.

## How it was made
- Labels by outcome, as AutoJudge makes them (arXiv 2504.20039): on prompts that plain greedy decoding answers rightly, wherever a draft
  that reads the target's greedy text says something else, that one token is replaced and the target goes on greedily. The
  mismatch is important if the answer is then no longer right. Mismatches after a settled answer are left out.
- Prompts: filled from templates with checkable answers (explorer/training/judge/prompts.py, seed {prompts_seed:g}); those close to the checkable, held-out or
  example prompts of this repository were dropped. Drafts: those of these pairs.
- Target while it was asked: {dtype}; weights {target}.
- Training: {training_prompts:g} prompts, {training:g} mismatches, {training_important:g} of them important. Validation: {validation_prompts:g} prompts, {validation:g} mismatches.
  Logistic regression, both kinds weighted alike, decay {decay:g} chosen by {folds:g}-fold cross-validation over prompts (AUC {auc_folds:.3f}); the
  threshold refuses at least {recall:.0%} of the important mismatches on the validation prompts.

```
{collected}
python -m explorer judge-head train --out assets/weights/judges/{name}
python -m explorer judge-head --data runs/judge-head/checkable collect --prompts examples/checkable.jsonl
python -m explorer judge-head evaluate --head assets/weights/judges/{name} --others runs/judge-head/checkable --answers examples/checkable.jsonl
```

## Figures
On {test:g} mismatches of {test_prompts:g} other prompts from the same templates: AUC {test_auc:.3f}; at the threshold {test_recall:.1%} of the important ones are
refused and {test_accepted:.1%} of the unimportant ones kept. Expect less on other prompts, and see docs/comparators.md, where the same is
measured on prompts that were written by hand. `report.svg` shows how the decay was chosen and how the scores divide these mismatches.

## Licence
Apache-2.0. Trained on the states and the output of SmolLM2-135M-Instruct by Hugging Face (Apache-2.0).
"""


def save(folder: Path, head: JudgeHead, card: JudgeHeadCard) -> None:
    """Write weights and card, each complete or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / WEIGHTS) as part:
        save_file({"weight": head.weight.cpu().contiguous(), "bias": head.bias.cpu()}, part, metadata={"format": "pt"})
    write_whole(folder / CARD, json.dumps(write(card), indent=1, allow_nan=False) + "\n")


def save_readme(folder: Path, card: JudgeHeadCard, target_name: str, shards: Sequence[int]) -> None:
    """The card for people; needs the figures that training puts into a card. shards: those that were collected."""
    breaks = [index for index, shard in enumerate(shards) if index == 0 or shard != shards[index - 1] + 1]
    ranges = [(shards[start], shards[end - 1] + 1) for start, end in zip(breaks, [*breaks[1:], len(shards)])]
    collected = "\n".join(f"python -m explorer judge-head collect --shards {start}:{stop}" for start, stop in ranges)
    pairs = ", ".join(card.pairs)
    words = {"target_name": target_name, "pairs": pairs, "name": card.pairs[0], "collected": collected}
    numbers = card.data | card.recipe | card.metrics
    text = README.format(**words, **numbers, width=card.width, dtype=card.dtype, target=card.target)
    write_whole(folder / "README.md", text)
