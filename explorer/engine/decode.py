"""Speculative decoding on one page: draft, verify, judge, commit, roll back - one recorded round after another."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from explorer.config import DecodeConfig
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.make_length_policy import make_length_policy
from explorer.engine.open_pair import OpenPair
from explorer.engine.pair import Pair
from explorer.stops import StopRule
from explorer.trace import Round


@torch.inference_mode()
def decode(pair: Pair, prompt_ids: list[int], config: DecodeConfig, pool: PhrasePool | None = None) -> Iterator[Round]:
    """Generate after prompt_ids, yielding a Round after each target pass until a stop; closing the iterator ends the run.

    Greedy with rule `exact` emits the ids of plain greedy decoding of the target: to the last one where it is packed in int8 or int4,
    elsewhere up to near-ties (one pass over K + 1 rows rounds differently from K + 1 passes). Time while suspended at a yield is not counted. Raises PromptError, and
    ConfigError where the pair lacks what `config` needs.

    pool: phrases collected before, to go on from (a warm pool); None begins with none. Without `config.phrases` it is not used.
    """
    pair.check_prompt(prompt_ids, config)
    stops = StopRule(config, pair.stop_ids, pair.vocabulary)
    run = OpenPair(pair, config, pool)
    policy = make_length_policy(pair, config)
    sequence, output, stop = list(prompt_ids), [], None
    try:
        # Prefill: everything but the last prompt token, which seeds the first round.
        run.prefill(sequence[:-1])
        while not stop:
            # Draft. One place is left for the target's own token, which every round adds.
            proposal = run.draft(sequence, config.max_new_tokens - len(output) - 1, policy)

            # Verify: one target pass over the newest token and the K drafted ones, K + 1 rows of logits.
            verified = run.verify(sequence, proposal)

            # Judge: the rule's verdict on every drafted token.
            judgement = verified.judge(config)

            # Commit: the accepted tokens and the target's own, up to a stop.
            emitted, stop = stops.cut(output, verified.committed(judgement))
            sequence += emitted
            output += emitted
            policy.adapt(proposal.drafted, min(proposal.drafted, judgement.accepted))
            run.collect_phrases(verified, judgement, output, len(emitted))

            # Roll back both caches to what is committed; the newest token is fed at the start of the next round.
            run.roll_back(len(sequence) - 1)
            yield verified.round(judgement, emitted, run.end_round())
    finally:
        run.close()
