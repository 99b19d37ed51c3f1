"""A text and several continuations of it as one sequence for one forward.

A token of a branch reads the trunk up to the place where its branch leaves, its own branch up to itself, and nothing else;
positions count on from the trunk. So branches of one leaf make a block-diagonal mask behind the trunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Pack:
    """Trunk and branches as one sequence of N columns."""

    ids: Tensor  # [N]
    positions: Tensor  # [N]
    visible: Tensor  # [N, N] bool: visible[q, k], whether column q reads column k
    starts: tuple[int, ...]  # first column of each branch


def pack(trunk: Tensor, branches: Sequence[tuple[int, Tensor]]) -> Pack:
    """Lay out trunk ids [T] and branches (index of the last trunk column each may read, its ids [L])."""
    size = len(trunk) + sum(len(ids) for _, ids in branches)
    positions = torch.arange(size)
    visible = torch.zeros(size, size, dtype=torch.bool)
    visible[: len(trunk), : len(trunk)] = torch.ones(len(trunk), len(trunk)).tril().bool()
    starts, column = [], len(trunk)
    for last, ids in branches:
        mine = slice(column, column + len(ids))
        positions[mine] = torch.arange(last + 1, last + 1 + len(ids))
        visible[mine, : last + 1] = True
        visible[mine, mine] = torch.ones(len(ids), len(ids)).tril().bool()
        starts.append(column)
        column = mine.stop
    return Pack(torch.cat([trunk, *(ids for _, ids in branches)]), positions, visible, tuple(starts))
