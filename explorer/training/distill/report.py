"""The report of a draft or a head as a picture: loss and agreement over its training, acceptance by place in the draft."""

from __future__ import annotations

from pathlib import Path

from explorer.training.common.svg_report import Chart, Series, write_report
from explorer.training.common.training_log import read_log
from explorer.training.distill.evaluate import Figures


def report(folder: Path, work: Path, what: str, figures: Figures) -> Path:
    """Write report.svg into `folder`; returns its path. work: folder of the training's log; figures: on the held-out answers."""
    log = read_log(work)
    read = [line["tokens"] / 1e6 for line in log]
    acceptance = [(place, share) for place, share in enumerate(figures.acceptance, 1)]
    charts = [
        Chart("Loss", "tokens read, millions", "nats", [Series("training", list(zip(read, (line["loss"] for line in log))))]),
        Chart(
            "Agreement with the target on held-out answers", "tokens read, millions", "share of tokens",
            [Series("held out", list(zip(read, (line["agreement"] for line in log))), dots=True)],
        ),
        Chart(f"Acceptance rate by place in a draft of {len(acceptance)}", "place in the draft", "accepted / reached", [Series("held out", acceptance, dots=True)]),
    ]  # fmt: skip
    return write_report(folder, f"{what} of {folder.name}", charts)
