"""From folders of weights to models in memory: where they go, and in which precision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import logging

from explorer.config import DTYPES, ConfigError
from explorer.engine.models.checkpoint import EMBEDDING, HEAD, Checkpoint
from explorer.engine.models.linears import Form
from explorer.engine.models.packed import supports
from explorer.engine.models.weights import WeightsError, reading

DEVICE_TYPES = ("cpu", "cuda")  # others (mps, xpu) lack float64 or are untested
SPREAD = "auto"  # the name of no device: the target over all GPUs, then memory, then disk


@dataclass(frozen=True, slots=True)
class Placement:
    """Where weights go and in which precision; form: of a target laid out for a CPU (packed.py), None where it runs on transformers'
    own modules.

    device_map: how a target that one device cannot hold is spread, as accelerate takes it; its draft then goes where its
    logits come out.
    """

    device: torch.device
    dtype: torch.dtype
    form: Form | None
    device_map: str | dict[str, str | int] | None = None


def placement(device: str | None, dtype: str | None, form: Form | None = None) -> Placement:
    """Resolve names, with defaults for this machine; raises ConfigError for a device or dtype that is not there, and for a form
    where none can be.

    device "auto" spreads the target over whatever there is. form: of the target on a CPU, float32 where none is named.
    """
    cuda = torch.cuda.is_available()
    device_map = SPREAD if device == SPREAD else None
    if device is None or device_map:
        device = "cuda" if cuda else "cpu"
    try:
        place = torch.device(device)
        if place.type not in DEVICE_TYPES:
            raise RuntimeError
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError):
        raise ConfigError("device.missing", device=repr(device), choices="cpu or cuda" if cuda else "cpu") from None
    packable = dtype is None and place.type == "cpu" and not device_map
    if form and not packable:
        raise ConfigError("device.form_needs_cpu", form=form)
    dtype = dtype or ("bfloat16" if place.type == "cuda" else "float32")
    if dtype not in DTYPES:
        raise ConfigError("device.dtype", choices=", ".join(DTYPES), value=repr(dtype))
    return Placement(place, getattr(torch, dtype), (form or "float32") if packable else None, device_map)


def read_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a folder; raises WeightsError."""
    with reading(folder):
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def read_model(folder: Path, where: Placement) -> PreTrainedModel:
    """The model of a folder, as transformers builds it; raises WeightsError."""
    logging.disable_progress_bar()
    with reading(folder):
        model, found = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=where.dtype,
            attn_implementation=None,  # transformers' own choice for the family, whatever the folder asks for
            trust_remote_code=False,
            use_safetensors=True,  # else a pickle is read where the index names no file
            device_map=where.device_map,
            output_loading_info=True,
        )
    if missing := sorted(found["missing_keys"]):  # transformers draws them at random, and says so in its log alone
        raise WeightsError("weights.missing", folder=folder, count=len(missing), names=", ".join(missing[:3]))
    return model if where.device_map else model.to(where.device)


def read_weights(folder: Path, where: Placement) -> PreTrainedModel | Checkpoint:
    """A model to be packed, as a checkpoint whose tensors are read when they are packed; any other as read_model. Raises
    WeightsError."""
    if where.form:
        with reading(folder):
            checkpoint = Checkpoint.open(folder)
            if supports(checkpoint.config, where.form) and not checkpoint.unlike_its_config():
                return checkpoint
    return read_model(folder, where)


def graft(target: PreTrainedModel | Checkpoint, draft_folder: Path) -> PreTrainedModel | Checkpoint:
    """The draft whose layers are those of a folder, around its target's embeddings and head; raises WeightsError."""
    return (
        _graft_checkpoint(target, draft_folder)
        if isinstance(target, Checkpoint)
        else _graft_modules(target, draft_folder)
    )


def _graft_checkpoint(target: Checkpoint, draft_folder: Path) -> Checkpoint:
    with reading(draft_folder):
        draft = Checkpoint.open(draft_folder, tables=target)
        if draft.unlike_its_config() - {EMBEDDING, HEAD}:
            raise WeightsError("weights.other_layers", folder=draft_folder)
    return draft


def _graft_modules(target: PreTrainedModel, draft_folder: Path) -> PreTrainedModel:
    """Its modules are shared, not copied."""
    config = AutoConfig.from_pretrained(draft_folder, trust_remote_code=False)
    config._attn_implementation = target.config._attn_implementation
    with torch.device("meta"):
        draft = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    layers = load_file(draft_folder / "model.safetensors")
    draft.set_input_embeddings(target.get_input_embeddings())
    draft.set_output_embeddings(target.get_output_embeddings())
    missing = draft.load_state_dict({k: v.to(target.dtype) for k, v in layers.items()}, strict=False, assign=True)
    shared = {name for name in draft.state_dict() if "embed_tokens" in name or "lm_head" in name}
    if missing.unexpected_keys or set(missing.missing_keys) - shared:
        raise WeightsError("weights.other_layers", folder=draft_folder)
    # Rotary tables are computed, not stored, so the meta device left them empty.
    draft.base_model.rotary_emb = type(target.base_model.rotary_emb)(config=config)
    return draft.to(target.device).eval()
