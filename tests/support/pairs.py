"""A pair that also holds transformers' own models of its weights, which tests compare with."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import PreTrainedModel

from explorer.engine.pair import Pair


@dataclass(frozen=True, eq=False)
class OraclePair(Pair):
    """`oracle` and `oracle_draft`: the target and the draft it was made of, as they were before they were laid out."""

    oracle: PreTrainedModel | None = None
    oracle_draft: PreTrainedModel | None = None

    @classmethod
    def of(cls, name, target_model, draft_model, tokenizer, **options) -> OraclePair:
        parts = vars(Pair.of(name, target_model, draft_model, tokenizer, **options))
        return cls(**parts, oracle=target_model, oracle_draft=draft_model)
