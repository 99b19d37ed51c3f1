"""How well a judge head tells mismatches that matter from others, beside figures that need no training, and what it does to answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from math import comb

import torch
from torch import Tensor

from explorer.analysis.markdown import markdown_table
from explorer.config import DecodeConfig
from explorer.engine.pair import Pair
from explorer.engine.recorder import plain
from explorer.engine.verification.judge_head import JudgeHead
from explorer.prompts import PromptItem
from explorer.sweep.points import Point, points_of
from explorer.sweep.record import PromptRuns, Sweep
from explorer.sweep.runner import sweep_prompts, tasks
from explorer.training.common.metrics import auc, auc_within
from explorer.training.common.progress import Progress
from explorer.training.judge.data import Mismatch, MismatchTable
from explorer.training.judge.train import threshold_for

HEAD = "judge head"
RESAMPLES = 2000
# Figures of the record that say without training where the target may be overruled: higher is more harmless.
STAND_INS: dict[str, Callable[[Mismatch], float]] = {
    "entropy (FLy's gate)": lambda mismatch: mismatch.entropy,
    "KL": lambda mismatch: -mismatch.divergence,
    "margin": lambda mismatch: -mismatch.gap,
    "probability": lambda mismatch: mismatch.prob,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One way to judge, on some mismatches."""

    name: str
    auc: float  # chance that one that does not matter scores above one that does
    auc_within: float | None  # the same among mismatches of one prompt only
    recall: float  # important ones that it refuses at its threshold
    accepted: float  # unimportant ones that it keeps
    better: float | None  # share of resampled prompt sets on which the head's AUC is above this one's


def scores_of(head: JudgeHead, rows: MismatchTable) -> dict[str, Tensor]:
    """What every way to judge says of some mismatches [n], by its name."""
    found = {HEAD: head.scores(rows.states)}
    for name, read in STAND_INS.items():
        found[name] = torch.tensor([read(mismatch) for mismatch in rows.mismatches], dtype=torch.double)
    return found


def thresholds(head: JudgeHead, validation: MismatchTable, recall: float) -> dict[str, float]:
    """The score to keep a mismatch at, by name: each way chosen alike on the validation prompts, the head's as it is in its file."""
    chosen = {
        name: threshold_for(scores, validation.important, recall)
        for name, scores in scores_of(head, validation).items()
    }
    return chosen | {HEAD: 0.5}


def judged(head: JudgeHead, rows: MismatchTable, limits: dict[str, float], seed: int = 1) -> list[Judged]:
    """All ways to judge on some mismatches, at thresholds that were chosen on others."""
    scores, harmless = scores_of(head, rows), ~rows.important
    found = []
    for name, mine in scores.items():
        kept = mine >= limits[name]
        found.append(
            Judged(
                name=name,
                auc=_auc(mine, harmless),
                auc_within=auc_within(mine, harmless, rows.groups),
                recall=float((~kept[rows.important]).double().mean()),
                accepted=float(kept[harmless].double().mean()),
                better=None if name == HEAD else _share_better(scores[HEAD], mine, rows, seed),
            )
        )
    return found


def _auc(scores: Tensor, labels: Tensor) -> float:
    value = auc(scores, labels)
    return float("nan") if value is None else value


def _share_better(ours: Tensor, theirs: Tensor, rows: MismatchTable, seed: int) -> float:
    """Over sets of prompts drawn with replacement: how often our AUC is above theirs, ties counting half. Both on one draw."""
    _, group = rows.groups.unique(return_inverse=True)
    count = int(group.max()) + 1
    drawn = torch.randint(count, (RESAMPLES, count), generator=torch.Generator().manual_seed(seed))
    times = torch.zeros(RESAMPLES, count, dtype=torch.double).scatter_add_(1, drawn, torch.ones_like(drawn).double())
    ahead = _wins(ours, rows.important, group, count) - _wins(theirs, rows.important, group, count)
    difference = torch.einsum("rg,gh,rh->r", times, ahead, times).round(decimals=6)
    return float((difference > 0).double().mean() + (difference == 0).double().mean() / 2)


def _wins(scores: Tensor, important: Tensor, group: Tensor, count: int) -> Tensor:
    """How often an unimportant mismatch of one prompt scores above an important one of another [count, count], ties half.
    An AUC is their sum over the pairs there are, so prompts drawn several times only change weights."""
    up, down = scores[~important].double(), scores[important].double()
    won = (up[:, None] > down).double() + (up[:, None] == down).double() / 2
    place = (group[~important][:, None] * count + group[important]).flatten()
    return torch.zeros(count * count, dtype=torch.double).scatter_add_(0, place, won.flatten()).view(count, count)


def table(found: Sequence[Judged]) -> str:
    head = ["judged by", "AUC", "AUC within a prompt", "important refused", "unimportant kept", "head's AUC higher"]
    return markdown_table(
        head,
        [
            [way.name, f"{way.auc:.3f}", "-" if way.auc_within is None else f"{way.auc_within:.3f}", f"{way.recall:.1%}"]
            + [f"{way.accepted:.1%}", "-" if way.better is None else f"{way.better:.0%} of resamples"]
            for way in found
        ],
    )  # fmt: skip


def describe(rows: MismatchTable) -> str:
    important = int(rows.important.sum())
    return f"{len(rows)} mismatches of {rows.prompts} prompts, {important} important ({important / len(rows):.0%})"


# Answers --------------------------------------------------------------------------------------------------------------


def rule_points(base: DecodeConfig, limits: dict[str, float]) -> dict[str, DecodeConfig]:
    """Plain greedy, exact and judge, and the rules that read the stand-ins, at the thresholds chosen for the same recall."""
    entropy, divergence, gap = (limits[name] for name in list(STAND_INS)[:3])
    exact = replace(base, rule="exact")
    points = {"plain greedy": plain(base), "exact": exact, "judge": replace(base, rule="judge")}
    points["judge, any number in a row"] = replace(points["judge"], judge_run=16)
    points |= {
        "fly, W = 0": replace(base, rule="fly", entropy="normalized", window=0, theta=_within(entropy, 1.2)),
        "kl": replace(base, rule="kl", kl_limit=_within(-divergence, 10.0), kl_confidence=1.0),
        "margin": replace(base, rule="margin", margin=_within(-gap, 10.0)),
    }
    return points


def _within(value: float, high: float) -> float:
    return min(max(value, 0.0), high)


def answers(
    pair: Pair, items: Sequence[PromptItem], points: dict[str, DecodeConfig]
) -> Generator[Progress, None, tuple[Point, ...]]:
    """Run prompts under all points, the first of which is plain greedy: yields prompts done after every target pass, returns the
    figures."""
    configs = tuple(points.values())
    done: list[PromptRuns] = []
    for runs in sweep_prompts(pair, tasks(pair, items, configs), configs):
        if runs is not None:
            done.append(runs)
        yield Progress(len(done), len(items))
    return points_of(Sweep(pair.provenance(), configs, tuple(done)))


def answers_table(names: Sequence[str], points: Sequence[Point]) -> str:
    head = ["rule", "right", "lost", "gained", "p", "tokens per pass", "loosened", "nats per token", "same ids"]
    return markdown_table(
        head,
        [
            [name, f"{point.right} of {point.checkable}", str(point.lost), str(point.gained)]
            + [f"{sign_test(point.lost, point.gained):.3f}", f"{point.tau:.2f}", f"{point.loosened_share:.1%}"]
            + [f"{point.fidelity:+.3f}", f"{point.same_ids} of {point.prompts}"]
            for name, point in zip(names, points)
        ],
    )  # fmt: skip


def sign_test(lost: int, gained: int) -> float:
    """Two-sided exact p of as uneven a split of the prompts whose outcome changed, were either way as likely (McNemar)."""
    changed = lost + gained
    tail = sum(comb(changed, k) for k in range(min(lost, gained) + 1)) / 2**changed
    return min(2 * tail, 1.0)
