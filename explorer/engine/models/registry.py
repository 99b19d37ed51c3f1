"""Known pairs: by their name in assets/pairs.toml, or as TARGET,DRAFT (hub ids or local folders). Imports no torch."""

from __future__ import annotations

import csv
import json
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from explorer.conflicts import Offers
from explorer.engine.models.hardware import has_cuda
from explorer.engine.models.weights import (
    Progress,
    RegistryModel,
    is_here,
    local_or_hub,
    local_path,
    registry_model,
)
from explorer.errors import UserError

ASSETS = Path(__file__).parents[3] / "assets"
WEIGHTS = ASSETS / "weights"
JUDGES = WEIGHTS / "judges"  # judge heads of targets

FORMS = ("float32", "int8", "int4")  # of a target on a CPU (linears.py)
USUAL_FORM = "int8"  # of a pair that names none: exact to the bit, measured as faithful as 4 bits, and the fastest to verify with
CROSS_TOKENIZER = "cross-tokenizer"  # third part of a pair's name: its draft has a vocabulary of its own


class UnknownPair(UserError):
    """A pair name that is neither in the table nor of the form TARGET,DRAFT or TARGET,DRAFT,cross-tokenizer."""


Reference = RegistryModel | Path | str  # in a registry package; trained layers that ship here; a hub id or a local path


@dataclass(frozen=True, slots=True)
class KnownPair:
    """One pair of the table, or one that was named on the spot."""

    name: str
    title: str
    target: Reference
    draft: Reference  # of a pair named on the spot also an EAGLE-3 head: its target then drafts for itself as well
    head: Reference | None = None  # an EAGLE-3 head of the target
    cross_tokenizer: bool = False  # the draft has a vocabulary of its own
    target_form: str = USUAL_FORM  # of the target on a CPU, where its shape can be packed
    download_gb: float | None = None
    suits: str = ""

    @property
    def sides(self) -> dict[str, Reference]:
        """All weights of the pair: `target`, `draft` and maybe `head`."""
        return {"target": self.target, "draft": self.draft} | ({"head": self.head} if self.head else {})

    @property
    def is_grafted(self) -> bool:
        """Whether the draft is a few trained layers around the target's own embeddings and head."""
        return isinstance(self.draft, Path)

    @property
    def has_pacer_layer(self) -> bool:
        """Whether a trained pre-verification layer ships for it (explorer/training/pacer)."""
        cards = (json.loads(path.read_text(encoding="utf-8")) for path in (WEIGHTS / "pacer").glob("*/card.json"))
        return any(card["pair"] == self.name for card in cards)

    @property
    def has_judge_head(self) -> bool:
        """Whether a judge head of its target ships (explorer/training/judge)."""
        cards = (json.loads(path.read_text(encoding="utf-8")) for path in JUDGES.glob("*/config.json"))
        return any(self.name in card["pairs"] for card in cards)

    @property
    def offers(self) -> Offers:
        """What runs on it can use, as far as that is known before it is loaded. A pair named on the spot may bring any."""
        named_here = self.name not in {pair.name for pair in _pairs()}
        return Offers(
            pacer_layer=named_here or self.has_pacer_layer,
            head=named_here or self.head is not None,
            judge_head=named_here or self.has_judge_head,
            one_vocabulary=not self.cross_tokenizer,
        )

    @property
    def drafts_for_itself(self) -> bool:
        """Whether it names one model twice, whose draft is a copy in fewer bits. Only CPUs have such copies here."""
        return self.target == self.draft

    @property
    def is_ready(self) -> bool:
        """Whether a run on this machine gains from it, at once or after a download it makes by itself."""
        return (self.is_here or self.is_embedded) and not (self.drafts_for_itself and has_cuda())

    @property
    def is_embedded(self) -> bool:
        """Whether it comes from a registry package: fetched on first use, without being asked for."""
        return isinstance(self.target, RegistryModel)

    @property
    def is_here(self) -> bool:
        """Whether it loads without a download."""
        return all(side.is_dir() if isinstance(side, Path) else is_here(side) for side in self.sides.values())


def known_pairs() -> tuple[KnownPair, ...]:
    """The pairs of assets/pairs.toml, the default of this machine first."""
    default = default_pair()
    return tuple(sorted(_pairs(), key=lambda pair: pair.name != default))


def default_pair(device: str | None = None) -> str:
    """The name used wherever no other pair is named; device: torch's name, None for what this machine has."""
    cuda = has_cuda() if device is None else not device.startswith("cpu")
    return _table()["default_on_gpu" if cuda else "default"]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((ASSETS / "pairs.toml").read_text(encoding="utf-8"))


@cache
def _registry_models() -> dict[str, RegistryModel]:
    return {
        name: RegistryModel(name, **{key: value for key, value in entry.items() if key != "license"})
        for name, entry in _table()["registry"].items()
    }


@cache
def _pairs() -> tuple[KnownPair, ...]:
    models = _registry_models()

    def reference(name: str) -> Reference:
        return models.get(name) or (WEIGHTS / name if (WEIGHTS / name).is_dir() else name)

    def sides(entry: dict[str, str]) -> dict[str, Reference]:
        return {side: reference(entry[side]) for side in ("target", "draft", "head") if side in entry}

    return tuple(KnownPair(name, **{**entry, **sides(entry)}) for name, entry in _table()["pairs"].items())


def find_pair(name: str) -> KnownPair:
    """The known pair of that name, or one made of TARGET,DRAFT, by consent with vocabularies of their own; NAME@FORM names the form
    of its target on a CPU. Raises UnknownPair."""
    before, at, form = name.rpartition("@")
    return replace(_find(before), target_form=form) if at and form in FORMS else _find(name)


def _find(name: str) -> KnownPair:
    for pair in known_pairs():
        if pair.name == name:
            return pair
    parts = _parts(name)
    if len(parts) not in (2, 3) or not all(parts) or parts[2:] not in ([], [CROSS_TOKENIZER]):
        raise UnknownPair(
            "pair.unknown_named",
            name=repr(name),
            names=", ".join(pair.name for pair in known_pairs()),
            cross=CROSS_TOKENIZER,
        )
    models = _registry_models()
    target, draft = (models.get(part, part) for part in parts[:2])
    return KnownPair(name, name, target, draft, cross_tokenizer=len(parts) == 3)


def _parts(name: str) -> list[str]:
    """What stands between the commas; a part with a comma of its own is quoted, as in a CSV file."""
    try:
        return [part.strip() for part in next(csv.reader([name], skipinitialspace=True), [])]
    except csv.Error:  # line ends, zero bytes
        return []


def folders_of(known: KnownPair, progress: Progress = lambda message: None) -> dict[str, Path]:
    """Where the weights of all sides lie on this machine; raises WeightsError."""
    return {side: _folder(reference, progress) for side, reference in known.sides.items()}


def public_name(known: KnownPair) -> str:
    """What to call a pair in a record: a name that find_pair takes."""
    usual = next((pair for pair in known_pairs() if pair.name == known.name), None)
    parts = [*map(_quoted, known.sides.values()), *([CROSS_TOKENIZER] if known.cross_tokenizer else [])]
    name = known.name if usual else ",".join(parts)
    is_usual = known.target_form == (usual.target_form if usual else USUAL_FORM)
    return name if is_usual else f"{name}@{known.target_form}"


def _quoted(reference: Reference) -> str:
    name = public_reference(reference)
    return f'"{name}"' if "," in name else name


def _folder(reference: Reference, progress: Progress) -> Path:
    if isinstance(reference, RegistryModel):
        return registry_model(reference, progress)
    return reference if isinstance(reference, Path) else local_or_hub(reference)


def public_reference(reference: Reference) -> str:
    """A record goes to other people: hub ids as they are, of a local path only the last part."""
    if isinstance(reference, RegistryModel):
        return reference.name
    path = local_path(str(reference))
    return path.name if path else str(reference)
