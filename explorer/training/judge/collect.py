"""Collecting labels: seeded prompts, a shard at a time, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import torch

from explorer.engine.pair import Pair
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.prompts import PromptItem
from explorer.training.distill.prompts import Exclusion
from explorer.training.judge.data import Shard, read_settings, shard_path, write_shard
from explorer.training.judge.labels import Drafter, label
from explorer.training.judge.prompts import checkable_prompts


def collect(
    pair: Pair, drafters: Sequence[Drafter], folder: Path, shards: range, settings: dict, exclude: list[Path],
    given: Sequence[PromptItem] | None = None, say: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Write the missing shards, telling each. settings: rows (prompts a shard), max_new and seed; given: prompts to label in place
    of made ones.

    settings.json in the folder pins what a resumed run must agree with; raises UserError where it does not.
    """
    excluded = Exclusion(exclude)  # a file that is missing is told before anything is begun
    own = {"given": len(given)} if given else {"exclude": [path.name for path in exclude]}
    pin(folder, settings | provenance(pair, drafters) | own)
    count = settings["rows"]
    made = (item for item in checkable_prompts(random.Random(settings["seed"])) if item.prompt not in excluded)
    kept = iter(given) if given else made
    for index, items in zip(range(shards.stop), iter(lambda: list(islice(kept, count)), [])):
        path = shard_path(folder, index)
        if index in shards and not path.exists():
            begin = time.perf_counter()
            shard = label_all(pair, drafters, items, settings["max_new"])
            write_shard(path, shard)
            say(f"{path.name}: {describe(shard)}, {time.perf_counter() - begin:.0f} s")


def label_all(pair: Pair, drafters: Sequence[Drafter], items: Sequence[PromptItem], longest: int) -> Shard:
    """The labelled mismatches of some prompts; longest: tokens of an answer."""
    texts, states, settled = [], [torch.empty(0, pair.target.width)], 0
    with torch.device(pair.target.device):
        for item in items:
            text, after, before = label(pair, drafters, item, longest)
            settled += before
            if text:
                texts.append(text)
                states.append(after)
    return Shard(len(items), settled, tuple(texts), torch.cat(states))


def describe(shard: Shard) -> str:
    mismatches = [mismatch for text in shard.texts for mismatch in text.mismatches]
    important = sum(mismatch.important for mismatch in mismatches)
    return (
        f"{shard.asked} prompts, {len(shard.texts)} answered rightly, {len(mismatches)} mismatches, {important} important, "
        f"{shard.settled} more behind the answer"
    )


def provenance(pair: Pair, drafters: Sequence[Drafter]) -> dict:
    """What the labels and states belong to."""
    return {
        "pair": pair.name,
        "drafts": [drafter.name for drafter in drafters],
        "target": pair.fingerprints["target"],
        "dtype": pair.target.dtype_name,
    }


def pin(folder: Path, settings: dict) -> None:
    """Begin a collection, or make sure that it is the same one."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "settings.json").exists() and read_settings(folder) != settings:
        raise UserError(f"{folder} was begun with other settings or weights: use the same or another folder")
    write_whole(folder / "settings.json", json.dumps(settings, indent=1))
