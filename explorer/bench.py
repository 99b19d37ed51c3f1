"""`explorer bench`: this engine beside transformers' own decoding, in one process, interleaved prompt by prompt.

On a CPU this engine runs packed weights (engine/packed.py) unless a dtype is named; transformers' rows run its own float32
modules of the same weights. Wall time includes the prefill and nothing of the display. Within a pass every prompt is run by
every row before the next prompt, so that a machine whose speed drifts slows all rows alike; speeds are pooled over the prompts
of a pass and the median over passes is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import GenerationConfig

from explorer.analysis.markdown import markdown_table
from explorer.analysis.metrics import kept_emitted, overlapped_seconds
from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.lookup import MAX_NGRAM
from explorer.engine.model import LanguageModel
from explorer.engine.pair import Pair
from explorer.engine.phrases import PhrasePool
from explorer.engine.registry import default_pair, load_pair
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.pacer.rows import adaptive_rows
from explorer.pacer.shipped import attach
from explorer.prompts import read_prompts
from explorer.trace import Round, Seconds
from explorer.verdicts import LOOSE_RULES, Verdict

PLAIN = "plain greedy"
EXACT, EXACT_WITH_LOOKUP = "exact", "exact, model + lookup"
PEARL = "exact, PEARL one after the other"
COLD, WARM = (f"exact, Ouroboros (suffixes), {pool} pool" for pool in ("cold", "warm"))
BOTH = "exact, Ouroboros, cold pool"
PHRASES = 3  # k of the released defaults
EXACT_WITH_HEAD, FLY_WITH_HEAD = "exact, EAGLE-3 chain", "fly, EAGLE-3 chain"
EXACT_WITH_TREE = "exact, EAGLE-3 tree"
TREE_NODES = 12
THEIR_PLAIN, THEIR_ASSISTED = "transformers: plain greedy", "transformers: assisted"
THEIR_LOOKUP = "transformers: prompt lookup"
LOOSENED = [verdict for verdict in Verdict if verdict.is_loosened]


@dataclass(frozen=True, slots=True)
class Measured:
    """One row on one prompt: output ids, wall seconds, target passes, and what only this engine's own rounds say."""

    ids: tuple[int, ...]
    wall: float
    passes: int
    rounds: tuple[Round, ...] = ()  # none: not this engine's

    @property
    def seconds(self) -> Seconds:
        """Where the engine says the time went."""
        return sum((round_.seconds for round_ in self.rounds), Seconds())

    @property
    def logprobs(self) -> tuple[float, ...]:
        """The target's log-probability of each emitted token, nats."""
        return tuple(value for round_ in self.rounds for value in round_.emitted_logprobs)

    @property
    def drafts(self) -> dict[int, tuple[int, ...]]:
        """What was drafted, by the length of the text it was drafted after."""
        return {round_.length_before: round_.drafted for round_ in self.rounds}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table. Speeds in tokens per second, measured, pooled over prompts; median over passes."""

    row: str
    tokens_per_second: float
    slowest_pass: float
    fastest_pass: float
    times_plain: float  # median over passes of the ratio within a pass
    tau: float
    same_ids: int  # prompts whose ids equal plain greedy's
    prompts: int
    limit: float | None  # tokens per second if only model forwards took time
    overhead: float | None  # share of wall outside model forwards
    loosened: float | None  # share of emitted tokens that are kept mismatches
    fidelity: float | None  # mean target log-probability per token above that of plain greedy's own text, nats
    times_plain_by_kind: dict[str, float]  # kind of prompt -> as times_plain
    from_phrases: float | None  # share of emitted tokens that a phrase gave; None without phrases
    kept_of_nodes: float | None  # share of a tree's verified nodes that are in the output; None without trees
    overlapped: (
        float | None
    )  # tokens per second *modelled* for PEARL's schedule on two devices, prefill apart (metrics.py)
    seconds: Seconds | None  # summed over the last pass


def main(args: argparse.Namespace) -> int:
    """Measure, print a Markdown table on stdout and progress on stderr."""
    lengths = args.draft_length or [DecodeConfig().draft_length]
    base = DecodeConfig(max_new_tokens=args.max_new_tokens)
    items = read_prompts(args.prompts)[: args.limit]
    name = args.pair or default_pair(args.device)
    pair = load_pair(name, args.device, args.dtype, progress=_say)
    resident = _resident_bytes()
    prompts = [list(pair.encode(item.prompt).ids) for item in items]
    rows = our_rows(pair, base, lengths)
    rows |= {
        row: _ours(pair, config)
        for row, config in adaptive_rows(pair, base, attach(pair, args.pacer_layer), args.row).items()
    }
    chosen = _chosen(rows, [*args.rows, *args.row] if args.rows else None)
    forms = _forms(pair)
    if any(is_chosen(row, args.rows) for row in their_names(lengths)):
        reference = pair if isinstance(pair.target, LanguageModel) else load_pair(name, args.device, "float32")
        forms |= _forms(reference)
        chosen |= _chosen(their_rows(reference, base, lengths), args.rows)

    chosen, left_out = runnable(chosen, prompts[0])
    passes = measure(chosen, prompts, args.passes)
    kinds = [item.kind for item in items]
    lines = [line(row, [one[row] for one in passes], [one[PLAIN] for one in passes], kinds) for row in passes[0]]

    provenance = pair.provenance()
    print(table(lines), kind_table(lines), *notes(lines), *left_out, sep="\n\n")
    print(
        f"\nMeasured: {provenance.pair}, {len(prompts)} prompts of {args.prompts.name}, {base.max_new_tokens} tokens, "
        f"{args.passes} passes, target {provenance.dtype['target']}, draft {provenance.dtype['draft']}, "
        f"{provenance.device}, {provenance.date[:10]}. Weights: "
        + ", ".join(f"{form} {size / 1e6:.0f} MB" for form, size in forms.items())
        + f" (counted); this process held {resident / 1e6:.0f} MB after loading the pair."
    )
    drafts = [drafts_that_differ(passes[-1], length) for length in lengths]
    if any(compared for _, compared in drafts):
        print(
            "Drafts with and without prompt lookup, after the same text: "
            + ", ".join(f"{n} of {of} differ at K = {k}" for (n, of), k in zip(drafts, lengths))
            + "."
        )
    if args.out:
        record = {
            "provenance": asdict(provenance),
            "config": asdict(base),
            "draft_lengths": lengths,
            "memory": {"weights": forms, "resident": resident},
            "lines": [asdict(one) for one in lines],
        }
        write_whole(args.out, json.dumps(record, indent=1))
    return 0


PHASES = ("prefill", "draft", "preverify", "verify", "other")
Runner = Callable[[list[int]], Measured]


def our_rows(pair: Pair, base: DecodeConfig, lengths: Sequence[int]) -> dict[str, Runner]:
    """This engine's rows of the table, by name; all but plain greedy once for each draft length."""
    rows = {PLAIN: _ours(pair, replace(base, rule="autoregressive"))}
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
            rows[row_name(name, length)] = _ours(pair, replace(config, draft_length=length))
    for length in lengths:
        rows[row_name(PEARL, length)] = _ours(pair, replace(exact, schedule="pearl", draft_length=length))
        config = replace(exact, phrases=PHRASES, draft_length=length)
        rows |= {row_name(COLD, length): _ours(pair, config), row_name(WARM, length): _ours_warm(pair, config)}
        rows[row_name(BOTH, length)] = _ours(pair, replace(config, drafter="model+phrases"))
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


def row_name(name: str, length: int) -> str:
    """What a row with a fixed draft length is called."""
    return f"{name}, K = {length}"


def is_chosen(row: str, wanted: list[str] | None) -> bool:
    """Plain greedy always is: every other row is compared with it."""
    return row == PLAIN or not wanted or any(text in row for text in wanted)


def _chosen(rows: dict[str, Runner], wanted: list[str] | None) -> dict[str, Runner]:
    return {row: run for row, run in rows.items() if is_chosen(row, wanted)}


def drafts_that_differ(one_pass: dict[str, list[Measured]], length: int) -> tuple[int, int]:
    """How often lookup inside the draft model changes what is drafted after the same text: (differing, compared).

    Never in float32; a quantized draft rounds a forward over several tokens differently from one over one.
    """
    alone, accelerated = (one_pass.get(row_name(name, length), []) for name in (EXACT, EXACT_WITH_LOOKUP))
    both = [
        (a.drafts[place], b.drafts[place])
        for a, b in zip(alone, accelerated)
        for place in a.drafts.keys() & b.drafts.keys()
    ]
    return sum(a != b for a, b in both), len(both)


def _forms(pair: Pair) -> dict[str, int]:
    """Bytes of weights by model and form."""
    models = {"target": pair.target, "draft": pair.draft} | ({"head": pair.head} if pair.head else {})
    return {f"{side} {model.dtype_name}": model.weight_bytes for side, model in models.items()}


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
            _say(f"pass {number + 1} of {passes}, prompt {index + 1} of {len(prompts)}")
        results.append(result)
    return results


def line(row: str, passes: list[list[Measured]], plain: list[list[Measured]], kinds: list[str]) -> Line:
    """Pool one row's measurements, one list a pass, one entry a prompt; `plain` holds the same of plain greedy."""

    def times_plain(chosen: list[int]) -> float:
        return statistics.median(
            _speed([one[i] for i in chosen]) / _speed([reference[i] for i in chosen])
            for one, reference in zip(passes, plain)
        )

    everything = list(range(len(kinds)))
    speeds = [_speed(one) for one in passes]
    last = passes[-1]
    tokens, wall = sum(len(m.ids) for m in last), sum(m.wall for m in last)
    ours = all(m.rounds for m in last)
    seconds = sum((m.seconds for m in last), Seconds()) if ours else None
    rounds = [round_ for m in last for round_ in m.rounds]
    kinds_emitted = [kind for round_ in rounds for kind in round_.emitted_kinds]
    return Line(
        row=row,
        tokens_per_second=statistics.median(speeds),
        slowest_pass=min(speeds),
        fastest_pass=max(speeds),
        times_plain=times_plain(everything),
        from_phrases=_from_phrases(rounds) / tokens if any(round_.branches for round_ in rounds) else None,
        kept_of_nodes=_kept_of_nodes(rounds) if any(round_.tree for round_ in rounds) else None,
        overlapped=(
            tokens / overlapped_seconds(round_.seconds for round_ in rounds)
            if any(round_.ahead for round_ in rounds)
            else None
        ),
        times_plain_by_kind={
            kind: times_plain([i for i in everything if kinds[i] == kind]) for kind in dict.fromkeys(kinds)
        },
        tau=tokens / sum(m.passes for m in last),
        same_ids=sum(m.ids == reference.ids for m, reference in zip(last, plain[-1])),
        prompts=len(last),
        limit=tokens / seconds.forwards if seconds else None,
        overhead=1 - seconds.forwards / wall if seconds else None,
        loosened=sum(map(kinds_emitted.count, LOOSENED)) / tokens if ours else None,
        fidelity=_mean_logprob(last) - _mean_logprob(plain[-1]) if ours else None,
        seconds=seconds,
    )


def table(lines: list[Line]) -> str:
    """The lines as a Markdown table."""
    head = [
        "row",
        "tokens/s (min-max)",
        "x plain",
        "tau",
        "same ids",
        "loosened",
        "nats/token",
        "prefill / draft / pre-verify / verify / other, s",
        "limit",
        "overhead",
    ]
    body = [
        [
            one.row,
            f"{one.tokens_per_second:.1f} ({one.slowest_pass:.1f}-{one.fastest_pass:.1f})",
            f"{one.times_plain:.2f}",
            f"{one.tau:.2f}",
            f"{one.same_ids}/{one.prompts}",
            _cell(one.loosened, ".1%"),
            _cell(one.fidelity, "+.3f"),
            " / ".join(f"{getattr(one.seconds, name):.1f}" for name in PHASES) if one.seconds else "-",
            _cell(one.limit, ".1f"),
            _cell(one.overhead, ".1%"),
        ]
        for one in lines
    ]
    return markdown_table(head, body)


def kind_table(lines: list[Line]) -> str:
    """Times plain greedy by kind of prompt, as a Markdown table."""
    kinds = list(lines[0].times_plain_by_kind)
    body = [[one.row, *(f"{one.times_plain_by_kind[kind]:.2f}" for kind in kinds)] for one in lines]
    return markdown_table(["x plain", *kinds], body)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def notes(lines: list[Line]) -> list[str]:
    """What the table has no column for: shares of phrases and what they may hide, of trees, PEARL's modelled speed."""
    told = [
        f"{one.row}: {one.from_phrases:.1%} of the emitted tokens come from the phrase pool."
        for one in lines
        if one.from_phrases is not None
    ]
    told += [
        f"{one.row}: trees of at most {TREE_NODES} nodes, of which {one.kept_of_nodes:.1%} were kept."
        for one in lines
        if one.kept_of_nodes is not None
    ]
    if any(one.row.startswith(WARM) for one in lines):
        told.append(
            "A warm pool goes on from prompt to prompt within a pass, so what prompts have in common leaks from one answer to the "
            "next; a cold pool begins empty with each."
        )
    return told + [
        f"{one.row}: {one.overlapped:.1f} tokens/s modelled, prefill apart, if draft and target ran at once: in each round the longer "
        "of the two, a device of this speed for each, messages free."
        for one in lines
        if one.overlapped is not None
    ]


def _kept_of_nodes(rounds: list[Round]) -> float:
    return sum(map(kept_emitted, rounds)) / sum(round_.verified for round_ in rounds)


def _from_phrases(rounds: list[Round]) -> int:
    return sum(round_.sources[: kept_emitted(round_)].count("phrase pool") for round_ in rounds)


def _ours_warm(pair: Pair, config: DecodeConfig) -> Runner:
    """One pool from prompt to prompt. A prompt that comes again begins a new one: no pass finds its own answers in it."""
    pool, seen = PhrasePool(config.phrase_length, pair.stop_ids), set()

    def run(prompt: list[int]) -> Measured:
        nonlocal pool
        if tuple(prompt) in seen:
            pool = PhrasePool(config.phrase_length, pair.stop_ids)
            seen.clear()
        seen.add(tuple(prompt))
        return _ours(pair, config, pool)(prompt)

    return run


def _ours(pair: Pair, config: DecodeConfig, pool: PhrasePool | None = None) -> Runner:
    def run(prompt: list[int]) -> Measured:
        start = perf_counter()
        rounds = list(decode(pair, prompt, config, pool))
        wall = perf_counter() - start
        ids = tuple(token for round_ in rounds for token in round_.emitted)
        return Measured(ids, wall, len(rounds), tuple(rounds))

    return run


def _transformers(
    pair: Pair, base: DecodeConfig, options: dict[str, Any], draft_settings: GenerationConfig | None = None
) -> Runner:
    """transformers' generate, greedy, same stops and budget; draft_settings: what it reads off an assistant model."""
    model = pair.target.model

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


def _resident_bytes() -> int:
    """Memory this process holds now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _mean_logprob(measured: list[Measured]) -> float:
    return statistics.fmean(value for m in measured for value in m.logprobs)


def _speed(measured: list[Measured]) -> float:
    return sum(len(m.ids) for m in measured) / sum(m.wall for m in measured)


def _say(message: str) -> None:
    print(message, file=sys.stderr)
