"""Runs with an adaptive draft length, by name, for tables that compare them: each with the settings it is best started from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer.config import POLICY_DEFAULTS, ConfigError, DecodeConfig, knobs
from explorer.engine.drafters.pacer.card import Card
from explorer.engine.drafters.pacer.shipped import with_choice
from explorer.engine.pair import Pair

KNOBS = {knob.name: knob for knob in knobs()}


def adaptive_rows(
    pair: Pair, base: DecodeConfig, cards: Mapping[str, Card], more: Sequence[str] = ()
) -> dict[str, DecodeConfig]:
    """Configurations by row name. cards: of the layers on the pair, by rule; without any there is no PACER row.

    more: rows as texts, `RULE KNOB=VALUE ...`, each named by itself; raises ConfigError for one that cannot be read.
    """
    texts = {
        "exact, confidence": "exact length=confidence",
        "exact, entropy": "exact length=entropy",
        "exact, heuristic": "exact length=heuristic",
        "exact, adaedl": "exact length=adaedl",
        "exact, throughput": "exact length=throughput",
        "exact, throughput, model + lookup": "exact length=throughput drafter=model+lookup",
        "fly, throughput": "fly length=throughput",
        "fly, throughput, model + lookup": "fly length=throughput drafter=model+lookup",
    }
    if cards:
        texts["exact, survival"] = "exact length=survival"
        texts |= {
            f"{rule}, pacer{name}": f"{rule} length=pacer drafter={drafter}"
            for rule in ("exact", "fly")
            for name, drafter in (("", "model"), (", model + lookup", "model+lookup"))
        }
        texts |= {f"{rule}, pacer, by costs": f"{rule} length=pacer-throughput" for rule in ("exact", "fly")}
        texts["exact, pacer, Ouroboros (suffixes), cold pool"] = "exact length=pacer phrases=3"
    texts |= {text: text for text in more}
    return {name: read_row(text, base, cards) for name, text in texts.items()}


def read_row(text: str, base: DecodeConfig, cards: Mapping[str, Card]) -> DecodeConfig:
    """`exact length=pacer threshold=0.6` as a configuration; what it does not name comes from the policy, the layer's card
    and `base`, in this order."""
    rule, *words = text.split() or [""]
    if rule not in KNOBS["rule"].choices:
        raise ConfigError("bench.row_rule", choices=", ".join(KNOBS["rule"].choices), value=repr(text))
    given: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in KNOBS or KNOBS[name].kind not in (str, int, float):
            raise ConfigError("bench.row_knob", word=repr(word), knobs=", ".join(KNOBS))
        try:
            given[name] = KNOBS[name].kind(value)
        except ValueError:
            raise ConfigError(
                "knob.out_of_range", label=KNOBS[name].label_message, range=KNOBS[name].range_message, value=repr(value)
            ) from None
    config = base.with_preset("explorer") if rule == "fly" else replace(base, rule=rule)
    policy = given.get("length", base.length)
    KNOBS["length"].check(policy)
    config = replace(config, **(POLICY_DEFAULTS[policy] | given))
    return with_choice(config, cards, given)
