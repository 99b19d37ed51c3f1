"""The report of a judge head as a picture: how its strictness was chosen, and how its scores divide the mismatches."""

from __future__ import annotations

import math
from pathlib import Path

from explorer.training.common.svg_report import Chart, Series, write_report
from explorer.training.judge.data import MismatchTable
from explorer.training.judge.train import Fit

BINS = 20


def report(folder: Path, fit: Fit, test: MismatchTable) -> Path:
    """Write report.svg into the head's folder; returns its path. test: mismatches on prompts that were not trained on."""
    scores = fit.head.scores(test.states)
    series = []
    for name, mine in (("matters", scores[test.important]), ("does not matter", scores[~test.important])):
        counts = mine.histc(BINS, 0, 1) / max(len(mine), 1)
        series.append(Series(name, [((place + 0.5) / BINS, share) for place, share in enumerate(counts.tolist())]))
    aucs = [(math.log10(decay), auc) for decay, auc in fit.aucs.items()]
    charts = [
        Chart("Strictness, by folds of prompts", "log10 of the decay", "mean AUC", [Series("folds", aucs, dots=True)]),
        Chart("Scores of mismatches on other prompts", "score (0.5: the threshold)", "share of mismatches", series),
    ]
    return write_report(folder, f"Judge head of {folder.name}", charts)
