"""How far collecting and training are: what their generators yield. Knows no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from explorer.analysis.calibration import Bin


@dataclass(frozen=True)
class Shard:
    """One more shard of texts, written."""

    path: Path
    texts: int
    rows: int  # answer tokens: every one of them can start a round
    branches: int  # of them where the draft's choice is not the target's
    seconds: float


@dataclass(frozen=True)
class Step:
    """One step of training."""

    step: int
    epoch: float  # epochs done, with what is done of this one
    loss: float
    seconds: float  # since training began

    def __str__(self) -> str:
        return _line({"step": self.step, "epoch": round(self.epoch, 3), "loss": self.loss, "seconds": self.seconds})


@dataclass(frozen=True)
class Epoch:
    """What the layer predicts on the held-out texts after so many epochs, and what the draft's own probabilities do."""

    step: int
    epoch: int
    figures: dict[str, float]
    calibration: tuple[Bin, ...]
    own: tuple[Bin, ...]  # calibration of the product of the draft's own probabilities

    def __str__(self) -> str:
        return _line({"step": self.step, "epoch": self.epoch, **self.figures})


def _line(values: dict[str, float]) -> str:
    return json.dumps({name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()})
