"""From a loaded pair to a layer for it in one go: collect, train, choose settings. What the page drives, step by step."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from accelerate import Accelerator

from explorer.engine.drafters.pacer.card import Card, Rule, save
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import find_pair
from explorer.engine.pair import Pair
from explorer.errors import UserError
from explorer.prompts import EXAMPLES, HELD_OUT
from explorer.training.pacer.collect import collecting
from explorer.training.pacer.costs import measure_costs
from explorer.training.pacer.data import read_folder, shard_path
from explorer.training.pacer.evaluate import compare
from explorer.training.pacer.length_replay import starts
from explorer.training.pacer.progress import Choosing, Epoch, Shard, Step, Trained
from explorer.training.pacer.sides import draft_of, on_device, sides_of
from explorer.training.pacer.train import Recipe, epoch_of, figures_of, score_texts, training

HELD_OUT_SHARDS = 1
SEED = 11  # of the prompts, as the command's
LENGTHS = (0, 3, 7, 15, 23)  # draft lengths whose cost is measured for the replay
EXCLUDED = (HELD_OUT, EXAMPLES / "prompts.jsonl")


@dataclass(frozen=True)
class Plan:
    """What to collect and how to train; shards are numbered from 0 and the first is held out."""

    shards: int
    rows: int  # prompts a shard
    tokens: int  # of an answer, at most
    recipe: Recipe


def course(
    pair: Pair, plan: Plan, data: Path, layer: Path
) -> Generator[float | Shard | Epoch | Step | Choosing | Trained, None, None]:
    """Collect into `data`, train, and write `layer`: yields what collecting and training yield, the untrained layer as epoch 0,
    and what came out. What is in `data` is not collected again. Raises UserErrors.
    """
    if isinstance(pair.target, PackedModel) and not find_pair(pair.name).is_embedded:
        raise UserError(
            f"training here would hold the target of {pair.name} in memory twice: use the command line "
            "(python -m explorer pacer)"
        )
    recipe = plan.recipe
    yield from _collect(pair, plan, data)
    settings, held_out, texts = read_folder(data, HELD_OUT_SHARDS, recipe.config)
    stop_ids = frozenset(settings["stop_ids"])
    made = PreVerificationLayer.beside(draft_of(pair), recipe.seed)
    on_cpu = pair.draft.device.type == "cpu"
    accelerator = Accelerator(cpu=on_cpu, mixed_precision="no" if on_cpu else "bf16")
    made.to(accelerator.device)
    scored = score_texts(made, held_out, recipe, stop_ids)
    yield epoch_of(0, 0, scored, figures_of(scored, recipe))
    metrics = yield from training(made, texts, held_out, stop_ids, recipe, accelerator)
    made.cpu()
    rows = sum(len(text.choices) for text in texts)
    card = Card(
        pair=settings["pair"],
        weights=settings["weights"],
        dtype=settings["dtype"],
        shape=made.shape,
        rule=Rule(recipe.rule, recipe.theta, recipe.window, recipe.entropy),
        data={
            "texts": len(texts),
            "rows": rows,
            "seed": settings["seed"],
            "held_out_texts": len(held_out),
            "max_new_tokens": settings["max_new"],
        },
        recipe=recipe.numbers,
        metrics=metrics,
        choices={},
    )
    save(layer, made, card)
    yield Choosing()
    costs = measure_costs(pair.with_pacer_layer(layer), block_size=4, lengths=LENGTHS, repeats=3)
    config = replace(recipe.config, draft_length=LENGTHS[-1])
    replayed, choice = compare(
        [starts(made, text, config, stop_ids) for text in held_out], config, costs, ablations=False
    )
    card = replace(card, choices={recipe.rule: choice})
    save(layer, made, card)
    yield Trained(card.data, card.metrics, asdict(choice), replayed, costs.where)


def _collect(pair: Pair, plan: Plan, data: Path) -> Iterator[float | Shard]:
    if all(shard_path(data, index).exists() for index in range(plan.shards)):
        return
    sides = sides_of(pair)
    settings = {"rule": plan.recipe.rule, "rows": plan.rows, "max_new": plan.tokens, "seed": SEED}
    steps = collecting(sides, data, range(plan.shards), settings, list(EXCLUDED))
    while True:
        with on_device(sides):  # for this step only: other work may come before the next
            step = next(steps, None)
        if step is None:
            return
        yield step
