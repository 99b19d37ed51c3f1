"""The two models of a pair as collecting needs them: never both in the large forms of a run, so that half the memory does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from explorer.engine.models import loading
from explorer.engine.models.checkpoint import Checkpoint
from explorer.engine.models.fingerprint import fingerprint
from explorer.engine.models.generation import stop_ids_of
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import find_pair, folders_of, public_name
from explorer.engine.pair import lay_out_draft
from explorer.errors import UserError
from explorer.training.common.drafts import read_draft


@dataclass(frozen=True)
class CollectingModels:
    """`target`: transformers' modules, to write with in batches; `draft`: in the form it has in a run."""

    target: PreTrainedModel
    draft: LanguageModel | PackedModel
    shared: PackedModel | None  # the target as in a run, where it drafts for itself and both work in one cache
    tokenizer: PreTrainedTokenizerFast
    provenance: dict[str, Any]  # pair, weights, dtype, stop_ids

    @property
    def stop_ids(self) -> frozenset[int]:
        return frozenset(self.provenance["stop_ids"])


def load_models(name: str, device: str | None, dtype: str | None) -> CollectingModels:
    """Load a pair for collecting; dtype: of the target alone, the draft is laid out as in a run. Raises UserErrors."""
    known = find_pair(name)
    if known.cross_tokenizer:
        raise UserError("training.cross_tokenizer")
    folders = {side: folder for side, folder in folders_of(known).items() if side in ("target", "draft")}
    run, own = loading.placement(device, None), loading.placement(device, dtype)
    tokenizer = loading.read_tokenizer(folders["target"])
    draft = lay_out_draft(read_draft(known, run), len(tokenizer), run.form is not None)
    target = loading.read_model(folders["target"], own).eval()
    itself = folders["draft"] == folders["target"] and isinstance(draft, PackedModel)
    shared = PackedModel(Checkpoint.of(target), len(tokenizer), "float32") if itself else None
    target.set_attn_implementation("grouped")
    provenance = {
        "pair": public_name(known),
        "weights": {side: fingerprint(folder) for side, folder in folders.items()},
        "dtype": {"target": str(own.dtype).removeprefix("torch."), "draft": draft.dtype_name},
        "stop_ids": sorted(stop_ids_of(target, tokenizer, len(tokenizer))),
    }
    return CollectingModels(target, draft, shared, tokenizer, provenance)


def on_device(models: CollectingModels) -> torch.device:
    """To be entered while collecting, so that new tensors lie beside the weights."""
    return torch.device(models.draft.device)
