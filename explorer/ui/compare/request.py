"""What a comparison was asked for, and its session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from explorer.config import ConfigError, DecodeConfig, Knob
from explorer.ui.forms import check_pair, check_prompt, config_of
from explorer.ui.jobs import PageSession
from explorer.ui.offers import PairOffers
from explorer.ui.page_knobs import page_knobs

COMMON = ("max_new_tokens", "raw_prompt")  # what both sides share
GREEDY = ("temperature", "seed")  # drawn texts part by chance: Compare is greedy


@dataclass(frozen=True)
class ComparisonRequest:
    """One filled-in form, checked: the settings of the target alone, of A and of B."""

    prompt: str
    pair: str
    configs: tuple[DecodeConfig, DecodeConfig, DecodeConfig]


@dataclass
class CompareSession(PageSession[ComparisonRequest]):
    """The comparison that one visitor asked for last."""


def side_knobs() -> tuple[Knob, ...]:
    """The knobs in which the two sides may differ."""
    return tuple(knob for knob in page_knobs() if knob.name not in COMMON + GREEDY)


def read_comparison(
    pairs: PairOffers, prompt: Any, pair: Any, budget: Any, raw: Any, *values: Any
) -> ComparisonRequest:
    """The form as typed values: those of side A, then of side B, in the order of side_knobs(); an error names its side."""
    check_prompt(prompt)
    check_pair(pair, pairs)
    names = [knob.name for knob in side_knobs()]
    defaults = {knob.name: knob.default for knob in page_knobs()}
    configs = []
    for side, mine in zip("AB", (values[: len(names)], values[len(names) :]), strict=True):
        settings = defaults | dict(zip(names, mine, strict=True)) | {"max_new_tokens": budget, "raw_prompt": raw}
        try:
            config = config_of(settings)
            pairs.check(config, pair)
            configs.append(config)
        except ConfigError as error:
            raise ConfigError("compare.side", side=side, reason=error) from None
    return ComparisonRequest(prompt, pair, (replace(configs[0], rule="autoregressive"), *configs))
