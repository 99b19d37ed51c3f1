"""The engine on a ZeroGPU Space, which lends a GPU call by call to a worker process.

The worker is a copy of this process. What goes over are names, ids and settings, what comes back are rounds: plain data, no
tensors. The weights are loaded here before the first copy is made, which finds them on its GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from explorer.config import DecodeConfig
from explorer.errors import UserError, is_out_of_memory
from explorer.messages import Message
from explorer.prompts import PromptItem
from explorer.trace import Prompt, Provenance, Round
from explorer.ui.backend import WARM_UP_TOKENS, Backend

if TYPE_CHECKING:
    from explorer.engine.models.registry import KnownPair
    from explorer.engine.pair import Pair
    from explorer.sweep.record import MeasuredPoint, PromptRuns, Sweep

MAX_SECONDS = 120  # seconds asked for at most, which is what a visitor without an account has in a day
SWEEP_SECONDS = 60  # seconds of a sweep: who asks for more than is left of the day's is refused
START_SECONDS = 15  # seconds: a new process, the weights' way to the GPU, the first slow rounds
SECONDS_PER_TOKEN = (
    0.06  # seconds that plain decoding of a few billion weights should stay below: no run is cut for its length
)
MARGIN_SECONDS = 5  # seconds before the end at which work stops by itself and keeps what it has

Task = Callable[..., Generator[Any]]
OnGpu = Callable[[Task, Callable[..., int]], Task]


class GpuTimeOver(UserError):
    """A run that outlasted the GPU it was lent."""


def run_seconds(name: str, prompt_ids: list[int], configs: Sequence[DecodeConfig]) -> int:
    """How long to ask for the GPU for some runs, from their budgets; arguments as the task's."""
    tokens = sum(config.max_new_tokens for config in configs)
    return min(MAX_SECONDS, math.ceil(START_SECONDS + SECONDS_PER_TOKEN * tokens))


def sweep_seconds(*_: Any) -> int:
    """A sweep takes what it can get: the prompts that are done by then stay."""
    return SWEEP_SECONDS


class ZeroGpuBackend(Backend):
    """Every run, comparison and sweep is one call of a lent function; only the pairs it was made with can be run.

    The first round waits for a GPU to come free, and a run cannot be stopped before it.
    """

    sweep_gpu_seconds = SWEEP_SECONDS
    takes_typed_pairs = False

    def __init__(self, on_gpu: OnGpu, names: Sequence[str]):
        """on_gpu: makes of a generator function and the seconds it needs (same arguments) one that runs on a lent GPU.

        names: of the pairs, the default first. They are loaded now, on this thread; raises what load_pair raises.
        """
        from explorer.engine.load_pair import load_pair
        from explorer.engine.models.registry import find_pair

        super().__init__()
        self._known = tuple(find_pair(name) for name in names)
        self._pairs: dict[str, Pair] = {known.name: load_pair(known.name) for known in self._known}
        self._gpu_name: str | None = None  # its name; known once something was lent
        self._warm: set[str] = set()  # in a worker process: pairs that have run there
        self._runs_on_gpu = on_gpu(self._runs, run_seconds)
        self._sweep_on_gpu = on_gpu(self._sweep, sweep_seconds)
        self._measure_on_gpu = on_gpu(self._measure, sweep_seconds)

    def pairs(self) -> tuple[KnownPair, ...]:
        return self._known

    def load(self, name: str) -> Generator[Message | str, None, Pair]:
        yield ""
        return self._pairs[name]

    def provenance(self, pair: Pair) -> Provenance:
        here = pair.provenance()
        return replace(here, device=self._gpu_name or here.device)

    def decode(self, pair: Pair, prompt: Prompt, config: DecodeConfig) -> Iterator[Round]:
        with closing(self.decode_in_turn(pair, prompt, [config])) as rounds:
            for _, round_ in rounds:
                yield round_

    def decode_in_turn(
        self, pair: Pair, prompt: Prompt, configs: Sequence[DecodeConfig]
    ) -> Iterator[tuple[int, Round]]:
        return self._from_worker(self._runs_on_gpu(self._registered_name(pair), list(prompt.ids), list(configs)))

    def warm_up(self, pair: Pair, prompt: Prompt, configs: Sequence[DecodeConfig]) -> Iterator[None]:
        """Nothing here: the process that runs warms itself up."""
        yield from ()

    def sweep(
        self, pair: Pair, items: Sequence[PromptItem], points: Sequence[DecodeConfig]
    ) -> Iterator[PromptRuns | int]:
        return self._from_worker(self._sweep_on_gpu(self._registered_name(pair), list(items), list(points)))

    def measure(self, pair: Pair, sweep: Sweep, points: Sequence[int]) -> Iterator[tuple[MeasuredPoint, ...] | int]:
        return self._from_worker(self._measure_on_gpu(self._registered_name(pair), sweep, list(points)))

    def _from_worker(self, steps: Generator[Any]) -> Iterator[Any]:
        """The steps that a call in the worker process yields; raises the UserError it ended with. Closing the iterator ends it after the step it is in."""
        with closing(steps):
            for step in steps:
                if isinstance(step, Provenance):
                    self._gpu_name = step.device
                elif isinstance(step, UserError):
                    raise step
                else:
                    yield step

    def _registered_name(self, pair: Pair) -> str:
        """What the other process finds the pair by: a record calls a local folder otherwise."""
        return next(name for name, held in self._pairs.items() if held is pair)

    # In the worker process --------------------------------------------------------------------------------------------

    def _runs(self, name: str, prompt_ids: list[int], configs: list[DecodeConfig]) -> Generator[Any]:
        """Rounds with the index of their run."""
        from explorer.engine.decode import decode
        from explorer.engine.turns import in_turn

        def work(pair: Pair) -> Iterator[tuple[int, Round]]:
            if len(configs) > 1 or name not in self._warm:  # times that are compared, or a process that is new
                short = [
                    replace(config, max_new_tokens=min(WARM_UP_TOKENS, config.max_new_tokens)) for config in configs
                ]
                for _ in in_turn([decode(pair, prompt_ids, config) for config in short]):
                    pass
            self._warm.add(name)
            return in_turn([decode(pair, prompt_ids, config) for config in configs])

        yield from self._in_worker(name, run_seconds(name, prompt_ids, configs), work, cut=False)

    def _sweep(self, name: str, items: list[PromptItem], points: list[DecodeConfig]) -> Generator[Any]:
        yield from self._in_worker(name, SWEEP_SECONDS, lambda pair: self.sweep_steps(pair, items, points), cut=True)

    def _measure(self, name: str, sweep: Sweep, points: list[int]) -> Generator[Any]:
        yield from self._in_worker(name, SWEEP_SECONDS, lambda pair: self.measure_steps(pair, sweep, points), cut=False)

    def _in_worker(self, name: str, seconds: int, work: Callable[[Pair], Iterator[Any]], cut: bool) -> Generator[Any]:
        """The provenance, then what the work yields, then the error a user should read, if any: only values cross.

        cut: whether work that outlasts the GPU time simply ends.
        """
        end, pair = monotonic() + seconds - MARGIN_SECONDS, self._pairs[name]
        yield pair.provenance()
        try:
            with closing(work(pair)) as steps:
                for step in steps:
                    yield step
                    if monotonic() > end:
                        if cut:
                            return
                        raise GpuTimeOver("loan.over", seconds=seconds)
        except Exception as error:
            if is_out_of_memory(error):
                error = UserError("run.out_of_memory")
            if not isinstance(error, UserError):
                raise
            yield error
