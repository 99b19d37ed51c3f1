"""The target writes the training text: answers to seed prompts and to user turns of its own, with its view of every token."""

import random
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from transformers import AttentionInterface, AttentionMaskInterface, StaticCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from explorer.training.common.collection import pin_settings, shard_path
from explorer.training.common.progress import Progress, finish
from explorer.training.distill.data import TOP, Answer, write_shard
from explorer.training.distill.prompts import Exclusion, seed_prompts, wrapped

MAX_PROMPT = 192  # tokens; longer prompts are left out
BATCH = 64
SHARE_OWN_TURNS = 0.3
SHARE_SAMPLED = 0.2  # answers drawn at temperature 0.7; the others are greedy, as the draft will be used


def grouped_attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs):
    """sdpa attention that reads the shared keys of a query group in place when one token per row is decoded."""
    rows, heads, length, width = query.shape
    if length > 1:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, dropout=dropout, **kwargs
        )
    used = int(attention_mask.flatten(0, 2).any(0).nonzero()[-1]) + 1  # the rest of the static cache is empty
    query = query.view(rows, key.shape[1], heads // key.shape[1], width)
    scores = (query @ key[:, :, :used].transpose(2, 3)).float() * scaling  # [rows, key heads, group, used]
    weights = scores.masked_fill(~attention_mask[..., :used], float("-inf")).softmax(-1).to(value.dtype)
    return (weights @ value[:, :, :used]).reshape(rows, 1, heads, width), None


AttentionInterface.register("grouped", grouped_attention)
AttentionMaskInterface.register("grouped", sdpa_mask)


@dataclass
class AnswerInProgress:
    """One sequence of the batch while it is written."""

    prompt: list[int]
    temperature: float
    answer: Answer


def answer_batch(
    model,
    prompts: list[list[int]],
    temperatures: list[float],
    max_new: int,
    stop: int,
    rng: torch.Generator | None = None,
    vocab_size: int | None = None,
) -> list[Answer]:
    """Continue every prompt up to `stop` (included) or `max_new` tokens; temperature 0 is greedy and needs no `rng`.

    vocab_size: the tokenizer's, where the model has more output rows than that.
    """
    return finish(answering(model, prompts, temperatures, max_new, stop, rng, vocab_size))


@torch.inference_mode()
def answering(
    model,
    prompts: list[list[int]],
    temperatures: list[float],
    max_new: int,
    stop: int,
    rng: torch.Generator | None = None,
    vocab_size: int | None = None,
) -> Generator[int, None, list[Answer]]:
    """As `answer_batch`, yielding after every token how many there are; returns the answers."""
    rows = [AnswerInProgress(p, t, Answer(p)) for p, t in zip(prompts, temperatures, strict=True)]
    answers = [row.answer for row in rows]
    width = max(map(len, prompts))
    ids = torch.tensor([[stop] * (width - len(p)) + p for p in prompts])  # padded on the left
    mask = torch.ones(len(rows), width + max_new, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        mask[row, : width - len(prompt)] = 0
    cache = StaticCache(config=model.config, max_cache_len=width + max_new)
    positions = (mask[:, :width].cumsum(1) - 1).clamp(min=0)
    for length in range(width, width + max_new):
        states = model.model(
            input_ids=ids, attention_mask=mask[:, :length], position_ids=positions, cache=cache
        ).last_hidden_state[:, -1]  # [rows, width of the model]
        logits = model.lm_head(states)[:, :vocab_size].float()
        logprobs = logits.log_softmax(-1)
        top, top_ids = logprobs.topk(TOP)
        entropies = -(logprobs.exp() * logprobs).sum(-1)
        chosen = top_ids[:, 0].clone()
        sampled = [i for i, row in enumerate(rows) if row.temperature > 0]
        if sampled:
            scale = torch.tensor([[rows[i].temperature] for i in sampled])
            chosen[sampled] = torch.multinomial((logits[sampled] / scale).softmax(-1), 1, generator=rng)[:, 0]
        for i, row in enumerate(rows):
            if row.answer.ids[-1:] != [stop]:
                row.answer.append(chosen[i].item(), top_ids[i], top[i], states[i], entropies[i])
        going = [i for i, row in enumerate(rows) if row.answer.ids[-1] != stop]
        if not going:
            break
        ids, positions = chosen[:, None], positions[:, -1:] + 1
        if len(going) < 0.8 * len(rows):  # finished rows cost as much as the others: drop them now and then
            keep = torch.tensor(going)
            ids, positions, mask = ids[keep], positions[keep], mask[keep]
            rows = [rows[i] for i in going]
            for layer in cache.layers:
                layer.keys, layer.values = layer.keys[keep], layer.values[keep]
        yield length - width + 1
    return answers


def chat_ids(tokenizer, prompt: str) -> list[int]:
    message = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(message, add_generation_prompt=True, return_dict=False)


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
