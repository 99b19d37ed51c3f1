"""The target writes answers to prompts, many side by side, and its view of every token is recorded."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import torch
from transformers import AttentionInterface, AttentionMaskInterface, StaticCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from explorer.engine.models.chat import as_chat_turn
from explorer.messages import Message
from explorer.training.common.progress import finish

MAX_PROMPT = 192  # tokens; longer prompts are left out
TOP = 16  # tokens whose probability is recorded


@dataclass
class Answer:
    """One sequence: `ids[i]` was chosen from the state `states[i]`, whose likeliest tokens are `top_ids[i]`."""

    prompt: list[int]
    ids: list[int] = field(default_factory=list)
    top_ids: list[torch.Tensor] = field(default_factory=list)  # [TOP] each
    top_logprobs: list[torch.Tensor] = field(default_factory=list)  # [TOP] each, over the full vocabulary
    states: list[torch.Tensor] = field(default_factory=list)  # [model width] each, after the final norm
    entropies: list[torch.Tensor] = field(default_factory=list)  # [] each, nats, over the full vocabulary

    def append(
        self,
        token: int,
        top_ids: torch.Tensor,
        top_logprobs: torch.Tensor,
        state: torch.Tensor,
        entropy: torch.Tensor,
    ) -> None:
        self.ids.append(token)
        self.top_ids.append(top_ids)
        self.top_logprobs.append(top_logprobs)
        self.states.append(state)
        self.entropies.append(entropy)


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
    return finish(answer_steps(model, prompts, temperatures, max_new, stop, rng, vocab_size))


@torch.inference_mode()
def answer_steps(
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
    """The ids of a prompt in the chat template; raises PromptError."""
    return tokenizer(as_chat_turn(tokenizer, prompt, Message("side.target")), add_special_tokens=False).input_ids
