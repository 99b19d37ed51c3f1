"""The report of a layer as a picture: loss over its training, calibration on held-out texts, replayed speed by length policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from explorer.analysis.calibration import Bin
from explorer.training.common.report import Bars, Chart, Series, write_report


def report(
    folder: Path,
    log: Sequence[Mapping[str, Any]],
    bins: Mapping[str, Iterable[Bin]],
    replayed: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write report.svg into the layer's folder; returns its path.

    log: of the training (train.train); bins: calibration by predictor; replayed: lines of evaluate.compare.
    """
    loss = Chart(
        "Loss (cross-entropy per drafted token)",
        "epochs",
        "nats",
        [
            Series("training", [(line["epoch"], line["loss"]) for line in log if "loss" in line]),
            Series(
                "held out",
                [(line["epoch"], line["loss_held_out"]) for line in log if "loss_held_out" in line],
                dots=True,
            ),
        ],
    )
    series = [Series(name, [(one.predicted, one.kept) for one in some], dots=True) for name, some in bins.items()]
    calibration = Chart(
        "Calibration on held-out texts", "predicted acceptance", "accepted share", series, diagonal=True
    )
    speeds = [(f"{line['policy']} {line['setting']}".strip(" -"), line["speed"]) for line in replayed]
    charts = [
        loss,
        calibration,
        *([Bars("Speed by length policy", "tokens per second, replayed", speeds)] if speeds else []),
    ]
    return write_report(folder, "PACER's pre-verification layer", charts)
