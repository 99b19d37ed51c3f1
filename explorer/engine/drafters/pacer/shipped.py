"""Putting a trained layer beside a loaded pair: one that ships in assets/weights/pacer, or one from a folder."""

from __future__ import annotations

import copy
from collections.abc import Container
from dataclasses import asdict, replace
from pathlib import Path

from explorer.config import DecodeConfig
from explorer.engine.drafters.lengths import BlockScorer
from explorer.engine.drafters.pacer.card import Card, CardError, load, read_card
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.drafters.pacer.scorers import FixedScorer, ModuleScorer, PackedScorer
from explorer.engine.models.fingerprint import fingerprint
from explorer.engine.models.fixed import FixedModel
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.pair import Pair
from explorer.engine.models.registry import WEIGHTS

SHIPPED = WEIGHTS / "pacer"


def find(pair: Pair, shipped: Path = SHIPPED) -> dict[str, Path]:
    """The folders of the layers that ship for a pair, by the rule they were trained for: for these very weights, else for a
    pair of this name."""
    found: dict[str, Path] = {}
    for path in sorted(shipped.glob("*/card.json")):
        card = read_card(path.parent)
        mine = card.warning(pair.fingerprints) is None
        if mine or (card.pair == pair.name and card.rule.rule not in found):
            found[card.rule.rule] = path.parent
    return found


def attach(pair: Pair, folder: Path | None = None) -> dict[str, Card]:
    """Make the length policy pacer available on a pair, with the layer of `folder` or with all that ship for it.

    Returns their cards by rule, none where nothing ships; a card's `warning` says where it was made for other weights. Raises
    CardError where a folder cannot be read or the layer has another shape than the draft.
    """
    folders = [folder] if folder else find(pair).values()
    cards = {}
    for one in folders:
        layer, card = load(one)
        pair.scorers[card.rule.rule] = _scorer(layer, pair, one)
        cards[card.rule.rule] = card
    return cards


def with_layer(pair: Pair, folder: Path) -> Pair:
    """The same models with the layer of `folder` and no other, which steers runs under every rule; `pair` itself stays as it is.

    Records of its runs name the layer's weights too. Raises CardError.
    """
    steered = copy.copy(pair)
    steered.scorers = {}
    steered.fingerprints = pair.fingerprints | {"pacer": fingerprint(folder)}
    attach(steered, folder)
    return steered


def card_for(cards: dict[str, Card], rule: str) -> Card | None:
    """The card of the layer that steers runs under a rule (Pair.scorer_for chooses alike)."""
    return cards.get(rule) or next(iter(cards.values()), None)


def with_choice(config: DecodeConfig, cards: dict[str, Card], named: Container[str]) -> DecodeConfig:
    """A pacer run with the settings that were chosen for its layer, but for the knobs that somebody named; others as they are."""
    if config.length != "pacer":
        return config
    card = card_for(cards, config.rule)
    choice = card and (card.choices.get(config.rule) or next(iter(card.choices.values()), None))
    if choice is None:
        return config
    return replace(config, **{name: value for name, value in asdict(choice).items() if name not in named})


def _scorer(layer: PreVerificationLayer, pair: Pair, folder: Path) -> BlockScorer:
    if layer.shape.hidden_size != pair.draft.width:
        raise CardError(
            f"{folder} was made for drafts of width {layer.shape.hidden_size}, this one has {pair.draft.width}"
        )
    if isinstance(pair.draft, PackedModel):
        return PackedScorer(layer)
    kind = FixedScorer if isinstance(pair.draft, FixedModel) else ModuleScorer
    return kind(layer, pair.draft.device, pair.draft.model.dtype)
