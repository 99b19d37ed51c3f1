"""This engine beside transformers' own decoding, in one process, interleaved prompt by prompt.

On a CPU this engine runs packed weights (engine/models/packed.py) unless a dtype is named; transformers' rows run its own float32
modules of the same weights. rows: what is run; lines: what is shown of it; synthetic: forward times of random weights.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from explorer.analysis.cost_files import KEY
from explorer.bench.cost_check import costs_of
from explorer.bench.lines import drafts_that_differ, kind_table, notes, pooled, table
from explorer.bench.measured import DRAFT_ALONE, LLAMA_CPP, PLAIN, fastest_name
from explorer.bench.pacer_rows import adaptive_rows, read_row
from explorer.bench.peer import Peer, PeerFailed, PeerMissing
from explorer.bench.plain_rows import draft_alone, fastest_form, other_target, scored
from explorer.bench.rows import (
    Runner,
    choose,
    is_chosen,
    measure,
    our_rows,
    ours,
    runnable,
    say,
    their_names,
    their_rows,
)
from explorer.config import DecodeConfig
from explorer.engine.load_pair import load_pair
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.registry import FORMS, default_pair, find_pair
from explorer.engine.models.weights import gguf_of
from explorer.engine.pair import Pair
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.messages import Message
from explorer.prompts import PromptItem
from explorer.schema import write


@dataclass(slots=True)
class Contest:
    """The rows that are run, and what there is to say of them beside the figures."""

    rows: dict[str, Runner]
    weights: dict[str, int]  # bytes, by model and form
    said: list[str]  # sentences, one for each row that is not there as wanted, and why
    form_milliseconds: dict[str, float]  # a pass of the target over one row, by form; empty: forms were not timed
    peer: dict[str, str | int] | None = None  # which program, where one runs beside this engine


def main(args: argparse.Namespace, items: Sequence[PromptItem]) -> int:
    """Measure on these prompts, print a Markdown table on stdout and progress on stderr."""
    lengths = args.draft_length or [DecodeConfig().draft_length]
    base = DecodeConfig(max_new_tokens=args.max_new_tokens)
    for text in args.row:
        read_row(text, base, {})  # refused before anything is loaded
    name = args.pair or default_pair(args.device)
    pair = load_pair(name, args.device, args.dtype, args.target_form, say)
    resident = _resident_bytes()
    if args.pacer_layer:
        pair = pair.with_pacer_layer(args.pacer_layer)
    prompts = [list(pair.encode(item.prompt).ids) for item in items]
    with ExitStack() as stack:
        contest = _contest(args, name, pair, base, lengths)
        if args.peer:
            _add_peer(contest, args, name, pair, base, stack)
        chosen, left_out = runnable(contest.rows, prompts[0])
        passes = measure(chosen, prompts, args.passes)
    lines = pooled(passes, [item.kind for item in items])

    provenance = pair.provenance()
    said = [*notes(lines), *contest.said, *left_out, *map(str, provenance.notes)]
    print(table(lines), kind_table(lines), *said, sep="\n\n")
    print(
        f"\nMeasured: {provenance.pair}, {len(prompts)} prompts of {args.prompts.name}, {base.max_new_tokens} tokens, "
        f"{args.passes} passes, target {provenance.dtype['target']}, draft {provenance.dtype['draft']}, "
        f"{provenance.device}, {provenance.date[:10]}. Weights: "
        + ", ".join(f"{form} {size / 1e6:.0f} MB" for form, size in contest.weights.items())
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
            "memory": {"weights": contest.weights, "resident": resident},
            "form_milliseconds": contest.form_milliseconds,
            "peer": contest.peer,
            "said": said,
            "lines": [asdict(one) for one in lines],
            KEY: write(costs_of(passes, provenance)),
        }
        write_whole(args.out, json.dumps(record, indent=1))
    return 0


def _contest(args: argparse.Namespace, name: str, pair: Pair, base: DecodeConfig, lengths: Sequence[int]) -> Contest:
    """What `--rows` chooses, in the order of the table: plain rows first. Raises UserError for a text that names no row."""
    rows = our_rows(pair, base, lengths)
    rows |= {row: ours(pair, config) for row, config in adaptive_rows(pair, base, pair.cards, args.row).items()}
    form_names, their = [fastest_name(form) for form in FORMS], their_names(lengths)
    known = [PLAIN, DRAFT_ALONE, *form_names, *(row for row in rows if row != PLAIN), *their]
    for text in args.rows or ():
        if not any(text in row for row in known):
            raise UserError("bench.no_such_row", text=repr(text), known="; ".join(known))

    def wanted(names: Sequence[str]) -> bool:
        return any(is_chosen(row, args.rows) for row in names)

    contest = Contest({PLAIN: rows[PLAIN]}, _weights(pair), [], {})
    if wanted([DRAFT_ALONE]):
        if pair.draft_side:
            contest.said.append(str(Message("bench.draft_vocabulary", {"row": DRAFT_ALONE})))
        else:
            contest.rows[DRAFT_ALONE] = draft_alone(pair, base)
    if wanted(form_names):
        say("Timing the forms of the target ...")
        found = fastest_form(pair, lambda form: load_pair(name, args.device, form=form).target)
        contest.said += map(str, found.said)
        contest.form_milliseconds = found.milliseconds
        if found.model is not pair.target:
            contest.rows[fastest_name(found.model.form)] = other_target(pair, found.model, base)
            contest.weights[f"target {found.model.dtype_name}"] = found.model.weight_bytes
    contest.rows |= choose(rows, [*args.rows, *args.row] if args.rows else None)
    if wanted(their):
        reference = pair if isinstance(pair.target, LanguageModel) else load_pair(name, args.device, "float32")
        contest.weights |= _weights(reference)
        contest.rows |= choose(their_rows(reference, base, lengths), args.rows)
    return contest


def _add_peer(
    contest: Contest, args: argparse.Namespace, name: str, pair: Pair, base: DecodeConfig, stack: ExitStack
) -> None:
    """Start the peer, which ends with the stack, and add its row after plain greedy, or the sentence why it is not there."""
    try:
        gguf = args.gguf or gguf_of(find_pair(name).target, say)
        if gguf is None:
            raise PeerMissing("bench.peer_no_gguf")
        peer = stack.enter_context(Peer(gguf, torch.get_num_threads(), args.peer_path or Path.cwd()))
    except (PeerMissing, PeerFailed) as error:
        contest.said.append(str(Message("bench.not_run", {"row": LLAMA_CPP, "reason": error})))
        return
    contest.peer = peer.about
    contest.said.append(str(Message("bench.peer_named", peer.about | {"row": LLAMA_CPP})))
    stop = sorted(pair.stop_ids)
    row = scored(pair.target, lambda prompt: peer.decode(prompt, stop, base.max_new_tokens))
    contest.rows = {PLAIN: contest.rows[PLAIN], LLAMA_CPP: row} | contest.rows


def _weights(pair: Pair) -> dict[str, int]:
    """Bytes of weights by model and form."""
    models = {"target": pair.target, "draft": pair.draft} | ({"head": pair.head} if pair.head else {})
    return {f"{side} {model.dtype_name}": model.weight_bytes for side, model in models.items()}


def _resident_bytes() -> int:
    """Memory this process holds now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
