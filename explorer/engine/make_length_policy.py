"""The length policy of one run: the one that its configuration names, for a pair."""

from __future__ import annotations

from explorer.config import DecodeConfig
from explorer.engine.drafters.lengths import (
    AdaEDLLength,
    ConfidenceLength,
    EntropyLength,
    FixedLength,
    HeuristicLength,
    LengthPolicy,
    PacerLength,
    SurvivalLength,
)
from explorer.engine.drafters.throughput import PacerThroughputLength, ThroughputLength
from explorer.engine.pair import Pair
from explorer.engine.step_costs import step_costs


def make_length_policy(pair: Pair, config: DecodeConfig) -> LengthPolicy:
    """The policy that `config.length` names; the pair offers what it needs."""
    match config.length:
        case "pacer":
            return PacerLength(config, pair.scorer_for(config.rule).open())
        case "survival":
            return SurvivalLength(config, pair.scorer_for(config.rule).open())
        case "pacer-throughput":
            return PacerThroughputLength(config, pair.scorer_for(config.rule).open(), step_costs(pair))
        case "adaedl":
            return AdaEDLLength(config.draft_length, config.threshold)
        case "confidence":
            return ConfidenceLength(config.draft_length, config.threshold)
        case "entropy":
            return EntropyLength(config.draft_length, config.threshold)
        case "throughput":
            return ThroughputLength(config.draft_length, step_costs(pair))
        case "heuristic":
            return HeuristicLength(config.draft_length)
        case _:
            return FixedLength(config.draft_length)
