"""`python -m explorer distill`: makes the draft of the embedded pair from nothing but its target.

generate: the target writes training text, keeping its own view of every token; train: a few layers between the target's embeddings
and head learn that view; evaluate: agreement and rounds on held-out answers. Every step resumes where it was stopped.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from explorer.errors import UserError

ASSETS = Path(__file__).parents[2] / "assets"
EXAMPLES = Path(__file__).parents[2] / "examples"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", type=Path, help="model folder (default: the embedded pair's target, fetched if need be)"
    )
    parser.add_argument("--data", type=Path, default=Path("runs/distill/data"), help="folder of the shards")
    parser.add_argument(
        "--threads", type=int, default=1, help="of this process; several `generate` on their own shards scale better"
    )
    parser.add_argument("--held-out", type=int, default=2, help="shards, from the first, kept from training")
    steps = parser.add_subparsers(dest="step", required=True)

    generate = steps.add_parser("generate", help="write the missing shards of training text")
    generate.add_argument("--shards", type=_shards, default=range(40), metavar="START:STOP")
    generate.add_argument("--rows", type=int, default=128, help="answers per shard")
    generate.add_argument("--max-new-tokens", type=int, default=256)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument(
        "--exclude",
        type=Path,
        nargs="*",
        default=[EXAMPLES / "heldout.jsonl", EXAMPLES / "prompts.jsonl"],
        help='JSON lines with a "prompt": prompts close to these are dropped (default: the held-out prompts and the examples)',
    )

    train = steps.add_parser("train", help="train on all shards there are but the held-out ones, and write the draft")
    train.add_argument(
        "--work", type=Path, default=Path("runs/distill/work"), help="folder of the checkpoint and the log"
    )
    train.add_argument("--out", type=Path, default=ASSETS / "drafts/smollm2-135m")
    train.add_argument("--layers", type=_layers, default=(0, 29), help="the target's layers to start from, like 0,29")
    train.add_argument("--start", type=Path, metavar="DRAFT", help="folder of a written draft to go on from instead")
    train.add_argument("--tokens", type=int, default=4_000_000, help="to read in all, prompts included")
    train.add_argument(
        "--regression", type=float, default=0.0, help="share of the tokens spent on hidden-state regression"
    )
    train.add_argument("--batch", type=int, default=512, help="tokens per step; few: the data is small and steps count")
    train.add_argument("--rate", type=float, default=1.5e-3)
    train.add_argument("--seed", type=int, default=1)

    evaluate = steps.add_parser("evaluate", help="agreement and rounds of a written draft on the held-out shards")
    evaluate.add_argument("--draft", type=Path, default=ASSETS / "drafts/smollm2-135m")
    evaluate.add_argument("--draft-length", type=int, default=8)


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
            f"{args.data} holds {len(paths)} shards, {args.held_out} of them held out: run `distill generate` first"
        )
    held_out = [sequence for path in paths[: args.held_out] for sequence in read_shard(path)]
    if args.step == "train":
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


def embedded_target() -> Path:
    """The folder of the embedded pair's target, fetched if need be; raises WeightsError."""
    from explorer.engine.registry import default_pair, find_pair
    from explorer.engine.weights import registry_model

    return registry_model(find_pair(default_pair()).target)


def _shards(text: str) -> range:
    start, stop = text.split(":")
    return range(int(start), int(stop))


def _layers(text: str) -> tuple[int, ...]:
    return tuple(int(layer) for layer in text.split(","))
