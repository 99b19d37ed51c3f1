"""Many settings of the rule over one prompt, every distinct round computed once.

Greedy rounds from one prompt form a tree: two settings share a round as long as they have committed the same tokens, and once
they commit others they never meet again, because the token where one accepts and the other corrects differs for good. So the
text so far determines every round before it, whatever the length policy. The tree is walked depth first, the branch that
accepts most first: what its rounds write into the caches lies after everything the next branch still needs. Each round thus
finds the very numbers in the caches that a run of its own would have left there, on any layout of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from explorer.config import RULE_KNOBS, DecodeConfig, knobs
from explorer.conflicts import DIVERGENCE_RULES, JUDGED_RULES
from explorer.engine.make_length_policy import make_length_policy
from explorer.engine.open_pair import OpenPair
from explorer.engine.pair import Pair
from explorer.stops import StopRule
from explorer.trace import Round
from explorer.verdicts import Judgement

# One target pass: each distinct outcome as the indices of the settings that share it, and their round.
Outcomes = list[tuple[tuple[int, ...], Round]]


def decode_grid(pair: Pair, prompt_ids: list[int], configs: Sequence[DecodeConfig]) -> Iterator[Outcomes]:
    """Decode one prompt under all `configs`, yielding after each target pass; closing the iterator frees the caches.

    The rounds of one setting, in the order they come, are those of `decode` under it; seconds are those of the pass, and a
    prefill counts once for all settings that draft alike. Settings that draft differently share nothing. Raises
    ConfigError for settings whose rounds cannot be shared (explorer/conflicts.py); PromptError as `decode`.
    """
    for config in configs:
        config.check_with(pair.offers, "sweep")
    alike: dict[DecodeConfig, list[int]] = {}
    for index, config in enumerate(configs):
        alike.setdefault(_drafting(config), []).append(index)
    for members in alike.values():
        yield from _walk(pair, prompt_ids, configs, members)


def _drafting(config: DecodeConfig) -> DecodeConfig:
    """The setting without what only the verdicts depend on. PACER's layer is one for each rule; some rules also read the
    draft's distributions, others a judge head."""
    own = config.rule in ("autoregressive", *DIVERGENCE_RULES, *JUDGED_RULES) or config.needs_layer
    return replace(config, rule=config.rule if own else "exact", **_NEUTRAL)


_NEUTRAL = {knob.name: knob.default for knob in knobs() if knob.name in RULE_KNOBS and knob.name != "rule"}


@dataclass(frozen=True, slots=True)
class _SharedText:
    """A text that some settings have come to, with the rounds that led there as (drafted, accepted) tokens."""

    sequence: list[int]
    history: tuple[tuple[int, int], ...]
    members: list[int]


@torch.inference_mode()
def _walk(pair: Pair, prompt_ids: list[int], configs: Sequence[DecodeConfig], members: list[int]) -> Iterator[Outcomes]:
    """The tree of settings that draft alike."""
    config = configs[members[0]]
    pair.check_prompt(prompt_ids, config)
    stops = StopRule(config, pair.stop_ids, pair.vocabulary)
    run = OpenPair(pair, config)
    try:
        run.prefill(prompt_ids[:-1])
        pending = [_SharedText(list(prompt_ids), (), members)]
        while pending:
            branch = pending.pop()
            run.roll_back(len(branch.sequence) - 1)
            policy = make_length_policy(pair, config)
            for drafted, accepted in branch.history:
                policy.adapt(drafted, accepted)
            output = branch.sequence[len(prompt_ids) :]
            proposal = run.draft(branch.sequence, config.max_new_tokens - len(output) - 1, policy)
            verified = run.verify(branch.sequence, proposal)

            judged: dict[Judgement, list[int]] = {}
            for member in branch.members:
                judged.setdefault(verified.judge(configs[member]), []).append(member)
            cut = [
                (judgement, alike, *stops.cut(output, verified.committed(judgement)))
                for judgement, alike in judged.items()
            ]
            seconds = run.end_round()
            seconds = replace(seconds, other=seconds.other / len(judged))
            yield [(tuple(alike), verified.round(judgement, emitted, seconds)) for judgement, alike, emitted, _ in cut]

            going_on: dict[tuple[int, ...], list[int]] = {}
            for _, alike, emitted, stop in cut:
                if not stop:
                    going_on.setdefault(emitted, []).extend(alike)
            for emitted in sorted(going_on, key=len):  # the last one is taken first: the branch that accepts most
                history = (*branch.history, (len(proposal.draft), len(emitted) - 1))
                pending.append(_SharedText([*branch.sequence, *emitted], history, going_on[emitted]))
    finally:
        run.close()
