"""How long a piece of work takes on a device, waited for before and after."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch


def median_seconds(work: Callable[[], object], device: torch.device, repeats: int = 7) -> float:
    """The median of `repeats` runs, after one that does not count: kernels are chosen and memory is taken in it."""
    times = []
    for _ in range(repeats + 1):
        wait(device)
        start = perf_counter()
        work()
        wait(device)
        times.append(perf_counter() - start)
    return median(times[1:])


def wait(device: torch.device) -> None:
    """Let the device finish what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
