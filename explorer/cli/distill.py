"""`python -m explorer distill`: makes the drafts of the embedded pair from nothing but its target.

generate: the target writes training text, keeping its own view of every token; train: a few layers between the target's embeddings
and head learn that view; features: an EAGLE-3 head learns it from the target's states; evaluate: agreement and rounds of either
on held-out answers. Every step resumes where it was stopped.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.cli.options import add_collecting, count, knob_number, whole, within
from explorer.cli.progress import show
from explorer.errors import UserError
from explorer.prompts import EXAMPLES, HELD_OUT

if TYPE_CHECKING:
    from explorer.training.distill.chains import TappedText
    from explorer.training.distill.evaluate import Figures

DRAFTS = Path(__file__).parents[2] / "assets" / "weights" / "drafts"
RUNS = Path("runs/distill")  # what is made here never lies over what ships


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of all steps."""
    parser.add_argument(
        "--target",
        type=Path,
        metavar="FOLDER",
        help="of a model (default: the embedded pair's target, fetched if need be)",
    )
    parser.add_argument(
        "--data", type=Path, default=RUNS / "data", metavar="FOLDER", help="of the shards (default: %(default)s)"
    )
    parser.add_argument(
        "--threads", type=count, default=1, metavar="N",
        help="of this process; several `generate` on their own shards scale better (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--held-out",
        type=count,
        default=2,
        metavar="N",
        help="shards, from the first, kept from training (default: %(default)s)",
    )
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")

    generate = steps.add_parser("generate", help="write the missing shards of training text")
    add_collecting(
        generate, files=40, rows=128, of="answers", tokens=256, seed=1, exclude=(HELD_OUT, EXAMPLES / "prompts.jsonl")
    )
    _add_draft(
        steps.add_parser("train", help="train on all shards there are but the held-out ones, and write the draft")
    )
    _add_head(steps.add_parser("features", help="train an EAGLE-3 head on the same shards, and write it"))
    _add_evaluate(steps.add_parser("evaluate", help="agreement and rounds of a draft or a head on the held-out shards"))


def _add_draft(train: argparse.ArgumentParser) -> None:
    train.add_argument(
        "--layers",
        type=_layers,
        default=(0, 29),
        metavar="I,J,..",
        help="the target's layers to start from (default: 0,29)",
    )
    _add_training(train, "draft", RUNS / "work", RUNS / "draft", tokens=4_000_000, batch=512, rate=1.5e-3)
    train.add_argument(
        "--regression", type=within(float, 0, 1), default=0.0, metavar="X",
        help="share of the tokens spent on hidden-state regression (default: %(default)s)",
    )  # fmt: skip


def _add_head(features: argparse.ArgumentParser) -> None:
    _add_training(features, "head", RUNS / "head-work", RUNS / "head", tokens=1_000_000, batch=1024, rate=1e-3)
    features.add_argument(
        "--chain", type=within(int, 1, 16), default=4, metavar="N",
        help="drafts in a row that are trained (default: %(default)s)",
    )  # fmt: skip
    features.add_argument(
        "--alone", type=within(float, 0, 1), default=0.3, metavar="X",
        help="share of the tokens in which only the first of them is (default: %(default)s)",
    )  # fmt: skip
    features.add_argument(
        "--noise", type=within(float, 0, 10), default=0.05, metavar="X",
        help="on the states read, in units of their own spread (default: %(default)s)",
    )  # fmt: skip


def _add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument(
        "--draft",
        type=Path,
        default=DRAFTS / "smollm2-135m",
        metavar="FOLDER",
        help="of either (default: the draft that ships)",
    )
    evaluate.add_argument(
        "--draft-length",
        type=knob_number("draft_length"),
        default=8,
        metavar="K",
        help="tokens per round (default: %(default)s)",
    )


def _add_training(
    parser: argparse.ArgumentParser, made: str, work: Path, out: Path, tokens: int, batch: int, rate: float
) -> None:
    """The options that both trainings have; made: what comes out."""
    parser.add_argument(
        "--work", type=Path, default=work, metavar="FOLDER", help="of the checkpoint and the log (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=out, metavar="FOLDER", help=f"of the written {made} (default: %(default)s)"
    )
    parser.add_argument(
        "--start", type=Path, metavar=made.upper(), help=f"folder of a written {made} to go on from instead"
    )
    parser.add_argument(
        "--tokens",
        type=count,
        default=tokens,
        metavar="N",
        help="to read in all, prompts included (default: %(default)s)",
    )
    parser.add_argument(
        "--batch", type=count, default=batch, metavar="N",
        help="tokens per step; few: the data is small and steps count (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--rate",
        type=within(float, 0, 1, above=True),
        default=rate,
        metavar="X",
        help="learning rate (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=knob_number("seed"), default=1, metavar="N", help="of weights and order (default: %(default)s)"
    )


def main(args: argparse.Namespace) -> int:
    """Run one step; raises UserError."""
    import torch

    from explorer.engine.drafters.eagle import is_head
    from explorer.engine.models import loading
    from explorer.training.common.collection import shard_paths

    torch.set_num_threads(args.threads)
    folder = args.target or embedded_target()
    dtype = "bfloat16" if args.step == "generate" else "float32"
    target = loading.read_model(folder, loading.placement("cpu", dtype)).eval()
    if args.step == "generate":
        _generate(args, target, folder)
        return 0
    paths = shard_paths(args.data)
    if len(paths) <= args.held_out:
        raise UserError(
            "training.too_few_shards",
            folder=args.data,
            count=len(paths),
            held_out=args.held_out,
            command="python -m explorer distill generate",
        )
    of_head = args.step == "features" or (args.step == "evaluate" and is_head(args.draft))
    print((_head if of_head else _draft)(args, target, folder, paths).describe())
    return 0


def _generate(args: argparse.Namespace, target, folder: Path) -> None:
    from explorer.engine.models import loading
    from explorer.training.distill.generate import generate  # and with it the attention of the next line

    target.set_attn_implementation("grouped")
    tokenizer = loading.read_tokenizer(folder)
    settings = args.rows, args.max_new_tokens, args.seed, args.exclude
    show(generate(target, tokenizer, args.data, args.shards, *settings), "shards")


def _draft(args: argparse.Namespace, target, target_folder: Path, paths: list[Path]) -> Figures:
    """Train and write a draft, or evaluate a written one."""
    from explorer.training.distill import draft_files, evaluate
    from explorer.training.distill.data import read_shard
    from explorer.training.distill.report import report
    from explorer.training.distill.train_draft import DraftRecipe, build_draft, train

    held_out = [sequence for path in paths[: args.held_out] for sequence in read_shard(path)]
    if args.step == "evaluate":
        return evaluate.evaluate(draft_files.read(target, args.draft), held_out, args.draft_length)
    if max(args.layers) >= target.config.num_hidden_layers:
        raise UserError("training.no_such_layer", target=target_folder, count=target.config.num_hidden_layers)
    options = {name: getattr(args, name) for name in ("layers", "tokens", "regression", "batch", "rate", "seed")}
    start, runs = _start(args)
    recipe = DraftRecipe(**options, start=start)
    model = draft_files.read(target, args.start) if args.start else build_draft(target, args.layers)
    counters = show(train(model, paths[args.held_out :], held_out[::8], args.work, recipe), "tokens")
    figures = evaluate.evaluate(model, held_out, 8)
    draft_files.write(model, args.out, target_folder, [*runs, asdict(recipe) | counters], figures)
    print(f"report: {report(args.out, args.work, 'Draft', figures)}", flush=True)
    return figures


def _head(args: argparse.Namespace, target, target_folder: Path, paths: list[Path]) -> Figures:
    """Train and write an EAGLE-3 head, or evaluate a written one."""
    import torch

    from explorer.engine.drafters.eagle import read_head
    from explorer.training.common.collection import shard_number
    from explorer.training.distill.chains import read_texts
    from explorer.training.distill.head_files import build_head, write_head
    from explorer.training.distill.report import report
    from explorer.training.distill.train_head import HeadRecipe, evaluate, train

    def texts(some: list[Path]) -> list[TappedText]:
        return [text for path in some for text in read_texts(target, path, args.data / "tapped")]

    def read(folder: Path):
        return read_head(folder, target).float()

    held_out = texts(paths[: args.held_out])
    if args.step == "evaluate":
        return evaluate(read(args.draft), target, held_out, args.draft_length)
    options = {name: getattr(args, name) for name in ("tokens", "chain", "alone", "noise", "batch", "rate", "seed")}
    start, runs = _start(args)
    recipe = HeadRecipe(**options, start=start)
    data = texts(paths[args.held_out :])
    torch.manual_seed(args.seed)
    head = read(args.start).requires_grad_(True) if args.start else build_head(target, data)
    head.lm_head.requires_grad_(False)
    print(f"start: {evaluate(head.eval(), target, held_out[::8], 8).describe()}", flush=True)
    counters = show(train(head.train(), target, data, held_out[::8], args.work, recipe), "tokens")
    counters |= {"held_out": args.held_out, "shards": [shard_number(path) for path in paths[args.held_out :]]}
    figures = evaluate(head.eval().bfloat16().float(), target, held_out, 8)  # as written
    write_head(head, args.out, target_folder, [*runs, asdict(recipe) | counters], figures)
    print(f"report: {report(args.out, args.work, 'EAGLE-3 head', figures)}", flush=True)
    return figures


def _start(args: argparse.Namespace) -> tuple[str, list[dict]]:
    """Of what a training goes on from: the sha256 of its weights, and how it was trained; nothing where it begins anew."""
    from explorer.training.distill.draft_files import read_runs, sha256

    return (sha256(args.start / "model.safetensors"), read_runs(args.start)) if args.start else ("", [])


def embedded_target() -> Path:
    """The folder of the embedded pair's target, fetched if need be; raises WeightsError."""
    from explorer.engine.models.registry import default_pair, find_pair
    from explorer.engine.models.weights import registry_model

    return registry_model(find_pair(default_pair()).target)


def _layers(text: str) -> tuple[int, ...]:
    return tuple(map(whole, text.split(",")))
