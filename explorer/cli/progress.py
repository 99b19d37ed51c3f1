"""Long work on a terminal: a progress bar where somebody watches, plain lines where nobody does."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, TypeVar

from explorer.training.common.progress import Progress

Result = TypeVar("Result")


def show(steps: Generator[Any, None, Result], unit: str) -> Result:
    """Go through some work: a bar on stderr for its `Progress`, everything else a line on stdout; returns what it returns.

    unit: of the progress, in the plural.
    """
    from tqdm import tqdm

    with tqdm(unit=f" {unit}", disable=not sys.stderr.isatty(), bar_format="{l_bar}{bar}| {n:.4g}/{total:.4g}{unit} [{elapsed}<{remaining}]") as bar:  # fmt: skip
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            if isinstance(step, Progress):
                bar.total, bar.n = step.total, step.done
                bar.update(0)
            else:
                bar.write(str(step), file=sys.stdout)
                sys.stdout.flush()
