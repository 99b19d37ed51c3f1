"""Training a judge head: logistic regression on standardised states, its strictness by prompts, its threshold by recall."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.engine.verification.judge_head import JudgeHead
from explorer.errors import UserError
from explorer.training.common.metrics import auc
from explorer.training.common.progress import Progress
from explorer.training.judge.data import MismatchTable

DECAYS = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class JudgeRecipe:
    """How a head is trained."""

    folds: int = 5  # of prompts, to choose the decay by
    recall: float = 0.95  # of important mismatches on the validation prompts, that the threshold must refuse
    seed: int = 1

    @property
    def numbers(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Fit:
    """A head, and what chose it."""

    head: JudgeHead
    decay: float
    aucs: dict[float, float]  # by decay: mean AUC over the folds, on prompts that were not trained on


def train(training: MismatchTable, validation: MismatchTable, recipe: JudgeRecipe) -> Generator[Progress, None, Fit]:
    """Fit on the training prompts, choose the threshold on the validation prompts; yields after every fit. Raises UserError on labels
    of one kind.

    Writes no checkpoint: it depends on its arguments alone and takes seconds. What takes long is collecting, which resumes.
    """
    for name, rows in (("training", training), ("validation", validation)):
        if not rows.important.any() or rows.important.all():
            raise UserError("training.one_kind", name=name)
    aucs = yield from cross_validated(training, recipe)
    decay = max(DECAYS, key=lambda decay: (aucs[decay], decay))  # of equal ones the stricter
    weight, bias = fit(training.states, training.important, decay)
    threshold = threshold_for(validation.states @ weight + bias, validation.important, recipe.recall)
    return Fit(JudgeHead(weight, bias - threshold), decay, aucs)


def cross_validated(rows: MismatchTable, recipe: JudgeRecipe) -> Generator[Progress, None, dict[float, float]]:
    """By decay, the mean AUC on folds of prompts, each by a fit on the others: rows of one prompt are never on both sides. Yields the
    fits done."""
    groups = rows.groups.unique()
    order = groups[torch.randperm(len(groups), generator=torch.Generator().manual_seed(recipe.seed))]
    found: dict[float, list[float]] = {decay: [] for decay in DECAYS}
    for fold in range(recipe.folds):
        held_out = torch.isin(rows.groups, order[fold :: recipe.folds])
        for place, decay in enumerate(DECAYS, 1):
            weight, bias = fit(rows.states[~held_out], rows.important[~held_out], decay)
            score = auc(rows.states[held_out] @ weight + bias, ~rows.important[held_out])
            if score is not None:
                found[decay].append(score)
            yield Progress(fold * len(DECAYS) + place, recipe.folds * len(DECAYS))
    return {decay: sum(scores) / max(len(scores), 1) for decay, scores in found.items()}


def fit(states: Tensor, important: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Weight [d] and bias [] of a logistic regression whose score is high where a mismatch does not matter.

    states [n, d] are standardised for the fit, and the standardisation is folded into what is returned; both kinds weigh alike
    however many there are of each; decay: of the squared weights in units of standardised states.
    """
    x = states.double()
    mean, scale = x.mean(0), x.std(0).clamp_min(1e-6)
    x = (x - mean) / scale
    y = (~important).double()
    share = torch.where(important, 0.5 / important.sum(), 0.5 / (~important).sum()).double()
    w = torch.zeros(x.shape[1], dtype=torch.double, requires_grad=True)
    b = torch.zeros((), dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([w, b], max_iter=200, tolerance_grad=1e-7, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ w + b, y, share, reduction="sum") + decay / 2 * w.square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(loss)
    weight = w.detach() / scale
    return weight.float(), (b.detach() - weight @ mean).float()


def threshold_for(scores: Tensor, important: Tensor, recall: float) -> float:
    """The lowest score to keep a mismatch at, so that at least `recall` of the important ones lie below it."""
    mine = scores[important].double().sort().values
    last = mine[max(-(-int(round(recall * len(mine) * 1e6)) // 10**6), 1) - 1]
    above = scores.double()[scores > last]
    # Between two scores, so that rounding elsewhere decides nothing.
    return float((last + above.min()) / 2) if len(above) else float(last) + 1e-3
