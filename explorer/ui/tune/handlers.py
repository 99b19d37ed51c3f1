"""What the controls of the Tune tab do: sweep, stop, measure a point, choose under another limit. Data in, data out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.errors import UserError
from explorer.files import name_part, read_text
from explorer.prompts import prompts_of, typed_prompts
from explorer.sweep import wire
from explorer.sweep.pace import Pace
from explorer.sweep.points import csv_of
from explorer.sweep.record import Sweep
from explorer.ui.backend import Backend
from explorer.ui.jobs import Job
from explorer.ui.known_paces import KnownPaces
from explorer.ui.limits import UPLOAD_LIMIT
from explorer.ui.messages import in_visitors_language, visitors_texts
from explorer.ui.notices import note, refusal
from explorer.ui.offers import PairOffers
from explorer.ui.streams import run_buttons, stream
from explorer.ui.tune.plan import read_limit, read_plan
from explorer.ui.tune.session import SweepResults, SweepTask, TuneSession, job_of
from explorer.ui.tune.work import work_lines
from explorer.wire import line


class TuneHandlers:
    """The Tune tab's event handlers over one backend. Their outputs, where not said: view, Run, Stop, CSV, JSON."""

    def __init__(self, backend: Backend, paces: KnownPaces | None = None):
        self._backend = backend
        self._titles = {pair.name: pair.title for pair in backend.pairs()}
        self._offers = PairOffers(backend.pairs())
        self._paces = paces or KnownPaces()

    def expected(self, *form: Any) -> str:
        """What the form asks for and how long that will take, or what is wrong with it; our own text, escaped."""
        try:
            plan = read_plan(self._offers, *form)
        except UserError as error:
            return note(in_visitors_language(error), "note wrong")
        said = visitors_texts().tune.EXPECTED
        text = said["plan"].format(prompts=len(plan.items), points=plan.cells, tokens=plan.base.max_new_tokens)
        known = self._paces.of(plan.pair)
        if known is None:
            return note(f"{text} {said['unknown']}", "quiet")
        pace, source = known
        seconds = pace.sweep_seconds(len(plan.items), plan.base.max_new_tokens, plan.lengths)
        minutes = said["minute"] if seconds < 90 else said["minutes"].format(minutes=round(seconds / 60))
        cautions = [
            in_visitors_language(caution)
            for length in plan.lengths
            for caution in replace(plan.base, window=max(plan.windows), draft_length=length).notes
        ]
        return note(f"{text} {said['about'].format(minutes=minutes, source=source)}", "quiet") + "".join(
            note(caution, "note") for caution in dict.fromkeys(cautions)
        )

    def prepare(self, session: TuneSession, nats: Any, lost: Any, *form: Any) -> tuple[Any, ...]:
        """At once: refuse a bad form, else clear the view."""
        try:
            limit = read_limit(nats, lost)
            plan = read_plan(self._offers, *form)
            points = self._backend.points(plan.base, plan.thetas, plan.windows, plan.lengths)
        except UserError as error:
            raise refusal(error) from None
        results = SweepResults(plan, points, limit)
        job = job_of(SweepTask(results))
        job.log.append(wire.header(results.name, self._titles[plan.pair], points, plan.items, limit))
        session.begin(job)
        hidden = gr.update(visible=False)
        return job.log.snapshot(), *run_buttons(running=True), hidden, hidden

    def prepare_measure(self, session: TuneSession, event: gr.EventData) -> tuple[Any, ...]:
        """At once: refuse a point that was not swept."""
        point, results = getattr(event, "point", None), session.results
        if not results or not results.sweep or not isinstance(point, int) or not 0 <= point < len(results.points):
            raise refusal(UserError("tune.nothing_swept"))
        job = job_of(SweepTask(results, point))
        job.log.append(line({"phase": "measuring"}))
        session.begin(job)
        return job.log.snapshot(), *run_buttons(running=True), gr.skip(), gr.skip()

    def run(self, session: TuneSession) -> Iterator[tuple[Any, ...]]:
        """Sweep or measure, whichever was asked for last, streaming the growing text of the view."""
        yield from stream(session, lambda job: work_lines(self._backend, job), self._finish, outputs=5)

    def stop(self, session: TuneSession) -> Any:
        """Ask the work to end after the pass it is in; the prompts that are through stay."""
        session.stop()
        return gr.update(interactive=False)

    def choose(self, session: TuneSession, nats: Any, lost: Any) -> Any:
        """Recommend again under another limit; output: view."""
        results = session.results
        try:
            limit = read_limit(nats, lost)
        except UserError:
            return gr.skip()
        return (results and results.choose(limit)) or gr.skip()

    def pair_of(self, session: TuneSession) -> Any:
        """The pair of the sweep, for the Explore tab."""
        return session.results.plan.pair if session.results else gr.skip()

    def open_file(self, path: str | None) -> tuple[Any, Any]:
        """The text of a visitor's file of prompts, and the source that uses it."""
        try:
            if path is None or Path(path).stat().st_size > UPLOAD_LIMIT:
                raise UserError("tune.file_too_large", limit=UPLOAD_LIMIT // 1000)
            text = read_text(path)
            if Path(path).suffix.lower() in (".json", ".jsonl"):
                prompts_of(text, Path(path).name)
            elif not typed_prompts(text):
                raise UserError("tune.no_prompts")
        except UnicodeDecodeError:
            raise refusal(UserError("tune.file_not_text")) from None
        except UserError as error:
            raise refusal(error) from None
        return text, "own"

    def _finish(self, job: Job[SweepTask], sweep: Sweep | None, folder: Path) -> tuple[Any, ...]:
        """Buttons, and the files of what is through."""
        idle, results = run_buttons(running=False), job.request.results
        if sweep is None:
            return *idle, gr.skip(), gr.skip()
        if job.request.point is None:
            self._paces.remember(results.plan.pair, Pace.of_sweep(sweep))
        name = f"sweep-{name_part(results.plan.pair)}-{results.name}"
        table, record = (folder / f"{name}.{kind}" for kind in ("csv", "json"))
        table.write_text(csv_of(sweep, results.points), encoding="utf-8", newline="")
        sweep.save(record)
        return *idle, *(gr.update(value=str(path), visible=True) for path in (table, record))
