"""From rounds to a trace: collects what a run yields and adds what a reader needs to understand it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from explorer.config import DecodeConfig
from explorer.engine.pair import Pair
from explorer.stops import Stop, StopRule
from explorer.trace import Baseline, Prompt, Provenance, Round, Trace, mentioned_ids


class Recorder:
    """The record of one run while it grows. Runs of any length can be turned into a trace at any time."""

    def __init__(
        self, pair: Pair, prompt: Prompt, config: DecodeConfig, provenance: Callable[[], Provenance] | None = None
    ):
        """provenance: what runs, where rounds come from another process; else the pair says so."""
        self._pair, self._prompt, self._config = pair, prompt, config
        self._current_provenance = provenance or pair.provenance
        self._provenance = self._current_provenance()
        self.rounds: list[Round] = []

    def add(self, round_: Round) -> None:
        """Append the next round, as decode yields it."""
        if not self.rounds:
            self._provenance = self._current_provenance()  # where a GPU is lent, its name is known only now
        self.rounds.append(round_)

    @property
    def ended(self) -> bool:
        """Whether the run came to its own end."""
        return self._stop is not None

    @property
    def _stop(self) -> Stop | None:
        output = [token for round_ in self.rounds for token in round_.emitted]
        return StopRule(self._config, self._pair.stop_ids, self._pair.vocabulary).cut([], output)[1]

    def trace(self, baseline: Baseline | None = None) -> Trace:
        """The trace of the rounds so far; marked partial, stopped by the user, where the run had not ended by itself."""
        vocabulary, stop = self._pair.vocabulary, self._stop
        rounds, stop_ids = tuple(self.rounds), tuple(sorted(self._pair.stop_ids))
        return Trace(
            provenance=self._provenance,
            prompt=self._prompt,
            config=self._config,
            rounds=rounds,
            stop=stop or Stop("user"),
            stop_ids=stop_ids,
            vocabulary={i: vocabulary[i] for i in mentioned_ids(self._prompt, rounds, stop_ids, baseline)},
            partial=stop is None,
            baseline=baseline,
        )


def plain(config: DecodeConfig) -> DecodeConfig:
    """The target alone, greedily, under the same budget and stops."""
    return replace(config, rule="autoregressive", temperature=0.0)
