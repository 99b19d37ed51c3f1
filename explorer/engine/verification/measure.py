"""One fused measurement of a target pass: everything the record needs, in float32 on the device, in one transfer."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from explorer.engine import ranking
from explorer.engine.sampling import check_numbers
from explorer.trace import Row

TOP = 8
LOWEST = -1e4  # nats below the likeliest token: its probability is 0 in float32 long before


class Readings(NamedTuple):
    """What was read off a target pass, as Python values."""

    rows: tuple[Row, ...]  # [K + 1]
    match: tuple[bool, ...]  # [K] whether the target itself chose the drafted token
    replacement: tuple[int, ...]  # [K + 1] committed where the draft is cut; last: the bonus token


def measure(
    logits: torch.Tensor,
    argmax: torch.Tensor,
    drafted: torch.Tensor,
    match: torch.Tensor,
    replacement: torch.Tensor,
    draft_distribution: torch.Tensor | None = None,
    harmless: torch.Tensor | None = None,
) -> Readings:
    """Read a target pass off its logits [K + 1, V], their argmax [K + 1], the drafted ids [K] and the outcome of the
    sampler; overwrites the logits. draft_distribution: q [K, V] of the drafted ids, where KL(target || draft) is wanted; a q below
    1e-38 counts as that. harmless: a judge head's scores [K] of the drafted ids, to be recorded.

    Small vocabularies give fewer than eight
    alternatives and their top-3 entropy sums what there is. Raises NotNumbers.
    """
    vocab_size = logits.shape[1]
    # Shifted so that the likeliest token stands at 0: sums over the vocabulary then lose no digits. A head may rule a token
    # out with minus infinity; the record keeps numbers only. In place, here and below: at this size a fresh tensor costs
    # more in page faults than the arithmetic itself.
    shifted = logits.sub_(logits.gather(1, argmax[:, None])).clamp_(min=LOWEST)
    probs = torch.softmax(shifted, dim=-1)
    largest = probs.gather(1, argmax[:, None])
    extras = {}  # what only some rules read, [K] each: the bonus row has none
    if draft_distribution is not None:  # the sum of p ln q
        log_q = draft_distribution.clamp_min(torch.finfo(torch.float32).tiny).log_()
        extras["cross"] = (probs[:-1] * log_q).sum(dim=-1)
    if harmless is not None:
        extras["harmless"] = harmless
    expected = probs.mul_(shifted).sum(dim=-1, keepdim=True)
    chosen = torch.stack([argmax, replacement, F.pad(drafted, (0, 1))], dim=1)
    ids = torch.cat([chosen, ranking.top(shifted, TOP)], dim=1)  # [K + 1, 3 + 8]
    # Everything travels as one float32 tensor, which holds ids below 2^24 exactly; scalars are finished on the host.
    columns = [F.pad(column, (0, 1))[:, None] for column in (*extras.values(), match)]
    columns = [ids, shifted.gather(1, ids), *columns[:-1], largest, expected, columns[-1]]
    table = torch.cat(columns, dim=1).tolist()
    width, log_size = ids.shape[1], math.log(max(vocab_size, 2))
    records, matches, replacements = [], [], []
    for position, numbers in enumerate(table):
        row_ids, values = [int(token) for token in numbers[:width]], numbers[width : 2 * width]
        is_drafted = position < len(table) - 1
        largest_prob, expected_value, matched = numbers[-3:]
        check_numbers([largest_prob], "target")
        extra = dict(zip(extras, numbers[2 * width :])) if is_drafted else {}
        log_total = -math.log(largest_prob)  # log of the sum of exp(shifted)
        logprobs = [value - log_total for value in values]
        records.append(
            Row(
                argmax=row_ids[0],
                argmax_logprob=-log_total,
                entropy_normalized=min(max((log_total - expected_value) / log_size, 0.0), 1.0),
                entropy_top3=min(sum(-math.exp(value) * value for value in logprobs[3:6]), math.log(3)),
                top_ids=_argmax_first(row_ids[0], row_ids[3:]),
                top_logprobs=tuple(logprobs[3:]),
                replacement_logprob=logprobs[1],
                drafted_logprob=logprobs[2] if is_drafted else None,
                # The sum of p ln p less that of p ln q; rounding may take it below 0.
                divergence=max(expected_value - log_total - extra["cross"], 0.0) if "cross" in extra else None,
                harmless=extra.get("harmless"),
            )
        )
        matches.append(bool(matched))
        replacements.append(row_ids[1])
    return Readings(tuple(records), tuple(matches[:-1]), tuple(replacements))


def _argmax_first(argmax: int, ids: list[int]) -> tuple[int, ...]:
    """One tie rule everywhere: of equal tokens the lowest id is the argmax, so it leads the alternatives too."""
    if ids[0] != argmax:
        ids = [argmax, *(token for token in ids if token != argmax)][: len(ids)]
    return tuple(ids)
