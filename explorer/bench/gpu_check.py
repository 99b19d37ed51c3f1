"""`python -m explorer gpu-check`: everything about the CUDA path that only a GPU can show, in a few minutes and one report.

Each part says what it compared and on what. Without a GPU the parts that a CPU can run do run, and the report names the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from explorer.analysis.markdown import markdown_table
from explorer.analysis.parting import parting
from explorer.bench import synthetic
from explorer.config import POLICY_DEFAULTS, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.drafters.pacer.scorers import FixedScorer, ModuleScorer
from explorer.engine.load_pair import load_pair
from explorer.engine.models import loading
from explorer.engine.models.fixed import FixedModel
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.registry import default_pair
from explorer.engine.pair import Pair, device_name
from explorer.engine.recorder import Recorder, plain
from explorer.prompts import EXAMPLES, read_prompts
from explorer.trace import Baseline, Trace

CPU_SHAPE = "256x4x8x2x512x8192+128x2x4x2x256x8192"  # small enough for a CPU in seconds


@dataclass(frozen=True, slots=True)
class DeviceDifference:
    """One run on two devices, or in two dtypes."""

    prompt: int  # from 0
    rule: str
    tokens: int
    index: int | None  # of the first id that differs; None where none does
    gap: float | None  # nats between the two likeliest tokens there
    near_tie: bool = False  # level within what the number format rounds (analysis/parting.py)


@dataclass(frozen=True, slots=True)
class Forms:
    """One setting with a draft whose cache grows (eager) and with one on fixed buffers (graphs on CUDA)."""

    setting: str
    runs: int
    same_ids: int
    eager: float  # seconds per drafted token
    fixed: float


def settings(tokens: int) -> dict[str, DecodeConfig]:
    """What is run everywhere: greedily, by every rule, with and without PACER's layer."""
    base = DecodeConfig(max_new_tokens=tokens)
    exact, pacer = replace(base, rule="exact", draft_length=4), POLICY_DEFAULTS["pacer"]
    return {
        "target alone": plain(base),
        "exact, K = 4": exact,
        "fly, K = 8": base,
        "exact, pacer": replace(exact, length="pacer", **pacer),
    }


def recorded(pair: Pair, text: str, config: DecodeConfig, baseline: bool = False) -> Trace:
    """One run as a trace."""
    prompt = pair.encode(text)
    recorder = Recorder(pair, prompt, config)
    for round_ in decode(pair, list(prompt.ids), config):
        recorder.add(round_)
    return recorder.trace(Baseline.of(decode(pair, list(prompt.ids), plain(config))) if baseline else None)


def with_layer(pair: Pair) -> Pair:
    """Steered by an untrained layer, which says what the draft's own probabilities say: the work of a trained one."""
    layer = PreVerificationLayer.beside(pair.draft.model)
    scorer = FixedScorer if isinstance(pair.draft, FixedModel) else ModuleScorer
    return replace(pair, scorers={"exact": scorer(layer, pair.draft.device, pair.draft.model.dtype)})


def in_forms(pair: Pair) -> tuple[Pair, Pair]:
    """The same weights with a draft whose cache grows, and with one on fixed buffers."""
    kinds = LanguageModel, FixedModel
    growing, fixed = (replace(pair, draft=kind(pair.draft.model, pair.vocab_size)) for kind in kinds)
    return with_layer(growing), with_layer(fixed)


def differences(
    pair: Pair, reference: Pair, prompts: Sequence[str], configs: dict[str, DecodeConfig]
) -> list[DeviceDifference]:
    """Runs of a pair against those of the same pair elsewhere."""
    found = []
    for number, text in enumerate(prompts):
        for name, config in configs.items():
            ours, theirs = (recorded(side, text, config) for side in (pair, reference))
            place = parting(ours, theirs)
            parted = (place.index, place.gap, place.near_tie) if place else (None, None)
            found.append(DeviceDifference(number, name, len(ours.output_ids), *parted))
    return found


def forms(pair: Pair, prompts: Sequence[str], configs: dict[str, DecodeConfig]) -> list[Forms]:
    """The two forms of the draft on every prompt, after a short run of each that does not count."""
    lines = []
    both = in_forms(pair)
    for name, config in configs.items():
        if config.rule == "autoregressive":
            continue
        same, seconds, drafted = 0, [0.0, 0.0], 0
        for form in both:
            recorded(form, prompts[0], replace(config, max_new_tokens=min(12, config.max_new_tokens)))
        for text in prompts:
            traces = [recorded(form, text, config) for form in both]
            same += traces[0].output_ids == traces[1].output_ids
            drafted += sum(len(round_.drafted) for round_ in traces[0].rounds)
            for index, trace in enumerate(traces):
                seconds[index] += trace.seconds.draft
        lines.append(Forms(name, len(prompts), same, seconds[0] / drafted, seconds[1] / drafted))
    return lines


def difference_table(found: Sequence[DeviceDifference]) -> str:
    """Runs in two places as a Markdown table."""
    head = ["prompt", "setting", "tokens", "first id that differs", "nats between the two likeliest there"]
    body = [
        [
            str(run.prompt + 1),
            run.rule,
            str(run.tokens),
            "none" if run.index is None else str(run.index),
            "-" if run.gap is None else f"{run.gap:.4f}",
        ]
        for run in found
    ]
    return markdown_table(head, body)


def forms_table(lines: Sequence[Forms], fixed: str) -> str:
    """Both forms of the draft as a Markdown table; fixed: what to call the second."""
    head = ["setting", "same ids", "eager, ms per drafted token", f"{fixed}, ms per drafted token", f"{fixed} / eager"]
    body = [
        [
            line.setting,
            f"{line.same_ids}/{line.runs}",
            f"{1e3 * line.eager:.2f}",
            f"{1e3 * line.fixed:.2f}",
            f"{line.fixed / line.eager:.2f}",
        ]
        for line in lines
    ]
    return markdown_table(head, body)


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison of the report, and how many of its runs have other ids than they must have."""

    title: str
    text: str
    mismatches: int


def differing(title: str, found: Sequence[DeviceDifference], near_ties: bool = False) -> Part:
    """Runs in two places; near_ties: whether ids may part where two tokens are level."""
    mismatches = sum(run.index is not None and not (near_ties and run.near_tie) for run in found)
    return Part(title, difference_table(found), mismatches)


def in_both_forms(title: str, lines: Sequence[Forms], fixed: str) -> Part:
    """A draft that grows its cache, and one on fixed buffers."""
    return Part(title, forms_table(lines, fixed), sum(line.runs - line.same_ids for line in lines))


def comparisons(cuda: bool, name: str, prompts: Sequence[str], tokens: int, run: Path | None) -> list[Part]:
    """What a GPU, or without one a CPU, computes against what it must. run: where the recorded run is written, on a GPU."""
    configs = settings(tokens)
    unsteered = {key: config for key, config in configs.items() if config.length != "pacer"}
    # Plain modules in float32 on the CPU: the oracle that everything else is compared with.
    reference = load_pair(name, "cpu", "float32")
    if not cuda:
        lines = forms(reference, prompts, configs)
        return [
            in_both_forms("Draft on fixed buffers against a growing cache, float32 on the CPU", lines, "fixed buffers")
        ]
    single, half = load_pair(name, "cuda", "float32"), load_pair(name, "cuda", "bfloat16")
    parts = [
        differing("float32 on the GPU against float32 on the CPU", differences(single, reference, prompts, unsteered)),
        # bfloat16 rounds coarser, so that near-ties may fall otherwise: those are listed, and are no fault.
        differing("bfloat16 on the GPU against float32 there", differences(half, single, prompts, unsteered), True),
        in_both_forms("Draft steps as graphs against eager, float32", forms(single, prompts, configs), "graph"),
        in_both_forms("The same in bfloat16", forms(half, prompts, configs), "graph"),
    ]
    if run:
        recorded(half, prompts[0], unsteered["fly, K = 8"], baseline=True).save(run)
        parts.append(Part("Recorded run", f"written to {run}", 0))
    return parts


def report(cuda: bool, prompts: Sequence[str], tokens: int, shape: str | None, run: Path | None) -> tuple[str, int]:
    """All parts as Markdown, and the number of mismatches in them."""
    name = default_pair("cuda")
    where = loading.placement("cuda" if cuda else "cpu", None if cuda else "float32")
    parts = comparisons(cuda, name, prompts, tokens, run)
    mismatches = sum(part.mismatches for part in parts)
    text, _ = synthetic.report(
        shape or ("7b+0.5b" if cuda else CPU_SHAPE),
        where,
        synthetic.LENGTHS,
        sorted((EXAMPLES / "runs").glob("*.json")),
    )
    sections = [f"# GPU check: {device_name(where.device)}, torch {torch.__version__}, pair {name}"]
    sections += [f"## {part.title}\n\n{part.text}" for part in parts]
    sections.append(f"## Forward times of random weights\n\n{text}")
    if not cuda:
        sections.append(
            "## Not run: no CUDA device\n\nids on a GPU against those of the CPU; bfloat16 against float32; CUDA graphs against eager, ids and "
            "times; a run recorded on a GPU."
        )
    failed = [f"{part.title}: {part.mismatches}" for part in parts if part.mismatches]
    sections.append("## Mismatches\n\n" + ("\n".join(failed) or "none"))
    return "\n\n".join(sections), mismatches


def main(args: argparse.Namespace) -> int:
    """Print the report; 1 where ids differ that must not, or where there is no GPU, because then the check has not been made."""
    prompts = [item.prompt for item in read_prompts(EXAMPLES / "prompts.jsonl")[: args.prompts]]
    cuda = torch.cuda.is_available()
    text, mismatches = report(cuda, prompts, args.max_new_tokens, args.synthetic, args.run)
    print(text)
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")
    return 0 if cuda and not mismatches else 1
