"""A pair by its name: its weights fetched, read, laid out, with the judge head and PACER's layers that ship for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from explorer.engine.drafters.eagle import is_head, read_head
from explorer.engine.drafters.pacer import shipped
from explorer.engine.models.fingerprint import fingerprint
from explorer.engine.models.linears import Form
from explorer.engine.models.loading import Placement, graft, placement, read_tokenizer, read_weights
from explorer.engine.models.model import UnsupportedModel, output_device
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import JUDGES, find_pair, folders_of, public_name, public_reference
from explorer.engine.models.weights import Progress, RegistryModel, WeightsError
from explorer.engine.pair import Pair, check_same_vocabulary
from explorer.engine.verification import judge_head


def load_pair(
    name: str,
    device: str | None = None,
    dtype: str | None = None,
    form: Form | None = None,
    progress: Progress = lambda message: None,
) -> Pair:
    """Load both models and the tokenizer of a pair, and what ships for it: a judge head, PACER's layers.

    device: torch's name, or auto for a target larger than one device; default CUDA if present, else CPU. dtype: of both
    models, by torch's name. Default: bfloat16 on CUDA; on a CPU the packed forms of packed.py (bfloat16 flips near-tied argmaxes
    between chunk sizes, and `exact` would not be exact) and a quantized draft. Naming a dtype runs transformers' own modules in it.
    form: of the target on a CPU, where its family can be packed; that of the pair where none is named. Only the embedded pair is fetched without being asked for. Raises UserErrors:
    UnknownPair, WeightsError, PairMismatch, UnsupportedModel, JudgeHeadError, CardError, and ConfigError for a device or
    dtype that does not exist.
    """
    known = find_pair(name)
    where = placement(device, dtype, form)
    if where.form and not form:
        where = replace(where, form=known.target_form)
    sources = {side: public_reference(reference) for side, reference in known.sides.items()}
    folders = folders_of(known, progress)
    try:
        pair = load_folders(
            public_name(known), folders, sources, where, grafted=known.is_grafted, cross_tokenizer=known.cross_tokenizer
        )
    except WeightsError as error:
        for side, reference in known.sides.items():
            # Made here, so it can be made again.
            if isinstance(reference, RegistryModel) and folders[side] in error.message.values.values():
                raise WeightsError("weights.made_anew", reason=error) from error
        raise
    if form and not isinstance(pair.target, PackedModel):
        raise UnsupportedModel("model.no_form", pair=pair.name, form=form)
    if head := judge_head.find(known.name, pair.fingerprints.get("target"), JUDGES):
        pair = pair.with_judge_head(head)
    return pair.with_pacer_layers(shipped.find(known.name, pair.fingerprints).values())


def load_folders(
    name: str,
    folders: dict[str, Path],
    sources: dict[str, str],
    where: Placement,
    grafted: bool = False,
    cross_tokenizer: bool = False,
) -> Pair:
    """Load a pair from its folders, `target`, `draft` and maybe `head`; sources: what to call them in a record.

    grafted: the draft's folder holds a few trained layers for between the target's own embeddings and head. One folder
    for both is loaded once; packed, the target then drafts for itself in fewer bits. An EAGLE-3 head as the draft counts as
    the target's head, beside a target that drafts for itself. cross_tokenizer: the draft may have a vocabulary of its own.
    """
    if not grafted and is_head(folders["draft"]):
        folders = {"target": folders["target"], "draft": folders["target"], "head": folders["draft"]}
        sources = {"target": sources["target"], "draft": sources["target"], "head": sources["draft"]}
    if grafted:  # the draft shares its target's tables, so such a target is never spread: it is small
        where = replace(where, device_map=None)
    tokenizer = read_tokenizer(folders["target"])
    target = draft = read_weights(folders["target"], where)
    draft_tokenizer = None
    if grafted:
        draft = graft(target, folders["draft"])
    elif folders["draft"] != folders["target"]:
        draft_tokenizer = read_tokenizer(folders["draft"])
        if not cross_tokenizer:
            check_same_vocabulary(tokenizer, draft_tokenizer)
            draft_tokenizer = None
        beside = replace(where, device=output_device(target), device_map=None)
        draft = read_weights(folders["draft"], beside)
    return Pair.of(
        name,
        target_model=target,
        draft_model=draft,
        tokenizer=tokenizer,
        draft_tokenizer=draft_tokenizer,
        head=read_head(folders["head"], target) if "head" in folders else None,
        target_form=where.form,
        sources=sources,
        fingerprints={side: fingerprint(folder) for side, folder in folders.items()},
    )
