"""How far long work is. Collecting and training are generators: they yield `Progress` for a bar and `LogLine`s to print, and whoever
drives one may stop it between two steps. Nothing here prints.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
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


LOG = "log.jsonl"


def append_log(folder: Path, line: LogLine) -> None:
    """Add a line to the log of a training."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a training's log, oldest first; none where there is no log."""
    path = folder / LOG
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def finish(steps: Generator[Any, None, Result]) -> Result:
    """Go through all steps of some work, showing none; returns what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
