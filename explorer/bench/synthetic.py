"""`python -m explorer bench --synthetic SHAPE`: forward times of models of a shape on this device, from random weights.

Nothing is downloaded and nothing is read: what a draft step and a verification take depends on shapes, not on what the weights
mean. How far a draft gets does, so the modelled speeds take that from recorded runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel, Qwen2Config

from explorer.analysis.cost_files import KEY
from explorer.analysis.costs import CostProfile, work_of
from explorer.analysis.markdown import markdown_table
from explorer.engine.models import loading
from explorer.engine.models.fixed import FixedModel
from explorer.engine.models.model import LanguageModel
from explorer.engine.pair import device_name
from explorer.engine.timing import median_seconds
from explorer.errors import UserError
from explorer.prompts import EXAMPLES
from explorer.schema import write
from explorer.trace import Trace

CONTEXT = 160  # tokens held before a timed forward
LENGTHS = (1, 2, 4, 8, 16)  # drafted tokens K of the timed verifications
CHAIN = 8  # draft steps timed together, each fed with the token of the one before
COPIED = {"cuda": 2**30, "cpu": 2**28}  # bytes of the buffer whose copy measures the bandwidth

# Hidden size, layers, heads, key-value heads, MLP size, vocabulary, whether embedding and head are one table: those of
# SmolLM2 135M and of Qwen2.5.
KNOWN = {
    "135m": (576, 30, 9, 3, 1536, 49152, True),
    "0.5b": (896, 24, 14, 2, 4864, 151936, True),
    "1.5b": (1536, 28, 12, 2, 8960, 151936, True),
    "3b": (2048, 36, 16, 2, 11008, 151936, True),
    "7b": (3584, 28, 28, 4, 18944, 152064, False),
    "14b": (5120, 48, 40, 8, 13824, 152064, False),
    "32b": (5120, 64, 40, 8, 27648, 152064, False),
    "72b": (8192, 80, 64, 8, 29568, 152064, False),
}


class ShapeError(UserError):
    """A shape that is neither known by name nor spelled out rightly."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Sizes of a Qwen2-shaped decoder."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    mlp: int
    vocabulary: int
    tied: bool  # one table for embedding and head

    @classmethod
    def read(cls, text: str) -> ModelShape:
        """A name of KNOWN, or HIDDENxLAYERSxHEADS[xKV_HEADS[xMLP[xVOCABULARY]]]; raises ShapeError."""
        if text.lower() in KNOWN:
            return cls(*KNOWN[text.lower()])
        parts = text.lower().split("x")
        if not 3 <= len(parts) <= 6 or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise ShapeError("bench.unknown_shape", value=repr(text), known=", ".join(KNOWN))
        hidden, layers, heads, *rest = map(int, parts)
        kv_heads, mlp, vocabulary = [*rest, *(heads, 4 * hidden, 32000)[len(rest) :]]
        if hidden % (2 * heads) or heads % kv_heads:
            raise ShapeError("bench.shape_heads", value=repr(text))
        return cls(hidden, layers, heads, kv_heads, mlp, vocabulary, tied=True)

    def build(self, where: loading.Placement) -> PreTrainedModel:
        """A model with random weights, made on the device."""
        config = Qwen2Config(
            hidden_size=self.hidden, num_hidden_layers=self.layers, num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads, intermediate_size=self.mlp, vocab_size=self.vocabulary,
            tie_word_embeddings=self.tied, max_position_embeddings=4096,
        )  # fmt: skip
        with where.device:
            model = AutoModelForCausalLM.from_config(
                config, dtype=where.dtype, attn_implementation="sdpa", trust_remote_code=False
            )
        return model.eval()


def read_shapes(text: str) -> tuple[ModelShape, ModelShape]:
    """TARGET+DRAFT -> both shapes; raises ShapeError."""
    target, plus, draft = text.partition("+")
    if not plus:
        raise ShapeError("bench.shape_pair", value=repr(text))
    return ModelShape.read(target.strip()), ModelShape.read(draft.strip())


@dataclass(frozen=True, slots=True)
class Timing:
    """Median seconds of one forward, measured on this device."""

    what: str
    drafted: int | None  # K of a verification; None for a draft step
    eager: float  # transformers' modules, a growing cache
    fixed: float  # fixed buffers, as a CUDA graph where there is CUDA
    limit: float  # the weights it reads, at the bandwidth of a copy

    @property
    def best(self) -> float:
        """Seconds of the faster form."""
        return min(self.eager, self.fixed)


@dataclass(frozen=True, slots=True)
class Modelled:
    """What a recorded run would take in forwards of these times: modelled, not run."""

    run: str
    pair: str
    tau: float
    tokens_per_second: float
    times_plain: float


@torch.inference_mode()
def bandwidth(device: torch.device) -> float:
    """Bytes per second of a large copy on the device, read and written, measured."""
    source = torch.ones(COPIED.get(device.type, COPIED["cpu"]), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / median_seconds(lambda: target.copy_(source), device)


def weights_read(model: PreTrainedModel) -> int:
    """Bytes of weights that one forward reads: all but an embedding table of its own, of which it reads a few rows."""
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    return sum(weight.nbytes for weight in model.parameters()) - (0 if embedding is head else embedding.nbytes)


@torch.inference_mode()
def measure(
    target: PreTrainedModel, draft: PreTrainedModel, lengths: Sequence[int], speed: float, repeats: int = 7
) -> tuple[Timing, ...]:
    """A draft step and verifications of K = 0 and of each length; speed: bytes per second of the device's memory."""
    vocabulary = min(model.config.vocab_size for model in (target, draft))
    lengths = sorted({0, *lengths})
    ids = torch.arange(CONTEXT + lengths[-1] + 1, device=target.device) % vocabulary

    def forms(model: PreTrainedModel, recorded: int) -> list[LanguageModel]:
        return [LanguageModel(model, vocabulary), FixedModel(model, vocabulary, recorded)]

    def steps(model: LanguageModel) -> float:
        context = model.open()
        context.prefill(ids[:CONTEXT])

        def chain() -> None:
            token = ids[:1]
            for _ in range(CHAIN):
                token = context.feed(token, rows=1).argmax(dim=-1)
            context.crop(CONTEXT)

        return median_seconds(chain, ids.device, repeats) / CHAIN

    def verification(model: LanguageModel, count: int) -> float:
        context = model.open()
        context.prefill(ids[:CONTEXT])

        def verify() -> None:
            context.feed(ids[:count], rows=count)
            context.crop(CONTEXT)

        return median_seconds(verify, ids.device, repeats)

    timings = [Timing("draft step", None, *map(steps, forms(draft, 1)), weights_read(draft) / speed)]
    for length in lengths:
        seconds = map(partial(verification, count=length + 1), forms(target, length + 1))
        timings.append(Timing(f"verify, K = {length}", length, *seconds, weights_read(target) / speed))
    return tuple(timings)


def costs_of(timings: Sequence[Timing], shape: str, where: str, dtype: str) -> CostProfile:
    """The better of both times of every forward, forwards only."""
    step = next(timing.best for timing in timings if timing.drafted is None)
    passes = {timing.drafted + 1: 1e3 * timing.best for timing in timings if timing.drafted is not None}
    target, _, draft = shape.partition("+")
    return CostProfile(
        name=shape,
        source="measured",
        unit="ms",
        step=1e3 * step,
        passes=passes,
        target=target,
        draft=draft,
        forms={"target": dtype, "draft": dtype},
        device=where,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        assumes="Random weights of these shapes; model forwards only.",
    )


def modelled(costs: CostProfile, run: str, trace: Trace) -> Modelled:
    """The rounds of a recorded run at these costs, against one pass per token."""
    tokens, work = len(trace.output_ids), work_of(trace)
    return Modelled(
        run,
        trace.provenance.pair,
        tokens / len(trace.rounds),
        costs.tokens_per_second(tokens, work),
        costs.times_plain(tokens, work),
    )


def timing_table(timings: Sequence[Timing], device: torch.device) -> str:
    """Milliseconds as a Markdown table."""
    fixed = "graph" if device.type == "cuda" else "fixed buffers"
    head = ["forward", "eager, ms", f"{fixed}, ms", f"{fixed} / eager", "bandwidth limit, ms", f"{fixed} / limit"]
    body = [
        [
            timing.what,
            f"{1e3 * timing.eager:.2f}",
            f"{1e3 * timing.fixed:.2f}",
            f"{timing.fixed / timing.eager:.2f}",
            f"{1e3 * timing.limit:.2f}",
            f"{timing.fixed / timing.limit:.2f}",
        ]
        for timing in timings
    ]
    return markdown_table(head, body)


def modelled_table(models: Sequence[Modelled]) -> str:
    """Modelled speeds as a Markdown table."""
    head = ["acceptance of the recorded run", "of the pair", "tau", "tokens/s, modelled", "x plain, modelled"]
    body = [
        [model.run, model.pair, f"{model.tau:.2f}", f"{model.tokens_per_second:.1f}", f"{model.times_plain:.2f}"]
        for model in models
    ]
    return markdown_table(head, body)


def report(shape: str, where: loading.Placement, lengths: Sequence[int], runs: Sequence[Path]) -> tuple[str, dict]:
    """Build, measure and model: the Markdown of it, and the same as data. Raises UserError for a shape or a run."""
    shapes = read_shapes(shape)
    traces = [(path.stem, Trace.load(path)) for path in runs]
    torch.manual_seed(0)
    speed = bandwidth(where.device)
    target, draft = (each.build(where) for each in shapes)
    timings = measure(target, draft, lengths, speed)
    dtype = str(where.dtype).removeprefix("torch.")
    costs = costs_of(timings, shape, device_name(where.device), dtype)
    models = [modelled(costs, name, trace) for name, trace in traces if trace.config.rule != "autoregressive"]
    source = (
        f"Measured: {shape}, random weights, {dtype}, {CONTEXT} tokens held, {device_name(where.device)}, torch "
        f"{torch.__version__}, {datetime.now(UTC).date()}; a copy moves {speed / 1e9:.0f} GB/s. Modelled: the recorded runs' "
        "rounds at the better of both times, model forwards only; another pair drafts otherwise."
    )
    text = "\n\n".join([timing_table(timings, where.device), modelled_table(models), source])
    record = {
        "shape": shape,
        "shapes": [asdict(each) for each in shapes],
        "dtype": dtype,
        "device": device_name(where.device),
        "bytes_per_second": speed,
        "timings": [asdict(timing) for timing in timings],
        "modelled": [asdict(model) for model in models],
        KEY: write(costs),
    }
    return text, record


def main(args: argparse.Namespace) -> int:
    """Print the tables on stdout; raises UserError."""
    where = loading.placement(args.device, args.dtype)
    if where.device_map:
        raise UserError("bench.shape_device")
    if where.form:
        print(
            "note: on a CPU pairs run packed (python -m explorer bench); these are transformers' own modules",
            file=sys.stderr,
        )
    runs = args.trace or sorted((EXAMPLES / "runs").glob("*.json"))
    text, record = report(args.synthetic, where, args.draft_length or LENGTHS, runs)
    print(text)
    if args.out:
        args.out.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return 0
