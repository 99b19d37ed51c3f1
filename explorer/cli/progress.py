"""Long work on a terminal: a progress bar where somebody watches, plain lines where nobody does."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.training.common.progress import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

Result = TypeVar("Result")
LARGE = 1000  # from this total on progress is shown in whole units


def show(steps: Generator[Any, None, Result], unit: str) -> Result:
    """Go through some work: a bar on stderr for its `Progress`, everything else a line on stdout; returns what it returns.

    unit: of the progress, in the plural.
    """
    bar: tqdm | None = None
    try:
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            if not isinstance(step, Progress):
                _print(str(step), bar)
            elif bar is None:
                bar = _bar(step, unit)
            else:
                bar.update(step.done - bar.n)
    finally:
        if bar is not None:
            bar.close()


def _bar(first: Progress, unit: str) -> tqdm:
    """A bar that counts from the first progress on: what a resumed run found done says nothing about its pace."""
    from tqdm import tqdm

    number = ",.0f" if first.total >= LARGE else ".4g"
    count = f"{{n:{number}}}/{{total:{number}}} {unit}"
    return tqdm(
        initial=first.done, total=first.total, bar_format=f"{{l_bar}}{{bar}}| {count} [{{elapsed}}<{{remaining}}]",
        miniters=0, disable=not sys.stderr.isatty(),
    )  # fmt: skip


def _print(line: str, bar: tqdm | None) -> None:
    if bar is None:
        print(line, flush=True)
    else:
        bar.write(line, file=sys.stdout)
        sys.stdout.flush()
