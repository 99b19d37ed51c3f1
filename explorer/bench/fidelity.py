"""`python -m explorer bench --forms`: what each form of a target costs in fidelity against float32, and what it takes.

Every form runs in a process of its own, so that one never weighs on the memory of another. float32 comes first: its greedy text,
and what it found likely along the way, are what the others are held against.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import torch
from torch import Tensor

from explorer.bench.form_lines import ROWS, FormLine, form_origin, form_table
from explorer.bench.forms import logprobs_along, pass_seconds
from explorer.bench.rows import ours, say
from explorer.config import DecodeConfig
from explorer.engine.load_pair import load_pair
from explorer.engine.models.linears import Form
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import FORMS, default_pair
from explorer.engine.pair import Pair
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.prompts import PromptItem
from explorer.trace import Provenance

LIKELIEST = 256  # tokens of a row that KL tells apart; the rest of the vocabulary counts as one


class ReferenceText(NamedTuple):
    """float32's greedy text after one prompt, and what it found likely along the way."""

    ids: tuple[int, ...]  # [n]
    logprobs: Tensor  # [n] of these ids, nats
    likeliest: Tensor  # [n, LIKELIEST] ids, or as many as there are
    likeliest_logprobs: Tensor  # their log-probabilities


@dataclass(frozen=True, slots=True)
class Measurement:
    """What the process of one form hands back."""

    line: FormLine
    reference: tuple[ReferenceText, ...]
    provenance: Provenance


def main(args: argparse.Namespace, items: Sequence[PromptItem]) -> int:
    """Measure every form on these prompts; print a Markdown table on stdout and progress on stderr."""
    name, config = args.pair or default_pair(args.device), DecodeConfig(max_new_tokens=args.max_new_tokens)
    prompts, reference, lines, provenance = [item.prompt for item in items], None, [], None
    for form in FORMS:
        say(f"{form}, form {len(lines) + 1} of {len(FORMS)}")
        work = (measure_loaded, name, args.device, form, prompts, config.max_new_tokens, args.passes, reference)
        try:
            measured = in_own_process(*work, torch.get_num_threads())
        except BrokenProcessPool:
            raise UserError("bench.form_ended", form=form) from None
        reference, provenance = reference or measured.reference, provenance or measured.provenance
        lines.append(measured.line)
    record = {
        "provenance": asdict(provenance),
        "config": asdict(config),
        "forms": [asdict(line) for line in lines],
    }
    print(form_table(lines), form_origin(record), sep="\n\n")
    if args.out:
        write_whole(args.out, json.dumps(record, indent=1))
    return 0


def in_own_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives in a new process; its errors are raised here. Raises BrokenProcessPool where the process is killed."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def measure_loaded(
    name: str,
    device: str | None,
    form: Form,
    texts: Sequence[str],
    budget: int,
    passes: int,
    reference: Sequence[ReferenceText] | None,
    threads: int,
) -> Measurement:
    """`measure_form` on a pair that is loaded for it; raises UserError where its target has no such form."""
    torch.set_num_threads(threads)
    pair = load_pair(name, device, form=form, progress=say)
    prompts = [list(pair.encode(text).ids) for text in texts]
    measured = measure_form(pair, prompts, DecodeConfig(max_new_tokens=budget), passes, reference)
    return replace(measured, line=replace(measured.line, peak_bytes=peak_bytes()))


def measure_form(
    pair: Pair,
    prompts: Sequence[list[int]],
    config: DecodeConfig,
    passes: int,
    reference: Sequence[ReferenceText] | None = None,
) -> Measurement:
    """Measure the target of a pair in the form it has; reference: float32's texts after the same prompts, None: it is float32."""
    target, plain = pair.target, ours(pair, replace(config, rule="autoregressive"))
    plain(prompts[0])  # kernels are chosen and memory is taken in it
    runs = [[plain(prompt) for prompt in prompts] for _ in range(passes)]
    own = [one.ids for one in runs[-1]]
    reference = reference or [reference_text(target, prompt, ids) for prompt, ids in zip(prompts, own)]
    rows = [compare(target, prompt, text) for prompt, text in zip(prompts, reference)]
    fidelity, divergence, agreement = (fmean(torch.cat(column).tolist()) for column in zip(*rows))
    line = FormLine(
        form=target.form,
        stored=target.dtype_name.replace(" packed", ""),
        fidelity=fidelity,
        divergence=divergence,
        agreement=agreement,
        same_ids=sum(ids == text.ids for ids, text in zip(own, reference)),
        prompts=len(prompts),
        tokens_per_second=median(sum(len(m.ids) for m in run) / sum(m.wall for m in run) for run in runs),
        pass_milliseconds={str(count): 1e3 * pass_seconds(target, count) for count in ROWS},
        draft_milliseconds=1e3 * pass_seconds(pair.draft, 1),
        weight_bytes=target.weight_bytes,
        peak_bytes=0,
    )
    return Measurement(line, tuple(reference), pair.provenance())


def reference_text(target: PackedModel, prompt: Sequence[int], ids: Sequence[int]) -> ReferenceText:
    """What `compare` needs of a text of the reference's own."""
    along = logprobs_along(target, prompt, ids)
    likeliest = along.topk(min(LIKELIEST, along.shape[1]))
    return ReferenceText(tuple(ids), _at(along, ids), likeliest.indices, likeliest.values)


def compare(target: PackedModel, prompt: Sequence[int], text: ReferenceText) -> tuple[Tensor, Tensor, Tensor]:
    """Along a text of the reference, a value per token: log-probability above the reference's, KL(reference || target), both in
    nats, and whether the token is the target's choice.

    KL tells the reference's likeliest tokens apart and takes all others as one, so it may be a little too small.
    """
    along = logprobs_along(target, prompt, text.ids)
    p, q = text.likeliest_logprobs.double(), along.gather(1, text.likeliest).double()
    rest_p, rest_q = ((1 - logprobs.exp().sum(dim=1)).clamp_min(0.0) for logprobs in (p, q))
    rest = torch.special.xlogy(rest_p, rest_p / rest_q.clamp_min(1e-12))
    divergence = (p.exp() * (p - q)).sum(dim=1) + rest
    agreement = (along.argmax(dim=1) == torch.tensor(text.ids)).double()
    return _at(along, text.ids) - text.logprobs, divergence, agreement


def peak_bytes() -> int:
    """The most memory this process has held; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def _at(along: Tensor, ids: Sequence[int]) -> Tensor:
    return along.gather(1, torch.tensor(ids)[:, None])[:, 0]
