"""`python -m explorer judge-head`: the judge head of a target, for the rule judge. collect: mismatches of drafts, labelled by what
they do to the answer; train: a linear head on the target's states; evaluate: how well it does beside figures that need no
training, and what the rule does to answers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.cli.options import DEVICE_HELP, PAIR_HELP, add_collecting, count, device, knob_number, named, within
from explorer.cli.progress import show
from explorer.errors import UserError
from explorer.prompts import CHECKABLE, EXAMPLES, HELD_OUT

if TYPE_CHECKING:
    from explorer.engine.pair import Pair
    from explorer.training.judge.data import MismatchTable
    from explorer.training.judge.labels import NamedDraft

RUNS = Path("runs/judge-head")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of all steps."""
    parser.add_argument(
        "--pair", metavar="P", type=named, help=f"{PAIR_HELP} (default: the default pair of this machine)"
    )
    parser.add_argument(
        "--drafts", metavar="P", nargs="*", type=named, default=["smollm2-135m-distilled"],
        help="more pairs of the same target, whose drafts' mismatches are labelled too (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, default=RUNS / "data", metavar="FOLDER", help="of the shards (default: %(default)s)"
    )
    parser.add_argument("--device", metavar="D", type=device, help=DEVICE_HELP)
    parser.add_argument(
        "--held-out",
        type=count,
        default=6,
        metavar="N",
        help="shards, from the first, for the figures (default: %(default)s)",
    )
    parser.add_argument(
        "--validation",
        type=count,
        default=5,
        metavar="N",
        help="shards after those, for the threshold (default: %(default)s)",
    )
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")

    collect = steps.add_parser("collect", help="write the missing shards of labelled mismatches")
    add_collecting(
        collect,
        files=30,
        rows=14,
        of="prompts",
        tokens=40,
        seed=17,
        exclude=(CHECKABLE, HELD_OUT, EXAMPLES / "prompts.jsonl"),
    )
    collect.add_argument("--prompts", type=Path, metavar="F", help="JSON lines with answers, in place of made prompts")

    _add_train(steps.add_parser("train", help="train a head on all shards there are but the first ones, and write it"))
    _add_evaluate(
        steps.add_parser("evaluate", help="figures of a head on labelled mismatches, and of the rule on answers")
    )


def _add_train(train: argparse.ArgumentParser) -> None:
    train.add_argument(
        "--out", type=Path, default=RUNS / "head", metavar="FOLDER", help="of the written head (default: %(default)s)"
    )
    train.add_argument(
        "--folds",
        type=within(int, 2),
        default=5,
        metavar="N",
        help="of prompts, to choose the decay by (default: %(default)s)",
    )
    train.add_argument(
        "--recall", type=within(float, 0, 1, above=True), default=0.95, metavar="X",
        help="share of the important mismatches on the validation prompts that the threshold refuses (default: %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--seed", type=knob_number("seed"), default=1, metavar="N", help="of the folds (default: %(default)s)"
    )


def _add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument(
        "--head", type=Path, default=RUNS / "head", metavar="FOLDER", help="as train writes it (default: %(default)s)"
    )
    evaluate.add_argument("--others", type=Path, metavar="FOLDER", help="a collection of other prompts, judged too")
    evaluate.add_argument("--answers", type=Path, metavar="F", help="also run these prompts, JSON lines with answers")
    evaluate.add_argument(
        "--draft-length",
        type=knob_number("draft_length"),
        default=8,
        metavar="K",
        help="tokens per round (default: %(default)s)",
    )
    evaluate.add_argument(
        "--max-new-tokens", type=knob_number("max_new_tokens"), default=48, metavar="N",
        help="tokens of an answer, at most (default: %(default)s)",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Run one step; raises UserError."""
    {"collect": _collect, "train": _train, "evaluate": _evaluate}[args.step](args)
    return 0


def _collect(args: argparse.Namespace) -> None:
    from explorer.prompts import read_prompts
    from explorer.training.judge.collect import collect

    items = [item for item in read_prompts(args.prompts) if item.answer] if args.prompts else None
    pair, drafters = load(args)
    settings = {"rows": args.rows, "max_new": args.max_new_tokens, "seed": args.seed}
    show(collect(pair, drafters, args.data, args.shards, settings, args.exclude, items), "shards")


def _train(args: argparse.Namespace) -> None:
    from explorer.engine.models.registry import find_pair
    from explorer.engine.verification.judge_head import JudgeHeadCard
    from explorer.training.common.collection import read_settings, shard_number, shard_paths
    from explorer.training.judge.card import save, save_readme
    from explorer.training.judge.evaluate import HEAD, judged, thresholds
    from explorer.training.judge.report import report
    from explorer.training.judge.train import JudgeRecipe, train

    settings = read_settings(args.data)
    test, validation, training = _split(args)
    recipe = JudgeRecipe(args.folds, args.recall, args.seed)
    fit = show(train(training, validation, recipe), "fits")
    limits = thresholds(fit.head, validation, recipe.recall)
    mine = next(way for way in judged(fit.head, test, limits) if way.name == HEAD)
    data = {"prompts_seed": settings["seed"], "training_important": int(training.important.sum())}
    for name, rows in (("training", training), ("validation", validation), ("test", test)):
        data |= {name: len(rows), f"{name}_prompts": rows.prompts}
    metrics = {
        "auc_folds": fit.aucs[fit.decay],
        "test_auc": mine.auc,
        "test_recall": mine.recall,
        "test_accepted": mine.accepted,
    }
    card = JudgeHeadCard(
        tuple(settings["drafts"]), settings["target"], settings["dtype"], len(fit.head.weight),
        data, recipe.numbers | {"decay": fit.decay}, metrics,
    )  # fmt: skip
    save(args.out, fit.head, card)
    target = find_pair(settings["pair"]).target
    collected = [shard_number(path) for path in shard_paths(args.data)]
    save_readme(args.out, card, getattr(target, "name", str(target)), collected)
    print(
        "mean AUC over the folds, by decay: "
        + ", ".join(f"{decay:g}: {score:.3f}" for decay, score in fit.aucs.items())
    )
    print(f"written to {args.out}, its report to {report(args.out, fit, test)}")


def _evaluate(args: argparse.Namespace) -> None:
    from explorer.config import DecodeConfig
    from explorer.engine.load_pair import load_pair
    from explorer.engine.models.registry import default_pair
    from explorer.engine.verification.judge_head import read_judge_head
    from explorer.prompts import read_prompts
    from explorer.training.judge.data import read_folder, table_of
    from explorer.training.judge.evaluate import (
        answers,
        answers_table,
        describe,
        judged,
        rule_points,
        table,
        thresholds,
    )

    head, card = read_judge_head(args.head)
    test, validation, _ = _split(args)
    limits = thresholds(head, validation, card.recipe["recall"])
    sets = {"held-out prompts": test} | ({args.others.name: table_of(read_folder(args.others))} if args.others else {})
    for name, rows in sets.items():
        print(f"{name}: {describe(rows)}\n\n{table(judged(head, rows, limits))}\n")
    if not args.answers:
        return
    pair = load_pair(args.pair or default_pair(args.device), args.device).with_judge_head(args.head)
    base = DecodeConfig(draft_length=args.draft_length, max_new_tokens=args.max_new_tokens)
    points, items = rule_points(base, limits), [item for item in read_prompts(args.answers) if item.answer]
    figures = show(answers(pair, items, points), "prompts")
    settings = ", ".join(f"{name} {value:.4g}" for name, value in limits.items())
    print(
        f"{pair.name}, {args.answers.name}, K = {args.draft_length}, at most {args.max_new_tokens} tokens; thresholds: {settings}\n"
    )
    print(answers_table(list(points), figures))


def _split(args: argparse.Namespace) -> tuple[MismatchTable, MismatchTable, MismatchTable]:
    """Test, validation and training mismatches: of other prompts each. Raises UserError where there are too few shards."""
    from explorer.training.judge.data import read_folder, table_of

    read = read_folder(args.data)
    first, second = args.held_out, args.held_out + args.validation
    if len(read) <= second:
        raise UserError("training.shards_to_split", folder=args.data, count=len(read))
    return table_of(read[:first]), table_of(read[first:second]), table_of(read[second:])


def load(args: argparse.Namespace) -> tuple[Pair, list[NamedDraft]]:
    """The pair whose target is to have a head, and all drafts that may say something else. Raises UserErrors."""
    from explorer.engine.load_pair import load_pair
    from explorer.engine.models import loading
    from explorer.engine.models.registry import default_pair, find_pair
    from explorer.engine.pair import lay_out_draft
    from explorer.training.common.drafts import read_draft
    from explorer.training.judge.labels import NamedDraft

    name = args.pair or default_pair(args.device)
    pair = load_pair(name, args.device)
    drafters, where = [NamedDraft.of(pair)], loading.placement(args.device, None)
    for other in args.drafts:
        known = find_pair(other)
        if known.target != find_pair(name).target or known.cross_tokenizer:
            raise UserError("training.other_target", draft=other, pair=name)
        draft = lay_out_draft(read_draft(known, where), pair.vocab_size, where.form is not None)
        drafters.append(NamedDraft(known.name, draft, None))
    return pair, drafters
