"""The target writes the training text: answers to seed prompts and to user turns of its own, with its view of every token."""

import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch

from explorer.training.common.answers import MAX_PROMPT, Answer, answer_batch, chat_ids
from explorer.training.common.collection import pin_settings, shard_path
from explorer.training.common.progress import Progress
from explorer.training.common.prompts import Exclusion, seed_prompts, wrapped
from explorer.training.distill.data import write_shard

BATCH = 64
SHARE_OWN_TURNS = 0.3
SHARE_SAMPLED = 0.2  # answers drawn at temperature 0.7; the others are greedy, as the draft will be used


def own_turns(model, tokenizer, count: int, rng) -> list[str]:
    """User turns the target writes itself, sampled from the start of its chat template."""
    start = tokenizer.apply_chat_template([{"role": "user", "content": "explorer."}], tokenize=False).split(
        "explorer."
    )[0]
    prompts = [tokenizer.encode(start, add_special_tokens=False)] * count
    answers = answer_batch(model, prompts, [0.9] * count, 96, tokenizer.eos_token_id, rng)
    done = [a.ids for a in answers if a.ids[-1] == tokenizer.eos_token_id]
    return [text for text in (tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in done) if len(text) > 8]


def make_shard(
    model, tokenizer, index: int, rows: int, max_new: int, seed: int, excluded: Exclusion
) -> tuple[list[Answer], int]:
    """The answers of shard `index`, and how many prompts the exclusion dropped. Depends on nothing but the arguments."""
    rng, draws = random.Random(seed * 1_000_003 + index), torch.Generator().manual_seed(seed * 1_000_003 + index)
    own = own_turns(model, tokenizer, round(rows * SHARE_OWN_TURNS), draws)
    own = [wrapped(turn, rng) if rng.random() < 0.2 else turn for turn in own]
    seeds = list(islice(seed_prompts(random.Random(seed)), index * rows, index * rows + rows - len(own)))
    kept = [prompt for prompt in own + seeds if prompt not in excluded]
    ids = [ids for ids in (chat_ids(tokenizer, prompt) for prompt in kept) if len(ids) <= MAX_PROMPT]
    ids.sort(key=len)  # little padding in each batch
    answers = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        temperatures = [0.7 if rng.random() < SHARE_SAMPLED else 0.0 for _ in batch]
        answers += answer_batch(model, batch, temperatures, max_new, tokenizer.eos_token_id, draws)
    return answers, len(own) + len(seeds) - len(kept)


def generate(
    model, tokenizer, folder: Path, shards: range, rows: int, max_new: int, seed: int, exclude: list[Path]
) -> Iterator[Progress | str]:
    """Write the missing shards of `shards`: yields how many are there, and a line for each one written. settings.json in the folder pins what a resumed run must agree with.

    Raises UserError when the folder was begun with other settings.
    """
    pin_settings(folder, {"rows": rows, "max_new": max_new, "seed": seed, "exclude": [path.name for path in exclude]})
    excluded = Exclusion(exclude)
    for index in shards:
        path = shard_path(folder, index)
        if path.exists():
            continue
        start = time.perf_counter()
        answers, dropped = make_shard(model, tokenizer, index, rows, max_new, seed, excluded)
        write_shard(path, answers)
        tokens, seconds = sum(len(a.ids) for a in answers), time.perf_counter() - start
        yield f"{path.name}: {len(answers)} answers, {tokens} tokens, {tokens / seconds:.0f}/s, {dropped} excluded"
        yield Progress(index - shards.start + 1, len(shards))
