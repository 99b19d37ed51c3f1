"""How good a trained layer is on held-out texts, and the settings to run it with: figures as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from explorer.analysis.calibration import Bin, calibration
from explorer.analysis.markdown import markdown_table
from explorer.config import DecodeConfig
from explorer.engine.drafters.lengths import LengthPolicy
from explorer.engine.drafters.pacer.card import Choice
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.training.common.metrics import auc
from explorer.training.pacer.costs import Costs
from explorer.training.pacer.data import DraftedText
from explorer.training.pacer.length_replay import Replayed, comparators, grid, oracle, pacer_policy, replay, starts
from explorer.training.pacer.train import LayerRecipe, figures_of, score_texts


def evaluate(
    layer: PreVerificationLayer,
    texts: list[DraftedText],
    recipe: LayerRecipe,
    stop_ids: frozenset[int],
    costs: Costs,
    longest: int = 24,
) -> tuple[dict[str, Any], Choice]:
    """All figures of a layer, and the settings with the highest replayed speed.

    Settings of every policy are chosen on the even texts and its speed is stated on the odd ones.
    """
    scored = score_texts(layer, texts, recipe, stop_ids)
    offsets = []
    for offset in scored.offsets.unique().tolist():
        mine = scored.offsets == offset
        labels = scored.labels[mine]
        row = {"offset": offset + 1, "count": int(mine.sum()), "kept": float(labels.double().mean())}
        for name in ("scores", "probs", "survival"):
            row[f"auc_{name}"] = auc(getattr(scored, name)[mine], labels)
        offsets.append(row)
    config = replace(recipe.config, draft_length=longest)
    tables = [starts(layer, text, config, stop_ids) for text in texts]
    replayed, choice = compare(tables, config, costs)
    figures = {
        "metrics": figures_of(scored, recipe),
        "offsets": offsets,
        "calibration": [asdict(bin_) for bin_ in calibration(scored.scores.tolist(), scored.labels.tolist())],
        "costs": asdict(costs),
        "replayed": replayed,
        "choice": asdict(choice),
        "apart": len(tables) > 1,
    }
    return figures, choice


def compare(
    tables: list, config: DecodeConfig, costs: Costs, ablations: bool = True
) -> tuple[list[dict[str, Any]], Choice]:
    """Every kind of policy at its best setting: chosen on even texts, its speed on odd ones, by the cost model.

    ablations: also what PACER's parts are worth.
    """
    longest = config.draft_length
    even, odd = tables[::2], tables[1::2] or tables
    policies: dict[str, dict[str, Callable[[], LengthPolicy]]] = {}
    for name, make in comparators(longest).items():
        policies.setdefault(name.split()[0], {})[name] = make
    settings = {describe(setting): setting for setting in grid(config)}
    policies["pacer"] = {name: pacer_policy(one) for name, one in settings.items()}
    if ablations:
        policies |= _ablations(settings)
    lines = [_line("plain", "-", plain(odd, costs))]
    best = {}
    for kind, makers in policies.items():
        speeds = {name: replay(even, make, longest, costs).speed for name, make in makers.items()}
        best[kind] = max(speeds, key=speeds.__getitem__)
        lines.append(_line(kind, best[kind], replay(odd, makers[best[kind]], longest, costs)))
    lines.append(_line("oracle (drafts exactly what is kept)", "-", oracle(odd, longest, costs)))
    chosen = settings[best["pacer"]]
    choice = Choice(chosen.threshold, chosen.growth, chosen.block_size, longest, chosen.least_draft)
    return lines, choice


def _ablations(settings: dict[str, DecodeConfig]) -> dict[str, dict[str, Callable[[], LengthPolicy]]]:
    """PACER without one of its parts, or with another; settings: those of PACER itself that are tried, by name."""
    flat = {name: one for name, one in settings.items() if one.growth == 1.0}
    policies = {"pacer, no growth": {name: pacer_policy(one) for name, one in flat.items()}}
    for block in (1, 2, 4, 8):
        mine = {name: one for name, one in settings.items() if one.block_size == block}
        policies[f"pacer, b = {block}"] = {name: pacer_policy(one) for name, one in mine.items()}
    for statistic in ("min", "product"):
        mine = {
            f"{name}, {statistic}": replace(one, statistic=statistic)
            for name, one in settings.items()
            if one.block_size == 4
        }
        policies[f"pacer, {statistic}, b = 4"] = {name: pacer_policy(one) for name, one in mine.items()}
    return policies


def plain(tables: list, costs: Costs) -> Replayed:
    """The target alone: one pass per token."""
    tokens = sum(len(table) for table in tables)
    return Replayed(tokens, tokens, 0, 0, tokens * costs.verify_at(0))


def describe(config: DecodeConfig) -> str:
    least = f", at least {config.least_draft}" if config.least_draft else ""
    return f"t = {config.threshold:g}, rho = {config.growth:g}, b = {config.block_size}{least}"


def _line(kind: str, setting: str, one: Replayed) -> dict[str, Any]:
    return {"policy": kind, "setting": setting, "speed": one.speed, "tau": one.tau, "drafted_per_round": one.drafted / one.rounds,
            "calls_per_round": one.calls / one.rounds}  # fmt: skip


def markdown(figures: dict[str, Any]) -> str:
    """The figures as tables."""
    metrics, speeds = figures["metrics"], figures["replayed"]
    predictors = markdown_table(
        ["predictor", "AUC", "AUC within offset", "Brier"],
        [
            [name, *(_number(metrics.get(figure + end)) for figure in ("auc", "auc_within_offset", "brier"))]
            for name, end in {"the layer": "", "draft's probability": "_probs", "product of them": "_survival"}.items()
        ],
    )
    offsets = markdown_table(
        ["offset", "tokens", "kept", "AUC layer", "AUC probability", "AUC product"],
        [
            [str(row["offset"]), str(row["count"]), f"{row['kept']:.2f}"]
            + [_number(row[f"auc_{name}"]) for name in ("scores", "probs", "survival")]
            for row in figures["offsets"]
        ],
    )
    bins = markdown_table(
        ["predicted", "tokens", "mean predicted", "kept"],
        [
            [f"{row['low']:.1f}-{row['high']:.1f}", str(row["count"]), f"{row['predicted']:.2f}", f"{row['kept']:.2f}"]
            for row in figures["calibration"]
        ],
    )
    policies = markdown_table(
        ["policy", "setting", "tokens/s, replayed", "x plain", "tau", "drafted", "layer calls"],
        [
            [row["policy"], row["setting"], f"{row['speed']:.2f}", f"{row['speed'] / speeds[0]['speed']:.2f}"]
            + [f"{row[name]:.2f}" for name in ("tau", "drafted_per_round", "calls_per_round")]
            for row in speeds
        ],
    )
    other = "other texts than" if figures["apart"] else "the very text that"
    note = f"Replayed by a cost model ({figures['costs']['where']}); settings chosen on {other} their speeds are stated on."
    return "\n\n".join([predictors, offsets, bins, policies, note])


def calibrations(
    layer: PreVerificationLayer, texts: list[DraftedText], recipe: LayerRecipe, stop_ids: frozenset[int]
) -> dict[str, tuple[Bin, ...]]:
    """Predicted acceptance against what was accepted, for the layer and for the product of the draft's own probabilities."""
    scored = score_texts(layer, texts, recipe, stop_ids)
    kept = scored.labels.tolist()
    return {
        "the layer": calibration(scored.scores.tolist(), kept),
        "product of the draft's probabilities": calibration(scored.survival.tolist(), kept),
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
