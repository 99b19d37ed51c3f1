"""`python -m explorer distill`: makes the draft of the embedded pair from nothing but its target.

generate: the target writes training text, keeping its own view of every token; train: a few layers between the target's embeddings
and head learn that view; evaluate: agreement and rounds on held-out answers. Every step resumes where it was stopped.
"""

import argparse
import tomllib
from pathlib import Path

ASSETS = Path(__file__).parents[2] / "assets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", type=Path, help="model folder (default: the embedded pair's target, fetched if need be)")
    parser.add_argument("--data", type=Path, default=Path("runs/distill/data"), help="folder of the shards")
    parser.add_argument("--threads", type=int, default=1, help="of this process; several `generate` on their own shards scale better")
    parser.add_argument("--held-out", type=int, default=2, help="shards, from the first, kept from training")
    steps = parser.add_subparsers(dest="step", required=True)

    generate = steps.add_parser("generate", help="write the missing shards of training text")
    generate.add_argument("--shards", type=_shards, default=range(40), metavar="START:STOP")
    generate.add_argument("--rows", type=int, default=128, help="answers per shard")
    generate.add_argument("--max-new-tokens", type=int, default=256)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument("--exclude", type=Path, help='JSON lines with a "prompt": close prompts are dropped')

    train = steps.add_parser("train", help="train on all shards there are but the held-out ones, and write the draft")
    train.add_argument("--work", type=Path, default=Path("runs/distill/work"), help="folder of the checkpoint and the log")
    train.add_argument("--out", type=Path, default=ASSETS / "drafts/smollm2-135m")
    train.add_argument("--layers", type=_layers, default=(0, 29), help="the target's layers to start from, like 0,29")
    train.add_argument("--tokens", type=int, default=4_000_000, help="to read in all, prompts included")
    train.add_argument("--regression", type=float, default=0.25, help="share of the tokens spent on hidden-state regression")
    train.add_argument("--rate", type=float, default=1e-3)
    train.add_argument("--seed", type=int, default=1)

    evaluate = steps.add_parser("evaluate", help="agreement and rounds of a written draft on the held-out shards")
    evaluate.add_argument("--draft", type=Path, default=ASSETS / "drafts/smollm2-135m")
    evaluate.add_argument("--draft-length", type=int, default=8)


def main(args: argparse.Namespace) -> int:
    """Run one step; user errors are printed by the caller from ValueError and WeightsError."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from explorer.distill import draft, evaluate, generate, train
    from explorer.distill.data import read_shard, shard_paths

    torch.set_num_threads(args.threads)
    folder = args.target or embedded_target()
    attention = "grouped" if args.step == "generate" else "sdpa"
    dtype = torch.bfloat16 if args.step == "generate" else torch.float32
    target = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation=attention, trust_remote_code=False).eval()
    if args.step == "generate":
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        generate.generate(target, tokenizer, args.data, args.shards, args.rows, args.max_new_tokens, args.seed, args.exclude)
        return 0
    paths = shard_paths(args.data)
    if len(paths) <= args.held_out:
        raise ValueError(f"{args.data} holds {len(paths)} shards, {args.held_out} of them held out: run `distill generate` first")
    held_out = [sequence for path in paths[: args.held_out] for sequence in read_shard(path)]
    if args.step == "train":
        recipe = train.Recipe(args.layers, args.tokens, args.regression, rate=args.rate, seed=args.seed)
        trained, at = train.train(target, paths[args.held_out :], held_out, args.work, recipe)
        figures = evaluate.evaluate(trained, held_out, 8)
        draft.write(trained, args.out, folder, recipe, at, figures)
    else:
        figures = evaluate.evaluate(draft.read(target, args.draft), held_out, args.draft_length)
    print(figures.describe())
    return 0


def embedded_target() -> Path:
    """The folder of the embedded pair's target; raises WeightsError."""
    from explorer.engine.weights import RegistryModel, registry_model

    table = tomllib.loads((ASSETS / "pairs.toml").read_text(encoding="utf-8"))
    name = table["pairs"][table["default"]]["target"]
    entry = table["registry"][name]
    return registry_model(RegistryModel(name, entry["package"], entry["version"], entry["file"], entry["sha256"], entry["size"]))


def _shards(text: str) -> range:
    start, stop = text.split(":")
    return range(int(start), int(stop))


def _layers(text: str) -> tuple[int, ...]:
    return tuple(int(layer) for layer in text.split(","))
