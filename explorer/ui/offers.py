"""What the pairs of a page offer, and why a pair cannot follow some settings (explorer/conflicts.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from explorer.config import ConfigError, DecodeConfig
from explorer.conflicts import EVERYTHING, Offers, Use, conflicts, sentence
from explorer.messages import Message

SHIPPED = ("pacer_layer", "head", "judge_head")  # parts that come with some pairs: a refusal names those pairs


class PairOffers:
    """The offers of the pairs that a page lists. Of a pair that a visitor typed nothing is known before it is loaded."""

    def __init__(self, pairs: Iterable[Any]):
        """pairs: as KnownPair."""
        self._titles = {pair.name: pair.title for pair in pairs}
        self._offers: dict[str, Offers] = {pair.name: pair.offers for pair in pairs}

    def __iter__(self) -> Iterator[str]:
        return iter(self._titles)

    def __contains__(self, pair: object) -> bool:
        return pair in self._titles

    def of(self, pair: Any) -> Offers:
        """What a pair offers; everything, as far as is known, where it is not listed."""
        return self._offers.get(pair, EVERYTHING)

    def table(self) -> dict[str, dict[str, bool]]:
        """For the browser: the offers of each pair by its name."""
        return {name: asdict(offers) for name, offers in self._offers.items()}

    def refusals(self, config: DecodeConfig, pair: Any, use: Use = "run") -> list[Message]:
        """Why runs of a pair cannot follow these settings; empty where they can."""
        found = []
        for row in conflicts(config, self.of(pair), use):
            reason = sentence(row, config)
            if row.lacks in SHIPPED:
                having = [self._titles[name] for name, offers in self._offers.items() if getattr(offers, row.lacks)]
                pairs = ", ".join(having) or "-"
                reason = Message("pair.lacks", {"reason": reason, "pair": self._titles[pair], "pairs": pairs})
            found.append(reason)
        return found

    def check(self, config: DecodeConfig, pair: Any, use: Use = "run") -> None:
        """Raise ConfigError where runs of a pair cannot follow these settings."""
        for message in self.refusals(config, pair, use):
            raise ConfigError(message.code, **message.values)
