"""The rows of the benchmark: named ways to decode a prompt, this engine's and transformers' own, and how they are run.

Within a pass every prompt is run by every row before the next prompt, so that a machine whose speed drifts slows all rows alike.
Wall time includes the prefill and nothing of the display.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from transformers import GenerationConfig

from explorer.analysis.costs import works_of
from explorer.bench.measured import COLD, EXACT, EXACT_WITH_LOOKUP, PLAIN, TREE_NODES, WARM, Measured, row_name
from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.lookup import MAX_NGRAM
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.pair import Pair
from explorer.errors import UserError
from explorer.verdicts import LOOSE_RULES

PEARL = "exact, PEARL one after the other"
BOTH = "exact, Ouroboros, cold pool"
PHRASES = 3  # k of the released defaults
EXACT_WITH_HEAD, FLY_WITH_HEAD = "exact, EAGLE-3 chain", "fly, EAGLE-3 chain"
EXACT_WITH_TREE = "exact, EAGLE-3 tree"
THEIR_PLAIN, THEIR_ASSISTED = "transformers: plain greedy", "transformers: assisted"
THEIR_LOOKUP = "transformers: prompt lookup"


Runner = Callable[[list[int]], Measured]


def our_rows(pair: Pair, base: DecodeConfig, lengths: Sequence[int]) -> dict[str, Runner]:
    """This engine's rows of the table, by name; all but plain greedy once for each draft length."""
    rows = {PLAIN: ours(pair, replace(base, rule="autoregressive"))}
    exact, fly = replace(base, rule="exact"), base.with_preset("explorer")
    for name, config in {
        EXACT: exact,
        "exact, prompt lookup": replace(exact, drafter="lookup"),
        EXACT_WITH_LOOKUP: replace(exact, drafter="model+lookup"),
        "fly": fly,
        "fly, model + lookup": replace(fly, drafter="model+lookup"),
        **(
            {
                EXACT_WITH_HEAD: replace(exact, drafter="features"),
                EXACT_WITH_TREE: replace(exact, drafter="features", tree=TREE_NODES),
                FLY_WITH_HEAD: replace(fly, drafter="features"),
            }
            if pair.head
            else {}
        ),
        **{rule: replace(base, rule=rule) for rule in LOOSE_RULES if rule != "fly"},
    }.items():
        for length in lengths:
            rows[row_name(name, length)] = ours(pair, replace(config, draft_length=length))
    for length in lengths:
        rows[row_name(PEARL, length)] = ours(pair, replace(exact, schedule="pearl", draft_length=length))
        config = replace(exact, phrases=PHRASES, draft_length=length)
        rows |= {row_name(COLD, length): ours(pair, config), row_name(WARM, length): ours_warm(pair, config)}
        rows[row_name(BOTH, length)] = ours(pair, replace(config, drafter="model+phrases"))
    return rows


def their_rows(pair: Pair, base: DecodeConfig, lengths: Sequence[int]) -> dict[str, Runner]:
    """transformers' own ways to decode the same, on a pair of its own modules; assisted: same draft, same fixed K."""
    draft = pair.draft.model
    rows = {THEIR_PLAIN: _transformers(pair, base, {})}
    for length in lengths:
        if (
            draft is not pair.target.model
        ):  # its modules have no fewer bits: a model that assists itself in float32 says nothing
            settings = GenerationConfig.from_model_config(draft.config)
            settings.num_assistant_tokens = length
            settings.num_assistant_tokens_schedule = "constant"
            settings.assistant_confidence_threshold = 0.0
            assistant: dict[str, Any] = {"assistant_model": draft}
            if pair.draft_side:  # its universal assisted decoding
                assistant |= {"tokenizer": pair.tokenizer, "assistant_tokenizer": pair.draft_side.tokenizer}
            rows[row_name(THEIR_ASSISTED, length)] = _transformers(pair, base, assistant, settings)
        lookup = {"prompt_lookup_num_tokens": length, "max_matching_ngram_size": MAX_NGRAM}
        rows[row_name(THEIR_LOOKUP, length)] = _transformers(pair, base, lookup)
    return rows


def their_names(lengths: Sequence[int]) -> list[str]:
    """The names of transformers' rows, without loading anything."""
    return [THEIR_PLAIN, *(row_name(name, length) for length in lengths for name in (THEIR_ASSISTED, THEIR_LOOKUP))]


def is_chosen(row: str, wanted: list[str] | None) -> bool:
    """Plain greedy always is: every other row is compared with it."""
    return row == PLAIN or not wanted or any(text in row for text in wanted)


def choose(rows: dict[str, Runner], wanted: list[str] | None) -> dict[str, Runner]:
    return {row: run for row, run in rows.items() if is_chosen(row, wanted)}


def runnable(rows: dict[str, Runner], prompt: list[int]) -> tuple[dict[str, Runner], list[str]]:
    """Warm every row up; what this pair refuses is left out, with the reason in words, in place of a number."""
    kept, left_out = {}, []
    for row, run in rows.items():
        try:
            run(prompt)
        except UserError as error:
            if row == PLAIN:
                raise
            left_out.append(f"{row}: not run here, {error}.")
        else:
            kept[row] = run
    return kept, left_out


def measure(rows: dict[str, Runner], prompts: list[list[int]], passes: int) -> list[dict[str, list[Measured]]]:
    """Run every row, warm, on every prompt, `passes` times: per pass and row, one entry per prompt."""
    results = []
    for number in range(passes):
        result: dict[str, list[Measured]] = {row: [] for row in rows}
        for index, prompt in enumerate(prompts):
            for row, run in rows.items():
                result[row].append(run(prompt))
            say(f"pass {number + 1} of {passes}, prompt {index + 1} of {len(prompts)}")
        results.append(result)
    return results


def ours_warm(pair: Pair, config: DecodeConfig) -> Runner:
    """One pool from prompt to prompt. A prompt that comes again begins a new one: no pass finds its own answers in it."""
    pool, seen = PhrasePool(config.phrase_length, pair.stop_ids), set()

    def run(prompt: list[int]) -> Measured:
        nonlocal pool
        if tuple(prompt) in seen:
            pool = PhrasePool(config.phrase_length, pair.stop_ids)
            seen.clear()
        seen.add(tuple(prompt))
        return ours(pair, config, pool)(prompt)

    return run


def ours(pair: Pair, config: DecodeConfig, pool: PhrasePool | None = None) -> Runner:
    def run(prompt: list[int]) -> Measured:
        start = perf_counter()
        rounds = list(decode(pair, prompt, config, pool))
        wall = perf_counter() - start
        ids = tuple(token for round_ in rounds for token in round_.emitted)
        return Measured(ids, wall, len(rounds), tuple(rounds), tuple(works_of(rounds, config)))

    return run


def _transformers(
    pair: Pair, base: DecodeConfig, options: dict[str, Any], draft_settings: GenerationConfig | None = None
) -> Runner:
    """transformers' generate, greedy, same stops and budget; draft_settings: what it reads off an assistant model."""
    model = pair.target.model
    model.generation_config = GenerationConfig()  # ours follow none of its settings (models/generation.py)

    @torch.inference_mode()
    def run(prompt: list[int]) -> Measured:
        passes = 0

        def count(*_: object) -> None:
            nonlocal passes
            passes += 1

        ids = torch.tensor([prompt], device=model.device)
        hook = model.register_forward_pre_hook(count)
        if draft_settings:
            options["assistant_model"].generation_config = draft_settings
        start = perf_counter()
        output = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=base.max_new_tokens,
            eos_token_id=sorted(pair.stop_ids),
            pad_token_id=min(pair.stop_ids, default=0),
            **options,
        )
        wall = perf_counter() - start
        hook.remove()
        return Measured(tuple(output[0, len(prompt) :].tolist()), wall, passes)

    return run


def say(message: str) -> None:
    """Progress, beside the table on stdout."""
    print(message, file=sys.stderr)
