"""One fused measurement of a target pass: everything the record needs, in float32 on the device, in one transfer."""

from __future__ import annotations

import math

import torch

from explorer.engine import ranking
from explorer.trace import Row

TOP = 8
LOWEST = -1e4  # nats below the likeliest token: its probability is 0 in float32 long before


def measure(
    logits: torch.Tensor, drafted: torch.Tensor, match: torch.Tensor, replacement: torch.Tensor
) -> tuple[tuple[Row, ...], tuple[bool, ...], tuple[int, ...]]:
    """Read a target pass off its logits [K + 1, V], the drafted ids [K] and the outcome of the sampler.

    Returns the K + 1 rows, match [K] and replacement [K + 1] as Python values. Small vocabularies give fewer than eight
    alternatives and their top-3 entropy sums what there is.
    """
    rows, vocab_size = logits.shape
    argmax = ranking.argmax(logits)
    # Shifted so that the likeliest token stands at 0: sums over the vocabulary then lose no digits. A head may rule a token
    # out with minus infinity; the record keeps numbers only.
    shifted = (logits - logits.gather(1, argmax[:, None])).clamp_(min=LOWEST)
    probs = torch.softmax(shifted, dim=-1)
    log_total = -probs.gather(1, argmax[:, None]).log()  # [R, 1] log of the sum of exp(shifted)
    # In place: at this size a fresh tensor costs more in page faults than the multiplication itself.
    entropy = (log_total[:, 0] - probs.mul_(shifted).sum(dim=-1)) / math.log(max(vocab_size, 2))
    top_values, top_ids = ranking.top(shifted, TOP)
    top_values = top_values - log_total
    top3 = torch.special.entr(top_values[:, :3].exp()).sum(dim=-1)
    pad = logits.new_zeros(1)
    columns = [
        argmax,
        -log_total[:, 0],
        entropy.clamp(0, 1),
        top3.double().clamp(max=math.log(3)),
        replacement,
        shifted.gather(1, replacement[:, None])[:, 0] - log_total[:, 0],
        torch.cat([shifted[:-1].gather(1, drafted[:, None])[:, 0] - log_total[:-1, 0], pad]),
        torch.cat([match.to(pad.dtype), pad]),
    ]
    # float64 holds ids and float32 values exactly, so everything travels as one tensor.
    packed = torch.cat(
        [torch.stack([c.double() for c in columns], dim=1), top_ids.double(), top_values.double()], dim=1
    )
    table = packed.tolist()
    width = top_ids.shape[1]
    records = tuple(
        Row(
            argmax=int(values[0]),
            argmax_logprob=values[1],
            entropy_normalized=values[2],
            entropy_top3=values[3],
            top_ids=_argmax_first(int(values[0]), [int(token) for token in values[8 : 8 + width]]),
            top_logprobs=tuple(values[8 + width :]),
            replacement_logprob=values[5],
            drafted_logprob=values[6] if position < rows - 1 else None,
        )
        for position, values in enumerate(table)
    )
    return records, tuple(bool(values[7]) for values in table[:-1]), tuple(int(values[4]) for values in table)


def _argmax_first(argmax: int, ids: list[int]) -> tuple[int, ...]:
    """One tie rule everywhere: of equal tokens the lowest id is the argmax, so it leads the alternatives too."""
    if ids[0] != argmax:
        ids = [argmax, *(token for token in ids if token != argmax)][: len(ids)]
    return tuple(ids)
