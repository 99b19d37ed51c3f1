"""Work on fixed buffers that a GPU replays with one launch: a decoding step of one token is otherwise bound by its launches."""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch

log = logging.getLogger(__name__)

WARM = 2  # runs before recording, as torch asks: kernels are chosen and workspaces made in them


class Graph:
    """Work that reads and writes the same tensors at every call, recorded as a CUDA graph at the first one.

    Elsewhere, and where recording fails, it simply runs. Results of a recorded work lie in the graph's own memory: the next
    call overwrites them. Running it twice on the same inputs must do no harm, because recording warms it up.
    """

    def __init__(self, work: Callable[[], tuple[torch.Tensor, ...]], device: torch.device):
        """device: where the tensors of the work lie, with its index: another than torch's current one would record nothing."""
        self._work, self._device = work, device
        self._eager = device.type != "cuda"
        self._recorded: torch.cuda.CUDAGraph | None = None
        self._result: tuple[torch.Tensor, ...] = ()

    def __call__(self) -> tuple[torch.Tensor, ...]:
        if not self._eager and self._recorded is None:
            self._record()
        if self._recorded is None:
            return self._work()
        with torch.cuda.device(self._device):
            self._recorded.replay()
        return self._result

    def _record(self) -> None:
        """Only on CUDA: no test without a GPU reaches this; `python -m explorer gpu-check` compares it with the eager path."""
        try:
            with torch.cuda.device(self._device):
                side, current = torch.cuda.Stream(self._device), torch.cuda.current_stream(self._device)
                side.wait_stream(current)
                with torch.cuda.stream(side):
                    for _ in range(WARM):
                        self._work()
                current.wait_stream(side)
                recorded = torch.cuda.CUDAGraph()
                # The stream is named: torch's own one for captures lies on the device of the process's first capture.
                with torch.cuda.graph(recorded, stream=side):
                    self._result = self._work()
            self._recorded = recorded
        except RuntimeError as error:
            log.warning("a CUDA graph could not be recorded, the eager path is used: %s", error)
            self._eager = True
