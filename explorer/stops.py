"""Where the output ends: stop ids, stop strings and the budget, decided token by token so that the earliest one wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from explorer.config import DecodeConfig

StopReason = Literal["stop_id", "stop_string", "budget", "user"]


@dataclass(frozen=True)
class Stop:
    """Why the run ended. `text_offset`: where the stop string begins in the output text, in characters."""

    reason: StopReason
    text_offset: int | None = None


class StopRule:
    """The end of one run's output. Text, ids and per-token records end at the same token."""

    def __init__(self, config: DecodeConfig, stop_ids: Set[int], vocabulary: Mapping[int, bytes]):
        """vocabulary: bytes of each id that may be emitted; only read where there are stop strings."""
        self._budget, self._stop_ids, self._vocabulary = config.max_new_tokens, stop_ids, vocabulary
        # UTF-8 is found in bytes exactly where it is found in text, and bytes need no decoding of all that stands before.
        self._strings = [string.encode() for string in config.stop_strings]

    def cut(self, output: Sequence[int], committed: Sequence[int]) -> tuple[tuple[int, ...], Stop | None]:
        """Take committed ids after `output` until the run ends: the emitted ids and why it ended, or None to go on.

        A stop in the text is named before the budget.
        """
        recent = self._tail(output)
        for count, token in enumerate(committed, 1):
            if token in self._stop_ids:
                stop = Stop("stop_id")
            elif self._strings and self._ends_with_string(recent, token):
                stop = Stop("stop_string", self._offset([*output, *committed[:count]]))
            elif len(output) + count >= self._budget:
                stop = Stop("budget")
            else:
                continue
            return tuple(committed[:count]), stop
        return tuple(committed), None

    def _tail(self, output: Sequence[int]) -> bytearray:
        """The last bytes of the output, enough for a string to have begun in."""
        longest, tokens = max(map(len, self._strings), default=0), []
        for token in reversed(output):
            if longest <= 0:
                break
            tokens.append(self._vocabulary[token])
            longest -= len(tokens[-1])
        return bytearray(b"".join(reversed(tokens)))

    def _ends_with_string(self, recent: bytearray, token: int) -> bool:
        """Whether the token, which is added to `recent`, completes a string."""
        before = len(recent)
        recent += self._vocabulary[token]
        return any(recent.find(string, max(before - len(string) + 1, 0)) >= 0 for string in self._strings)

    def _offset(self, output: Sequence[int]) -> int:
        """Where the first string begins, in characters."""
        text = b"".join(self._vocabulary[token] for token in output)
        start = min(place for string in self._strings if (place := text.find(string)) >= 0)
        return len(text[:start].decode("utf-8", "replace"))
