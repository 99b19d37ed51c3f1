"""The largest entries of rows over a large vocabulary, several times faster on a CPU than one search over whole rows.

Two steps: the largest entries of a row lie in the groups with the largest maxima, and group maxima vectorise well.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 64


def argmax(values: Tensor) -> Tensor:
    """Index of the largest entry of each row [R, V] -> [R]; of equal ones the lowest: one tie rule everywhere."""
    rows, size = values.shape
    if rows == 1 or values.is_cuda or size % GROUP or size < GROUP * GROUP:
        return values.argmax(dim=-1)
    grouped = values.view(rows, -1, GROUP)
    group = grouped.amax(dim=-1).argmax(dim=-1)  # [R]
    inside = grouped[torch.arange(rows, device=values.device), group].argmax(dim=-1)
    return group * GROUP + inside


def top(values: Tensor, count: int) -> Tensor:
    """Indices [R, count] of the largest entries of each row [R, V], largest first."""
    rows, size = values.shape
    if count == 1:
        return argmax(values)[:, None]
    if size < GROUP * count * 4:
        return values.topk(min(count, size), dim=-1).indices
    whole = size // GROUP * GROUP
    maxima = values[:, :whole].reshape(rows, -1, GROUP).amax(dim=-1)
    groups = maxima.topk(count, dim=-1).indices  # [R, count]
    ids = (groups[:, :, None] * GROUP + torch.arange(GROUP, device=values.device)).reshape(rows, -1)
    ids = torch.cat([ids, torch.arange(whole, size, device=values.device).expand(rows, -1)], dim=1)
    return ids.gather(1, values.gather(1, ids).topk(count, dim=-1).indices)
