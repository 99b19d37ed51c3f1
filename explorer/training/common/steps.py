"""Long work as generators: whoever drives one may show how far it is, or close it, between two steps."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


def finish(steps: Generator[Any, None, Result]) -> Result:
    """Go through all steps; returns what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
