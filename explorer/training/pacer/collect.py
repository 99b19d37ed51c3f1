"""Collecting rounds: the target answers prompts greedily, the draft drafts along and beside every answer.

Under the exact rule speculative decoding commits the target's own greedy text whatever is drafted, so one text holds the
outcome of every draft from every place in it; under the loose rule the target is also asked about the branches it might keep.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from pathlib import Path

import torch

from explorer.engine.models.model import LanguageModel
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.training.distill.generate import MAX_PROMPT, answering, chat_ids
from explorer.training.distill.prompts import Exclusion, seed_prompts
from explorer.training.pacer.branches import draft_text, judge_branches
from explorer.training.pacer.data import (
    LOWEST_THETA,
    Text,
    read_settings,
    read_shard,
    shard_path,
    shard_paths,
    write_shard,
)
from explorer.training.pacer.progress import Shard
from explorer.training.pacer.sides import Sides


def collect(
    sides: Sides, folder: Path, shards: range, settings: dict, exclude: list[Path], say: Callable[[str], None] = print
) -> None:
    """Write the missing shards, telling each; arguments and errors are those of `collecting`."""
    for step in collecting(sides, folder, shards, settings, exclude):
        if isinstance(step, Shard):
            say(
                f"{step.path.name}: {step.texts} texts, {step.rows} rows, draft agrees with "
                f"{1 - step.branches / step.rows:.1%}, {step.rows / step.seconds:.1f} rows/s"
            )


def collecting(
    sides: Sides, folder: Path, shards: range, settings: dict, exclude: list[Path]
) -> Iterator[float | Shard]:
    """Write the missing shards: yields each, and between them what share of the next one is done (of its steps, not of its time).

    sides: see sides.py. settings: rule, rows (prompts a shard), max_new and seed. settings.json in the folder pins what a resumed
    run must agree with; raises UserError where it does not. Closed in between, it leaves whole shards only.
    """
    excluded = Exclusion(exclude)  # a file that is missing is told before anything is begun
    folder.mkdir(parents=True, exist_ok=True)
    settings = settings | sides.provenance | {"exclude": [path.name for path in exclude]}
    manifest = folder / "settings.json"
    if manifest.exists() and read_settings(folder) != settings:
        raise UserError(
            f"{folder} was begun with other settings or weights ({manifest}): use the same or another folder"
        )
    write_whole(manifest, json.dumps(settings, indent=1))
    for index in shards:
        path = shard_path(folder, index)
        if path.exists():
            continue
        begin = time.perf_counter()
        texts = yield from _make_shard(sides, index, settings, excluded)
        if not texts:
            raise UserError(
                f"no prompt is left for {path.name}: all are too long or close to excluded ones. Take more rows"
            )
        write_shard(path, texts)
        rows, branches = sum(len(text.choices) for text in texts), sum(len(text.leaves) for text in texts)
        yield Shard(path, len(texts), rows, branches, time.perf_counter() - begin)


def ask(sides: Sides, folder: Path, shards: range, out: Path, say: Callable[[str], None] = print) -> None:
    """Ask the target about the branches of shards collected for the exact rule, and write them for both rules into `out`."""
    settings = read_settings(folder)
    mine = sides.provenance
    if settings["weights"] != mine["weights"] or settings["dtype"]["target"] != mine["dtype"]["target"]:
        raise UserError(f"{folder} was collected with other weights or another dtype of the target")
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "settings.json", json.dumps(settings | {"rule": "fly"}, indent=1))
    target = LanguageModel(sides.target, len(sides.tokenizer))
    for path in shard_paths(folder):
        if int(path.stem.rpartition("-")[2]) in shards and not (out / path.name).exists():
            texts = read_shard(path)
            for text in texts:
                judge_branches(target, text, LOWEST_THETA)
            write_shard(out / path.name, texts)
            say(
                f"{path.name}: asked about {sum(int((text.branch_targets[:, 0] >= 0).sum()) for text in texts)} branches"
            )


def _make_shard(sides: Sides, index: int, settings: dict, excluded: Exclusion) -> Generator[float, None, list[Text]]:
    """The texts of shard `index`, yielding the share of steps done; depends on nothing but the arguments."""
    count = settings["rows"]
    prompts = islice(seed_prompts(random.Random(settings["seed"])), index * count, (index + 1) * count)
    ids = [chat_ids(sides.tokenizer, prompt) for prompt in prompts if prompt not in excluded]
    ids = sorted((one for one in ids if len(one) <= MAX_PROMPT), key=len)
    vocab_size = len(sides.tokenizer)
    stop, steps = sides.tokenizer.eos_token_id, settings["max_new"] + len(ids)
    writing = answering(sides.target, ids, [0.0] * len(ids), settings["max_new"], stop, vocab_size=vocab_size)
    while True:
        try:
            yield next(writing) / steps
        except StopIteration as end:
            answers = end.value
            break
    texts = []
    for answer in answers:
        # Answers are written up to the tokenizer's stop id; a model may have others.
        rows = next((i for i, token in enumerate(answer.ids, 1) if token in sides.stop_ids), len(answer.ids))
        ids = torch.tensor(answer.prompt + answer.ids[:rows])
        text = draft_text(sides.draft, ids, len(answer.prompt), sides.stop_ids, sides.shared)
        best = torch.stack(answer.top_logprobs)[:rows, :3]
        normalized = torch.stack(answer.entropies)[:rows] / math.log(vocab_size)
        text.entropies = torch.stack([normalized, -(best.exp() * best).sum(-1)], dim=1).float()
        if settings["rule"] == "fly":
            judge_branches(LanguageModel(sides.target, vocab_size), text, LOWEST_THETA)
        texts.append(text)
        yield (settings["max_new"] + len(texts)) / steps
    return texts
