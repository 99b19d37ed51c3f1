"""Attention over a static key-value buffer, such that a row's result does not depend on what is fed with it.

Every row of a feed attends as a batch entry of its own, over a length that follows from its place in the text alone, so the kernel
does the same for it whether one row is fed or sixteen, on one thread or two. (Our choice: matrix products over all rows at once
are faster, but round by the number of rows.) The prompt, whose rows are never fed in another way, goes through at once.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

STEP = 64  # keys by which the length grows that a row attends over,
LEAP = 512  # beyond 256 of them: where the kernel and the matrix product inside split their sums
TOGETHER = 32  # rows of several continuations at once, each with a copy of what it reads
HEADS = 8  # queries of one key head come in multiples of this: other counts leave the kernel's buffers out of line


class Sight(Protocol):
    """Which tokens of the buffer the rows of one feed read."""

    def attend(self, queries: Tensor, cache: Tensor, kv_heads: int) -> Tensor:
        """queries [n, heads, head_dim], scaled; cache [capacity, 2 * kv_heads, head_dim], keys first -> [n, heads * head_dim]."""


class TextSight:
    """A piece of text whose rows read everything before them, at once."""

    def __init__(self, n: int, past: int):
        self._total = past + n
        self._bias = torch.full((n, self._total), -torch.inf).triu_(past + 1) if past and n > 1 else None
        self._causal = not past

    def attend(self, queries: Tensor, cache: Tensor, kv_heads: int) -> Tensor:
        keys, values = cache[: self._total].transpose(0, 1).split(kv_heads)
        out = F.scaled_dot_product_attention(
            queries.transpose(0, 1)[None],
            keys[None],
            values[None],
            attn_mask=self._bias,
            is_causal=self._causal,
            scale=1.0,
            enable_gqa=True,
        )
        return out[0].transpose(0, 1).flatten(1)


class RowSight:
    """Rows that follow each other in the text, each as if it were fed alone."""

    def __init__(self, n: int, past: int):
        self._parts: list[tuple[slice, int, Tensor]] = []  # rows of one length [m], that length, bias [m, 1, 1, length]
        first = 0
        while first < n:
            length = padded(past + first + 1)
            end = min(n, length - past)
            seen = torch.arange(past + first + 1, past + end + 1)[:, None, None, None]
            hidden = torch.arange(length) >= seen
            self._parts.append((slice(first, end), length, torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf)))
            first = end

    def attend(self, queries: Tensor, cache: Tensor, kv_heads: int) -> Tensor:
        n, heads, head_dim = queries.shape
        grouped = _in_groups(queries, kv_heads)
        outs = []
        for rows, length, bias in self._parts:
            keys, values = cache[:length].transpose(0, 1).split(kv_heads)  # [kv_heads, length, head_dim]
            count = len(bias)
            outs.append(
                F.scaled_dot_product_attention(
                    grouped[rows],
                    keys.expand(count, -1, -1, -1),
                    values.expand(count, -1, -1, -1),
                    attn_mask=bias,
                    scale=1.0,
                )
            )
        out = outs[0] if len(outs) == 1 else torch.cat(outs)
        return out[:, :, : heads // kv_heads].reshape(n, heads * head_dim)


class BranchSight:
    """Rows of several continuations, each reading its own line of the text alone, as if that were all there is."""

    def __init__(self, visible: Tensor):
        """visible [n, total], bool: which tokens of the buffer each row reads, itself among them."""
        counts = visible.sum(dim=1)
        lengths = [padded(count) for count in counts.tolist()]
        order = (
            visible.to(torch.uint8).sort(dim=1, descending=True, stable=True).indices
        )  # what is read first, in its order
        self._parts: list[
            tuple[Tensor, Tensor, Tensor]
        ] = []  # rows [m], tokens they read [m, length], bias [m, 1, 1, length]
        for length in sorted(set(lengths)):
            alike = torch.tensor([row for row, own in enumerate(lengths) if own == length])
            for rows in alike.split(TOGETHER):
                columns = F.pad(order[rows, :length], (0, max(length - visible.shape[1], 0)))
                hidden = (torch.arange(length) >= counts[rows, None])[:, None, None]
                self._parts.append((rows, columns, torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf)))

    def attend(self, queries: Tensor, cache: Tensor, kv_heads: int) -> Tensor:
        n, heads, head_dim = queries.shape
        grouped = _in_groups(queries, kv_heads)
        out = torch.empty_like(queries).view(n, kv_heads, -1, head_dim)
        for rows, columns, bias in self._parts:
            keys, values = cache[columns].transpose(1, 2).split(kv_heads, dim=1)  # [m, kv_heads, length, head_dim]
            part = F.scaled_dot_product_attention(grouped[rows], keys, values, attn_mask=bias, scale=1.0)
            out[rows] = part[:, :, : heads // kv_heads]
        return out.view(n, heads * head_dim)


def padded(length: int) -> int:
    """The length over which a row that reads `length` tokens attends: a function of its place in the text alone."""
    step = STEP if length <= LEAP // 2 else LEAP
    return -(-length // step) * step


def _in_groups(queries: Tensor, kv_heads: int) -> Tensor:
    """[n, heads, head_dim] -> [n, kv_heads, a multiple of HEADS, head_dim]: queries that share a key head stand together."""
    n, heads, head_dim = queries.shape
    groups = heads // kv_heads
    return F.pad(queries.view(n, kv_heads, groups, head_dim), (0, 0, 0, -groups % HEADS))
