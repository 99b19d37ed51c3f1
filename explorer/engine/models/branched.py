"""A text and several continuations of it as one sequence for one forward.

A branch leaves from any column before it. Its tokens read what that column reads, their own branch up to themselves, and nothing
else; positions count on from there. So branches of one leaf make a block-diagonal mask after the trunk, and branches of one token
each, leaving from one another, a tree whose nodes read their ancestors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext


@dataclass(frozen=True)
class BranchedText:
    """Trunk and branches as one sequence of N columns."""

    ids: Tensor  # [N]
    positions: Tensor  # [N]
    visible: Tensor  # [N, N] bool: visible[q, k], whether column q reads column k
    starts: tuple[int, ...]  # first column of each branch


def branched(trunk: Tensor, branches: Sequence[tuple[int, Tensor]]) -> BranchedText:
    """Lay out trunk ids [T] and branches (the column each leaves from, its ids [L])."""
    size = len(trunk) + sum(len(ids) for _, ids in branches)
    positions = torch.arange(size)
    visible = torch.zeros(size, size, dtype=torch.bool)
    visible[: len(trunk), : len(trunk)] = torch.ones(len(trunk), len(trunk)).tril().bool()
    starts, column = [], len(trunk)
    for last, ids in branches:
        mine = slice(column, column + len(ids))
        positions[mine] = positions[last] + 1 + torch.arange(len(ids))
        visible[mine] = visible[last]
        visible[mine, mine] = torch.ones(len(ids), len(ids)).tril().bool()
        starts.append(column)
        column = mine.stop
    return BranchedText(torch.cat([trunk, *(ids for _, ids in branches)]), positions, visible, tuple(starts))


def feed_branched(context: Context | PackedContext, text: BranchedText) -> Tensor:
    """Feed a text whose every column also reads all that the context holds: logits [N, V]."""
    held, device = context.length, context.language_model.device
    visible = torch.cat([torch.ones(len(text.ids), held, dtype=torch.bool), text.visible], dim=1)
    positions = held + text.positions
    if limit := context.language_model.context_limit:  # guesses may lie beyond what the model was made for
        positions = positions.clamp(max=limit - 1)
    return context.branch(text.ids, positions.to(device), visible.to(device))
