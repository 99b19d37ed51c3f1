"""How far long work is. Collecting and training are generators: they yield `Progress` for a bar and `LogLine`s to print, and whoever
drives one may stop it between two steps. Nothing here prints.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` units of the work so far; what a bar shows."""

    done: float
    total: float


@dataclass(frozen=True, slots=True)
class LogLine:
    """Figures of one moment of a training, as they stand in its log."""

    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return json.dumps(self.values)


def finish(steps: Generator[Any, None, Result]) -> Result:
    """Go through all steps of some work, showing none; returns what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
