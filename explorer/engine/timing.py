"""How long work takes on a device, which is waited for before and after: the phases of a round, or one piece alone."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch

from explorer.trace import Seconds


class RoundClock:
    """Where the time of a round goes: wall clock, the device's queue drained at every border, so that a phase pays for its own
    work."""

    def __init__(self, device: torch.device):
        self._device, self._start = device, perf_counter()
        self._spent: dict[str, float] = {}  # seconds by phase, of the round in progress

    def resume(self) -> None:
        """What passed since the last border counts for no phase: no round was in progress."""
        self._lap()

    def count(self, phase: str, **parts: float) -> None:
        """What passed since the last border was this phase, but for seconds inside it that belong to others (`parts`)."""
        self._spent[phase] = self._lap() - sum(parts.values())
        self._spent |= parts

    def end_round(self, forwards: float) -> Seconds:
        """All phases of the round that ends here, the rest of it as `other`; forwards: seconds of it inside model forwards."""
        self.count("other")
        spent, self._spent = self._spent, {}
        return Seconds(**spent, forwards=forwards)

    def _lap(self) -> float:
        wait(self._device)
        now = perf_counter()
        lap, self._start = now - self._start, now
        return lap


def median_seconds(work: Callable[[], object], device: torch.device, repeats: int = 7) -> float:
    """The median of `repeats` runs, after one that does not count: kernels are chosen and memory is taken in it."""
    return median(_times(work, device, repeats))


def least_seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """The fastest of `repeats` runs, for figures that last: whatever else runs on the machine only ever adds."""
    return min(_times(work, device, repeats))


def _times(work: Callable[[], object], device: torch.device, repeats: int) -> list[float]:
    times = []
    for _ in range(repeats + 1):
        wait(device)
        start = perf_counter()
        work()
        wait(device)
        times.append(perf_counter() - start)
    return times[1:]


def wait(device: torch.device) -> None:
    """Let the device finish what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
