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
class Difference:
    """One run on two devices, or in two dtypes."""

    prompt: int  # from 0
    rule: str
    tokens: int
    index: int | None  # of the first id that differs; None where none does
    gap: float | None  # nats between the two likeliest tokens there


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
) -> list[Difference]:
    """Runs of a pair against those of the same pair elsewhere."""
    found = []
    for number, text in enumerate(prompts):
        for name, config in configs.items():
            ours, theirs = (recorded(one, text, config) for one in (pair, reference))
            place = parting(ours, theirs)
            index, gap = (place.index, place.gap) if place else (None, None)
            found.append(Difference(number, name, len(ours.output_ids), index, gap))
    return found


def forms(pair: Pair, prompts: Sequence[str], configs: dict[str, DecodeConfig]) -> list[Forms]:
    """The two forms of the draft on every prompt, after a short run of each that does not count."""
    lines = []
    both = in_forms(pair)
    for name, config in configs.items():
        if config.rule == "autoregressive":
            continue
        same, seconds, drafted = 0, [0.0, 0.0], 0
        for one in both:
            recorded(one, prompts[0], replace(config, max_new_tokens=min(12, config.max_new_tokens)))
        for text in prompts:
            traces = [recorded(one, text, config) for one in both]
            same += traces[0].output_ids == traces[1].output_ids
            drafted += sum(len(round_.drafted) for round_ in traces[0].rounds)
            for index, trace in enumerate(traces):
                seconds[index] += trace.seconds.draft
        lines.append(Forms(name, len(prompts), same, seconds[0] / drafted, seconds[1] / drafted))
    return lines


def difference_table(found: Sequence[Difference]) -> str:
    head = ["prompt", "setting", "tokens", "first id that differs", "nats between the two likeliest there"]
    body = [
        [
            str(one.prompt + 1),
            one.rule,
            str(one.tokens),
            "none" if one.index is None else str(one.index),
            "-" if one.gap is None else f"{one.gap:.4f}",
        ]
        for one in found
    ]
    return markdown_table(head, body)


def forms_table(lines: Sequence[Forms], fixed: str) -> str:
    head = ["setting", "same ids", "eager, ms per drafted token", f"{fixed}, ms per drafted token", f"{fixed} / eager"]
    body = [
        [
            one.setting,
            f"{one.same_ids}/{one.runs}",
            f"{1e3 * one.eager:.2f}",
            f"{1e3 * one.fixed:.2f}",
            f"{one.fixed / one.eager:.2f}",
        ]
        for one in lines
    ]
    return markdown_table(head, body)


def report(cuda: bool, prompts: Sequence[str], tokens: int, shape: str | None, run: Path | None) -> str:
    """All parts as Markdown. run: where the recorded run is written, on a GPU."""
    name = default_pair("cuda")
    configs = settings(tokens)
    unsteered = {key: config for key, config in configs.items() if config.length != "pacer"}
    # Plain modules in float32 on the CPU: the oracle that everything else is compared with.
    reference = load_pair(name, "cpu", "float32")
    where = loading.placement("cuda" if cuda else "cpu", None if cuda else "float32")
    parts = [f"# GPU check: {device_name(where.device)}, torch {torch.__version__}, pair {name}"]
    if cuda:
        single, half = load_pair(name, "cuda", "float32"), load_pair(name, "cuda", "bfloat16")
        parts += ["## float32 on the GPU against float32 on the CPU", difference_table(differences(single, reference, prompts, unsteered))]  # fmt: skip
        parts += ["## bfloat16 on the GPU against float32 there", difference_table(differences(half, single, prompts, unsteered))]  # fmt: skip
        parts += [
            "## Draft steps as graphs against eager, float32",
            forms_table(forms(single, prompts, configs), "graph"),
        ]
        parts += ["## The same in bfloat16", forms_table(forms(half, prompts, configs), "graph")]
        if run:
            recorded(half, prompts[0], unsteered["fly, K = 8"], baseline=True).save(run)
            parts += ["## Recorded run", f"written to {run}"]
    else:
        parts += ["## Draft on fixed buffers against a growing cache, float32 on the CPU", forms_table(forms(reference, prompts, configs), "fixed buffers")]  # fmt: skip
    text, _ = synthetic.report(
        shape or ("7b+0.5b" if cuda else CPU_SHAPE),
        where,
        synthetic.LENGTHS,
        sorted((EXAMPLES / "runs").glob("*.json")),
    )
    parts += ["## Forward times of random weights", text]
    if not cuda:
        parts.append(
            "## Not run: no CUDA device\n\nids on a GPU against those of the CPU; bfloat16 against float32; CUDA graphs against eager, ids and "
            "times; a run recorded on a GPU."
        )
    return "\n\n".join(parts)


def main(args: argparse.Namespace) -> int:
    """Print the report; 1 where there is no GPU, because then the check has not been made."""
    prompts = [item.prompt for item in read_prompts(EXAMPLES / "prompts.jsonl")[: args.prompts]]
    cuda = torch.cuda.is_available()
    text = report(cuda, prompts, args.max_new_tokens, args.synthetic, args.run)
    print(text)
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")
    return 0 if cuda else 1
