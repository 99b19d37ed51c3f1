"""Speculative decoding on one page: draft, verify, judge, commit - one recorded round after another."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import torch

from explorer.config import DecodeConfig
from explorer.engine.draft import Draft, Drafter, ModelDrafter
from explorer.engine.lengths import make_length_policy
from explorer.engine.lookup import LookupDrafter, LookupModelDrafter
from explorer.engine.measure import measure
from explorer.engine.model import Context
from explorer.engine.packed import PackedContext
from explorer.engine.pair import Pair, PromptError
from explorer.engine.sampling import Sampler
from explorer.engine.stops import StopRule
from explorer.trace import Round, Seconds, judge_rows


@torch.inference_mode()
def decode(pair: Pair, prompt_ids: list[int], config: DecodeConfig) -> Iterator[Round]:
    """Generate after prompt_ids, yielding a Round after each target pass until a stop; closing the iterator ends the run.

    Greedy with rule `exact` emits the ids of plain greedy decoding of the target (up to near-ties: one pass over K + 1
    rows rounds differently from K + 1 passes). Time while suspended at a yield is not counted. Raises PromptError.
    """
    _check_prompt(pair, prompt_ids, config)
    device = pair.target.device
    sampler = Sampler(config.temperature, config.seed, device)
    stops = StopRule(config, pair.stop_ids, pair.vocabulary)
    policy = make_length_policy(config, pair.scorer_for(config.rule))
    target = pair.target.open()
    drafter = None if config.rule == "autoregressive" else make_drafter(pair, target, config, sampler)
    prompt_length = len(prompt_ids)
    sequence = list(prompt_ids)
    stop = None
    try:
        # Prefill: everything but the last prompt token, which seeds the first round.
        clock = _Clock(device)
        target.prefill(torch.tensor(sequence[:-1], dtype=torch.long, device=device))
        if drafter:
            drafter.prefill(sequence[:-1])
        prefill_seconds = clock.lap()
        forward_seconds = preverify_seconds = 0.0

        while not stop:
            clock = _Clock(device)

            # Draft. One place is left for the target's own token, which every round adds.
            draft = Draft()
            room = min(config.draft_length, config.max_new_tokens - (len(sequence) - prompt_length) - 1)
            while drafter and not draft.ended and len(draft) < room:
                count = min(policy.next_block(draft), room - len(draft))
                if count <= 0:
                    break
                length_so_far = len(draft)
                more = length_so_far + count < room  # otherwise nothing is left to decide
                drafter.extend(draft, sequence, count, policy.score if more else None)
                if len(draft) == length_so_far:  # a lookup that found nothing
                    break
            blocks = policy.blocks(draft) if len(draft) else ()
            draft_seconds = clock.lap()

            # Verify: one target pass over the last committed token and the K drafted ones, K + 1 rows of logits.
            target.crop(len(sequence) - 1)  # where the draft worked in the target's own cache
            drafted = torch.tensor(draft.ids, dtype=torch.long, device=device)
            seed = torch.tensor(sequence[-1:], dtype=torch.long, device=device)
            logits = target.feed(torch.cat([seed, drafted]), rows=len(draft) + 1)  # [K + 1, V]
            q = torch.stack(draft.distributions[: len(draft)]).to(device) if draft.distributions else None
            rows, match, replacement = measure(logits, drafted, *sampler.verify(logits, drafted, q))
            verify_seconds = clock.lap()

            # Judge and commit the kept drafted tokens and the target's own.
            protected = tuple(bool({d, r} & pair.stop_ids) for d, r in zip(draft.ids, replacement))
            judgement = judge_rows(match, rows[:-1], protected, config)
            committed = (*draft.ids[: judgement.kept], replacement[judgement.kept])
            emitted, stop = stops.cut(sequence[prompt_length:], committed)
            policy.learn(len(draft), judgement.kept)
            length_before = len(sequence)
            sequence += emitted

            # Roll both caches back to what is committed; the newest token is fed at the start of the next round.
            target.crop(len(sequence) - 1)
            if drafter:
                drafter.settle(len(sequence) - 1)

            forwards = target.forward_seconds + (drafter.forward_seconds if drafter else 0.0)
            seconds = Seconds(
                prefill=prefill_seconds,
                draft=draft_seconds - (policy.seconds - preverify_seconds),
                preverify=policy.seconds - preverify_seconds,
                verify=verify_seconds,
                other=clock.lap(),
                forwards=forwards - forward_seconds,
            )
            prefill_seconds, forward_seconds, preverify_seconds = 0.0, forwards, policy.seconds
            yield Round(
                length_before=length_before,
                requested=config.draft_length if drafter else 0,
                drafted=tuple(draft.ids),
                draft_probs=tuple(draft.probs),
                sources=tuple(draft.sources),
                rows=rows,
                match=match,
                replacement=replacement,
                protected=protected,
                verdicts=judgement.verdicts,
                committed=committed,
                emitted=emitted,
                blocks=blocks,
                seconds=seconds,
            )
    finally:
        target.close()
        if drafter:
            drafter.close()


def make_drafter(pair: Pair, target: Context | PackedContext, config: DecodeConfig, sampler: Sampler) -> Drafter:
    """The drafter that `config.drafter` names, for the sequence that is open on the target."""
    if config.drafter == "lookup":
        return LookupDrafter(sampler, pair.vocab_size, pair.stop_ids)
    kind = LookupModelDrafter if config.drafter == "model+lookup" else ModelDrafter
    context = pair.open_draft(target, states=config.length == "pacer")
    return kind(context, sampler, pair.stop_ids, entropies=config.length == "entropy")


def _check_prompt(pair: Pair, prompt_ids: list[int], config: DecodeConfig) -> None:
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


class _Clock:
    """Wall-clock laps with the device's queue drained first, so that a phase pays for its own work."""

    def __init__(self, device: torch.device):
        self._device = device
        self._start = perf_counter()

    def lap(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        now = perf_counter()
        lap, self._start = now - self._start, now
        return lap
