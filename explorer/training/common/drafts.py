"""The draft of a pair while data is collected: read from its folder, and run along a text that is there already."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

from explorer.engine.models import loading
from explorer.engine.models.checkpoint import Checkpoint
from explorer.engine.models.model import Context, LanguageModel
from explorer.engine.models.packed import PackedContext, PackedModel
from explorer.engine.models.registry import KnownPair, folders_of


def read_draft(known: KnownPair, where: loading.Placement) -> PreTrainedModel | Checkpoint:
    """The draft of a pair, as a run loads it."""
    folders = folders_of(known)
    if known.is_grafted:
        return loading.graft(loading.read_weights(folders["target"], where), folders["draft"])
    return loading.read_weights(folders["draft"], where)


@torch.inference_mode()
def along(
    draft: LanguageModel | PackedModel, ids: Tensor, prompt_length: int, shared: PackedModel | None = None
) -> tuple[Context | PackedContext, Tensor]:
    """What the draft would say at every place of a text of ids [T]: an open context that holds all but its last token, and
    logits [R, V] of the R places after the prompt.

    shared: the target, where it drafts for itself in fewer bits and both work in one cache (Pair.drafts_for_itself). A row then
    reads the target's own keys and values of what stands before it, as the first token of a round does.
    """
    own = shared.open() if shared else None
    context = draft.open(True, own.cache) if own else draft.open(True)
    before, rows = prompt_length - 1, len(ids) - prompt_length
    try:
        if own:
            own.prefill(ids[:-1])
            positions = torch.arange(before, len(ids) - 1)
            visible = torch.cat([torch.arange(len(ids) - 1) < positions[:, None], torch.eye(rows).bool()], dim=1)
            logits = context.branch(ids[before:-1], positions, visible)  # [R, V]
            context.crop(len(ids) - 1)
        else:
            context.prefill(ids[:before])
            logits = context.feed(ids[before:-1], rows=rows)  # [R, V]
    except BaseException:
        context.close()
        raise
    return context, logits
