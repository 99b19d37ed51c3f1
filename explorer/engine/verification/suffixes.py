"""Candidate phrases behind a draft, verified in the same target pass: Ouroboros' suffix half (arXiv 2402.13720).

All phrases hang on the last drafted token and never see each other. The one that agrees furthest with the target's own
choices becomes the end of the draft; which one that is needs one small transfer to the host.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.engine import ranking
from explorer.engine.drafters.phrases import Phrase, PhrasePool
from explorer.engine.models.branched import branched, feed_branched
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.trace import Branch, longest


def candidates(pool: PhrasePool, token: int, count: int, room: int, stop_ids: frozenset[int]) -> list[Phrase]:
    """Up to `count` different phrases to try after `token`, shortened to `room` tokens; none behind a stop id."""
    if token in stop_ids or room <= 0:
        return []
    return list(dict.fromkeys(phrase[:room] for phrase in pool.after(token, count)))


def verify_suffixes(
    target: Context | PackedContext, trunk: Tensor, phrases: Sequence[Phrase]
) -> tuple[Tensor, Tensor, tuple[Branch, ...]]:
    """Feed the trunk [T] (the last committed token and the draft) and the phrases behind it.

    Returns logits [T + M, V] and their argmax [T + M] of the trunk and the M tokens of the longest branch, whose entries alone
    stay in the cache, moved up behind the trunk's; and all branches.
    """
    held, size, device = target.length, len(trunk), trunk.device
    packed = branched(trunk, [(size - 1, torch.tensor(phrase, device=device)) for phrase in phrases])
    logits = feed_branched(target, packed)
    argmax = ranking.argmax(logits)
    own = argmax.tolist()
    branches = tuple(
        Branch(phrase, (own[size - 1], *own[start : start + len(phrase) - 1]))
        for phrase, start in zip(phrases, packed.starts)
    )
    best = longest(branches)
    kept = [*range(size), *range(packed.starts[best], packed.starts[best] + len(phrases[best]))]
    target.keep(held, kept)
    rows = torch.tensor(kept, device=device)
    return logits[rows], argmax[rows], branches
