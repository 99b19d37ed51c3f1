"""A pair: a draft and a target model, over one vocabulary unless it says otherwise, with the text side of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Self

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from explorer.config import DecodeConfig
from explorer.conflicts import JUDGED_RULES, MODEL_DRAFTERS, Offers
from explorer.engine.drafters.eagle import Eagle3Head
from explorer.engine.drafters.features import FeatureModel
from explorer.engine.drafters.lengths import BlockScorer
from explorer.engine.drafters.pacer.card import Card
from explorer.engine.drafters.pacer.card import load as load_layer
from explorer.engine.drafters.pacer.shipped import scorer_of
from explorer.engine.models import fixed
from explorer.engine.models.chat import as_chat_turn
from explorer.engine.models.checkpoint import Checkpoint
from explorer.engine.models.fingerprint import fingerprint
from explorer.engine.models.generation import ignored_settings, stop_ids_of
from explorer.engine.models.linears import Form, has_fast_int4
from explorer.engine.models.model import Context, LanguageModel, rows_of
from explorer.engine.models.packed import PackedContext, PackedModel, supports
from explorer.engine.models.rereading import RereadingModel, rereads
from explorer.engine.models.vocabulary import Vocabulary
from explorer.engine.verification.judge_head import JudgeHead, JudgeHeadError, read_judge_head
from explorer.errors import UserError
from explorer.messages import Message
from explorer.prompts import PromptError, check_prompt_text
from explorer.trace import ChatTurn, Prompt, Provenance

LARGE_DRAFT = 3e8  # parameters


class PairMismatch(UserError):
    """Two models that do not share one vocabulary; the message says what differs."""


class DraftSide:
    """The text side of a draft that has a vocabulary of its own."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast):
        self.tokenizer, self.vocabulary = tokenizer, Vocabulary(tokenizer)
        self.size = self.vocabulary.size_for(rows_of(model))
        self.stop_ids = stop_ids_of(model, tokenizer, self.size)


@dataclass(frozen=True, eq=False)
class Pair:
    """Loaded weights, shared by all runs; every run opens its own contexts on them. Never changed: what adds a part gives a new
    pair that shares the weights (with_..., dataclasses.replace).

    `Pair.of` makes one from models in memory, load_pair.load_pair a complete one by its name. `sources` and `fingerprints` (by
    `target`, `draft` and maybe `head`, `judge head`, `pacer`) say where the weights came from and which they are.
    """

    name: str
    tokenizer: PreTrainedTokenizerFast
    vocabulary: Vocabulary
    target: LanguageModel | PackedModel
    draft: LanguageModel | PackedModel
    stop_ids: frozenset[int]
    sources: Mapping[str, str]
    fingerprints: Mapping[str, str]
    ignored: tuple[str, ...] = ()  # generation settings of the target that no run follows
    draft_side: DraftSide | None = None  # of a draft with a vocabulary of its own
    head: FeatureModel | None = None  # of the target, for the drafter features
    drafts_for_itself: bool = False  # the draft is the target's own quantized copy, and one key-value cache serves both
    judge_head: JudgeHead | None = None  # of the target, for the rule judge
    scorers: Mapping[str, BlockScorer] = field(
        default_factory=dict
    )  # PACER's layers, by the rule they were trained for
    cards: Mapping[str, Card] = field(default_factory=dict)  # of those layers

    def __post_init__(self) -> None:
        for name in ("sources", "fingerprints", "scorers", "cards"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def of(
        cls,
        name: str,
        target_model: PreTrainedModel | Checkpoint,
        draft_model: PreTrainedModel | Checkpoint,
        tokenizer: PreTrainedTokenizerFast,
        *,
        draft_tokenizer: PreTrainedTokenizerFast | None = None,
        head: Eagle3Head | None = None,
        target_form: Form | None = None,
        fixed_draft: bool | None = None,
        sources: Mapping[str, str] | None = None,
        fingerprints: Mapping[str, str] | None = None,
    ) -> Self:
        """A pair from models in memory, or from checkpoints that are still to be read and packed.

        draft_tokenizer: of a draft with a vocabulary of its own (cross.py); head: of the target, for the drafter features;
        target_form: lay all out for a CPU where their shape allows (packed.py), the target in this form, the draft in the cheapest; the
        models passed in keep their own weights, so drop them to have the memory back. None runs transformers' modules. fixed_draft: whether the draft works
        on fixed buffers (fixed.py), where its shape allows; None: on CUDA, where they become graphs. Raises UnsupportedModel.
        """
        vocabulary = Vocabulary(tokenizer)
        size = vocabulary.size_for(rows_of(target_model))
        target = lay_out(target_model, size, target_form)
        draft_side = DraftSide(draft_model, draft_tokenizer) if draft_tokenizer else None
        draft_size = draft_side.size if draft_side else size
        if fixed_draft is None:
            fixed_draft = draft_model.device.type == "cuda"
        if fixed_draft and not target_form and fixed.supports(draft_model):
            draft = fixed.FixedModel(draft_model, draft_size)
        else:
            draft = lay_out_draft(draft_model, draft_size, target_form is not None)
        packed_alike = all(isinstance(model, PackedModel) for model in (target, draft))
        return cls(
            name=name,
            tokenizer=tokenizer,
            vocabulary=vocabulary,
            target=target,
            draft=draft,
            stop_ids=stop_ids_of(target_model, tokenizer, size),
            sources=sources or {"target": type(target_model).__name__, "draft": type(draft_model).__name__},
            fingerprints=fingerprints or {},
            ignored=ignored_settings(target_model),
            draft_side=draft_side,
            head=FeatureModel(head, target_model, size, target_form and "int8") if head else None,
            drafts_for_itself=draft_model is target_model and packed_alike,
        )

    @property
    def offers(self) -> Offers:
        """What runs on this pair can use."""
        return Offers(
            pacer_layer=bool(self.scorers),
            head=self.head is not None,
            judge_head=self.judge_head is not None,
            one_vocabulary=self.draft_side is None,
            branches=self.target.takes_branches,
            draft_branches=self.draft.takes_branches,
        )

    @property
    def vocab_size(self) -> int:
        """How many ids logits are cut to: one more than the tokenizer's largest id that the target has a row for."""
        return self.target.vocab_size

    def with_judge_head(self, folder: Path) -> Self:
        """The same weights with the judge head of a folder, which records then name; raises JudgeHeadError."""
        head, card = read_judge_head(folder)
        if card.width != self.target.width:
            raise JudgeHeadError("judge_head.width", folder=folder, own=card.width, wanted=self.target.width)
        named = {**self.fingerprints, "judge head": fingerprint(folder)}
        return replace(self, judge_head=head.to(self.target.device), fingerprints=named)

    def with_pacer_layer(self, folder: Path) -> Self:
        """The same weights with PACER's layer of `folder` and no other, which steers runs under every rule and which records then
        name. Raises CardError where the folder cannot be read or the layer has another shape than the draft.
        """
        named = {**self.fingerprints, "pacer": fingerprint(folder)}
        return replace(self.with_pacer_layers([folder]), fingerprints=named)

    def with_pacer_layers(self, folders: Iterable[Path]) -> Self:
        """The same weights with these layers, each for the rule it was trained for; otherwise as with_pacer_layer. A card's
        `warning` says where a layer was made for other weights."""
        scorers, cards = {}, {}
        for folder in folders:
            layer, card = load_layer(folder)
            scorers[card.rule.rule], cards[card.rule.rule] = scorer_of(layer, self.draft, folder), card
        return replace(self, scorers=scorers, cards=cards)

    def scorer_for(self, rule: str) -> BlockScorer | None:
        """The layer that steers runs under a rule: the one trained for it, else any."""
        return self.scorers.get(rule) or next(iter(self.scorers.values()), None)

    def open_draft(
        self, target: Context | PackedContext, states: bool = False, alone: bool = False, branches: bool = False
    ) -> Context | PackedContext | fixed.FixedContext:
        """Start the draft's side of a sequence that is open on the target; states: keep the final hidden states of each feed.

        A copy of the target in fewer bits reads the target's own keys and values: nothing to prefill, and more to agree on;
        alone: it keeps its own even so. branches: several continuations will be fed at once, which fixed buffers do not take.
        """
        if branches and isinstance(self.draft, fixed.FixedModel):
            return Context(self.draft, states)
        shared = self.drafts_for_itself and not alone
        return self.draft.open(states, target.cache) if shared else self.draft.open(states)

    def judge_head_for(self, rule: str) -> JudgeHead | None:
        """The head that a run under a rule asks, None where the rule asks none."""
        return self.judge_head if rule in JUDGED_RULES else None

    def open_target(self, features: bool = False, states: bool = False) -> Context | PackedContext:
        """Start the target's side of a sequence; features: keep the states that a drafting head is fed; states: keep
        the final ones of each feed. Raises UnsupportedModel for final states of some families."""
        return self.target.open(states, taps=self.head.taps) if features else self.target.open(states)

    def context(self, config: DecodeConfig) -> tuple[int, Message] | None:
        """The longest sequence that a run under `config` may reach, in tokens, and what to call the model that sets the limit; None
        where no model says. A draft that does not work sets none, and one with a vocabulary of its own counts other tokens, and
        stops drafting where its own context ends.
        """
        working = {"target": self.target}
        if config.drafts and config.drafter in MODEL_DRAFTERS and not self.draft_side:
            working["draft"] = self.draft
        limits = [(m.context_limit, Message(f"side.{side}")) for side, m in working.items() if m.context_limit]
        return min(limits, key=lambda limit: limit[0], default=None)

    def encode(self, text: str, raw: bool = False) -> Prompt:
        """The prompt both models are fed: through the target's chat template, or as it is (raw, or no template).

        Raises PromptError where there is no text, or bytes that are none, and where the template does not take it.
        """
        check_prompt_text(text)
        if raw or not self.tokenizer.chat_template:
            return Prompt(tuple(self.tokenizer(text).input_ids), text)
        rendered = as_chat_turn(self.tokenizer, text, self.sources["target"])
        ids = self.tokenizer(rendered, add_special_tokens=False).input_ids
        return Prompt(tuple(ids), rendered, (ChatTurn("user", text),))

    def check_prompt(self, prompt_ids: Sequence[int], config: DecodeConfig) -> None:
        """Raise PromptError where prompt_ids cannot be decoded under `config`."""
        if not len(prompt_ids):
            raise PromptError("prompt.empty")
        if not all(0 <= token < self.vocab_size for token in prompt_ids):
            raise PromptError("prompt.ids", largest=self.vocab_size - 1)
        context = self.context(config)
        if context and len(prompt_ids) + config.max_new_tokens > context[0]:
            raise PromptError(
                "prompt.too_long",
                tokens=len(prompt_ids),
                budget=config.max_new_tokens,
                limit=context[0],
                side=context[1],
            )

    def provenance(self) -> Provenance:
        """What runs here and now."""
        return Provenance(
            pair=self.name,
            target=self.sources["target"],
            draft=self.sources["draft"],
            head=self.sources.get("head"),
            cross_tokenizer=self.draft_side is not None,
            ignored=self.ignored,
            weights=dict(self.fingerprints),
            dtype={"target": self.target.dtype_name, "draft": self.draft.dtype_name}
            | ({"head": self.head.dtype_name} if self.head else {}),
            device=device_name(self.target.device),
            threads=torch.get_num_threads(),
            versions={package: version(package) for package in ("torch", "transformers")},
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def lay_out(model: PreTrainedModel | Checkpoint, vocab_size: int, form: Form | None) -> LanguageModel | PackedModel:
    """A model in the packed form where its shape allows, else as it is. A checkpoint is always packed (loading.py)."""
    if isinstance(model, Checkpoint):
        return PackedModel(model, vocab_size, form)
    if form and supports(model.config, form):
        return PackedModel(Checkpoint.of(model), vocab_size, form)
    return RereadingModel(model, vocab_size) if rereads(model) else LanguageModel(model, vocab_size)


def lay_out_draft(model: PreTrainedModel | Checkpoint, vocab_size: int, packed: bool) -> LanguageModel | PackedModel:
    """A model to draft with: packed, in the fewest bits that were measured to gain."""
    return lay_out(model, vocab_size, _draft_form(model) if packed else None)


def _draft_form(model: PreTrainedModel | Checkpoint) -> Form:
    """A large draft rounded to 4 bits (Qwen2.5-Coder 0.5B: 2 % fewer tokens a round, a third less time a token), a small one in the 4
    bits of its file where it had them (SmolLM2 135M rounded loses a quarter of its tokens), else in 8."""
    if not isinstance(model, Checkpoint) or not has_fast_int4():
        return "int8"
    if model.parameters >= LARGE_DRAFT:
        return "int4 rounded"
    return "int4" if model.tensors.grids is not None else "int8"


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
                "pair.other_vocabulary",
                ours=len(ours),
                theirs=len(theirs),
                what=what,
                examples=", ".join(f"{key!r}: {value!r}" for key, value in different),
            )


def device_name(device: torch.device) -> str:
    """What a record calls it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads != 1 else ''}"
