"""Training the layer on collected texts: rounds of many texts in a batch, weighted cross-entropy on kept or not."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import Tensor

from explorer.analysis.calibration import calibration
from explorer.config import DecodeConfig
from explorer.engine.drafters.pacer.card import Card
from explorer.engine.drafters.pacer.layer import PreVerificationLayer, sureness
from explorer.training.common.checkpoint import resume, write_checkpoint
from explorer.training.common.metrics import auc, auc_within, brier
from explorer.training.pacer.data import Round, Text, draft_at, kept, walk
from explorer.training.pacer.progress import Epoch, Step

FASTER = 10  # times the rate for what does not start from the draft's own weights
CALIBRATED = 2000  # rounds at most that the start is fitted on
WARM_UP = 0.03
NUMBERS = ("longest", "tail", "epochs", "batch", "rate", "negative_weight", "seed")


@dataclass(frozen=True)
class Recipe:
    """What decides the trained weights, with the data."""

    rule: str = "exact"
    theta: float = 0.05
    window: int = 3
    entropy: str = "normalized"
    longest: int = 20  # draft length K whose outcome is the label
    tail: int = 6  # tokens behind the last kept one that are still trained on: a run seldom scores later ones
    epochs: int = 3
    batch: int = 32  # rounds
    rate: float = 1e-4
    negative_weight: float = 1.0  # of tokens not kept; kept ones weigh 1
    seed: int = 1
    position: bool = True
    probability: bool = True

    @property
    def numbers(self) -> dict[str, float]:
        """All that a card does not say elsewhere."""
        return {name: getattr(self, name) for name in NUMBERS}

    @classmethod
    def of(cls, card: Card) -> Recipe:
        """The recipe of a written layer."""
        given = {
            name: int(card.recipe[name]) if cls.__annotations__[name] == "int" else card.recipe[name]
            for name in NUMBERS
        }
        return cls(**asdict(card.rule), **given, position=card.shape.position, probability=card.shape.probability)

    @property
    def config(self) -> DecodeConfig:
        """The rule as a run would state it."""
        return DecodeConfig(rule=self.rule, theta=self.theta, window=self.window, entropy=self.entropy)


@dataclass
class Batch:
    """Rounds padded on the right; `weight` is 0 in the padding."""

    states: Tensor  # [B, L, d]
    probs: Tensor  # [B, L]
    labels: Tensor  # [B, L] 1: kept
    weight: Tensor  # [B, L]

    def to(self, device: torch.device) -> Batch:
        return Batch(*(getattr(self, column.name).to(device) for column in fields(self)))


def sample_rounds(
    texts: list[Text], recipe: Recipe, stop_ids: frozenset[int], rng: random.Random
) -> list[tuple[Round, int]]:
    """One walk through every text: drafts of K tokens, each with how many of it the rule keeps.

    Rounds start where rounds of changing lengths would, because the policy to be trained changes them.
    """
    lengths = iter(lambda: rng.randint(1, recipe.longest), None)
    pairs = []
    for text in texts:
        for walked, _ in walk(text, lengths, recipe.config, stop_ids):
            round_ = draft_at(text, walked.start, recipe.longest)
            pairs.append((round_, kept(round_, recipe.config, stop_ids)))
    return pairs


def collate(rounds: list[tuple[Round, int]], recipe: Recipe) -> Batch:
    """Label i says whether token i was kept, on the state that produced token i."""
    cut = [min(len(round_), count + recipe.tail) for round_, count in rounds]
    size, width = max(cut), rounds[0][0].states.shape[1]
    batch = Batch(
        torch.zeros(len(rounds), size, width), *(torch.zeros(len(rounds), size) for _ in ("probs", "labels", "weight"))
    )
    for i, ((round_, count), length) in enumerate(zip(rounds, cut)):
        batch.states[i, :length] = round_.states[:length].float()
        batch.probs[i, :length] = round_.probs[:length]
        batch.labels[i, :count] = 1
        batch.weight[i, :length] = torch.where(batch.labels[i, :length] > 0, 1.0, recipe.negative_weight)
    return batch


def loss_of(logits: Tensor, batch: Batch) -> Tensor:
    """Weighted cross-entropy over drafted tokens, divided by the weights' sum."""
    losses = F.binary_cross_entropy_with_logits(logits.float(), batch.labels, reduction="none")
    return (losses * batch.weight).sum() / batch.weight.sum()


def train(
    layer: PreVerificationLayer,
    texts: list[Text],
    held_out: list[Text],
    stop_ids: frozenset[int],
    folder: Path,
    recipe: Recipe,
    accelerator: Accelerator | None = None,
    say: Callable[[str], None] = print,
    save_every: int = 50,
) -> dict[str, float]:
    """Train `layer` in place from `folder`'s checkpoint if there is one, telling the curve and appending it to `folder`/log.jsonl;
    arguments, result and errors are those of `training`.
    """
    accelerator = accelerator or Accelerator()
    steps = training(layer, texts, held_out, stop_ids, recipe, accelerator, folder, save_every)
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        if accelerator.is_main_process and (isinstance(step, Epoch) or step.step % save_every == 0):
            say(str(step))
            with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(f"{step}\n")


def training(
    layer: PreVerificationLayer,
    texts: list[Text],
    held_out: list[Text],
    stop_ids: frozenset[int],
    recipe: Recipe,
    accelerator: Accelerator,
    folder: Path | None = None,
    save_every: int = 50,
) -> Generator[Step | Epoch, None, dict[str, float]]:
    """Train `layer` in place, yielding every step and every epoch; returns the held-out figures of the best epoch, whose weights
    it ends with.

    folder: where it is saved every so many steps, and goes on from; None: nowhere. Raises UserError where the checkpoint there is
    another recipe's.
    """
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    groups_by_scale: dict[int, list[torch.nn.Parameter]] = {1: [], FASTER: []}
    for name, parameter in layer.named_parameters():
        groups_by_scale[1 if name.startswith("block.") else FASTER].append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "scale": scale} for scale, parameters in groups_by_scale.items()],
        lr=0.0, betas=(0.9, 0.98), weight_decay=0.01,
    )  # fmt: skip
    at = {"recipe": json.dumps(asdict(recipe)), "texts": len(texts), "epoch": 0, "group": 0, "step": 0, "best": {}}
    checkpoint, best_weights = folder and folder / "checkpoint.pt", None
    saved = checkpoint and resume(checkpoint, at, ("recipe", "texts"))
    if saved:
        at, best_weights = saved["at"], saved["best"]
        layer.load_state_dict(saved["layer"])
        optimizer.load_state_dict(saved["optimizer"])
    else:
        calibrate(layer, sample_rounds(texts, recipe, stop_ids, random.Random(recipe.seed)), recipe)
    wrapped, optimizer = accelerator.prepare(layer, optimizer)
    plain = accelerator.unwrap_model(wrapped)

    def save() -> None:
        if checkpoint and accelerator.is_main_process:
            state = {"at": at, "layer": plain.state_dict(), "optimizer": optimizer.state_dict(), "best": best_weights}
            write_checkpoint(checkpoint, state)

    begin = time.perf_counter()
    while at["epoch"] < recipe.epochs:
        groups = list(
            _groups(texts, recipe, stop_ids, at["epoch"], accelerator.process_index, accelerator.num_processes)
        )
        wrapped.train()
        while at["group"] < len(groups):
            done = (at["epoch"] + at["group"] / len(groups)) / recipe.epochs
            batch = collate(groups[at["group"]], recipe).to(accelerator.device)
            with accelerator.autocast():
                logits = wrapped(batch.states, batch.probs)
            loss = loss_of(logits, batch)
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(wrapped.parameters(), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = rate_at(done, recipe) * group["scale"]
            optimizer.step()
            at |= {"group": at["group"] + 1, "step": at["step"] + 1}
            epochs = at["epoch"] + at["group"] / len(groups)
            yield Step(at["step"], epochs, loss.item(), time.perf_counter() - begin)
            if at["step"] % save_every == 0:
                save()
        at |= {"epoch": at["epoch"] + 1, "group": 0}
        scored = score_texts(plain, held_out, recipe, stop_ids)
        figures = figures_of(scored, recipe)
        yield epoch_of(at["step"], at["epoch"], scored, figures)
        if not at["best"] or figures["loss_held_out"] < at["best"]["loss_held_out"]:
            at["best"] = figures | {"epoch": at["epoch"]}
            best_weights = {name: tensor.detach().cpu().clone() for name, tensor in plain.state_dict().items()}
        save()
    layer.load_state_dict(best_weights)
    layer.eval()
    return at["best"]


def calibrate(layer: PreVerificationLayer, rounds: list[tuple[Round, int]], recipe: Recipe) -> None:
    """Fit, in place, what an untrained layer says: how far the draft's own probabilities hold on `rounds`.

    A logistic regression on the numbers that go straight to the output; the block then learns what they leave to explain. Our own
    choice: a pair that drafts for itself keeps most of a draft whatever the product of its probabilities, and gradient steps small
    enough for the block took epochs to find that out.
    """
    some = rounds if len(rounds) <= CALIBRATED else random.Random(recipe.seed).sample(rounds, CALIBRATED)
    batch = collate(some, recipe).to(layer.head.bias.device)
    sure = sureness(batch.probs)
    numbers = [layer.head.bias] if layer.sureness is None else [layer.head.bias, layer.sureness]
    solver = torch.optim.LBFGS(numbers, max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        solver.zero_grad()
        logits = layer.head.bias if layer.sureness is None else layer.head.bias + sure @ layer.sureness
        loss = loss_of(logits.expand_as(batch.labels), batch)
        loss.backward()
        return loss

    solver.step(closure)
    layer.zero_grad()


def _groups(
    texts: list[Text], recipe: Recipe, stop_ids: frozenset[int], epoch: int, process: int, processes: int
) -> Iterator[list[tuple[Round, int]]]:
    """The batches of one epoch that this process trains on: as many for each, in an order given by the seed."""
    rng = random.Random(recipe.seed * 1000 + epoch)
    rounds = sample_rounds(texts, recipe, stop_ids, rng)
    rng.shuffle(rounds)
    groups = [rounds[start : start + recipe.batch] for start in range(0, len(rounds), recipe.batch)]
    for index in range(process, len(groups) // processes * processes, processes):
        yield groups[index]


def rate_at(done: float, recipe: Recipe) -> float:
    """Learning rate after the share `done` of the steps: linear warm-up, then a cosine to a twentieth."""
    if done < WARM_UP:
        return recipe.rate * (done + 1e-3) / WARM_UP
    return recipe.rate * (0.05 + 0.95 * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP))) / 2)


@dataclass
class Scored:
    """Drafted tokens with their predictions, flat over rounds [N]."""

    scores: Tensor
    probs: Tensor  # the draft's own, of the token
    survival: Tensor  # the product of the draft's own up to the token
    labels: Tensor  # bool: kept
    offsets: Tensor  # place in the round, from 0
    rounds: int = 0


def epoch_of(step: int, epoch: int, scored: Scored, figures: dict[str, float]) -> Epoch:
    """What is told of an epoch."""
    kept = scored.labels.tolist()
    layer, own = (calibration(scores.tolist(), kept) for scores in (scored.scores, scored.survival))
    return Epoch(step, epoch, figures, layer, own)


@torch.inference_mode()
def score_rounds(
    layer: PreVerificationLayer, rounds: list[tuple[Round, int]], recipe: Recipe, batch: int = 64
) -> Scored:
    """Predictions for rounds, over the tokens that training looks at."""
    layer.eval()
    device = next(layer.parameters()).device
    columns: list[list[Tensor]] = [[], [], [], [], []]
    for start in range(0, len(rounds), batch):
        one = collate(rounds[start : start + batch], recipe)
        scores = layer(one.states.to(device), one.probs.to(device)).float().sigmoid().cpu()
        real = one.weight > 0
        places = torch.arange(real.shape[1]).expand(real.shape)
        parts = (scores, one.probs, one.probs.cumprod(1), one.labels > 0, places)
        for column, part in zip(columns, parts):
            column.append(part[real])
    return Scored(*(torch.cat(column) for column in columns), rounds=len(rounds))


def measure(
    layer: PreVerificationLayer, texts: list[Text], recipe: Recipe, stop_ids: frozenset[int]
) -> dict[str, float]:
    """Held-out figures, beside those of the draft's own probability."""
    return figures_of(score_texts(layer, texts, recipe, stop_ids), recipe)


def score_texts(layer: PreVerificationLayer, texts: list[Text], recipe: Recipe, stop_ids: frozenset[int]) -> Scored:
    """Predictions for one walk through the texts, always the same one."""
    return score_rounds(layer, sample_rounds(texts, recipe, stop_ids, random.Random(recipe.seed)), recipe)


def figures_of(scored: Scored, recipe: Recipe) -> dict[str, float]:
    """Loss, AUC and Brier score of predictions, and the last two of the draft's own probabilities."""
    weight = torch.where(scored.labels, 1.0, recipe.negative_weight)
    losses = F.binary_cross_entropy(scored.scores, scored.labels.float(), reduction="none")
    figures = {
        "rounds": scored.rounds,
        "loss_held_out": float((losses * weight).sum() / weight.sum()),
        "auc": auc(scored.scores, scored.labels),
        "auc_within_offset": auc_within(scored.scores, scored.labels, scored.offsets),
        "brier": brier(scored.scores, scored.labels),
    }
    for name in ("probs", "survival"):
        own = getattr(scored, name)
        figures |= {
            f"auc_{name}": auc(own, scored.labels),
            f"auc_within_offset_{name}": auc_within(own, scored.labels, scored.offsets),
            f"brier_{name}": brier(own, scored.labels),
        }
    return {name: value for name, value in figures.items() if value is not None}
