"""Where the output ends: stop ids, stop strings and the budget, decided token by token so that the earliest one wins."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.config import DecodeConfig
from explorer.pieces import text_of
from explorer.trace import Stop


class StopRule:
    """The end of one run's output. Text, ids and per-token records end at the same token."""

    def __init__(self, config: DecodeConfig, stop_ids: frozenset[int], vocabulary: dict[int, bytes]):
        """vocabulary: bytes of each id that may be emitted; only read where there are stop strings."""
        self._config = config
        self._stop_ids = stop_ids
        self._vocabulary = vocabulary

    def cut(self, output: Sequence[int], committed: Sequence[int]) -> tuple[tuple[int, ...], Stop | None]:
        """Take committed ids after `output` until the run ends: the emitted ids and why it ended, or None to go on."""
        output = list(output)
        for count, token in enumerate(committed, 1):
            output.append(token)
            if stop := self._stop_at(output):
                return tuple(committed[:count]), stop
        return tuple(committed), None

    def _stop_at(self, output: list[int]) -> Stop | None:
        """Whether output ends with its last token; a stop in the text is named before the budget."""
        if output[-1] in self._stop_ids:
            return Stop("stop_id")
        if self._config.stop_strings:
            text = text_of(output, self._vocabulary)
            offsets = [offset for string in self._config.stop_strings if (offset := text.find(string)) >= 0]
            if offsets:
                return Stop("stop_string", min(offsets))
        if len(output) >= self._config.max_new_tokens:
            return Stop("budget")
        return None
