"""Labelled mismatches on disk: a shard holds the texts of some prompts, every mismatch with its outcome, and the target's states."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from explorer.errors import UserError
from explorer.prompts import PromptItem
from explorer.schema import parse_json, read, write
from explorer.training.common.collection import damaged, save_shard, shard_paths


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One drafted token in the place of the target's own choice, and what became of the answer. All figures are the target's."""

    position: int  # in the greedy text, 0-based
    token: int
    drafts: tuple[str, ...]  # the pairs whose draft says so
    important: bool  # whether the answer is no longer right once it stands there
    text: str  # up to where that was settled
    prob: float  # of the token
    gap: float  # log-probability of the target's choice above it, nats
    rank: int | None
    entropy: float  # over the full vocabulary, divided by ln V
    divergence: float  # KL(target || draft) for the first of the drafts, nats


@dataclass(frozen=True, slots=True)
class Labelled:
    """A prompt that greedy decoding answers rightly, with its labelled mismatches."""

    item: PromptItem
    text: str  # the greedy answer
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True)
class LabelledShard:
    """Prompts with the target's states after each mismatched token."""

    asked: int  # prompts, those that greedy decoding answers wrongly too
    settled: int  # mismatches left out because the answer stood before them
    texts: tuple[Labelled, ...]
    states: Tensor  # [mismatches, d], float32, in the order of the texts


def write_shard(path: Path, shard: LabelledShard) -> None:
    """One file, complete or not there."""
    words = {"asked": shard.asked, "settled": shard.settled, "texts": write(shard.texts)}
    save_shard(path, {"states": shard.states.contiguous()}, {"texts": json.dumps(words, allow_nan=False)})


def read_shard(path: Path) -> LabelledShard:
    """Raises UserError where the file is not a shard, whole."""
    try:
        with safe_open(path, "pt") as file:
            words, states = parse_json(file.metadata()["texts"]), file.get_tensor("states")
        texts = read(tuple[Labelled, ...], words["texts"])
        if len(states) != sum(len(text.mismatches) for text in texts) or not bool(torch.isfinite(states).all()):
            raise ValueError("states and mismatches do not belong together")
        return LabelledShard(read(int, words["asked"]), read(int, words["settled"]), texts, states)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from None


def read_folder(folder: Path) -> list[LabelledShard]:
    """All shards of a collection, in order; raises UserError where there are none."""
    shards = [read_shard(path) for path in shard_paths(folder)]
    if not any(shard.texts for shard in shards):
        raise UserError("training.no_mismatches", folder=folder)
    return shards


@dataclass(frozen=True, slots=True)
class MismatchTable:
    """Mismatches as a table: what training and evaluation work on."""

    states: Tensor  # [n, d]
    important: Tensor  # [n], bool
    groups: Tensor  # [n]: which prompt each belongs to
    mismatches: tuple[Mismatch, ...]
    items: tuple[PromptItem, ...]  # one each, as `mismatches`

    def __len__(self) -> int:
        return len(self.mismatches)

    @property
    def prompts(self) -> int:
        return len(self.groups.unique())


def table_of(shards: Sequence[LabelledShard]) -> MismatchTable:
    """All mismatches of some shards; prompts are numbered through."""
    texts = [text for shard in shards for text in shard.texts]
    mismatches = tuple(mismatch for text in texts for mismatch in text.mismatches)
    return MismatchTable(
        states=torch.cat([shard.states for shard in shards]),
        important=torch.tensor([mismatch.important for mismatch in mismatches], dtype=torch.bool),
        groups=torch.tensor([index for index, text in enumerate(texts) for _ in text.mismatches], dtype=torch.long),
        mismatches=mismatches,
        items=tuple(text.item for text in texts for _ in text.mismatches),
    )
