"""Loads the default pair in the background once a visitor is there, and says honestly how far it is."""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator
from time import sleep

from explorer.errors import UserError
from explorer.ui.backend import Backend
from explorer.ui.languages import localized


class Warmup:
    """One background load; many visitors watch it. Only a pair whose weights are on this machine is loaded unasked."""

    def __init__(self, backend: Backend, enabled: bool):
        self._backend = backend
        self._lock = threading.Lock()
        self._started = not enabled
        self.message = readiness_html("page.warm_waiting")
        self.done = not enabled

    def watch(self) -> Iterator[str]:
        """Start the load if nobody has, and yield the state as HTML whenever it changes, until it is settled."""
        with self._lock:
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="warm-up", daemon=True).start()
        shown = None
        while True:
            done, message = self.done, self.message
            if message != shown:
                shown = message
                yield message
            if done:
                return
            sleep(0.2)

    def _run(self) -> None:
        pair = self._backend.pairs()[0]
        try:
            if pair.is_here:
                self.message = readiness_html("page.warm_loading", pair.title)
                for _ in self._backend.load(pair.name):
                    pass
                self.message = readiness_html("page.warm_ready", pair.title)
        except UserError as error:
            self.message = readiness_html("page.warm_failed", pair.title, str(error))
        except Exception as error:  # the page must go on; the run will say what is wrong
            self.message = readiness_html("page.warm_failed", pair.title, type(error).__name__)
        finally:
            self.done = True


def readiness_html(key: str, pair: str = "", detail: str = "") -> str:
    """The line that says whether models are in memory. key: of its text in the catalogue; pair: the title of one, before it."""
    before, after = (html.escape(text) for text in (f"{pair}: " if pair else "", f" ({detail})" if detail else ""))
    return f"<p class='readiness'>{before}{localized(key)}{after}</p>"
