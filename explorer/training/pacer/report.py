"""The report of a layer as a picture: loss over its training, calibration on held-out texts, replayed speed by length policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from explorer.analysis.calibration import Bin
from explorer.training.common.svg_report import Bar, BarChart, Chart, Series, write_report


def report(
    folder: Path,
    log: Sequence[Mapping[str, Any]],
    bins: Mapping[str, Iterable[Bin]],
    replayed: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write report.svg into the layer's folder; returns its path.

    log: of the training (train.train); bins: calibration by predictor; replayed: lines of evaluate.compare.
    """
    training = [(line["epoch"], line["loss"]) for line in log if "loss" in line]
    held_out = [(line["epoch"], line["loss_held_out"]) for line in log if "loss_held_out" in line]
    calibrated = [
        Series(name, [(bin_.predicted, bin_.kept) for bin_ in bins_], dots=True) for name, bins_ in bins.items()
    ]
    charts = [
        Chart(
            "Loss (cross-entropy per drafted token)", "epochs", "nats",
            [Series("training", training), Series("held out", held_out, dots=True)],
        ),
        Chart("Calibration on held-out texts", "predicted acceptance", "share accepted", calibrated, diagonal=True),
        BarChart("Speed by length policy", "tokens per second, replayed", [_bar(line) for line in replayed]),
    ]  # fmt: skip
    return write_report(folder, "PACER's pre-verification layer", charts)


def is_log_of(metrics: Mapping[str, float], log: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a training's log is that of the layer with these figures in its card: the work folder may hold another one's."""
    wanted = metrics.get("epoch"), round(metrics.get("loss_held_out", -1.0), 4)
    return any((line["epoch"], line["loss_held_out"]) == wanted for line in log if "loss_held_out" in line)


def _bar(line: Mapping[str, Any]) -> Bar:
    """A policy with its setting, where the setting says more than the policy's name."""
    setting = line["setting"].removeprefix(line["policy"]).strip()
    return Bar(line["policy"], line["speed"], "" if setting == "-" else setting)
