"""The processes of `accelerate launch`, which share the prompts of a sweep."""

from __future__ import annotations

import os
import sys

from explorer.sweep.record import Sweep


class Processes:
    """The processes of `accelerate launch`, or this one alone."""

    def __init__(self, device: str | None):
        """device: as asked for; each process takes its own GPU where none was."""
        self.rank, self.count, self.device = 0, int(os.environ.get("WORLD_SIZE", "1")), device
        self._state = None
        if self.count > 1:
            import torch
            from accelerate import PartialState

            # Left to itself on a machine without a GPU, it takes every process for the only one.
            self._state = PartialState(cpu=device == "cpu" or not torch.cuda.is_available())
            self.rank = self._state.process_index
            self.device = device or str(self._state.device)

    def say(self, message: str) -> None:
        """One line of progress on stderr."""
        print(message if self.count == 1 else f"[{self.rank}] {message}", file=sys.stderr)

    def gathered(self, part: Sweep) -> list[Sweep]:
        """The parts of all processes, in each of them."""
        if self._state is None:
            return [part]
        from accelerate.utils import gather_object

        return gather_object([part])

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._state:
            self._state.destroy_process_group()
