"""How well scores separate accepted tokens (or harmless mismatches) from others: pure functions over tensors of equal length."""

from __future__ import annotations

from torch import Tensor


def auc(scores: Tensor, labels: Tensor) -> float | None:
    """Chance that a positive scores above a negative, ties counting half; None where one kind is missing."""
    positive = labels.bool()
    ups, downs = int(positive.sum()), int((~positive).sum())
    if not ups or not downs:
        return None
    _, inverse, counts = scores.double().unique(return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    ranks = (ends - (counts - 1) / 2)[inverse]  # from 1, equal scores sharing their mean
    return float((ranks[positive].sum() - ups * (ups + 1) / 2) / (ups * downs))


def auc_within(scores: Tensor, labels: Tensor, groups: Tensor) -> float | None:
    """AUC over pairs of one group only, every pair counting alike: what is known beyond the group itself."""
    won = pairs = 0.0
    for group in groups.unique():
        mine = groups == group
        value = auc(scores[mine], labels[mine])
        if value is not None:
            weight = float(labels[mine].sum()) * float((~labels[mine].bool()).sum())
            won, pairs = won + value * weight, pairs + weight
    return won / pairs if pairs else None


def brier(scores: Tensor, labels: Tensor) -> float:
    """Mean squared distance of predicted and actual."""
    return float((scores.double() - labels.double()).square().mean())
