"""`python -m explorer pacer`: PACER's pre-verification layer for a pair. collect: rounds of draft and target; train: a layer
that predicts which drafted tokens will be accepted; evaluate: how well it does, and the thresholds to run it with.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from explorer.cli.options import (
    DEVICE_HELP,
    PAIR_HELP,
    add_collecting,
    add_switch,
    count,
    device,
    dtype,
    knob_number,
    named,
    shards,
    whole,
    within,
)
from explorer.cli.progress import show
from explorer.config import knobs
from explorer.files import write_whole
from explorer.prompts import EXAMPLES, HELD_OUT
from explorer.verdicts import ENTROPY_MEASURES

LAYER, WORK = Path("runs/pacer/layer"), Path("runs/pacer/work")
KEPT_OUT = "shards, from the first, kept from training (default: %(default)s)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of all steps."""
    parser.add_argument(
        "--pair", metavar="P", type=named, help=f"{PAIR_HELP} (default: the default pair of this machine)"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path("runs/pacer/data"),
        metavar="FOLDER",
        help="of the shards (default: %(default)s)",
    )
    parser.add_argument("--device", metavar="D", type=device, help=DEVICE_HELP)
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    _add_collect(steps.add_parser("collect", help="write the missing shards of rounds"))
    _add_ask(
        steps.add_parser("ask", help="make shards collected for the exact rule tell the outcome of the loose one too")
    )
    _add_train(steps.add_parser("train", help="train a layer on all shards there are but the held-out ones"))
    _add_evaluate(
        steps.add_parser("evaluate", help="figures of a layer on the held-out shards, and the settings to run it with")
    )


def _add_collect(collect: argparse.ArgumentParser) -> None:
    collect.add_argument(
        "--rule", choices=("exact", "fly"), default="exact",
        help="whose outcome is collected; fly asks the target about branches too (default: %(default)s)",
    )  # fmt: skip
    add_collecting(
        collect, files=40, rows=32, of="prompts", tokens=96, seed=11, exclude=(HELD_OUT, EXAMPLES / "prompts.jsonl")
    )
    collect.add_argument(
        "--dtype", metavar="T", type=dtype, help="of the target while it writes (default: float32, on cuda bfloat16)"
    )


def _add_ask(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="of the new shards")
    ask.add_argument(
        "--shards",
        type=shards,
        default=range(100_000),
        metavar="START:STOP",
        help="numbers of the files (default: all)",
    )
    ask.add_argument("--dtype", metavar="T", type=dtype, help="of the target, as it was when they were collected")


def _add_train(train: argparse.ArgumentParser) -> None:
    train.add_argument(
        "--work", type=Path, default=WORK, metavar="FOLDER",
        help="of the checkpoint and the curve (default: %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--out", type=Path, default=LAYER, metavar="FOLDER", help="of the written layer (default: %(default)s)"
    )
    train.add_argument("--held-out", type=count, default=2, metavar="N", help=KEPT_OUT)
    add_switch(train, "--recompute", "states from the ids, not those that were stored")
    train.add_argument(
        "--precision", choices=("no", "bf16", "fp16"), default="bf16", help="of the computation (default: %(default)s)"
    )
    _add_outcome(train)
    _add_recipe(train)


def _add_outcome(train: argparse.ArgumentParser) -> None:
    """Whose outcome the layer is to predict."""
    recipe = {knob.name: knob.default for knob in knobs()}
    train.add_argument(
        "--rule",
        choices=("exact", "fly"),
        default="exact",
        help="whose outcome is to be predicted (default: %(default)s)",
    )
    for name, metavar in (("theta", "X"), ("window", "N")):
        train.add_argument(
            f"--{name}", type=knob_number(name), default=recipe[name], metavar=metavar,
            help="as of run [only with --rule fly; default: %(default)s]",
        )  # fmt: skip
    train.add_argument(
        "--entropy", choices=ENTROPY_MEASURES, default=recipe["entropy"],
        help="measure that theta is in [only with --rule fly; default: %(default)s]",
    )  # fmt: skip


def _add_recipe(train: argparse.ArgumentParser) -> None:
    """How it is trained."""
    train.add_argument(
        "--longest", type=knob_number("draft_length"), default=20, metavar="K",
        help="draft length whose outcome is the label (default: %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--tail", type=whole, default=6, metavar="N",
        help="tokens after the last accepted one that are still trained on (default: %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--epochs", type=count, default=3, metavar="N", help="walks through the texts (default: %(default)s)"
    )
    train.add_argument("--batch", type=count, default=32, metavar="N", help="rounds per step (default: %(default)s)")
    train.add_argument(
        "--rate",
        type=within(float, 0, 1, above=True),
        default=1e-4,
        metavar="X",
        help="learning rate (default: %(default)s)",
    )
    train.add_argument(
        "--negative-weight", type=within(float, 0, 1e6, above=True), default=1.0, metavar="X",
        help="of rejected tokens; accepted ones weigh 1 (default: %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--seed", type=knob_number("seed"), default=1, metavar="N", help="of weights and order (default: %(default)s)"
    )
    add_switch(train, "--position", "the layer reads a token's offset in the draft; without it: an ablation", on=True)
    add_switch(train, "--probability", "the layer reads the draft's probabilities; without them: an ablation", on=True)


def _add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument(
        "--layer", type=Path, default=LAYER, metavar="FOLDER", help="as train writes it (default: %(default)s)"
    )
    evaluate.add_argument("--held-out", type=count, default=2, metavar="N", help=KEPT_OUT)
    evaluate.add_argument("--rule", choices=("exact", "fly"), help="whose outcome counts (default: that of training)")
    evaluate.add_argument(
        "--costs", type=Path, metavar="F.json", help="seconds as written by --measure (default: measure now)"
    )
    evaluate.add_argument(
        "--measure", type=Path, metavar="F.json", help="time the pair on this machine and keep the times here"
    )
    evaluate.add_argument(
        "--longest", type=knob_number("draft_length"), default=24, metavar="K",
        help="largest draft length tried (default: %(default)s)",
    )  # fmt: skip
    add_switch(evaluate, "--choose", "write the chosen settings into the layer's card")
    evaluate.add_argument("--out", type=Path, metavar="F.json", help="also write the figures as JSON, and F.md")
    evaluate.add_argument(
        "--work", type=Path, default=WORK, metavar="FOLDER",
        help="of the training's log, for the curve in the report where it is of this layer (default: %(default)s)",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run one step; raises UserError."""
    from explorer.engine.models.registry import default_pair

    name = args.pair or default_pair(args.device)
    if args.step in ("collect", "ask"):
        from explorer.training.pacer.collect import ask, collect
        from explorer.training.pacer.models import load_models, on_device

        models = load_models(name, args.device, args.dtype)
        with on_device(models):
            if args.step == "ask":
                show(ask(models, args.data, args.shards, args.out), "shards")
            else:
                settings = {"rule": args.rule, "rows": args.rows, "max_new": args.max_new_tokens, "seed": args.seed}
                show(collect(models, args.data, args.shards, settings, args.exclude), "shards")
    elif args.step == "train":
        _train(args, name)
    else:
        _evaluate(args, name)
    return 0


def _train(args: argparse.Namespace, name: str) -> None:
    from dataclasses import fields

    from accelerate import Accelerator

    from explorer.engine.drafters.pacer.card import Card, Rule, save
    from explorer.engine.drafters.pacer.layer import PreVerificationLayer
    from explorer.engine.models import loading
    from explorer.engine.models.registry import find_pair
    from explorer.training.common.drafts import read_draft
    from explorer.training.common.progress import finish
    from explorer.training.common.training_log import read_log
    from explorer.training.pacer.branches import recompute_states
    from explorer.training.pacer.data import read_folder
    from explorer.training.pacer.evaluate import calibrations
    from explorer.training.pacer.report import report
    from explorer.training.pacer.train import LayerRecipe, train

    recipe = LayerRecipe(**{field.name: getattr(args, field.name) for field in fields(LayerRecipe)})
    settings, held_out, texts = read_folder(args.data, args.held_out, recipe.config)
    accelerator = Accelerator(cpu=args.device == "cpu", mixed_precision=args.precision)
    draft = read_draft(find_pair(name), loading.placement("cpu", "float32"))
    if args.recompute:
        draft = draft.to(accelerator.device)
        for text in (*held_out, *texts):
            text.states, text.branch_states = recompute_states(draft, text)
    layer = PreVerificationLayer.beside(draft, recipe.seed, position=args.position, probability=args.probability)
    del draft
    stop_ids = frozenset(settings["stop_ids"])
    steps = train(layer, texts, held_out, stop_ids, args.work, recipe, accelerator)
    metrics = show(steps, "epochs") if accelerator.is_main_process else finish(steps)
    if accelerator.is_main_process:
        data = {"texts": len(texts), "rows": sum(len(text.choices) for text in texts), "seed": settings["seed"]}
        data |= {"held_out_texts": len(held_out), "max_new_tokens": settings["max_new"]}
        rule = Rule(recipe.rule, recipe.theta, recipe.window, recipe.entropy)
        pair, weights, dtype = (settings[key] for key in ("pair", "weights", "dtype"))
        save(args.out, layer, Card(pair, weights, dtype, layer.shape, rule, data, recipe.numbers, metrics, {}))
        bins = calibrations(layer.cpu(), held_out, recipe, stop_ids)
        print(f"written to {args.out}, its report to {report(args.out, read_log(args.work), bins)}")


def _evaluate(args: argparse.Namespace, name: str) -> None:
    import json
    from dataclasses import asdict, replace

    from explorer.engine.drafters.pacer.card import load, save_card
    from explorer.engine.load_pair import load_pair
    from explorer.training.common.training_log import read_log
    from explorer.training.pacer.costs import measure_costs, read_costs
    from explorer.training.pacer.data import read_folder
    from explorer.training.pacer.evaluate import calibrations, evaluate, markdown
    from explorer.training.pacer.report import is_log_of, report
    from explorer.training.pacer.train import LayerRecipe

    layer, card = load(args.layer)
    recipe = replace(LayerRecipe.of(card), rule=args.rule or card.rule.rule)
    if args.costs:
        costs = read_costs(args.costs)
    else:
        pair = load_pair(name, args.device).with_pacer_layer(args.layer)
        costs = measure_costs(pair, block_size=4)
        del pair
        if args.measure:
            write_whole(args.measure, json.dumps(asdict(costs), indent=1))
    settings, held_out, _ = read_folder(args.data, args.held_out, recipe.config, training=False)
    figures, choice = evaluate(layer, held_out, recipe, frozenset(settings["stop_ids"]), costs, args.longest)
    print(markdown(figures))
    bins = calibrations(layer, held_out, recipe, frozenset(settings["stop_ids"]))
    log = read_log(args.work)
    path = report(args.layer, log if is_log_of(card.metrics, log) else (), bins, figures["replayed"])
    print(f"report: {path}", file=sys.stderr)
    if args.choose:
        save_card(args.layer, replace(card, choices=card.choices | {recipe.rule: choice}))
    if args.out:
        write_whole(args.out, json.dumps(figures, indent=1))
        write_whole(args.out.with_suffix(".md"), markdown(figures) + "\n")
