"""Writing a judge head: weights, config.json that the engine reads, and README.md for people."""

from __future__ import annotations

import json
import os
from pathlib import Path

from safetensors.torch import save_file

from explorer.engine.judge_head import CARD, WEIGHTS, Card, JudgeHead
from explorer.files import write_whole
from explorer.schema import write


def save(folder: Path, head: JudgeHead, card: Card) -> None:
    """Write weights and card, each complete or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / (WEIGHTS + ".part")
    save_file({"weight": head.weight.cpu().contiguous(), "bias": head.bias.cpu()}, part, metadata={"format": "pt"})
    os.replace(part, folder / WEIGHTS)
    write_whole(folder / CARD, json.dumps(write(card), indent=1, allow_nan=False) + "\n")
