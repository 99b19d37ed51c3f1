"""Known pairs and how to load one: by its name in assets/pairs.toml, or as TARGET,DRAFT (hub ids or local folders)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.engine.weights import RegistryModel, WeightsError, is_here, local_or_hub, registry_model
from explorer.errors import UserError

if TYPE_CHECKING:  # the list of pairs must show before torch is imported
    from explorer.engine.pair import Pair

ASSETS = Path(__file__).parents[2] / "assets"


class UnknownPair(UserError):
    """A pair name that is neither in the table nor of the form TARGET,DRAFT."""


@dataclass(frozen=True, slots=True)
class KnownPair:
    """One pair of the table. The embedded pair's target is a RegistryModel and its draft a folder of trained layers."""

    name: str
    title: str
    target: RegistryModel | str
    draft: Path | str
    download_gb: float | None = None
    suits: str = ""

    @property
    def is_embedded(self) -> bool:
        return isinstance(self.target, RegistryModel)

    @property
    def is_here(self) -> bool:
        """Whether it loads without a download."""
        draft_is_here = self.draft.is_dir() if isinstance(self.draft, Path) else is_here(self.draft)
        return draft_is_here and is_here(self.target)


@cache
def known_pairs() -> tuple[KnownPair, ...]:
    """The pairs of assets/pairs.toml, the default first."""
    table = tomllib.loads((ASSETS / "pairs.toml").read_text(encoding="utf-8"))
    models = {
        name: RegistryModel(name, **{key: value for key, value in entry.items() if key != "license"})
        for name, entry in table["registry"].items()
    }
    pairs = []
    for name, entry in table["pairs"].items():
        embedded = entry["target"] in models
        sides = {"target": models.get(entry["target"], entry["target"])}
        sides["draft"] = ASSETS / entry["draft"] if embedded else entry["draft"]
        pairs.append(KnownPair(name, **{**entry, **sides}))
    return tuple(sorted(pairs, key=lambda pair: pair.name != table["default"]))


def default_pair() -> str:
    """The name used wherever no other pair is named."""
    return known_pairs()[0].name


def find_pair(name: str) -> KnownPair:
    """The known pair of that name, or one made of TARGET,DRAFT; raises UnknownPair."""
    for pair in known_pairs():
        if pair.name == name:
            return pair
    target, comma, draft = (part.strip() for part in name.partition(","))
    if not (comma and target and draft):
        raise UnknownPair(
            f"unknown pair {name!r}: name one of {', '.join(pair.name for pair in known_pairs())}, "
            "or TARGET,DRAFT as hub ids or local folders"
        )
    return KnownPair(name, name, target, draft)


def load_pair(
    name: str,
    device: str | None = None,
    dtype: str | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Pair:
    """Load both models and the tokenizer of a pair.

    device: torch's name; default CUDA if present, else CPU. dtype: of both models, by torch's name. Default: bfloat16 on
    CUDA; on a CPU the packed forms of packed.py, float32 for the target (bfloat16 flips near-tied argmaxes between chunk
    sizes, and `exact` would not be exact) and int8 for the draft. Naming a dtype runs transformers' own modules in it.
    Only the embedded pair is fetched without being asked for. Raises UserErrors: UnknownPair, WeightsError, PairMismatch,
    UnsupportedModel, and ConfigError for a device or dtype that does not exist.
    """
    from explorer.engine import loading

    known = find_pair(name)
    where = loading.placement(device, dtype)
    if known.is_embedded:
        if not known.draft.is_dir():
            raise WeightsError(f"the draft's layers are missing from {known.draft}: check the copy of this project")
        return loading.load_embedded(known.name, registry_model(known.target, progress), known.draft, where)
    references = {"target": known.target, "draft": known.draft}
    folders = {side: local_or_hub(reference) for side, reference in references.items()}
    # A record goes to other people: hub ids as they are, of a local path only the last part.
    sources = {side: Path(name).name if Path(name).exists() else name for side, name in references.items()}
    return loading.load(",".join(sources.values()), folders, sources, where)
