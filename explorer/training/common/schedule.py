"""The learning rate over a training: a linear warm-up, then a cosine."""

from __future__ import annotations

import math


def warm_cosine(done: float, rate: float, warm_up: float, floor: float, first: float = 0.0) -> float:
    """The rate after the share `done` (0 to 1) of the work: linear up to `rate` at `warm_up`, then a cosine down to floor * rate.

    first: added to `done` while warming up, so that the first step has a rate, too.
    """
    if done < warm_up:
        return rate * (done + first) / warm_up
    return rate * (floor + (1 - floor) * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up))) / 2)
