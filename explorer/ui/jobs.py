"""What a visitor has asked for: one job at a time in each tab, with its own end and its own text."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

Request = TypeVar("Request")


class Log:
    """The growing text of a view. Several threads may append; nothing is lost, and what was sent never changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text = ""
        self._streams: set[object] = set()

    @property
    def size(self) -> int:
        """Characters so far."""
        return len(self._text)

    def append(self, text: str) -> None:
        with self._lock:
            self._text += text

    def snapshot(self) -> str:
        """The whole text so far."""
        with self._lock:
            return self._text

    # Who sends it: two events that each send a text may arrive in the other order, and the shorter one would stay.

    def open_stream(self) -> object:
        """A stream begins to send whatever is appended; returns what closes it."""
        stream = object()
        with self._lock:
            self._streams.add(stream)
        return stream

    def close_stream(self, stream: object, sent: int | None = None) -> bool:
        """End a stream, but not where it has sent only so many characters and there are more; returns whether it has ended."""
        with self._lock:
            if sent is not None and sent < len(self._text):
                return False
            self._streams.discard(stream)
            return True

    def append_outside(self, text: str) -> str | None:
        """Append from an event that is no stream; returns the whole text to send, None where a stream sends it."""
        with self._lock:
            self._text += text
            return None if self._streams else self._text


class Job(Generic[Request]):
    """One run, comparison or sweep that a visitor asked for.

    name: unique. request: the checked form. log: the text of its view.
    """

    def __init__(self, request: Request, log: Log | None = None):
        self.name = secrets.token_hex(4)
        self.request = request
        self.log = Log() if log is None else log
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ask it to end after the step it is in. It cannot be taken back."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()


@dataclass
class PageSession(Generic[Request]):
    """What the server remembers of one page in one tab. Only the newest job counts: it ends the one before it."""

    # One for all pages: it is held for a few assignments only, and Gradio copies sessions, which no lock survives.
    lock: ClassVar[Any] = threading.RLock()
    job: Job[Request] | None = field(default=None, init=False)
    _waiting: Job[Request] | None = field(default=None, init=False)  # was begun, not yet taken

    def begin(self, job: Job[Request]) -> None:
        """A job was asked for; the one before it ends."""
        with self.lock:
            self.stop()
            self.job = self._waiting = job

    def take(self) -> Job[Request] | None:
        """The newest job, once: None where it runs already, or the page was closed before its turn came."""
        with self.lock:
            job, self._waiting = self._waiting, None
            return job

    def stop(self) -> None:
        """Ask the job to end after the step it is in."""
        with self.lock:
            if self.job:
                self.job.cancel()

    def is_current(self, job: Job[Request]) -> bool:
        """Whether the view still shows this job."""
        return self.job is job

    def forget(self) -> None:
        """The page is closed: end what runs, and let go of everything."""
        with self.lock:
            self.stop()
            self.job = self._waiting = None
