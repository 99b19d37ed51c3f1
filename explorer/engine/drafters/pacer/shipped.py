"""The trained layers that ship in assets/weights/pacer: which suit a pair, in which form, and with which settings they run."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from explorer.config import DecodeConfig
from explorer.engine.drafters.lengths import BlockScorer
from explorer.engine.drafters.pacer.card import Card, CardError, read_card
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.drafters.pacer.scorers import FixedScorer, ModuleScorer, PackedScorer
from explorer.engine.models.fixed import FixedModel
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import WEIGHTS

SHIPPED = WEIGHTS / "pacer"


def find(name: str, fingerprints: Mapping[str, str], shipped: Path = SHIPPED) -> dict[str, Path]:
    """The folders of the layers that ship for a pair, by the rule they were trained for: for these very weights, else for a
    pair of this name."""
    found: dict[str, Path] = {}
    for path in sorted(shipped.glob("*/card.json")):
        card = read_card(path.parent)
        mine = card.warning(fingerprints) is None
        if mine or (card.pair == name and card.rule.rule not in found):
            found[card.rule.rule] = path.parent
    return found


def scorer_of(layer: PreVerificationLayer, draft: LanguageModel | PackedModel, folder: Path) -> BlockScorer:
    """A layer in the form that suits a draft; folder: where it came from, for messages. Raises CardError where it has another width."""
    if layer.shape.hidden_size != draft.width:
        raise CardError("layer.width", folder=folder, own=layer.shape.hidden_size, wanted=draft.width)
    if isinstance(draft, PackedModel):
        return PackedScorer(layer)
    kind = FixedScorer if isinstance(draft, FixedModel) else ModuleScorer
    return kind(layer, draft.device, draft.model.dtype)


def card_for(cards: Mapping[str, Card], rule: str) -> Card | None:
    """The card of the layer that steers runs under a rule (Pair.scorer_for chooses alike)."""
    return cards.get(rule) or next(iter(cards.values()), None)


def with_choice(config: DecodeConfig, cards: Mapping[str, Card], named: Container[str]) -> DecodeConfig:
    """A pacer run with the settings that were chosen for its layer, but for the knobs that somebody named; others as they are."""
    if config.length != "pacer":
        return config
    card = card_for(cards, config.rule)
    choice = card and (card.choices.get(config.rule) or next(iter(card.choices.values()), None))
    if choice is None:
        return config
    return replace(config, **{name: value for name, value in asdict(choice).items() if name not in named})
