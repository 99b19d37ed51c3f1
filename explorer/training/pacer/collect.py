"""Collecting rounds: the target answers prompts greedily, the draft drafts along and beside every answer.

Under the exact rule speculative decoding commits the target's own greedy text whatever is drafted, so one text holds the
outcome of every draft from every place in it; under the loose rule the target is also asked about the branches it might keep.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path

import torch

from explorer.engine.models.model import LanguageModel
from explorer.errors import UserError
from explorer.training.common.answers import MAX_PROMPT, answer_steps, chat_ids
from explorer.training.common.collection import pin_settings, read_settings, shard_number, shard_path, shard_paths
from explorer.training.common.progress import Progress
from explorer.training.common.prompts import Exclusion, seed_prompts
from explorer.training.pacer.branches import draft_text, judge_branches
from explorer.training.pacer.data import LOWEST_THETA, DraftedText, read_shard, write_shard
from explorer.training.pacer.models import CollectingModels


def collect(
    models: CollectingModels, folder: Path, shards: range, settings: dict, exclude: list[Path]
) -> Iterator[Progress | str]:
    """Write the missing shards: yields how far it is (in shards), and a line for each one written.

    settings: rule, rows (prompts a shard), max_new and seed. settings.json in the folder pins what a resumed run must agree with;
    raises UserError where it does not. Closed in between, it leaves whole shards only.
    """
    excluded = Exclusion(exclude)  # a file that is missing is told before anything is begun
    settings = settings | models.provenance | {"exclude": [path.name for path in exclude]}
    pin_settings(folder, settings)
    for index in shards:
        path = shard_path(folder, index)
        if path.exists():
            continue
        begin = time.perf_counter()
        making, done = _make_shard(models, index, settings, excluded), index - shards.start
        try:
            while True:
                yield Progress(done + next(making), len(shards))
        except StopIteration as end:
            texts = end.value
        if not texts:
            raise UserError("training.no_prompt_left", file=path.name)
        write_shard(path, texts)
        rows, branches = sum(len(text.choices) for text in texts), sum(len(text.leaves) for text in texts)
        yield (
            f"{path.name}: {len(texts)} texts, {rows} rows, draft agrees with {1 - branches / rows:.1%}, "
            f"{rows / (time.perf_counter() - begin):.1f} rows/s"
        )


def ask(models: CollectingModels, folder: Path, shards: range, out: Path) -> Iterator[Progress | str]:
    """Ask the target about the branches of shards collected for the exact rule, and write them for both rules into `out`; yields as
    `collect`."""
    settings = read_settings(folder)
    mine = models.provenance
    if settings["weights"] != mine["weights"] or settings["dtype"]["target"] != mine["dtype"]["target"]:
        raise UserError("training.other_weights", folder=folder)
    pin_settings(out, settings | {"rule": "fly"})
    target = LanguageModel(models.target, len(models.tokenizer))
    todo = [path for path in shard_paths(folder) if shard_number(path) in shards and not (out / path.name).exists()]
    for place, path in enumerate(todo, 1):
        texts = read_shard(path)
        for text in texts:
            judge_branches(target, text, LOWEST_THETA)
        write_shard(out / path.name, texts)
        asked = sum(int((text.branch_targets[:, 0] >= 0).sum()) for text in texts)
        yield f"{path.name}: asked about {asked} branches"
        yield Progress(place, len(todo))


def _make_shard(
    models: CollectingModels, index: int, settings: dict, excluded: Exclusion
) -> Generator[float, None, list[DraftedText]]:
    """The texts of shard `index`, yielding the share of steps done; depends on nothing but the arguments."""
    count = settings["rows"]
    prompts = islice(seed_prompts(random.Random(settings["seed"])), index * count, (index + 1) * count)
    ids = [chat_ids(models.tokenizer, prompt) for prompt in prompts if prompt not in excluded]
    ids = sorted((prompt for prompt in ids if len(prompt) <= MAX_PROMPT), key=len)
    vocab_size = len(models.tokenizer)
    stop, steps = models.tokenizer.eos_token_id, settings["max_new"] + len(ids)
    writing = answer_steps(models.target, ids, [0.0] * len(ids), settings["max_new"], stop, vocab_size=vocab_size)
    while True:
        try:
            yield next(writing) / steps
        except StopIteration as end:
            answers = end.value
            break
    texts = []
    for answer in answers:
        # Answers are written up to the tokenizer's stop id; a model may have others.
        rows = next((i for i, token in enumerate(answer.ids, 1) if token in models.stop_ids), len(answer.ids))
        ids = torch.tensor(answer.prompt + answer.ids[:rows])
        text = draft_text(models.draft, ids, len(answer.prompt), models.stop_ids, models.shared)
        best = torch.stack(answer.top_logprobs)[:rows, :3]
        normalized = torch.stack(answer.entropies)[:rows] / math.log(vocab_size)
        text.entropies = torch.stack([normalized, -(best.exp() * best).sum(-1)], dim=1).float()
        if settings["rule"] == "fly":
            judge_branches(LanguageModel(models.target, vocab_size), text, LOWEST_THETA)
        texts.append(text)
        yield (settings["max_new"] + len(texts)) / steps
    return texts
