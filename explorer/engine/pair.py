"""A pair: a draft and a target model over one vocabulary, with the text side of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from explorer.engine.model import LanguageModel
from explorer.engine.vocabulary import Vocabulary
from explorer.errors import UserError
from explorer.trace import Message, Prompt, Provenance


class PairMismatch(UserError):
    """Two models that do not share one vocabulary; the message says what differs."""


class PromptError(UserError):
    """A prompt that cannot be decoded: empty, foreign to the vocabulary, or longer than the context allows."""


@dataclass
class Pair:
    """Loaded weights, shared by all runs; every run opens its own contexts on them.

    `sources` and `fingerprints` (both by `target` and `draft`) say where the weights came from and which they are.
    """

    name: str
    target_model: PreTrainedModel
    draft_model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    sources: dict[str, str] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.tokenizer)

    @property
    def vocab_size(self) -> int:
        return len(self.vocabulary)

    @cached_property
    def target(self) -> LanguageModel:
        return LanguageModel(self.target_model, self.vocab_size)

    @cached_property
    def draft(self) -> LanguageModel:
        return LanguageModel(self.draft_model, self.vocab_size)

    @cached_property
    def stop_ids(self) -> frozenset[int]:
        """Every id that ends a text: the target's generation settings, its config and the tokenizer may each name some."""
        named = [
            getattr(self.target_model.generation_config, "eos_token_id", None),
            self.target_model.config.eos_token_id,
            self.tokenizer.eos_token_id,
        ]
        return frozenset(
            i for ids in named for i in (ids if isinstance(ids, (list, tuple)) else [ids]) if i is not None
        )

    @property
    def context_limit(self) -> int | None:
        """The longest sequence both models were made for, in tokens; None where neither says."""
        limits = [m.context_limit for m in (self.target, self.draft) if m.context_limit is not None]
        return min(limits, default=None)

    def encode(self, text: str, raw: bool = False) -> Prompt:
        """The prompt both models are fed: through the target's chat template, or as it is (raw, or no template).

        Raises PromptError where there is no text.
        """
        if not text.strip():
            raise PromptError("the prompt is empty: type at least one word")
        if raw or not self.tokenizer.chat_template:
            return Prompt(tuple(self.tokenizer(text).input_ids), text)
        messages = (Message("user", text),)
        rendered = self.tokenizer.apply_chat_template(
            [{"role": m.role, "content": m.content} for m in messages], add_generation_prompt=True, tokenize=False
        )
        ids = self.tokenizer(rendered, add_special_tokens=False).input_ids
        return Prompt(tuple(ids), rendered, messages)

    def provenance(self) -> Provenance:
        """What runs here and now."""
        return Provenance(
            pair=self.name,
            target=self.sources.get("target", type(self.target_model).__name__),
            draft=self.sources.get("draft", type(self.draft_model).__name__),
            weights=dict(self.fingerprints),
            dtype={"target": _dtype_name(self.target_model), "draft": _dtype_name(self.draft_model)},
            device=_device_name(self.target.device),
            threads=torch.get_num_threads(),
            versions={package: version(package) for package in ("torch", "transformers")},
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def check_same_vocabulary(target: PreTrainedTokenizerFast, draft: PreTrainedTokenizerFast) -> None:
    """Raise PairMismatch unless both tokenizers give the same ids to the same texts; table sizes may differ by padding."""
    for what, of in (
        ("tokens", lambda t: t.get_vocab()),
        ("added tokens", lambda t: {i: a.content for i, a in t.added_tokens_decoder.items()}),
    ):
        ours, theirs = of(target), of(draft)
        if ours != theirs:
            different = sorted(set(ours.items()) ^ set(theirs.items()), key=str)[:3]
            raise PairMismatch(
                f"the draft's vocabulary is not the target's: {len(ours)} and {len(theirs)} {what}, for example "
                f"{', '.join(f'{key!r}: {value!r}' for key, value in different)}. A pair needs one tokenizer"
            )


def _dtype_name(model: PreTrainedModel) -> str:
    return str(model.dtype).removeprefix("torch.")


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
