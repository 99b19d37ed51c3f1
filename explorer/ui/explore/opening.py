"""Runs that have ended: recorded ones, the visitor's own, one in a visitor's file. Shows them and draws their charts."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.schema import parse_json
from explorer.trace import Trace
from explorer.ui.explore import charts
from explorer.ui.explore.request import RequestReader
from explorer.ui.explore.run_choices import RunChoices
from explorer.ui.explore.session import OWN, ExploreSession
from explorer.ui.messages import in_visitors_language, visitors_texts
from explorer.ui.notices import error_box, refusal
from explorer.ui.page_knobs import page_knobs
from explorer.ui.run_text import run_text, title_of
from explorer.ui.scripts import IMPORT_LIMIT
from explorer.wire import question


class OpenHandlers:
    """Event handlers that show a run. Their outputs: list of runs, view, prompt, pair, knobs, download, charts."""

    def __init__(self, reader: RequestReader, runs: RunChoices):
        self._reader, self._runs = reader, runs
        self._files = tempfile.TemporaryDirectory(prefix="explorer-runs-")  # goes with the program

    def open_run(self, session: ExploreSession, name: str) -> list[Any]:
        """Show a recorded run or the visitor's own, and set the page to what it was made with."""
        own = session.own
        if name == OWN and own:
            session.shown, file = OWN, own.record(Path(self._files.name))
            return self._shown(session, own.text, question(own.trace.prompt), own.pair, own.trace.config, file)
        recording = self._runs.recorded.get(name) if isinstance(name, str) else None
        if recording is None:
            return [gr.skip()] * (6 + len(page_knobs()))
        session.shown, pair = name, self._reader.runnable_pair(recording.pair)
        return self._shown(session, recording.text, recording.prompt, pair, recording.config, recording.path)

    def pick(self, session: ExploreSession, name: str) -> list[Any]:
        """The run chosen in the list. A list that was opened and left says its choice again: that changes nothing."""
        return self.open_run(session, "" if name == session.shown else name)

    def open_linked(self, session: ExploreSession, event: gr.EventData) -> list[Any]:
        """The recorded run that a link names."""
        name = str(getattr(event, "run", ""))
        return self.open_run(session, name if name in self._runs.recorded else "")

    def open_file(self, session: ExploreSession, event: gr.EventData) -> list[Any]:
        """A trace that a visitor's browser sends. Nothing of it stays here.

        The record comes as hostile input: its size is checked before it is parsed, and everything else as it is built.
        """
        text, name = getattr(event, "text", None), str(getattr(event, "name", ""))[:80]
        try:
            trace = read_trace(text)
        except UserError as error:
            message = (
                visitors_texts().page.NOTICES["import_refused"].format(name=name, reason=in_visitors_language(error))
            )
            raise error_box(message, visitors_texts().page.NOTICES["import_title"], duration=20) from None
        session.drop_own()
        session.shown = ""
        pair, title = trace.provenance.pair, title_of(trace.provenance.pair, self._reader.titles)
        run = f"imported {secrets.token_hex(4)}"
        text = run_text(run, title, trace, pair in self._reader.ready, imported=True)
        runnable = self._reader.runnable_pair(pair)
        shown = self._shown(session, text, question(trace.prompt), runnable, trace.config, None)
        return [self._runs.update("explore.own_file"), *shown[1:]]

    def charts(self, session: ExploreSession, event: gr.EventData) -> Any:
        """The charts of the run on show; a run that has not ended has none. A visitor's own record comes with the event."""
        given, own = getattr(event, "text", None), session.own
        if given is not None:
            try:
                trace = read_trace(given)
            except UserError as error:
                raise refusal(error) from None
        elif session.shown == OWN:
            trace = own and own.trace
        else:
            recording = self._runs.recorded.get(session.shown)
            trace = recording and recording.trace()
        return charts.figure(trace) if trace else gr.skip()

    def prompt_and_pair(self, event: gr.EventData) -> list[Any]:
        """The prompt and the pair of the run in the view, for a run of one's own beside it."""
        prompt, pair = getattr(event, "prompt", None), getattr(event, "pair", None)
        return [prompt if isinstance(prompt, str) else gr.skip(), self._reader.runnable_pair(pair)]

    def _shown(
        self, session: ExploreSession, text: str, prompt: str, pair: str, config: DecodeConfig, file: Path | None
    ) -> list[Any]:
        knobs = [getattr(config, knob.name) for knob in page_knobs()]
        picker = self._runs.update("explore.own_run" if session.own else None, session.shown)
        return [picker, text, prompt, pair, *knobs, gr.update(value=file and str(file)), gr.update(open=False)]


def read_trace(text: Any) -> Trace:
    """A trace from the text of a visitor's file; raises a UserError with the reason."""
    if not isinstance(text, str):
        raise UserError("import.not_text")
    size = len(text) if len(text) > IMPORT_LIMIT else len(text.encode("utf-8", "surrogatepass"))
    if size > IMPORT_LIMIT:
        raise UserError("import.too_large", limit=f"{IMPORT_LIMIT:,}")
    return Trace.from_json(parse_json(text))
