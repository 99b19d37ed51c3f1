"""A trained layer on disk: layer.safetensors and card.json, which says for which weights, by which data and how good.

Both may come from anybody: the card is read by its schema, the weights must have exactly the shapes it promises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from explorer.engine.drafters.pacer.layer import PreVerificationLayer, Shape
from explorer.errors import UserError
from explorer.files import replacing, write_whole
from explorer.messages import Message
from explorer.schema import parse_json, read, write

MAX_CARD_BYTES = 2**20
MAX_WEIGHT_BYTES = 2**30
WEIGHTS, CARD = "layer.safetensors", "card.json"


class CardError(UserError):
    """A folder that does not hold a layer this program can use."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The verification rule whose outcome the layer predicts."""

    rule: str
    theta: float
    window: int
    entropy: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings of a run, chosen by replay on held-out texts of the collection."""

    threshold: float
    growth: float
    block_size: int
    draft_length: int
    least_draft: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """What one must know of a trained layer before using it."""

    pair: str
    weights: dict[str, str]  # fingerprints of `target` and `draft` (engine/models/fingerprint.py)
    dtype: dict[str, str]  # of both while the data was collected
    shape: Shape
    rule: Rule
    data: dict[str, float]  # shards, texts, rows, prompts' seed
    recipe: dict[str, float]
    metrics: dict[str, float]  # on held-out shards
    choices: dict[str, Choice]  # by the rule they were chosen under

    def warning(self, fingerprints: Mapping[str, str]) -> Message | None:
        """What to tell a person where the layer was trained for other weights than these (by `target` and `draft`)."""
        other = [side for side in ("target", "draft") if self.weights.get(side) != fingerprints.get(side)]
        if not other:
            return None
        side = other[0] if len(other) == 1 else "both"
        return Message("layer.other_weights", {"side": Message(f"side.{side}"), "pair": self.pair})


def save(folder: Path, layer: PreVerificationLayer, card: Card) -> None:
    """Write both files, each complete or not at all; weights in bfloat16."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().to("cpu", torch.bfloat16).contiguous() for name, tensor in layer.state_dict().items()
    }
    with replacing(folder / WEIGHTS) as part:
        save_file(weights, part, metadata={"format": "pt"})
    save_card(folder, card)


def save_card(folder: Path, card: Card) -> None:
    """Write the card alone, complete or not at all."""
    write_whole(folder / CARD, json.dumps(write(card), indent=1, allow_nan=False) + "\n")


def read_card(folder: Path) -> Card:
    """Read a card as hostile input; raises CardError."""
    path = folder / CARD
    if not path.is_file():
        raise CardError("layer.file_missing", folder=folder, file=CARD)
    if path.stat().st_size > MAX_CARD_BYTES:
        raise CardError("layer.file_too_large", file=path)
    try:
        return read(Card, parse_json(path.read_bytes()))
    except UserError as error:
        raise CardError("file.wrong", file=path, reason=error) from None


def load(folder: Path) -> tuple[PreVerificationLayer, Card]:
    """A written layer in float32, with its card; raises CardError."""
    card, path = read_card(folder), folder / WEIGHTS
    if not path.is_file():
        raise CardError("layer.file_missing", folder=folder, file=WEIGHTS)
    if path.stat().st_size > MAX_WEIGHT_BYTES:
        raise CardError("layer.file_too_large", file=path)
    with torch.device("meta"):
        expected = PreVerificationLayer(card.shape).state_dict()
    try:
        weights = load_file(path)
    except (SafetensorError, ValueError) as error:
        raise CardError("layer.not_safetensors", file=path, reason=error) from None
    if {name: t.shape for name, t in weights.items()} != {name: t.shape for name, t in expected.items()}:
        raise CardError("layer.other_layer", file=path, card=CARD)
    if not all(tensor.is_floating_point() and bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise CardError("layer.not_numbers", file=path)
    layer = PreVerificationLayer(card.shape)
    layer.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return layer.eval(), card
