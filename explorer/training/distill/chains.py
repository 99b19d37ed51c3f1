"""A feature-fed head let loose on stored texts: every place is a start, and a start goes on while its drafts are right.

ChainStep 1 reads the target's states everywhere at once. ChainStep k goes on from the k - 1 states the head itself made after each start,
as in drafting (EAGLE-3's training-time test), and only where all k - 1 drafts were the target's choice: a draft after a
wrong one is never kept, so nothing is to be learned or counted there, and the steps together cost little more than the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from explorer.engine.drafters.eagle import Eagle3Head, taps_of
from explorer.training.common.collection import save_shard
from explorer.training.distill.data import StoredAnswer, read_shard


@dataclass
class TappedText:
    """One stored sequence with the target's tapped states at every token but the last."""

    sequence: StoredAnswer
    tapped: Tensor  # [n - 1, 3d], bfloat16

    @property
    def ids(self) -> Tensor:
        return self.sequence.ids


@torch.inference_mode()
def read_texts(target, path: Path, folder: Path) -> list[TappedText]:
    """The sequences of a shard with the states that the head is fed; those are collected here once and kept in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    file, sequences = folder / f"tapped-{path.stem}.safetensors", read_shard(path)
    lengths = [len(s.ids) - 1 for s in sequences]
    if not file.exists() or file.stat().st_mtime < path.stat().st_mtime:
        taps = taps_of(target.config.num_hidden_layers)
        rows: list[Tensor] = [torch.empty(0)] * len(sequences)
        order = sorted(range(len(sequences)), key=lengths.__getitem__)
        for first in range(0, len(order), 8):
            group = order[first : first + 8]
            ids = pad_sequence([sequences[i].ids[: lengths[i]].long() for i in group], batch_first=True)
            with torch.autocast("cpu", torch.bfloat16):  # twice as fast; the states themselves stay in float32
                hidden = target.model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states
            tapped = torch.cat([hidden[layer] for layer in taps], dim=-1)  # padding follows the text: nothing sees it
            for row, i in enumerate(group):
                rows[i] = tapped[row, : lengths[i]].bfloat16()
        save_shard(file, {"tapped": torch.cat(rows)})
    return [TappedText(s, t) for s, t in zip(sequences, load_file(file)["tapped"].split(lengths), strict=True)]


@dataclass
class ChainBatch:
    """Texts padded on the right. Entry i joins x[i+1] and the states at x[i]; its label is what the target made of x[i+1]."""

    ids: Tensor  # [B, n + 1]
    tapped: Tensor  # [B, n, 3d]
    rows: Tensor  # [B, n]: which label is entry i's, -1 where it has none
    top_ids: Tensor  # [labels, TOP]
    top_logprobs: Tensor  # [labels, TOP]
    label_states: Tensor  # [labels, d]: the target's final states


def collate(texts: list[TappedText]) -> ChainBatch:
    rows, count = [], 0
    for text in texts:
        labels, start = len(text.sequence.top_ids), text.sequence.prompt_length - 2
        row = torch.full((len(text.tapped),), -1)
        row[start : start + labels] = torch.arange(count, count + labels)
        rows.append(row)
        count += labels
    columns = [torch.cat([getattr(t.sequence, name) for t in texts]) for name in ("top_ids", "top_logprobs", "states")]
    return ChainBatch(
        pad_sequence([t.ids.long() for t in texts], batch_first=True),
        pad_sequence([t.tapped.float() for t in texts], batch_first=True),
        pad_sequence(rows, batch_first=True, padding_value=-1),
        columns[0].long(),
        columns[1].float(),
        columns[2].float(),
    )


@dataclass
class ChainStep:
    """What the head made of the k-th token after each surviving start."""

    states: Tensor  # [labels, d]: the head's own, before its norm
    rows: Tensor  # [labels]
    places: Tensor  # [labels]: batch * n + start


def unroll(
    head: Eagle3Head, embedding: Tensor, batch: ChainBatch, steps: int, right: Callable[[ChainStep], Tensor]
) -> None:
    """Give `right` one ChainStep after the other, at most `steps`; it says which drafts were the target's choice [labels].

    embedding: the target's table. Gradients flow through all steps.
    """
    b, n = batch.rows.shape
    tokens = F.embedding(batch.ids, embedding)  # [B, n + 1, d]
    layer = head.midlayer
    kv_heads = head.config.num_key_value_heads
    groups = head.config.num_attention_heads // kv_heads
    positions = torch.arange(n)
    q, k, v, residual = layer.project(tokens[:, 1:], head.fc(batch.tapped), head.rotation(positions))
    keys, values = k.transpose(1, 2), v.transpose(1, 2)  # of the true entries: [B, kv, n, hd]
    attended = F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, is_causal=True, enable_gqa=True)
    x = layer.finish(residual, attended.transpose(1, 2).flatten(2))
    own: list[tuple[Tensor, Tensor]] = []  # keys and values of the head's own entries, one a step: [survivors, kv, hd]
    places = (batch.rows.flatten() >= 0).nonzero()[:, 0]
    states = x.flatten(0, 1)[places]
    for number in range(2, steps + 2):
        step = ChainStep(states, batch.rows.flatten()[places + number - 2], places)
        alive = right(step)
        if number > steps:
            return
        # Entry of step k after start s: token x[s+k] (right so far, so the text's own), and the head's last state.
        alive &= (places % n + number - 1) < n
        alive &= batch.rows.flatten()[(places + number - 1).clamp(max=b * n - 1)] >= 0
        if not alive.any():
            return
        places, states = places[alive], states[alive]
        own = [(k[alive], v[alive]) for k, v in own]
        text, start = places // n, places % n
        rotation = head.rotation(start + number - 1)
        q, k, v, residual = layer.project(tokens[text, start + number], states, rotation)  # [S, heads or kv, hd]
        own.append((k, v))
        # Padded per text, so that starts of one text share its keys: [B, most].
        counts = torch.bincount(text, minlength=b)
        slot = torch.arange(len(text)) - (counts.cumsum(0) - counts)[text]
        most = int(counts.max())
        seen = torch.zeros(b, most, dtype=torch.long).index_put((text, slot), start)
        hidden = positions > seen[:, :, None]  # [B, most, n]
        grouped = q.unflatten(1, (kv_heads, groups))  # [S, kv, g, hd]
        padded = q.new_zeros(b, most, *grouped.shape[1:]).index_put((text, slot), grouped)
        scores = torch.einsum("bskgh,bknh->bskgn", padded, keys)
        scores = scores.masked_fill(hidden[:, :, None, None], float("-inf"))[text, slot]  # [S, kv, g, n]
        own_keys, own_values = (torch.stack(column, dim=2) for column in zip(*own, strict=True))  # [S, kv, k - 1, hd]
        own_scores = torch.einsum("skgh,skch->skgc", grouped, own_keys)
        weights = torch.cat([scores, own_scores], dim=-1).float() * layer.head_dim**-0.5
        weights = weights.softmax(-1).to(v.dtype)
        true_weights = weights.new_zeros(b, most, *weights.shape[1:3], n).index_put((text, slot), weights[..., :n])
        attended = torch.einsum("bskgn,bknh->bskgh", true_weights, values)[text, slot]
        attended = attended + torch.einsum("skgc,skch->skgh", weights[..., n:], own_values)
        states = layer.finish(residual, attended.flatten(1))
