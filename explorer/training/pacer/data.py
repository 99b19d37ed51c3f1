"""Collected texts on disk, and the rounds of speculative decoding that can be read off them.

A text is a trunk (prompt and the target's own greedy answer) with branches. Answer row r predicts answer token r: there
stand the draft's choice, its probability, its hidden state and the target's entropy. While a draft agrees with the target it
walks along the trunk, so every row can start a round; where its choice is not the target's token a branch records how it goes
on after its own choice. One draft forward over the trunk and one per branch position serve all rounds of a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.training.common.collection import damaged, read_settings, save_shard, shard_paths
from explorer.verdicts import judge

BRANCH = 12  # tokens a branch holds after the draft's own choice
LOWEST_THETA = (
    0.02  # normalized; branches whose mismatch lies below were not shown to the target: no theta here accepts them
)
LOG_VOCABULARY = 12.5  # ln V of the largest vocabularies, rounded up: top-3 entropies are never above the full one


@dataclass
class DraftedText:
    """One trunk with its branches; R answer rows, G branches in the order of the rows they leave from."""

    ids: Tensor  # [T] prompt and answer
    prompt_length: int
    choices: Tensor  # [R] the draft's choice after the trunk up to there
    probs: Tensor  # [R] its probability under the draft
    states: Tensor  # [R, d] the draft's final hidden state it was chosen from (after the final norm)
    entropies: Tensor  # [R, 2] the target's: normalized, top3
    branch_ids: Tensor  # [G, BRANCH] what the draft chose after its own choice; -1 after a stop id
    branch_probs: Tensor  # [G, BRANCH]
    branch_states: Tensor  # [G, BRANCH, d]
    branch_targets: Tensor  # [G, BRANCH] what the target would choose there; -1 where it was not asked
    branch_entropies: Tensor  # [G, BRANCH, 2]

    @property
    def prompt(self) -> Tensor:
        return self.ids[: self.prompt_length]

    @property
    def answer(self) -> Tensor:
        return self.ids[self.prompt_length :]

    @property
    def match(self) -> Tensor:
        """[R] bool: the draft's choice is the target's token."""
        return self.choices == self.answer

    @property
    def leaves(self) -> Tensor:
        """[G] the rows the branches leave from: where the draft's choice is not the target's."""
        return (~self.match).nonzero()[:, 0]


ROW_FIELDS = ("choices", "probs", "states", "entropies")
BRANCH_FIELDS = ("branch_ids", "branch_probs", "branch_states", "branch_targets", "branch_entropies")


def write_shard(path: Path, texts: list[DraftedText]) -> None:
    """All texts in one file, complete or not there."""
    tensors = {name: torch.cat([getattr(text, name) for text in texts]) for name in (*ROW_FIELDS, *BRANCH_FIELDS)}
    tensors["ids"] = torch.cat([text.ids for text in texts]).int()
    tensors["lengths"] = torch.tensor([len(text.ids) for text in texts])
    tensors["prompt_lengths"] = torch.tensor([text.prompt_length for text in texts])
    save_shard(path, tensors)


def read_shard(path: Path) -> list[DraftedText]:
    """The texts of a shard; raises UserError where the file is not one, whole."""
    try:
        return _texts(load_file(path))
    except (SafetensorError, KeyError, ValueError) as error:
        raise damaged(path, error) from None


def _texts(tensors: dict[str, Tensor]) -> list[DraftedText]:
    texts, token, row, branch = [], 0, 0, 0
    for length, prompt in zip(tensors["lengths"].tolist(), tensors["prompt_lengths"].tolist(), strict=True):
        rows = {name: tensors[name][row : row + length - prompt] for name in ROW_FIELDS}
        ids = tensors["ids"][token : token + length].long()
        leaving = int((rows["choices"] != ids[prompt:]).sum())
        branches = {name: tensors[name][branch : branch + leaving] for name in BRANCH_FIELDS}
        texts.append(DraftedText(ids, prompt, **rows, **branches))
        token, row, branch = token + length, row + length - prompt, branch + leaving
    return texts


def read_folder(
    folder: Path, held_out: int, config: DecodeConfig, training: bool = True
) -> tuple[dict[str, Any], list[DraftedText], list[DraftedText]]:
    """The settings of a collection, the texts of its first `held_out` shards, and all others but those of the same prompts.

    Raises UserError where there is too little of it (training: some beside those held out), or where it does not tell the outcome of the rule of `config`.
    """
    paths = shard_paths(folder)
    if len(paths) < held_out + training:
        raise UserError(
            "training.too_few_shards",
            folder=folder,
            count=len(paths),
            held_out=held_out,
            command="python -m explorer pacer collect",
        )
    settings = read_settings(folder)
    if config.rule == "fly":
        if settings["rule"] != "fly":
            raise UserError("training.exact_only", folder=folder)
        lowest = LOWEST_THETA * (1 if config.entropy == "normalized" else LOG_VOCABULARY)
        if config.theta < lowest:
            raise UserError("training.theta_too_low", lowest=f"{lowest:g}")
    kept_out = [text for path in paths[:held_out] for text in read_shard(path)]
    prompts = {tuple(text.prompt.tolist()) for text in kept_out}
    texts = [text for path in paths[held_out:] for text in read_shard(path)]
    return settings, kept_out, [text for text in texts if tuple(text.prompt.tolist()) not in prompts]


@dataclass
class SimulatedRound:
    """What one draft of up to K tokens from a row of a text came to; one entry per drafted token [L]."""

    start: int  # the row its first token is chosen at
    ids: Tensor
    probs: Tensor
    states: Tensor  # [L, d]: states[i] is the one that produced ids[i], never the one it gives rise to
    targets: Tensor  # what the target chooses there; -1 where it was not asked, after the first mismatch only
    entropies: Tensor  # [L, 2]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def match(self) -> Tensor:
        return self.ids == self.targets

    @property
    def agreed(self) -> int:
        """Tokens before the first mismatch."""
        return int(self.match.cumprod(0).sum())

    def __getitem__(self, part: slice) -> SimulatedRound:
        return SimulatedRound(self.start, *(getattr(self, field.name)[part] for field in fields(self)[1:]))


def draft_at(text: DraftedText, start: int, length: int) -> SimulatedRound:
    """The draft of up to `length` tokens from answer row `start`: along the trunk to the first mismatch, then its branch.

    Shorter where the text or the branch ends first.
    """
    apart = (~text.match[start : start + length]).nonzero()[:, 0]
    stop = start + int(apart[0]) + 1 if len(apart) else min(start + length, len(text.choices))
    trunk = [text.choices, text.probs, text.states, text.answer, text.entropies]
    columns = [column[start:stop] for column in trunk]
    if len(apart):
        branch = int((text.leaves == stop - 1).nonzero())
        rest = min(start + length - stop, int((text.branch_ids[branch] >= 0).sum()))
        names = ("branch_ids", "branch_probs", "branch_states", "branch_targets", "branch_entropies")
        tail = [getattr(text, name)[branch, :rest] for name in names]
        columns = [torch.cat([head, more]) for head, more in zip(columns, tail)]
    return SimulatedRound(start, *columns)


def accepted(round_: SimulatedRound, config: DecodeConfig, stop_ids: frozenset[int] = frozenset()) -> int:
    """How many tokens of a draft the rule of `config` accepts, were exactly these sent to the target."""
    judgement = judge(
        round_.match.tolist(),
        round_.entropies[:, 0 if config.entropy == "normalized" else 1].tolist(),
        rule=config.rule,
        theta=config.theta,
        window=config.window,
        includes_mismatch=config.window_includes_mismatch,
        protected=[bool({*pair} & stop_ids) for pair in zip(round_.ids.tolist(), round_.targets.tolist())],
    )
    return judgement.accepted


def walk(
    text: DraftedText, lengths: Iterator[int], config: DecodeConfig, stop_ids: frozenset[int]
) -> Iterator[tuple[SimulatedRound, int]]:
    """Speculative decoding of a text in rounds of the given draft lengths: each draft with how many of it were accepted.

    Under the loose rule a round may leave the trunk; the next one then starts after the row where it left.
    """
    start = 0
    while start < len(text.choices):
        round_ = draft_at(text, start, next(lengths))
        count = accepted(round_, config, stop_ids)
        yield round_, count
        start += min(count, round_.agreed) + 1
