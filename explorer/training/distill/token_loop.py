"""The loop of both trainings here: groups of stored answers, epoch after epoch, until so many tokens are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Protocol

from explorer.training.common.progress import LogLine, Progress
from explorer.training.common.training_log import append_log, begin_log
from explorer.training.distill.data import epoch


class TokenRecipe(Protocol):
    """What of a recipe the loop reads."""

    tokens: int  # to read in all, prompts included
    batch: int  # tokens of a group
    seed: int


START = {"epoch": 0, "group": 0, "step": 0, "tokens": 0}  # where a training begins: part of its checkpoint


def read_tokens(
    answers: Sequence[Any],
    recipe: TokenRecipe,
    at: dict[str, Any],
    step: Callable[[list[Any], float], float],
    figures: Callable[[], dict[str, Any]],
    save: Callable[[], None],
    folder: Path,
    save_every: int,
) -> Generator[Progress | LogLine, None, None]:
    """Train until the recipe's tokens are read; yields tokens read after every step, and every so many steps what it appends to the
    log of `folder`, and saves.

    answers: each with its `ids`. at: where it is, changed in place. step(group, done): trains on one group after the share `done` of
    the tokens, returns the loss. figures: of the held-out answers.
    """
    begin_log(folder, at["step"])
    begin, seen, total = time.perf_counter(), 0, 0.0
    while at["tokens"] < recipe.tokens:
        groups = epoch(list(answers), recipe.batch, recipe.seed + at["epoch"])
        while at["group"] < len(groups) and at["tokens"] < recipe.tokens:
            group = groups[at["group"]]
            total += step(group, at["tokens"] / recipe.tokens)
            tokens = sum(len(answer.ids) for answer in group)
            seen += tokens
            at |= {"group": at["group"] + 1, "step": at["step"] + 1, "tokens": at["tokens"] + tokens}
            yield Progress(min(at["tokens"], recipe.tokens), recipe.tokens)
            if at["step"] % save_every == 0:
                values = {
                    "step": at["step"],
                    "tokens": at["tokens"],
                    "epoch": at["epoch"],
                    "loss": round(total / save_every, 4),
                }
                values |= figures() | {"tokens_per_second": round(seen / (time.perf_counter() - begin))}
                append_log(folder, line := LogLine(values))
                yield line
                total = 0.0
                save()
        if at["group"] == len(groups):
            at |= {"epoch": at["epoch"] + 1, "group": 0}
    save()
