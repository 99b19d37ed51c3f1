"""What Run and Stop do in the Compare tab: one prompt under two settings and by the target alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.errors import UserError
from explorer.sweep.pace import Pace
from explorer.trace import Trace
from explorer.ui.backend import WARM_UP_TOKENS, Backend
from explorer.ui.compare.comparison import comparison_lines, header
from explorer.ui.compare.request import CompareSession, ComparisonRequest, read_comparison
from explorer.ui.jobs import Job
from explorer.ui.known_paces import KnownPaces
from explorer.ui.messages import in_visitors_language, visitors_texts
from explorer.ui.notices import note, refusal
from explorer.ui.offers import PairOffers
from explorer.ui.streams import run_buttons, stream


class CompareHandlers:
    """The Compare tab's event handlers over one backend. Their outputs: view, Run, Stop."""

    def __init__(self, backend: Backend, paces: KnownPaces | None = None):
        self._backend = backend
        self._titles = {pair.name: pair.title for pair in backend.pairs()}
        self._offers = PairOffers(backend.pairs())
        self._paces = paces or KnownPaces()

    def expected(self, *settings: Any) -> str:
        """What a comparison asks for and how long it will take, or what is wrong with the settings; our own text, escaped."""
        try:
            request = self._read("any", *settings)
        except UserError as error:
            return note(in_visitors_language(error), "note wrong")
        said, known = visitors_texts().compare.EXPECTED, self._paces.of(request.pair)
        tokens = request.configs[0].max_new_tokens
        text = said["plan"].format(tokens=tokens)
        if known is None:
            return note(f"{text} {said['unknown']}", "quiet")
        pace, source = known
        lengths = [0 if config.rule == "autoregressive" else config.draft_length for config in request.configs]
        seconds = pace.runs_seconds(tokens, lengths) + pace.runs_seconds(WARM_UP_TOKENS, lengths[1:])
        if seconds < 100:
            time = said["seconds"].format(seconds=max(5, 5 * round(seconds / 5)))
        else:
            time = said["minutes"].format(minutes=round(seconds / 60))
        return note(f"{text} {said['about'].format(time=time, source=source)}", "quiet")

    def prepare(self, session: CompareSession, *form: Any) -> tuple[Any, ...]:
        """At once: refuse a bad form, else clear the view."""
        try:
            job = Job(self._read(*form))
        except UserError as error:
            raise refusal(error) from None
        job.log.append(header(job, self._titles[job.request.pair]))
        session.begin(job)
        return job.log.snapshot(), *run_buttons(running=True)

    def run(self, session: CompareSession) -> Iterator[tuple[Any, ...]]:
        """Decode three times, streaming the growing text of the view."""

        def finish(job: Job[ComparisonRequest], traces: list[Trace] | None, folder: Path) -> tuple[Any, ...]:
            for trace in traces or ():
                self._paces.remember(job.request.pair, Pace.of_run(trace))
            return run_buttons(running=False)

        yield from stream(session, lambda job: comparison_lines(self._backend, job), finish, outputs=3)

    def stop(self, session: CompareSession) -> Any:
        """Ask the run to end after the round it is in."""
        session.stop()
        return gr.update(interactive=False)

    def _read(self, *form: Any) -> ComparisonRequest:
        return read_comparison(self._offers, *form)
