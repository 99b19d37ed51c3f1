"""The judge head of a target: one linear layer on its last hidden state that says whether a mismatched token matters.

After Judge Decoding (arXiv 2501.19309), labelled as AutoJudge does (arXiv 2504.20039); explorer/training/judge makes them, assets/weights/judges
holds those that ship. The state that judges a drafted token is the one after it has been read: its row stands one further on in
the same target pass, so a draft costs no forward more. Both files of a head may come from anybody and are read as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from explorer.errors import UserError
from explorer.schema import parse_json, read

WEIGHTS, CARD = "head.safetensors", "config.json"
MAX_BYTES = 2**20  # of either file


class JudgeHeadError(UserError):
    """A folder that does not hold a judge head this program can use, or a target that has none."""


@dataclass(frozen=True, slots=True)
class JudgeHeadCard:
    """What one must know of a head before using it."""

    pairs: tuple[str, ...]  # of the target it was made for
    target: str  # fingerprint of the target's weights
    dtype: str  # of the target while the labels were made
    width: int  # of the target's states
    data: dict[str, float]  # prompts, mismatches, seed
    recipe: dict[str, float]
    metrics: dict[str, float]


class JudgeHead:
    """score = sigmoid(state . weight + bias): high where the token does not matter; the bias puts the chosen threshold at 0.5."""

    def __init__(self, weight: Tensor, bias: Tensor):
        """weight [d], bias []: float32."""
        self.weight, self.bias = weight, bias

    def to(self, device: torch.device) -> JudgeHead:
        """The same head on a device."""
        return JudgeHead(self.weight.to(device), self.bias.to(device))

    def scores(self, states: Tensor) -> Tensor:
        """Final states [K, d], after the norm, each after reading the token that it judges -> [K], float32, 0 to 1."""
        return torch.sigmoid(states.float() @ self.weight + self.bias)


def read_card(folder: Path) -> JudgeHeadCard:
    """Read a card as hostile input; raises JudgeHeadError."""
    path = _checked(folder / CARD)
    try:
        return read(JudgeHeadCard, parse_json(path.read_bytes()))
    except UserError as error:
        raise JudgeHeadError("file.wrong", file=path, reason=error) from None


def read_judge_head(folder: Path) -> tuple[JudgeHead, JudgeHeadCard]:
    """A written head with its card; raises JudgeHeadError."""
    card, path = read_card(folder), _checked(folder / WEIGHTS)
    try:
        weights = load_file(path)
    except (SafetensorError, ValueError) as error:
        raise JudgeHeadError("layer.not_safetensors", file=path, reason=error) from None
    if {name: tuple(tensor.shape) for name, tensor in weights.items()} != {"weight": (card.width,), "bias": ()}:
        raise JudgeHeadError("layer.other_layer", file=path, card=CARD)
    if not all(tensor.is_floating_point() and bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise JudgeHeadError("layer.not_numbers", file=path)
    return JudgeHead(weights["weight"].float(), weights["bias"].float()), card


def find(name: str, target: str | None, shipped: Path) -> Path | None:
    """The folder of the head that ships for the target of a pair: for weights of the fingerprint `target`, else for a pair of
    this name."""
    named = None
    for path in sorted(shipped.glob(f"*/{CARD}")):
        card = read_card(path.parent)
        if card.target == target:
            return path.parent
        if name in card.pairs:
            named = path.parent
    return named


def _checked(path: Path) -> Path:
    if not path.is_file():
        raise JudgeHeadError("layer.file_missing", folder=path.parent, file=path.name)
    if path.stat().st_size > MAX_BYTES:
        raise JudgeHeadError("layer.file_too_large", file=path)
    return path
