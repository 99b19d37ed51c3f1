"""Collecting labels: seeded prompts, a shard at a time, so that a stopped run goes on where it was."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch

from explorer.engine.pair import Pair
from explorer.prompts import PromptItem
from explorer.training.common.collection import pin_settings, shard_path
from explorer.training.common.progress import Progress
from explorer.training.common.prompts import Exclusion
from explorer.training.judge.data import LabelledShard, write_shard
from explorer.training.judge.labels import NamedDraft, label
from explorer.training.judge.prompts import checkable_prompts


def collect(
    pair: Pair, drafters: Sequence[NamedDraft], folder: Path, shards: range, settings: dict, exclude: list[Path],
    given: Sequence[PromptItem] | None = None,
) -> Iterator[Progress | str]:  # fmt: skip
    """Write the missing shards: yields how many are there, and a line for each one written. settings: rows (prompts a shard), max_new and seed; given: prompts to label in place
    of made ones.

    settings.json in the folder pins what a resumed run must agree with; raises UserError where it does not.
    """
    excluded = Exclusion(exclude)  # a file that is missing is told before anything is begun
    own = {"given": len(given)} if given else {"exclude": [path.name for path in exclude]}
    pin_settings(folder, settings | provenance(pair, drafters) | own)
    count = settings["rows"]
    made = (item for item in checkable_prompts(random.Random(settings["seed"])) if item.prompt not in excluded)
    kept = iter(given) if given else made
    for index, items in zip(range(shards.stop), iter(lambda: list(islice(kept, count)), [])):
        path = shard_path(folder, index)
        if index in shards and not path.exists():
            begin = time.perf_counter()
            shard = label_all(pair, drafters, items, settings["max_new"])
            write_shard(path, shard)
            yield f"{path.name}: {describe(shard)}, {time.perf_counter() - begin:.0f} s"
            yield Progress(index - shards.start + 1, len(shards))


def label_all(pair: Pair, drafters: Sequence[NamedDraft], items: Sequence[PromptItem], longest: int) -> LabelledShard:
    """The labelled mismatches of some prompts; longest: tokens of an answer."""
    texts, states, settled = [], [torch.empty(0, pair.target.width)], 0
    with torch.device(pair.target.device):
        for item in items:
            text, after, before = label(pair, drafters, item, longest)
            settled += before
            if text:
                texts.append(text)
                states.append(after)
    return LabelledShard(len(items), settled, tuple(texts), torch.cat(states))


def describe(shard: LabelledShard) -> str:
    mismatches = [mismatch for text in shard.texts for mismatch in text.mismatches]
    important = sum(mismatch.important for mismatch in mismatches)
    return (
        f"{shard.asked} prompts, {len(shard.texts)} answered rightly, {len(mismatches)} mismatches, {important} important, "
        f"{shard.settled} more after the answer"
    )


def provenance(pair: Pair, drafters: Sequence[NamedDraft]) -> dict:
    """What the labels and states belong to."""
    return {
        "pair": pair.name,
        "drafts": [drafter.name for drafter in drafters],
        "target": pair.fingerprints["target"],
        "dtype": pair.target.dtype_name,
    }
