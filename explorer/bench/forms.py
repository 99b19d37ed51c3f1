"""A target in its forms (float32, int8, int4): what one pass takes, and what it says of a text that is given."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.engine.models.model import LanguageModel
from explorer.engine.models.packed import PackedModel
from explorer.engine.timing import median_seconds

HELD = 160  # tokens in the cache before a timed pass
REPEATS = 15

Model = LanguageModel | PackedModel


@torch.inference_mode()
def pass_seconds(model: Model, rows: int) -> float:
    """Median seconds of one pass over `rows` tokens and their logits, after HELD tokens; measured."""
    ids = torch.arange(HELD + rows, device=model.device) % model.vocab_size
    context = model.open()
    context.prefill(ids[:HELD])

    def once() -> None:
        context.feed(ids[HELD:], rows=rows)
        context.crop(HELD)

    seconds = median_seconds(once, model.device, REPEATS)
    context.close()
    return seconds


@torch.inference_mode()
def logprobs_along(model: Model, prompt: Sequence[int], ids: Sequence[int]) -> Tensor:
    """Log-probabilities [n, V], nats, where a model is made to go through the n `ids` after the prompt, in one pass."""
    text = torch.tensor([*prompt, *ids[:-1]], device=model.device)
    context = model.open()
    context.prefill(text[: len(prompt) - 1])
    logits = context.feed(text[len(prompt) - 1 :], rows=len(ids))
    context.close()
    return logits.log_softmax(dim=-1)
