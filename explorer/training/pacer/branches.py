"""Many drafts of one text at once: branches that share its trunk and never see each other.

PACER's packing (engine/models/branched.py) serves the draft model while branches grow, the target that judges them, and training that
recomputes states from ids.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from transformers import PreTrainedModel

from explorer.engine.models.branched import BranchedText, branched
from explorer.engine.models.model import Context, LanguageModel
from explorer.engine.models.packed import PackedContext, PackedModel
from explorer.engine.ranking import argmax, top
from explorer.training.common.drafts import along
from explorer.training.pacer.data import BRANCH, DraftedText


def pack_text(text: DraftedText) -> BranchedText:
    """A collected text: each branch holds the draft's own choice at its leaf, then what followed it."""
    return branched(text.ids, _branches(text, range(len(text.branch_ids))))


def _branches(text: DraftedText, chosen: Iterable[int]) -> list[tuple[int, Tensor]]:
    leaves = text.leaves.tolist()
    return [
        (text.prompt_length - 1 + leaves[g], torch.cat([text.choices[leaves[g], None], ids[ids >= 0]]).long())
        for g in chosen
        for ids in [text.branch_ids[g]]
    ]


def branch_states(text: DraftedText, packed: BranchedText, states: Tensor) -> tuple[Tensor, Tensor]:
    """The generating states of a text from those of all columns of its pack [N, d]: rows [R, d], branches [G, BRANCH, d].

    A token's state is that of the column before it: the trunk's for answer tokens, its branch's for the others.
    """
    rows = states[text.prompt_length - 1 : len(text.ids) - 1]
    branches = torch.zeros(len(packed.starts), BRANCH, states.shape[1], dtype=states.dtype)
    for branch, (start, ids) in enumerate(zip(packed.starts, text.branch_ids)):
        count = int((ids >= 0).sum())
        branches[branch, :count] = states[start : start + count]
    return rows, branches


@torch.inference_mode()
def recompute_states(model: PreTrainedModel, text: DraftedText) -> tuple[Tensor, Tensor]:
    """The states of a text from its ids alone, in one forward over its pack: rows [R, d], branches [G, BRANCH, d]."""
    packed = pack_text(text)
    states = model.base_model(
        input_ids=packed.ids[None].to(model.device),
        attention_mask=packed.visible[None, None].to(model.device),
        position_ids=packed.positions[None].to(model.device),
        use_cache=False,
    ).last_hidden_state[0]
    return branch_states(text, packed, states.cpu())


@torch.inference_mode()
def draft_text(
    draft: LanguageModel | PackedModel,
    ids: Tensor,
    prompt_length: int,
    stop_ids: frozenset[int],
    shared: PackedModel | None = None,
) -> DraftedText:
    """Draft along and beside a text of ids [T]; the target's side stays unknown. shared: as in `along`."""
    context, logits = along(draft, ids, prompt_length, shared)
    try:
        states, (choices, probs) = context.states.half(), _choose(logits)
        leaves = (choices != ids[prompt_length:]).nonzero()[:, 0]
        columns = _grow(context, choices[leaves], prompt_length + leaves, stop_ids)
    finally:
        context.close()
    branch_ids, branch_probs, states_of_branches = columns
    unknown = torch.full_like(branch_ids, -1)
    return DraftedText(
        ids, prompt_length, choices.int(), probs, states, torch.zeros(len(choices), 2), branch_ids, branch_probs,
        states_of_branches, unknown, torch.zeros(*unknown.shape, 2),
    )  # fmt: skip


def _grow(
    context: Context | PackedContext, token: Tensor, position: Tensor, stop_ids: frozenset[int]
) -> tuple[Tensor, Tensor, Tensor]:
    """Draft BRANCH tokens after each of `token` [G], all branches side by side; ids, probabilities, states by branch."""
    count, trunk = len(token), context.length
    ids, probs, states = [], [], []
    stops = torch.tensor(sorted(stop_ids), dtype=torch.long)
    chosen = token[:, None]
    own = torch.eye(count, dtype=torch.bool)
    before = torch.arange(trunk) < position[:, None]  # [G, trunk]
    for step in range(BRANCH if count else 0):
        visible = torch.cat([before, own.repeat(1, step + 1)], dim=1)
        token, prob = _choose(context.branch(token, position + step, visible))
        ids.append(token)
        probs.append(prob)
        states.append(context.states.half())
    if not count:
        none = torch.zeros(0, BRANCH)
        return none.int(), none, torch.zeros(0, BRANCH, context.states.shape[1]).half()
    table = torch.stack(ids, dim=1)
    ended = (
        torch.isin(torch.cat([chosen, table[:, :-1]], dim=1), stops).cumsum(1) > 0
    )  # a draft ends with its first stop id
    table = table.int()
    return table.masked_fill(ended, -1), torch.stack(probs, dim=1), torch.stack(states, dim=1)


def _choose(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest token of each row [n, V] and its probability."""
    choice = argmax(logits)
    best = logits.gather(1, choice[:, None])[:, 0]
    return choice, (best - logits.logsumexp(-1)).exp()


@torch.inference_mode()
def judge_branches(target: LanguageModel | PackedModel, text: DraftedText, lowest_theta: float) -> None:
    """Ask the target about the branches that a loose rule could follow; fills `text` in.

    Only branches that leave where its normalized entropy is at least `lowest_theta`: at others every rule that asks for
    more rejects the draft's choice, whatever follows.
    """
    asked = (text.entropies[text.leaves, 0] >= lowest_theta).nonzero()[:, 0].tolist()
    if not asked:
        return
    packed, trunk = branched(text.ids, _branches(text, asked)), len(text.ids)
    context = target.open()
    try:
        context.prefill(text.ids)
        logits = context.branch(packed.ids[trunk:], packed.positions[trunk:], packed.visible[trunk:])
    finally:
        context.close()
    for g, start in zip(asked, packed.starts):
        count = int((text.branch_ids[g] >= 0).sum())
        if not count:  # the draft's own choice was a stop id
            continue
        rows = logits[start - trunk : start - trunk + count]
        text.branch_targets[g, :count] = argmax(rows).int()
        text.branch_entropies[g, :count] = entropies(rows)


def entropies(logits: Tensor) -> Tensor:
    """Both entropies of each row [n, V]: over the full vocabulary divided by ln V, and the top-3 partial sum in nats [n, 2]."""
    logprobs = logits.log_softmax(-1)
    best = logprobs.gather(1, top(logprobs, 3))
    full = -(logprobs.exp() * logprobs).sum(-1) / torch.tensor(logits.shape[1]).log()
    return torch.stack([full, -(best.exp() * best).sum(-1)], dim=1)
