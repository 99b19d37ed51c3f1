"""The Explore form as typed values, checked against what each pair can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer.config import DecodeConfig
from explorer.engine.models.registry import KnownPair
from explorer.errors import UserError
from explorer.ui.backend import Backend, ready_pairs
from explorer.ui.explore.typed_pair import title_of_typed, typed_pair
from explorer.ui.forms import check_pair, check_prompt, config_of
from explorer.ui.offers import PairOffers
from explorer.ui.page_knobs import page_knobs


@dataclass(frozen=True)
class RunRequest:
    """One filled-in form, checked."""

    prompt: str
    pair: str
    baseline: bool
    config: DecodeConfig
    title: str = ""  # of the pair
    crossed: bool = False  # its draft has a vocabulary of its own


class RequestReader:
    """Reads forms; knows the pairs of a backend, and whether visitors may type others."""

    def __init__(self, backend: Backend, local_folders: bool = False):
        """local_folders: whether visitors may type folders of this machine as a pair."""
        known = backend.pairs()
        self._types_pairs, self._local_folders = backend.takes_typed_pairs, local_folders
        self.titles = {pair.name: pair.title for pair in known}
        self.ready = ready_pairs(backend)
        self.offers = PairOffers(known)
        self._crossed = [pair.name for pair in known if pair.cross_tokenizer]

    @property
    def pairs(self) -> tuple[str, ...]:
        """Names of the pairs to choose from, the default first."""
        return tuple(self.titles)

    def read(self, prompt: Any, pair: Any, baseline: Any, *values: Any) -> RunRequest:
        """The form, one value per page knob in order. What a pair cannot follow is refused before anything is loaded or cleared."""
        typed = self._typed(pair)
        check_prompt(prompt)
        check_pair(pair, (*self.titles, pair) if typed else self.pairs)
        config = config_of({knob.name: value for knob, value in zip(page_knobs(), values, strict=True)})
        title = title_of_typed(typed) if typed else self.titles[pair]
        crossed = typed.cross_tokenizer if typed else pair in self._crossed
        if typed:
            config.check_with(typed.offers)
        else:
            self.offers.check(config, pair)
        return RunRequest(prompt, pair, bool(baseline), config, title, crossed)

    def runnable_pair(self, name: Any) -> str:
        """The pair of this name where a run can use it at once; else the default."""
        if name in self.ready:
            return name
        if name in self.pairs or not self._types_pairs:
            return self.pairs[0]
        try:
            typed_pair(str(name), self._local_folders)
        except UserError:
            return self.pairs[0]
        return str(name)

    def _typed(self, pair: Any) -> KnownPair | None:
        if self._types_pairs and isinstance(pair, str) and "," in pair and pair not in self.titles:
            return typed_pair(pair, self._local_folders)
        return None
