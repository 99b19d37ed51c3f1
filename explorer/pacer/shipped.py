"""Putting a trained layer beside a loaded pair: one that ships in assets/pacer, or one from a folder."""

from __future__ import annotations

from pathlib import Path

from explorer.engine.packed import PackedModel
from explorer.engine.pair import Pair
from explorer.engine.registry import ASSETS
from explorer.pacer.card import Card, CardError, load, read_card
from explorer.pacer.layer import PreVerificationLayer
from explorer.pacer.serve import ModuleScorer, PackedScorer

SHIPPED = ASSETS / "pacer"


def find(pair: Pair, rule: str = "exact", shipped: Path = SHIPPED) -> Path | None:
    """The folder of the layer that ships for a pair: for these very weights, else for a pair of this name; for this rule first."""
    cards = {path.parent: read_card(path.parent) for path in sorted(shipped.glob("*/card.json"))}

    def rank(folder: Path) -> tuple[bool, bool]:
        return cards[folder].warning(pair.fingerprints) is None, cards[folder].rule.rule == rule

    fitting = [f for f, card in cards.items() if card.warning(pair.fingerprints) is None or card.pair == pair.name]
    return max(fitting, key=rank, default=None)


def attach(pair: Pair, folder: Path | None = None, rule: str = "exact") -> tuple[Card, str | None]:
    """Make the length policy pacer available on a pair, from `folder` or from what ships.

    Returns the card and a warning where the layer was trained for other weights. Raises CardError where there is no layer or
    it has another shape than the draft.
    """
    folder = folder or find(pair, rule)
    if folder is None:
        raise CardError(
            f"no PACER layer ships for {pair.name}: train one with `python -m explorer pacer` and name its folder"
        )
    layer, card = load(folder)
    _check_fits(layer, pair, folder)
    if isinstance(pair.draft, PackedModel):
        pair.scorer = PackedScorer(layer)
    else:
        pair.scorer = ModuleScorer(layer, pair.draft.device, pair.draft.model.dtype)
    return card, card.warning(pair.fingerprints)


def _check_fits(layer: PreVerificationLayer, pair: Pair, folder: Path) -> None:
    width = pair.draft.width
    if layer.shape.hidden_size != width:
        raise CardError(f"{folder} was made for drafts of width {layer.shape.hidden_size}, this one has {width}")
