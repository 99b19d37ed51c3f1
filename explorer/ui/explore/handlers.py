"""What Run and Stop do in the Explore tab. Data in, data out; decoding is the backend's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.errors import UserError
from explorer.trace import Trace
from explorer.ui.backend import Backend
from explorer.ui.explore.request import RequestReader, RunRequest
from explorer.ui.explore.run import header, run_lines
from explorer.ui.explore.run_choices import RunChoices
from explorer.ui.explore.session import ExploreSession, OwnRun
from explorer.ui.jobs import Job
from explorer.ui.notices import refusal
from explorer.ui.streams import run_buttons, stream
from explorer.ui.warmup import readiness_html


class RunHandlers:
    """Event handlers of a run. Their outputs: view, Run, Stop, list of runs, download, and one more."""

    def __init__(self, backend: Backend, reader: RequestReader, runs: RunChoices):
        self._backend, self._reader, self._runs = backend, reader, runs

    def prepare(self, session: ExploreSession, *form: Any) -> tuple[Any, ...]:
        """At once, not waiting for anybody: refuse a bad form, else clear the view and turn Run into Stop. Last output: charts."""
        try:
            job = Job(self._reader.read(*form))
        except UserError as error:
            raise refusal(error) from None
        job.log.append(header(job))
        session.begin(job)
        return (
            job.log.snapshot(),
            *run_buttons(running=True),
            self._runs.update("explore.own_run", interactive=False),
            gr.update(value=None),
            gr.update(open=False),
        )

    def run(self, session: ExploreSession) -> Iterator[tuple[Any, ...]]:
        """Decode, streaming the growing text of the view. Last output: the state of the models."""

        def finish(job: Job[RunRequest], trace: Trace | None, folder: Path) -> tuple[Any, ...]:
            idle = (*run_buttons(running=False), gr.update(interactive=True))
            if trace is None:  # stopped before there was anything to record
                return *idle, gr.skip(), gr.skip()
            own = OwnRun(job.name, trace, job.log.snapshot(), job.request.pair)
            session.finish(job, own)
            in_memory = readiness_html("page.warm_ready", job.request.title)
            return *idle, gr.update(value=str(own.save(folder))), in_memory

        yield from stream(session, lambda job: run_lines(self._backend, job), finish, outputs=6)

    def stop(self, session: ExploreSession) -> Any:
        """Ask the run to end after the round it is in; its rounds by then stay."""
        session.stop()
        return gr.update(interactive=False)
