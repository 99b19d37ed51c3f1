"""Training the layer on collected texts: rounds of many texts in a batch, weighted cross-entropy on accepted or not."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import Tensor

from explorer.config import DecodeConfig
from explorer.engine.drafters.pacer.card import Card
from explorer.engine.drafters.pacer.layer import PreVerificationLayer, sureness
from explorer.training.common.checkpoint import resume, write_checkpoint
from explorer.training.common.metrics import auc, auc_within, brier
from explorer.training.common.progress import LogLine, Progress
from explorer.training.common.schedule import warm_cosine
from explorer.training.common.training_log import append_log, begin_log
from explorer.training.pacer.data import DraftedText, SimulatedRound, accepted, draft_at, walk

FASTER = 10  # times the rate for what does not start from the draft's own weights
CALIBRATED = 2000  # rounds at most that the start is fitted on
WARM_UP = 0.03
NUMBERS = ("longest", "tail", "epochs", "batch", "rate", "negative_weight", "seed")


@dataclass(frozen=True)
class LayerRecipe:
    """What decides the trained weights, with the data."""

    rule: str = "exact"
    theta: float = 0.05
    window: int = 3
    entropy: str = "normalized"
    longest: int = 20  # draft length K whose outcome is the label
    tail: int = 6  # tokens after the last accepted one that are still trained on: a run seldom scores later ones
    epochs: int = 3
    batch: int = 32  # rounds
    rate: float = 1e-4
    negative_weight: float = 1.0  # of rejected tokens; accepted ones weigh 1
    seed: int = 1
    position: bool = True
    probability: bool = True

    @property
    def numbers(self) -> dict[str, float]:
        """All that a card does not say elsewhere."""
        return {name: getattr(self, name) for name in NUMBERS}

    @classmethod
    def of(cls, card: Card) -> LayerRecipe:
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
class RoundBatch:
    """Rounds padded on the right; `weight` is 0 in the padding."""

    states: Tensor  # [B, L, d]
    probs: Tensor  # [B, L]
    labels: Tensor  # [B, L] 1: accepted
    weight: Tensor  # [B, L]

    def to(self, device: torch.device) -> RoundBatch:
        return RoundBatch(*(getattr(self, column.name).to(device) for column in fields(self)))


def sample_rounds(
    texts: list[DraftedText], recipe: LayerRecipe, stop_ids: frozenset[int], rng: random.Random
) -> list[tuple[SimulatedRound, int]]:
    """One walk through every text: drafts of K tokens, each with how many of it the rule accepts.

    Rounds start where rounds of changing lengths would, because the policy to be trained changes them.
    """
    lengths = iter(lambda: rng.randint(1, recipe.longest), None)
    pairs = []
    for text in texts:
        for walked, _ in walk(text, lengths, recipe.config, stop_ids):
            round_ = draft_at(text, walked.start, recipe.longest)
            pairs.append((round_, accepted(round_, recipe.config, stop_ids)))
    return pairs


def collate(rounds: list[tuple[SimulatedRound, int]], recipe: LayerRecipe) -> RoundBatch:
    """Label i says whether token i was accepted, on the state that produced token i."""
    cut = [min(len(round_), count + recipe.tail) for round_, count in rounds]
    size, width = max(cut), rounds[0][0].states.shape[1]
    batch = RoundBatch(
        torch.zeros(len(rounds), size, width), *(torch.zeros(len(rounds), size) for _ in ("probs", "labels", "weight"))
    )
    for i, ((round_, count), length) in enumerate(zip(rounds, cut)):
        batch.states[i, :length] = round_.states[:length].float()
        batch.probs[i, :length] = round_.probs[:length]
        batch.labels[i, :count] = 1
        batch.weight[i, :length] = torch.where(batch.labels[i, :length] > 0, 1.0, recipe.negative_weight)
    return batch


def loss_of(logits: Tensor, batch: RoundBatch) -> Tensor:
    """Weighted cross-entropy over drafted tokens, divided by the weights' sum."""
    losses = F.binary_cross_entropy_with_logits(logits.float(), batch.labels, reduction="none")
    return (losses * batch.weight).sum() / batch.weight.sum()


def train(
    layer: PreVerificationLayer,
    texts: list[DraftedText],
    held_out: list[DraftedText],
    stop_ids: frozenset[int],
    folder: Path,
    recipe: LayerRecipe,
    accelerator: Accelerator | None = None,
    save_every: int = 50,
) -> Generator[Progress | LogLine, None, dict[str, float]]:
    """Train `layer` in place, from `folder`'s checkpoint if there is one; returns the held-out figures of the best epoch, whose
    weights it ends with.

    Yields epochs done after every step, and what it appends to the log: a step now and then, every epoch. Raises UserError where
    the checkpoint is another recipe's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    accelerator = accelerator or Accelerator()
    run = _LayerTraining(layer, texts, stop_ids, recipe, accelerator, folder)
    begin, first = time.perf_counter(), accelerator.is_main_process
    if first:
        begin_log(folder, run.at["step"])

    def logged(values: dict[str, float]) -> LogLine:
        line = LogLine({name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()})
        if first:
            append_log(folder, line)
        return line

    while run.at["epoch"] < recipe.epochs:
        groups = list(
            _groups(texts, recipe, stop_ids, run.at["epoch"], accelerator.process_index, accelerator.num_processes)
        )
        while run.at["group"] < len(groups):
            loss = run.step(groups)
            epochs = run.at["epoch"] + run.at["group"] / len(groups)
            yield Progress(epochs, recipe.epochs)
            if run.at["step"] % save_every == 0:
                seconds = time.perf_counter() - begin
                yield logged({"step": run.at["step"], "epoch": round(epochs, 3), "loss": loss, "seconds": seconds})
                run.save()
        figures = measure(run.plain, held_out, recipe, stop_ids)
        run.end_epoch(figures)
        yield logged({"step": run.at["step"], "epoch": run.at["epoch"], **figures})
    layer.load_state_dict(run.best_weights)
    layer.eval()
    return run.at["best"]


class _LayerTraining:
    """The state of a training: what a checkpoint holds."""

    def __init__(
        self,
        layer: PreVerificationLayer,
        texts: list[DraftedText],
        stop_ids: frozenset[int],
        recipe: LayerRecipe,
        accelerator: Accelerator,
        folder: Path,
    ):
        self._recipe, self._accelerator, self._checkpoint = recipe, accelerator, folder / "checkpoint.pt"
        groups: dict[int, list[torch.nn.Parameter]] = {1: [], FASTER: []}
        for name, parameter in layer.named_parameters():
            groups[1 if name.startswith("block.") else FASTER].append(parameter)
        optimizer = torch.optim.AdamW(
            [{"params": parameters, "scale": scale} for scale, parameters in groups.items()],
            lr=0.0, betas=(0.9, 0.98), weight_decay=0.01,
        )  # fmt: skip
        self.at = {
            "recipe": json.dumps(asdict(recipe)),
            "texts": len(texts),
            "epoch": 0,
            "group": 0,
            "step": 0,
            "best": {},
        }
        self.best_weights = None
        if saved := resume(self._checkpoint, self.at, ("recipe", "texts")):
            self.at, self.best_weights = saved["at"], saved["best"]
            layer.load_state_dict(saved["layer"])
            optimizer.load_state_dict(saved["optimizer"])
        else:
            calibrate(layer, sample_rounds(texts, recipe, stop_ids, random.Random(recipe.seed)), recipe)
        self._wrapped, self._optimizer = accelerator.prepare(layer, optimizer)
        self.plain = accelerator.unwrap_model(self._wrapped)

    def step(self, groups: list[list[tuple[SimulatedRound, int]]]) -> float:
        """Train on the next batch of the epoch; returns its loss."""
        done = (self.at["epoch"] + self.at["group"] / len(groups)) / self._recipe.epochs
        batch = collate(groups[self.at["group"]], self._recipe).to(self._accelerator.device)
        self._wrapped.train()
        with self._accelerator.autocast():
            logits = self._wrapped(batch.states, batch.probs)
        loss = loss_of(logits, batch)
        self._optimizer.zero_grad()
        self._accelerator.backward(loss)
        self._accelerator.clip_grad_norm_(self._wrapped.parameters(), 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(done, self._recipe) * group["scale"]
        self._optimizer.step()
        self.at |= {"group": self.at["group"] + 1, "step": self.at["step"] + 1}
        return loss.item()

    def end_epoch(self, figures: dict[str, float]) -> None:
        """Count the epoch, keep its weights where they are the best so far, and save."""
        self.at |= {"epoch": self.at["epoch"] + 1, "group": 0}
        if not self.at["best"] or figures["loss_held_out"] < self.at["best"]["loss_held_out"]:
            self.at["best"] = figures | {"epoch": self.at["epoch"]}
            self.best_weights = {
                name: tensor.detach().cpu().clone() for name, tensor in self.plain.state_dict().items()
            }
        self.save()

    def save(self) -> None:
        """Write the checkpoint."""
        if self._accelerator.is_main_process:
            state = {"at": self.at, "layer": self.plain.state_dict(), "optimizer": self._optimizer.state_dict()}
            write_checkpoint(self._checkpoint, state | {"best": self.best_weights})


def calibrate(layer: PreVerificationLayer, rounds: list[tuple[SimulatedRound, int]], recipe: LayerRecipe) -> None:
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
    texts: list[DraftedText], recipe: LayerRecipe, stop_ids: frozenset[int], epoch: int, process: int, processes: int
) -> Iterator[list[tuple[SimulatedRound, int]]]:
    """The batches of one epoch that this process trains on: as many for each, in an order given by the seed."""
    rng = random.Random(recipe.seed * 1000 + epoch)
    rounds = sample_rounds(texts, recipe, stop_ids, rng)
    rng.shuffle(rounds)
    groups = [rounds[start : start + recipe.batch] for start in range(0, len(rounds), recipe.batch)]
    for index in range(process, len(groups) // processes * processes, processes):
        yield groups[index]


def rate_at(done: float, recipe: LayerRecipe) -> float:
    """Learning rate after the share `done` of the steps; the first step has one, too."""
    return warm_cosine(done, recipe.rate, WARM_UP, 0.05, first=1e-3)


@dataclass
class Scored:
    """Drafted tokens with their predictions, flat over rounds [N]."""

    scores: Tensor
    probs: Tensor  # the draft's own, of the token
    survival: Tensor  # the product of the draft's own up to the token
    labels: Tensor  # bool: accepted
    offsets: Tensor  # place in the round, from 0
    rounds: int = 0


@torch.inference_mode()
def score_rounds(
    layer: PreVerificationLayer, rounds: list[tuple[SimulatedRound, int]], recipe: LayerRecipe, batch: int = 64
) -> Scored:
    """Predictions for rounds, over the tokens that training looks at."""
    layer.eval()
    device = next(layer.parameters()).device
    columns: list[list[Tensor]] = [[], [], [], [], []]
    for start in range(0, len(rounds), batch):
        group = collate(rounds[start : start + batch], recipe)
        scores = layer(group.states.to(device), group.probs.to(device)).float().sigmoid().cpu()
        real = group.weight > 0
        places = torch.arange(real.shape[1]).expand(real.shape)
        parts = (scores, group.probs, group.probs.cumprod(1), group.labels > 0, places)
        for column, part in zip(columns, parts):
            column.append(part[real])
    return Scored(*(torch.cat(column) for column in columns), rounds=len(rounds))


def measure(
    layer: PreVerificationLayer, texts: list[DraftedText], recipe: LayerRecipe, stop_ids: frozenset[int]
) -> dict[str, float]:
    """Held-out figures, beside those of the draft's own probability."""
    return figures_of(score_texts(layer, texts, recipe, stop_ids), recipe)


def score_texts(
    layer: PreVerificationLayer, texts: list[DraftedText], recipe: LayerRecipe, stop_ids: frozenset[int]
) -> Scored:
    """Predictions for one walk through the texts, always the same one."""
    return score_rounds(layer, sample_rounds(texts, recipe, stop_ids, random.Random(recipe.seed)), recipe)


def figures_of(scored: Scored, recipe: LayerRecipe) -> dict[str, float]:
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
