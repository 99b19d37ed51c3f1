"""Outcome labels: does the answer stay right when one token of it is the draft's? AutoJudge's way (arXiv 2504.20039).

On a prompt whose answer plain greedy decoding gets right, wherever a draft that reads the target's own greedy text disagrees
with it, that one token is replaced and the target goes on greedily. The mismatch is *important* if the answer is then no longer
right. Places after which the answer can no longer change say nothing and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.models.model import Context, LanguageModel
from explorer.engine.models.packed import PackedContext, PackedModel
from explorer.engine.pair import Pair
from explorer.engine.ranking import argmax
from explorer.engine.verification.measure import measure
from explorer.pieces import text_of
from explorer.prompts import PromptItem
from explorer.trace import EVIDENCE, Row
from explorer.training.common.drafts import along
from explorer.training.judge.data import Labelled, Mismatch

SPARE = 16  # tokens that a continuation may be longer than the greedy answer
WIDTH = 16  # continuations side by side: a CPU takes so many rows for little more than one


@dataclass(frozen=True, slots=True)
class NamedDraft:
    """A draft of the target as it is in a run."""

    name: str
    model: LanguageModel | PackedModel
    shared: PackedModel | None  # the target, where the draft works in its cache

    @classmethod
    def of(cls, pair: Pair) -> NamedDraft:
        return cls(pair.name, pair.draft, pair.target if pair.drafts_for_itself else None)


@dataclass(frozen=True, slots=True)
class Place:
    """Where drafts disagree: the token they say instead, and the target's row with the first of them."""

    position: int
    token: int
    drafts: tuple[str, ...]
    row: Row


def is_settled(item: PromptItem, text: str) -> bool:
    """Whether a text gives the right answer whatever follows it."""
    if item.check == "number":  # the last one counts
        return False
    if item.check == "words":
        text = re.sub(r"\w+\Z", "", text)  # the last word may go on
    elif item.check == "line":
        text = text.rpartition("\n")[0]
    return bool(item.is_right(text))


def label(
    pair: Pair, drafters: Sequence[NamedDraft], item: PromptItem, longest: int
) -> tuple[Labelled | None, Tensor, int]:
    """The labelled mismatches of one prompt, the target's states after each [M, d], and how many were settled before.

    longest: tokens of an answer. None where plain greedy decoding answers wrongly or does not end in time. Raises PromptError.
    """
    prompt = list(pair.encode(item.prompt).ids)
    config = DecodeConfig(rule="exact", max_new_tokens=longest)
    with closing(decode(pair, prompt, config)) as rounds:
        greedy = [token for round_ in rounds for token in round_.emitted]
    answer = [token for token in greedy if token not in pair.stop_ids]
    text = text_of(answer, pair.vocabulary)
    none = torch.empty(0, pair.target.width)
    if not item.is_right(text) or (len(answer) == len(greedy) and item.check == "number"):
        return None, none, 0
    with torch.inference_mode(), closing(pair.target.open(states=True)) as target:
        places, settled = [], 0
        for place in disagreements(pair, target, drafters, prompt, answer):
            if is_settled(item, text_of(answer[: place.position], pair.vocabulary)):
                settled += 1
            else:
                places.append(place)
        mismatches, states = [], [none]
        for start in range(0, len(places), WIDTH):
            some = places[start : start + WIDTH]
            outcomes, after = _continuations(pair, target, item, prompt, answer, some, len(answer) + SPARE)
            states.append(after)
            mismatches += [_mismatch(pair, place, item, ids) for place, ids in zip(some, outcomes)]
    return Labelled(item, text, tuple(mismatches)), torch.cat(states), settled


def disagreements(
    pair: Pair, target: Context | PackedContext, drafters: Sequence[NamedDraft], prompt: list[int], answer: list[int]
) -> Iterator[Place]:
    """Where drafts that read the greedy answer [R] say something else, in order; stop ids aside, which no rule ever judges.

    target: a fresh context, which afterwards holds the prompt and the answer.
    """
    ids = torch.tensor([*prompt, *answer], device=pair.target.device)
    target.prefill(ids[: len(prompt) - 1])
    logits = target.feed(ids[len(prompt) - 1 :], rows=len(answer) + 1)  # [R + 1, V]
    choices = argmax(logits)
    found: dict[tuple[int, int], Place] = {}
    for drafter in drafters:
        context, drafted_logits = along(drafter.model, ids, len(prompt), drafter.shared)
        context.close()
        drafted = argmax(drafted_logits)  # [R]
        rows, _, _ = measure(
            logits.clone(), choices, drafted, drafted == choices[:-1], choices, drafted_logits.softmax(-1)
        )
        for position, (row, token, own) in enumerate(zip(rows, drafted.tolist(), answer)):
            # Two passes may round a near-tie differently: then this row is not the one the greedy text was made by.
            if row.argmax == own and token != own and token not in pair.stop_ids:
                before = found.get((position, token))
                names = (*(before.drafts if before else ()), drafter.name)
                found[position, token] = Place(position, token, names, before.row if before else row)
    return iter(sorted(found.values(), key=lambda place: (place.position, place.token)))


def _continuations(
    pair: Pair,
    target: Context | PackedContext,
    item: PromptItem,
    prompt: list[int],
    answer: list[int],
    places: Sequence[Place],
    longest: int,
) -> tuple[list[list[int]], Tensor]:
    """What the target writes after each replaced token, all side by side on one trunk: the ids of each answer from its start,
    up to where it is settled, ended or `longest`; and the states after the replaced tokens [M, d].

    target: holds prompt and answer, and does so afterwards.
    """
    device, trunk = pair.target.device, len(prompt) + len(answer)
    texts = [[*answer[: place.position], place.token] for place in places]
    starts = torch.tensor([len(prompt) + place.position for place in places], device=device)
    before = torch.arange(trunk, device=device) < starts[:, None]  # [M, trunk]
    owner = torch.empty(0, dtype=torch.long, device=device)  # of each column after the trunk
    going, first = list(range(len(places))), None
    while going:
        live = torch.tensor(going, device=device)
        owner = torch.cat([owner, live])
        visible = torch.cat([before[live], owner == live[:, None]], dim=1)
        tokens = torch.tensor([texts[index][-1] for index in going], device=device)
        positions = torch.tensor([len(prompt) + len(texts[index]) - 1 for index in going], device=device)
        chosen = argmax(target.branch(tokens, positions, visible)).tolist()
        first = target.states.float().cpu() if first is None else first
        for index, token in zip(list(going), chosen):
            text = texts[index]
            ended = token in pair.stop_ids
            if not ended:
                text.append(token)
            if ended or len(text) >= longest or is_settled(item, text_of(text, pair.vocabulary)):
                going.remove(index)
    target.crop(trunk)
    return texts, first


def _mismatch(pair: Pair, place: Place, item: PromptItem, ids: list[int]) -> Mismatch:
    text = text_of(ids, pair.vocabulary)
    read = {name: EVIDENCE[name](place.row, pair.vocab_size) for name in ("prob", "gap", "rank", "divergence")}
    return Mismatch(
        place.position, place.token, place.drafts, not item.is_right(text), text,
        entropy=place.row.entropy_normalized, **read,
    )  # fmt: skip
