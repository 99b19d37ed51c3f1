"""One fused measurement of a target pass: everything the record needs, in float32 on the device, in one transfer."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from explorer.engine import ranking
from explorer.trace import Row

TOP = 8
LOWEST = -1e4  # nats below the likeliest token: its probability is 0 in float32 long before


def measure(
    logits: torch.Tensor, drafted: torch.Tensor, match: torch.Tensor, replacement: torch.Tensor
) -> tuple[tuple[Row, ...], tuple[bool, ...], tuple[int, ...]]:
    """Read a target pass off its logits [K + 1, V], the drafted ids [K] and the outcome of the sampler; overwrites the logits.

    Returns the K + 1 rows, match [K] and replacement [K + 1] as Python values. Small vocabularies give fewer than eight
    alternatives and their top-3 entropy sums what there is.
    """
    vocab_size = logits.shape[1]
    argmax = ranking.argmax(logits)
    # Shifted so that the likeliest token stands at 0: sums over the vocabulary then lose no digits. A head may rule a token
    # out with minus infinity; the record keeps numbers only. In place, here and below: at this size a fresh tensor costs
    # more in page faults than the arithmetic itself.
    shifted = logits.sub_(logits.gather(1, argmax[:, None])).clamp_(min=LOWEST)
    probs = torch.softmax(shifted, dim=-1)
    largest = probs.gather(1, argmax[:, None])
    top_values, top_ids = ranking.top(shifted, TOP)
    chosen = torch.stack([argmax, replacement, F.pad(drafted, (0, 1))], dim=1)  # [K + 1, 3]
    expected = probs.mul_(shifted).sum(dim=-1, keepdim=True)
    # Everything travels as one tensor: float64 holds ids and float32 values exactly. Scalars are finished on the host.
    parts = [chosen, shifted.gather(1, chosen), largest, expected, F.pad(match, (0, 1))[:, None], top_ids, top_values]
    table = torch.cat([part.double() for part in parts], dim=1).tolist()
    width, log_size = top_ids.shape[1], math.log(max(vocab_size, 2))
    records = []
    for position, values in enumerate(table):
        log_total = -math.log(values[6])  # log of the sum of exp(shifted)
        top_logprobs = tuple(value - log_total for value in values[9 + width :])
        records.append(
            Row(
                argmax=int(values[0]),
                argmax_logprob=-log_total,
                entropy_normalized=min(max((log_total - values[7]) / log_size, 0.0), 1.0),
                entropy_top3=min(sum(-math.exp(value) * value for value in top_logprobs[:3]), math.log(3)),
                top_ids=_argmax_first(int(values[0]), [int(token) for token in values[9 : 9 + width]]),
                top_logprobs=top_logprobs,
                replacement_logprob=values[4] - log_total,
                drafted_logprob=values[5] - log_total if position < len(table) - 1 else None,
            )
        )
    return tuple(records), tuple(bool(values[8]) for values in table[:-1]), tuple(int(values[1]) for values in table)


def _argmax_first(argmax: int, ids: list[int]) -> tuple[int, ...]:
    """One tie rule everywhere: of equal tokens the lowest id is the argmax, so it leads the alternatives too."""
    if ids[0] != argmax:
        ids = [argmax, *(token for token in ids if token != argmax)][: len(ids)]
    return tuple(ids)
