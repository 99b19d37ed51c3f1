"""The drafter of one run: the one that its configuration names, opened on a pair."""

from __future__ import annotations

from explorer.config import DecodeConfig
from explorer.conflicts import DIVERGENCE_RULES
from explorer.engine.drafters.cross import CrossDrafter, TextSide
from explorer.engine.drafters.draft import Drafter, ModelDrafter
from explorer.engine.drafters.features import FeatureDrafter
from explorer.engine.drafters.lookup import LookupDrafter, LookupModelDrafter
from explorer.engine.drafters.phrase_drafter import PhraseDrafter
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.engine.pair import Pair
from explorer.engine.sampling import Sampler


def make_drafter(
    pair: Pair, target: Context | PackedContext, config: DecodeConfig, sampler: Sampler, pool: PhrasePool | None
) -> Drafter:
    """The drafter that `config.drafter` names, for the sequence that is open on the target; the pair offers what it needs."""
    if config.drafter == "lookup":
        return LookupDrafter(sampler, pair.vocab_size, pair.stop_ids)
    entropies = config.length in ("entropy", "adaedl")
    if config.drafter == "features":
        return FeatureDrafter(pair.head, sampler, pair.stop_ids, entropies=entropies)
    kind = LookupModelDrafter if config.drafter == "model+lookup" else ModelDrafter
    if pair.draft_side:
        return cross_drafter(pair, kind, config, entropies)
    makes_phrases = config.drafter == "model+phrases"
    # PEARL's draft is meant for a device of its own, so it never works in the target's cache.
    context = pair.open_draft(target, config.needs_layer, alone=config.schedule == "pearl", branches=makes_phrases)
    wanted = {"entropies": entropies, "distributions": config.rule in DIVERGENCE_RULES}
    if makes_phrases:
        return PhraseDrafter(
            context,
            sampler,
            pair.stop_ids,
            pool=pool,
            window=config.phrase_window,
            length=config.phrase_length,
            **wanted,
        )
    return kind(context, sampler, pair.stop_ids, **wanted)


def cross_drafter(pair: Pair, kind: type[ModelDrafter], config: DecodeConfig, entropies: bool) -> CrossDrafter:
    """The drafter of a pair whose draft has a vocabulary of its own."""
    own = pair.draft_side
    return CrossDrafter(
        kind(pair.draft.open(), Sampler(0.0, config.seed, pair.draft.device), own.stop_ids, entropies=entropies),
        TextSide(pair.tokenizer, pair.vocabulary, pair.vocab_size),
        TextSide(own.tokenizer, own.vocabulary, own.size),
        pair.stop_ids,
        pair.vocab_size,
        greedy=config.temperature == 0,
    )
