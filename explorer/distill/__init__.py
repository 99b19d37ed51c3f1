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

from explorer.errors import UserError
from explorer.options import count, knob_number, shards, whole, within

if TYPE_CHECKING:
    from explorer.distill.evaluate import Figures
    from explorer.distill.unroll import Text

ASSETS = Path(__file__).parents[2] / "assets"
EXAMPLES = Path(__file__).parents[2] / "examples"
RUNS = Path("runs/distill")  # what is made here never lies over what ships
RATE = within(float, 0, 1, above=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    generate.add_argument(
        "--shards", type=shards, default=range(40), metavar="START:STOP", help="numbers of the files (default: 0:40)"
    )
    generate.add_argument(
        "--rows", type=count, default=128, metavar="N", help="answers per shard (default: %(default)s)"
    )
    generate.add_argument(
        "--max-new-tokens", type=knob_number("max_new_tokens"), default=256, metavar="N",
        help="tokens of an answer, at most (default: %(default)s)",
    )  # fmt: skip
    generate.add_argument(
        "--seed", type=knob_number("seed"), default=1, metavar="N", help="of the prompts (default: %(default)s)"
    )
    generate.add_argument(
        "--exclude", type=Path, nargs="*", default=[EXAMPLES / "heldout.jsonl", EXAMPLES / "prompts.jsonl"], metavar="F",
        help='JSON lines with a "prompt": prompts close to these are dropped (default: the held-out prompts and the examples)',
    )  # fmt: skip

    train = steps.add_parser("train", help="train on all shards there are but the held-out ones, and write the draft")
    train.add_argument(
        "--work",
        type=Path,
        default=RUNS / "work",
        metavar="FOLDER",
        help="of the checkpoint and the log (default: %(default)s)",
    )
    train.add_argument(
        "--out", type=Path, default=RUNS / "draft", metavar="FOLDER", help="of the written draft (default: %(default)s)"
    )
    train.add_argument(
        "--layers",
        type=_layers,
        default=(0, 29),
        metavar="I,J,..",
        help="the target's layers to start from (default: 0,29)",
    )
    train.add_argument("--start", type=Path, metavar="DRAFT", help="folder of a written draft to go on from instead")
    train.add_argument(
        "--tokens",
        type=count,
        default=4_000_000,
        metavar="N",
        help="to read in all, prompts included (default: %(default)s)",
    )
    train.add_argument(
        "--regression", type=within(float, 0, 1), default=0.0, metavar="X",
        help="share of the tokens spent on hidden-state regression (default: %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--batch", type=count, default=512, metavar="N",
        help="tokens per step; few: the data is small and steps count (default: %(default)s)",
    )  # fmt: skip
    train.add_argument("--rate", type=RATE, default=1.5e-3, metavar="X", help="learning rate (default: %(default)s)")
    train.add_argument(
        "--seed", type=knob_number("seed"), default=1, metavar="N", help="of the order (default: %(default)s)"
    )

    features = steps.add_parser("features", help="train an EAGLE-3 head on the same shards, and write it")
    features.add_argument(
        "--work",
        type=Path,
        default=RUNS / "head-work",
        metavar="FOLDER",
        help="of the checkpoint and the log (default: %(default)s)",
    )
    features.add_argument(
        "--out", type=Path, default=RUNS / "head", metavar="FOLDER", help="of the written head (default: %(default)s)"
    )
    features.add_argument("--start", type=Path, metavar="HEAD", help="folder of a written head to go on from")
    features.add_argument(
        "--tokens",
        type=count,
        default=1_000_000,
        metavar="N",
        help="to read in all, prompts included (default: %(default)s)",
    )
    features.add_argument(
        "--chain",
        type=within(int, 1, 16),
        default=4,
        metavar="N",
        help="drafts in a row that are trained (default: %(default)s)",
    )
    features.add_argument(
        "--alone", type=within(float, 0, 1), default=0.3, metavar="X",
        help="share of the tokens in which only the first of them is (default: %(default)s)",
    )  # fmt: skip
    features.add_argument(
        "--noise", type=within(float, 0, 10), default=0.05, metavar="X",
        help="on the states read, in units of their own spread (default: %(default)s)",
    )  # fmt: skip
    features.add_argument(
        "--batch", type=count, default=1024, metavar="N", help="tokens per step (default: %(default)s)"
    )
    features.add_argument("--rate", type=RATE, default=1e-3, metavar="X", help="learning rate (default: %(default)s)")
    features.add_argument(
        "--seed", type=knob_number("seed"), default=1, metavar="N", help="of weights and order (default: %(default)s)"
    )

    evaluate = steps.add_parser("evaluate", help="agreement and rounds of a draft or a head on the held-out shards")
    evaluate.add_argument(
        "--draft",
        type=Path,
        default=ASSETS / "drafts/smollm2-135m",
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


def main(args: argparse.Namespace) -> int:
    """Run one step; raises UserError."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from explorer.distill import draft, evaluate, generate, train
    from explorer.distill.data import read_shard, shard_paths

    torch.set_num_threads(args.threads)
    folder = args.target or embedded_target()
    attention = "grouped" if args.step == "generate" else "sdpa"
    dtype = torch.bfloat16 if args.step == "generate" else torch.float32
    target = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation=attention, trust_remote_code=False
    ).eval()
    if args.step == "generate":
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        generate.generate(
            target, tokenizer, args.data, args.shards, args.rows, args.max_new_tokens, args.seed, args.exclude
        )
        return 0
    paths = shard_paths(args.data)
    if len(paths) <= args.held_out:
        raise UserError(
            f"{args.data} holds {len(paths)} shards, {args.held_out} of them held out: run `python -m explorer distill generate` first"
        )
    from explorer.engine.eagle import is_head

    if args.step == "features" or (args.step == "evaluate" and is_head(args.draft)):
        print(_features(args, target, folder, paths).describe())
        return 0
    held_out = [sequence for path in paths[: args.held_out] for sequence in read_shard(path)]
    if args.step == "train":
        if max(args.layers) >= target.config.num_hidden_layers:
            raise UserError(f"--layers names one that {folder} lacks: it has {target.config.num_hidden_layers}, from 0")
        options = {name: getattr(args, name) for name in ("layers", "tokens", "regression", "batch", "rate", "seed")}
        recipe = train.Recipe(**options, start=draft.sha256(args.start / "model.safetensors") if args.start else "")
        model = draft.read(target, args.start) if args.start else train.build_draft(target, args.layers)
        counters = train.train(model, paths[args.held_out :], held_out[::8], args.work, recipe)
        figures = evaluate.evaluate(model, held_out, 8)
        runs = draft.read_runs(args.start) if args.start else []
        draft.write(model, args.out, folder, [*runs, asdict(recipe) | counters], figures)
    else:
        figures = evaluate.evaluate(draft.read(target, args.draft), held_out, args.draft_length)
    print(figures.describe())
    return 0


def _features(args: argparse.Namespace, target, target_folder: Path, paths: list[Path]) -> Figures:
    """Train and write an EAGLE-3 head, or evaluate a written one."""
    import torch

    from explorer.distill import draft, features
    from explorer.distill.head import build_head, write_head
    from explorer.distill.unroll import read_texts
    from explorer.engine.eagle import read_head

    def texts(some: list[Path]) -> list[Text]:
        return [text for path in some for text in read_texts(target, path, args.data / "tapped")]

    def read(folder: Path):
        return read_head(folder, target).float()

    held_out = texts(paths[: args.held_out])
    if args.step == "evaluate":
        return features.evaluate(read(args.draft), target, held_out, args.draft_length)
    options = {name: getattr(args, name) for name in ("tokens", "chain", "alone", "noise", "batch", "rate", "seed")}
    recipe = features.FeatureRecipe(
        **options, start=draft.sha256(args.start / "model.safetensors") if args.start else ""
    )
    data = texts(paths[args.held_out :])
    torch.manual_seed(args.seed)
    head = read(args.start).requires_grad_(True) if args.start else build_head(target, data)
    head.lm_head.requires_grad_(False)
    print(f"start: {features.evaluate(head.eval(), target, held_out[::8], 8).describe()}", flush=True)
    counters = features.train(head.train(), target, data, held_out[::8], args.work, recipe)
    counters |= {
        "held_out": args.held_out,
        "shards": [int(path.stem.rpartition("-")[2]) for path in paths[args.held_out :]],
    }
    figures = features.evaluate(head.eval().bfloat16().float(), target, held_out, 8)  # as written
    runs = draft.read_runs(args.start) if args.start else []
    write_head(head, args.out, target_folder, [*runs, asdict(recipe) | counters], figures)
    return figures


def embedded_target() -> Path:
    """The folder of the embedded pair's target, fetched if need be; raises WeightsError."""
    from explorer.engine.registry import default_pair, find_pair
    from explorer.engine.weights import registry_model

    return registry_model(find_pair(default_pair()).target)


def _layers(text: str) -> tuple[int, ...]:
    return tuple(map(whole, text.split(",")))
