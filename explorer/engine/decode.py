"""Speculative decoding on one page: draft, verify, judge, commit - one recorded round after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import torch

from explorer.config import DecodeConfig
from explorer.engine import ranking
from explorer.engine.drafters.cross import CrossDrafter, CrossTokenizer, TextSide
from explorer.engine.drafters.draft import Draft, Drafter, ModelDrafter
from explorer.engine.drafters.features import FeatureDrafter
from explorer.engine.drafters.lengths import LengthPolicy, make_length_policy
from explorer.engine.drafters.lookup import LookupDrafter, LookupModelDrafter
from explorer.engine.drafters.pearl import Pipeline
from explorer.engine.drafters.phrase_drafter import PhraseDrafter
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.drafters.trees import Node, verify_tree
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.engine.pair import Pair
from explorer.engine.sampling import Sampler
from explorer.engine.timing import wait
from explorer.engine.verification.measure import measure
from explorer.engine.verification.suffixes import candidates, verify_suffixes
from explorer.prompts import PromptError
from explorer.stops import StopRule
from explorer.trace import Block, Branch, Round, Row, Seconds, Tree, judge_rows, longest
from explorer.verdicts import Judgement


@torch.inference_mode()
def decode(pair: Pair, prompt_ids: list[int], config: DecodeConfig, pool: PhrasePool | None = None) -> Iterator[Round]:
    """Generate after prompt_ids, yielding a Round after each target pass until a stop; closing the iterator ends the run.

    Greedy with rule `exact` emits the ids of plain greedy decoding of the target (up to near-ties: one pass over K + 1
    rows rounds differently from K + 1 passes). Time while suspended at a yield is not counted. Raises PromptError.

    pool: phrases learnt before, to go on from (a warm pool); None begins with none. Without `config.phrases` it is not used.
    """
    check_prompt(pair, prompt_ids, config)
    stops = StopRule(config, pair.stop_ids, pair.vocabulary)
    policy = make_length_policy(config, pair.scorer_for(config.rule))
    sides = Sides(pair, config, pool)
    prompt_length = len(prompt_ids)
    sequence = list(prompt_ids)
    stop = None
    try:
        # Prefill: everything but the last prompt token, which seeds the first round.
        sides.prefill(sequence[:-1])
        while not stop:
            # Draft and verify. One place is left for the target's own token, which every round adds.
            attempt = sides.attempt(sequence, config.max_new_tokens - (len(sequence) - prompt_length) - 1, policy)

            # Judge and commit the kept drafted tokens and the target's own.
            judgement = attempt.judge(config)
            emitted, stop = stops.cut(sequence[prompt_length:], attempt.committed(judgement))
            policy.learn(attempt.drafted, min(attempt.drafted, judgement.kept))
            sequence += emitted
            sides.learn(attempt, judgement, sequence[prompt_length:], len(emitted))

            # Roll both caches back to what is committed; the newest token is fed at the start of the next round.
            sides.settle(len(sequence) - 1)
            yield attempt.round(judgement, emitted, other=sides.clock.lap())
    finally:
        sides.close()


class Sides:
    """Both models' sides of one sequence: draft after it, let the target say what it thinks of that, roll back."""

    def __init__(self, pair: Pair, config: DecodeConfig, pool: PhrasePool | None = None):
        """pool: phrases to begin with; raises UnsupportedModel where the target cannot try any, or no tree."""
        self._pair, self._config = pair, config
        alone = not config.drafts
        self._pipeline = Pipeline(config.draft_length) if config.schedule == "pearl" and not alone else None
        self._pool = None
        if config.drafts_trees or (config.phrases and not alone):
            pair.target.check_branches()
        if (config.phrases or config.drafter == "model+phrases") and not alone:
            self._pool = PhrasePool(config.phrase_length, pair.stop_ids) if pool is None else pool
        self._sampler = Sampler(config.temperature, config.seed, pair.target.device)
        self._judge = pair.judge_head_for(config.rule)
        self.target = pair.open_target(not alone and config.drafter == "features", states=self._judge is not None)
        self.drafter = None if alone else make_drafter(pair, self.target, config, self._sampler, self._pool)
        self.clock = Clock(pair.target.device)
        self._prefill_seconds = self._forward_seconds = 0.0  # of the first round; of all rounds so far

    def prefill(self, ids: list[int]) -> None:
        """Read the prompt without its last token."""
        self.clock.lap()
        self.target.prefill(torch.tensor(ids, dtype=torch.long, device=self.target.language_model.device))
        self._observe()
        if self.drafter:
            self.drafter.prefill(ids)
        self._prefill_seconds = self.clock.lap()

    def attempt(self, sequence: list[int], room: int, policy: LengthPolicy) -> Attempt:
        """Draft up to min(K, room) tokens after `sequence`, whose last token neither side has read; one target pass."""
        target, drafter, config, stop_ids = self.target, self.drafter, self._config, self._pair.stop_ids
        self.clock.lap()
        preverified = policy.seconds

        # Draft. Under PEARL's schedule the draft was made in the last round, and this is for the next one. What of a tree
        # becomes the draft only the target's pass says.
        nodes: list[Node] = []
        if self._pipeline:
            draft, ahead = self._pipeline.draft(drafter, sequence, room)
        elif config.drafts_trees:
            draft, ahead = Draft(), Draft()
            if room > 0:
                nodes = drafter.tree(sequence, min(config.draft_length, room), config.tree_width, config.tree)
        else:
            draft, ahead = self._draft(sequence, min(config.draft_length, room), policy), Draft()
        blocks = policy.blocks(draft) if len(draft) else ()
        key, room = [*sequence, *draft.ids][-1], min(config.phrase_length, room - len(draft))
        phrases = candidates(self._pool, key, config.phrases, room, stop_ids) if self._pool else []
        draft_seconds, preverify_seconds = self.clock.lap(), policy.seconds - preverified

        # Verify: one target pass over the last committed token and the K drafted ones, K + 1 rows of logits.
        target.crop(len(sequence) - 1)  # where the draft worked in the target's own cache
        drafted = torch.tensor(draft.ids, dtype=torch.long, device=target.language_model.device)
        seed = torch.tensor(sequence[-1:], dtype=torch.long, device=drafted.device)
        trunk, branches, tree = torch.cat([seed, drafted]), (), None
        if phrases:
            logits, argmax, branches = verify_suffixes(target, trunk, phrases)
            for token in branches[longest(branches)].ids:
                draft.add(token, None, "phrase pool", stop_ids)
            drafted = drafted.new_tensor(draft.ids)
        elif nodes:
            logits, argmax, tree, path = verify_tree(target, seed, nodes)
            for node in path:
                draft.add(nodes[node].id, nodes[node].prob, "features", stop_ids)
            drafted = drafted.new_tensor(draft.ids)
        else:
            logits = target.feed(trunk, rows=len(draft) + 1)  # [K + 1, V]
            argmax = ranking.argmax(logits)
        self._observe()
        q = torch.stack(draft.distributions[: len(draft)]).to(drafted.device) if draft.distributions else None
        outcome = self._sampler.verify(logits, argmax, drafted, q)
        # The row behind a drafted token is the target's state after reading it.
        harmless = self._judge.scores(target.states[1:]) if self._judge else None
        rows, match, replacement = measure(
            logits, argmax, drafted, *outcome, q if config.rule == "kl" else None, harmless
        )
        if self._pipeline:
            self._pipeline.learn(match, replacement)

        forwards = target.forward_seconds + (drafter.forward_seconds if drafter else 0.0)
        seconds = Seconds(
            prefill=self._prefill_seconds,
            draft=draft_seconds - preverify_seconds,
            preverify=preverify_seconds,
            verify=self.clock.lap(),
            forwards=forwards - self._forward_seconds,
        )
        self._prefill_seconds, self._forward_seconds = 0.0, forwards
        return Attempt(
            length_before=len(sequence),
            requested=config.draft_length if drafter else 0,
            draft=draft,
            blocks=blocks,
            branches=branches,
            tree=tree,
            key=key,
            ahead=tuple(ahead.ids),
            rows=rows,
            match=match,
            replacement=replacement,
            protected=tuple(bool({d, r} & stop_ids) for d, r in zip(draft.ids, replacement)),
            seconds=seconds,
            vocab_size=self._pair.vocab_size,
        )

    def _draft(self, sequence: list[int], room: int, policy: LengthPolicy) -> Draft:
        """Up to `room` tokens after `sequence`, block by block."""
        draft = Draft()
        while self.drafter and not draft.ended and len(draft) < room:
            count = min(policy.next_block(draft), room - len(draft))
            if count <= 0:
                break
            length_so_far = len(draft)
            more = length_so_far + count < room  # otherwise nothing is left to decide
            self.drafter.extend(draft, sequence, count, policy.score if more else None)
            if len(draft) == length_so_far:  # a lookup that found nothing
                break
        return draft

    def learn(self, attempt: Attempt, judgement: Judgement, output: list[int], new: int) -> None:
        """Fill the phrase pool from a round; output: the text so far, whose last `new` tokens the round emitted."""
        if self._pool is None:
            return
        if judgement.cut is not None:
            self._pool.salvage(attempt.draft.ids, attempt.match, judgement.cut)
        self._pool.correct(attempt.key, attempt.branches)
        self._pool.read(output, new)

    def _observe(self) -> None:
        """Show the states that the target has just left behind to the drafter that asked for them."""
        if self.target.tapped is not None:
            self.drafter.observe(self.target)

    def settle(self, length: int) -> None:
        """Keep the first `length` tokens of the sequence: a round is over. What PEARL's draft holds ahead may stand."""
        self.target.crop(length)
        if self.drafter and not (self._pipeline and self._pipeline.goes_on):
            self.drafter.settle(length)

    def close(self) -> None:
        """Free both caches."""
        self.target.close()
        if self.drafter:
            self.drafter.close()


@dataclass(frozen=True, slots=True)
class Attempt:
    """A draft and one target pass over it, before any rule has judged: everything of a round that no rule changes."""

    length_before: int
    requested: int
    draft: Draft  # K tokens, those of a phrase last
    blocks: tuple[Block, ...]
    branches: tuple[Branch, ...]
    tree: Tree | None  # the draft is the path through it
    key: int  # the token that they were tried after
    ahead: tuple[int, ...]
    rows: tuple[Row, ...]  # [K + 1]
    match: tuple[bool, ...]  # [K]
    replacement: tuple[int, ...]  # [K + 1]
    protected: tuple[bool, ...]  # [K]
    seconds: Seconds  # all but `other`
    vocab_size: int

    @property
    def drafted(self) -> int:
        """Tokens of the drafter's own, which the length policy answers for."""
        return len(self.draft) - self.draft.from_pool

    def judge(self, config: DecodeConfig) -> Judgement:
        return judge_rows(self.match, self.rows[:-1], self.protected, config, self.vocab_size)

    def committed(self, judgement: Judgement) -> tuple[int, ...]:
        """The kept drafted tokens and the target's own."""
        return (*self.draft.ids[: judgement.kept], self.replacement[judgement.kept])

    def round(self, judgement: Judgement, emitted: tuple[int, ...], other: float) -> Round:
        """The record; other: seconds spent outside drafting and verifying."""
        return Round(
            length_before=self.length_before,
            requested=self.requested,
            drafted=tuple(self.draft.ids),
            draft_probs=tuple(self.draft.probs),
            sources=tuple(self.draft.sources),
            rows=self.rows,
            match=self.match,
            replacement=self.replacement,
            protected=self.protected,
            verdicts=judgement.verdicts,
            committed=self.committed(judgement),
            emitted=emitted,
            blocks=self.blocks,
            branches=self.branches,
            ahead=self.ahead,
            tree=self.tree,
            seconds=replace(self.seconds, other=other),
            vocab_size=self.vocab_size,
        )


def make_drafter(
    pair: Pair, target: Context | PackedContext, config: DecodeConfig, sampler: Sampler, pool: PhrasePool | None
) -> Drafter:
    """The drafter that `config.drafter` names, for the sequence that is open on the target.

    Raises UnsupportedModel where the draft cannot try phrases and should.
    """
    if config.drafter == "lookup":
        return LookupDrafter(sampler, pair.vocab_size, pair.stop_ids)
    entropies = config.length in ("entropy", "adaedl")
    if config.drafter == "features":
        return FeatureDrafter(pair.head, sampler, pair.stop_ids, entropies=entropies)
    kind = LookupModelDrafter if config.drafter == "model+lookup" else ModelDrafter
    if pair.draft_side:
        return cross_drafter(pair, kind, config, entropies)
    makes_phrases = config.drafter == "model+phrases"
    # PEARL's draft is meant for a device of its own, so it never works in the target's cache.
    context = pair.open_draft(target, config.needs_layer, alone=config.schedule == "pearl", branches=makes_phrases)
    wanted = {"entropies": entropies, "distributions": config.rule == "kl"}
    if makes_phrases:
        return PhraseDrafter(
            context,
            sampler,
            pair.stop_ids,
            pool=pool,
            window=config.phrase_window,
            length=config.phrase_length,
            **wanted,
        )
    return kind(context, sampler, pair.stop_ids, **wanted)


def cross_drafter(pair: Pair, kind: type[ModelDrafter], config: DecodeConfig, entropies: bool) -> CrossDrafter:
    """The drafter of a pair whose draft has a vocabulary of its own; raises CrossTokenizer for what reads its own tokens."""
    readers = {
        f"length policy {config.length}": config.needs_layer or config.length == "adaedl",
        "rule kl": config.rule == "kl",
        "schedule pearl": config.schedule == "pearl",
        "drafter model+phrases": config.drafter == "model+phrases",
    }
    for reader in (name for name, needed in readers.items() if needed):
        raise CrossTokenizer(
            f"{reader} reads the draft's own tokens, and those of a cross-tokenizer pair are not the target's: choose another one"
        )
    own = pair.draft_side
    return CrossDrafter(
        kind(pair.draft.open(), Sampler(0.0, config.seed, pair.draft.device), own.stop_ids, entropies=entropies),
        TextSide(pair.tokenizer, pair.vocabulary),
        TextSide(own.tokenizer, own.vocabulary),
        pair.stop_ids,
        pair.vocab_size,
        greedy=config.temperature == 0,
    )


def check_prompt(pair: Pair, prompt_ids: list[int], config: DecodeConfig) -> None:
    """Raise PromptError where prompt_ids cannot be decoded under `config`."""
    if not len(prompt_ids):
        raise PromptError("the prompt is empty: type at least one word")
    if not all(0 <= token < pair.vocab_size for token in prompt_ids):
        raise PromptError(f"prompt ids must lie in the vocabulary, 0 to {pair.vocab_size - 1}")
    limit = pair.context_limit
    if limit is not None and len(prompt_ids) + config.max_new_tokens > limit:
        raise PromptError(
            f"the prompt has {len(prompt_ids)} tokens and the budget is {config.max_new_tokens}, together more than "
            f"the context of {limit}: shorten the prompt or lower the budget"
        )


class Clock:
    """Wall-clock laps with the device's queue drained first, so that a phase pays for its own work."""

    def __init__(self, device: torch.device):
        self._device = device
        self._start = perf_counter()

    def lap(self) -> float:
        wait(self._device)
        now = perf_counter()
        lap, self._start = now - self._start, now
        return lap
