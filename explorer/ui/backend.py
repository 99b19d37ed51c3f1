"""The engine as the page sees it. Torch and the models are imported at the first use, so that the page opens before them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from explorer.config import DecodeConfig
from explorer.messages import Message
from explorer.trace import Baseline, Prompt, Provenance, Round

if TYPE_CHECKING:
    from explorer.engine.models.registry import KnownPair
    from explorer.engine.pair import Pair
    from explorer.engine.recorder import Recorder
    from explorer.prompts import PromptItem
    from explorer.sweep.record import MeasuredPoint, PromptRuns, Sweep

Result = TypeVar("Result")
WARM_UP_TOKENS = 12  # tokens
HEARTBEAT = 0.05  # seconds between chances to show something, or to stop, while a step runs


class Backend:
    """All work on models, done by one thread: its torch thread pool stays warm and two visitors cannot collide.

    Holds the pair used last; another one takes its place, because two may not fit into memory.
    """

    takes_typed_pairs = True  # whether a visitor may name a pair that is not in the list
    sweep_gpu_seconds: int | None = None  # for how long a sweep has a GPU, where one is lent

    def __init__(self):
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="models")
        self._pair: Pair | None = None
        self._name = ""  # by which it was asked for: that in its records hides local folders

    def pairs(self) -> tuple[KnownPair, ...]:
        """The pairs a visitor can choose, the default first."""
        from explorer.engine.models.registry import known_pairs

        return known_pairs()

    def load(self, name: str) -> Generator[Message | str, None, Pair]:
        """Load a known pair, yielding messages of progress (often empty: a chance to stop); returns the pair."""
        messages: SimpleQueue[Message] = SimpleQueue()
        return (yield from _wait(self._worker.submit(self._load, name, messages.put), messages))

    def recorder(self, pair: Pair, prompt: Prompt, config: DecodeConfig) -> Recorder:
        from explorer.engine.recorder import Recorder

        return Recorder(pair, prompt, config, lambda: self.provenance(pair))

    def provenance(self, pair: Pair) -> Provenance:
        """What runs, here and now."""
        return pair.provenance()

    def decode(self, pair: Pair, prompt: Prompt, config: DecodeConfig) -> Iterator[Round | None]:
        """The rounds of a run, None now and then while one is made; closing the iterator ends the run and its caches."""
        from explorer.engine.decode import decode

        return self._stepwise(decode(pair, list(prompt.ids), config))

    def decode_in_turn(
        self, pair: Pair, prompt: Prompt, configs: Sequence[DecodeConfig]
    ) -> Iterator[tuple[int, Round] | None]:
        """The rounds of several runs in turn, each with the index of its run; otherwise as `decode`."""
        from explorer.engine.decode import decode
        from explorer.engine.turns import in_turn

        return self._stepwise(in_turn([decode(pair, list(prompt.ids), config) for config in configs]))

    def warm_up(self, pair: Pair, prompt: Prompt, configs: Sequence[DecodeConfig]) -> Iterator[None]:
        """Decode a few tokens under all settings in turn and drop them. The first rounds of a process are slow, as are those on buffers
        that several runs need at once; without this they would be taken for measured times."""
        short = [replace(config, max_new_tokens=min(WARM_UP_TOKENS, config.max_new_tokens)) for config in configs]
        with closing(self.decode_in_turn(pair, prompt, short)) as rounds:
            for _ in rounds:
                yield None

    def points(
        self, base: DecodeConfig, thetas: Sequence[float], windows: Sequence[int], draft_lengths: Sequence[int]
    ) -> tuple[DecodeConfig, ...]:
        """The points of a sweep, plain greedy first."""
        from explorer.sweep.runner import sweep_points

        return sweep_points(base, thetas, windows, draft_lengths)

    def sweep(
        self, pair: Pair, items: Sequence[PromptItem], points: Sequence[DecodeConfig]
    ) -> Iterator[PromptRuns | int | None]:
        """What each prompt came to under all points; between them the number of target passes so far, or None while one is made."""
        return self._stepwise(self.sweep_steps(pair, items, points))

    def measure(
        self, pair: Pair, sweep: Sweep, points: Sequence[int]
    ) -> Iterator[tuple[MeasuredPoint, ...] | int | None]:
        """Run points of a sweep over its prompts again: rounds so far, None while one is made, at the end what was measured."""
        return self._stepwise(self.measure_steps(pair, sweep, points))

    @staticmethod
    def sweep_steps(
        pair: Pair, items: Sequence[PromptItem], points: Sequence[DecodeConfig]
    ) -> Generator[PromptRuns | int]:
        """As `sweep`, on the calling thread."""
        from explorer.sweep.runner import sweep_prompts, tasks

        passes = 0
        for prompt_runs in sweep_prompts(pair, tasks(pair, items, points), points):
            passes += prompt_runs is None
            yield prompt_runs or passes

    @staticmethod
    def measure_steps(pair: Pair, sweep: Sweep, points: Sequence[int]) -> Generator[tuple[MeasuredPoint, ...] | int]:
        """As `measure`, on the calling thread."""
        from explorer.sweep.runner import run_again, tasks

        rounds = 0
        todo = tasks(pair, [prompt.item for prompt in sweep.prompts], sweep.points)
        for measured in run_again(pair, todo, sweep, points):
            rounds += measured is None
            yield measured or rounds

    def baseline(self, pair: Pair, prompt: Prompt, config: DecodeConfig) -> Generator[str, None, Baseline]:
        """Plain greedy decoding of the same prompt, yielding chances to stop."""
        from explorer.engine.recorder import plain

        rounds = []
        running = self.decode(pair, prompt, plain(config))
        try:
            for round_ in running:
                if round_ is not None:
                    rounds.append(round_)
                yield ""
        finally:
            running.close()
        return Baseline.of(rounds)

    def _stepwise(self, steps: Generator[Result]) -> Iterator[Result | None]:
        """Go through work on the models' thread, None now and then while a step of it runs; closing the iterator ends it."""
        try:
            while True:
                future = self._worker.submit(next, steps, None)
                while not wait([future], HEARTBEAT).done:
                    yield None
                if (result := future.result()) is None:
                    return
                yield result
        finally:
            self._worker.submit(steps.close)  # after the step that may still be running

    def _load(self, name: str, progress: Callable[[Message], None]) -> Pair:
        if self._pair is None or self._name != name:
            from explorer.engine.load_pair import load_pair

            self._pair = None
            gc.collect()  # steps recorded on buffers refer to them and they to the weights: only a collection frees such circles
            self._pair, self._name = load_pair(name, progress=progress), name
            for card in self._pair.cards.values():
                if warning := card.warning(self._pair.fingerprints):
                    progress(Message("progress.warning", {"reason": warning}))
        return self._pair


def ready_pairs(backend: Backend) -> tuple[str, ...]:
    """Names of the pairs that a run can use at once, or after a download it makes by itself."""
    return tuple(pair.name for pair in backend.pairs() if pair.is_ready)


def _wait(
    future: Future[Result], messages: SimpleQueue[Message] | None = None
) -> Generator[Message | str, None, Result]:
    """Wait for a step on the models' thread; a step that nobody waits for any more is left out if it has not begun."""
    messages = messages or SimpleQueue()
    try:
        while not future.done():
            try:
                yield messages.get(timeout=HEARTBEAT)
            except Empty:
                yield ""
    finally:
        future.cancel()
    return future.result()
