"""One pass of the target over what was proposed: a chain, a chain with phrases after it, or a tree.

All phrases follow the last drafted token and never see each other (Ouroboros' suffix half, arXiv 2402.13720); the nodes of a tree
see their ancestors alone (EAGLE-2, arXiv 2406.16858). The phrase or path that agrees furthest with the target's own choices
becomes the end of the draft; which one that is needs one small transfer to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.engine import ranking
from explorer.engine.drafters.phrases import Phrase
from explorer.engine.drafters.proposal import Proposal
from explorer.engine.drafters.trees import Node
from explorer.engine.models.branched import branched, feed_branched
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.trace import Branch, Tree, longest


@dataclass(frozen=True, slots=True)
class TargetPass:
    """What the target says after the last committed token and after each of the K drafted ones."""

    logits: Tensor  # [K + 1, V]
    argmax: Tensor  # [K + 1]
    branches: tuple[Branch, ...] = ()  # the phrases that were tried
    tree: Tree | None = None  # all that was drafted, where that is a tree


def verify(target: Context | PackedContext, trunk: Tensor, proposal: Proposal, stop_ids: frozenset[int]) -> TargetPass:
    """Feed the trunk [1 + T] (the last committed token and the chain) and all that is proposed after it; of that the chosen path
    alone stays in the target's cache, and is added to the draft."""
    if proposal.phrases:
        passed = verify_phrases(target, trunk, proposal.phrases)
        for token in passed.branches[longest(passed.branches)].ids:
            proposal.draft.add(token, None, "phrase pool", stop_ids)
        return passed
    if proposal.nodes:
        passed, path = verify_tree(target, trunk, proposal.nodes)
        for node in path:
            proposal.draft.add(proposal.nodes[node].id, proposal.nodes[node].prob, "features", stop_ids)
        return passed
    logits = target.feed(trunk, rows=len(trunk))
    return TargetPass(logits, ranking.argmax(logits))


def verify_phrases(target: Context | PackedContext, trunk: Tensor, phrases: Sequence[Phrase]) -> TargetPass:
    """A chain and the phrases after it; rows of the trunk and of the M tokens of the longest branch, whose entries are moved up
    to stand after the trunk's."""
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
    columns = [*range(size), *range(packed.starts[best], packed.starts[best] + len(phrases[best]))]
    target.keep(held, columns)
    rows = torch.tensor(columns, device=device)
    return TargetPass(logits[rows], argmax[rows], branches)


def verify_tree(
    target: Context | PackedContext, seed: Tensor, nodes: Sequence[Node]
) -> tuple[TargetPass, tuple[int, ...]]:
    """The last committed token [1] and a tree after it; rows of that token and of the M nodes of the round's path (Tree.path),
    whose entries and tapped states alone are kept; and that path [M]."""
    held, device = target.length, seed.device
    ids = torch.tensor([node.id for node in nodes], device=device)
    packed = branched(seed, [(1 + node.parent, ids[place : place + 1]) for place, node in enumerate(nodes)])
    logits = feed_branched(target, packed)
    argmax = ranking.argmax(logits)
    first, *own = argmax.tolist()
    tree = Tree(*(tuple(column) for column in zip(*nodes)), tuple(own))
    path = tree.path(first)
    columns = [0, *(1 + place for place in path)]
    target.keep(held, columns)
    rows = torch.tensor(columns, device=device)
    return TargetPass(logits[rows], argmax[rows], tree=tree), path
