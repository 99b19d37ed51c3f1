"""Shards of answers on disk: the ids of whole sequences and, for every answer token, what the target saw when it chose it."""

import random
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from explorer.training.common.answers import Answer
from explorer.training.common.collection import damaged, save_shard


def write_shard(path: Path, answers: list[Answer]) -> None:
    """All answers in one file, complete or not there."""
    tensors = {
        "ids": torch.tensor([token for a in answers for token in a.prompt + a.ids], dtype=torch.int32),
        "prompt_lengths": torch.tensor([len(a.prompt) for a in answers]),
        "answer_lengths": torch.tensor([len(a.ids) for a in answers]),
        "top_ids": torch.stack([row for a in answers for row in a.top_ids]).int(),
        "top_logprobs": torch.stack([row for a in answers for row in a.top_logprobs]).half(),
        "states": torch.stack([row for a in answers for row in a.states]).bfloat16(),
    }
    save_shard(path, tensors)


@dataclass
class StoredAnswer:
    """One stored sequence, its labels as slices of the shard."""

    ids: torch.Tensor  # [prompt + answer]
    prompt_length: int
    top_ids: torch.Tensor  # [answer, TOP]
    top_logprobs: torch.Tensor  # [answer, TOP]
    states: torch.Tensor  # [answer, model width]

    @property
    def is_greedy(self) -> bool:
        return torch.equal(self.ids[self.prompt_length :], self.top_ids[:, 0])


def read_shard(path: Path) -> list[StoredAnswer]:
    """The sequences of a shard; raises UserError where the file is not one, whole."""
    try:
        return _sequences(load_file(path))
    except (SafetensorError, KeyError, ValueError) as error:
        raise damaged(path, error) from None


def _sequences(tensors: dict[str, torch.Tensor]) -> list[StoredAnswer]:
    sequences, token, row = [], 0, 0
    for prompt, answer in zip(tensors["prompt_lengths"].tolist(), tensors["answer_lengths"].tolist(), strict=True):
        labels = [tensors[name][row : row + answer] for name in ("top_ids", "top_logprobs", "states")]
        sequences.append(StoredAnswer(tensors["ids"][token : token + prompt + answer], prompt, *labels))
        token, row = token + prompt + answer, row + answer
    return sequences


@dataclass
class AnswerBatch:
    """Sequences of similar length, padded on the right (causal attention needs no mask then), and their label rows."""

    ids: torch.Tensor  # [sequences, longest]
    rows: torch.Tensor  # [labels]: places in the flattened [sequences * longest] that predict an answer token
    top_ids: torch.Tensor  # [labels, TOP]
    top_logprobs: torch.Tensor  # [labels, TOP]
    states: torch.Tensor  # [labels, model width]


def collate(sequences: list[StoredAnswer]) -> AnswerBatch:
    longest = max(len(s.ids) for s in sequences) - 1  # the last token predicts nothing that was stored
    ids = torch.zeros(len(sequences), longest, dtype=torch.long)
    rows = []
    for i, sequence in enumerate(sequences):
        ids[i, : len(sequence.ids) - 1] = sequence.ids[:-1]
        rows.append(torch.arange(sequence.prompt_length - 1, len(sequence.ids) - 1) + i * longest)
    columns = [torch.cat([getattr(s, name) for s in sequences]) for name in ("top_ids", "top_logprobs", "states")]
    return AnswerBatch(ids, torch.cat(rows), columns[0].long(), columns[1].float(), columns[2])


def epoch(sequences: list[StoredAnswer], tokens: int, seed: int) -> list[list[StoredAnswer]]:
    """All sequences once, in groups of about `tokens` tokens and similar length, in an order given by the seed."""
    rng = random.Random(seed)
    groups: list[list[StoredAnswer]] = [[]]
    for sequence in sorted(sequences, key=lambda s: (len(s.ids) // 32, rng.random())):
        if (len(groups[-1]) + 1) * (len(sequence.ids) // 32 * 32 + 32) > tokens:
            groups.append([])
        groups[-1].append(sequence)
    rng.shuffle(groups)
    return [group for group in groups if group]
