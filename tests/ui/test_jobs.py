"""Stop always ends what it was pressed for, a second submit does not revive it, and no line of a view is lost."""

import json
import threading
import time
from dataclasses import dataclass
from typing import Any

import gradio as gr
import pytest
from explore import ExploreHandlers
from scripted import STORY, Script, ScriptedBackend

from explorer.ui import streams
from explorer.ui.compare.handlers import CompareHandlers
from explorer.ui.compare.request import CompareSession, side_knobs
from explorer.ui.explore.session import ExploreSession
from explorer.ui.jobs import Job, Log, PageSession
from explorer.ui.page_knobs import page_knobs
from explorer.ui.tune import session as tune_session
from explorer.ui.tune import work
from explorer.ui.tune.handlers import TuneHandlers
from explorer.ui.tune.session import TuneSession

SWEEP = [0.1, 0, "scripted", "own", 6, "one\ntwo\nthree", "normalized", "0.05", "1", "8", 24, "model", "fixed", False]


@dataclass
class Tab:
    """One tab over a scripted pair: its handlers, a form, and what its view says when something is done."""

    handlers: Any
    session: PageSession
    form: list[Any]
    progress: str  # of the first step
    stopped: str
    whole: str

    def prepare(self) -> str:
        return self.handlers.prepare(self.session, *self.form)[0]

    def begin(self):
        """A run that has made its first step; returns its outputs from there on."""
        self.prepare()
        running = self.handlers.run(self.session)
        for text, *_ in running:
            if isinstance(text, str) and self.progress in text:
                return running
        pytest.fail("it never began")


@pytest.fixture(params=["explore", "compare", "tune"])
def tab(request, monkeypatch):
    monkeypatch.setattr(streams, "UPDATE_SECONDS", 0.0)
    monkeypatch.setattr(work, "PROGRESS_SECONDS", 0.0)
    backend = ScriptedBackend(STORY)
    settings = {knob.name: knob.default for knob in page_knobs()} | {"max_new_tokens": 60}
    sides = [knob.default for knob in side_knobs()] * 2
    return {
        "explore": lambda: Tab(ExploreHandlers(backend), ExploreSession(), ["go", "scripted", False, *settings.values()], '"d":', '"end":"user"', '"end":"budget"'),
        "compare": lambda: Tab(CompareHandlers(backend), CompareSession(), ["go", "scripted", 60, False, *sides], '"d":', '"phase":"stopped"', '"phase":"done"'),
        "tune": lambda: Tab(TuneHandlers(backend), TuneSession(), SWEEP, '"done":1', '"end":"stopped"', '"end":"done"'),
    }[request.param]()  # fmt: skip


def texts(outputs):
    return [output[0] for output in outputs if isinstance(output[0], str)]


def test_a_second_submit_does_not_revive_what_was_stopped(tab):
    """Shift+Enter before the round was over took Stop back, and the run went on to its end."""
    running = tab.begin()
    first = tab.session.job
    tab.handlers.stop(tab.session)
    shown = tab.prepare()
    assert texts(running) == [], "a run that was replaced sends nothing over the new one"
    assert first.is_cancelled
    assert tab.stopped in first.log.snapshot()
    assert tab.whole not in first.log.snapshot()
    *_, last = tab.handlers.run(tab.session)
    assert last[0].startswith(shown)
    assert tab.whole in last[0]
    assert last[1]["interactive"] is True


def test_a_second_submit_ends_the_run_before_it(tab):
    running = tab.begin()
    first = tab.session.job
    tab.prepare()
    assert texts(running) == []
    assert first.is_cancelled
    assert tab.whole not in first.log.snapshot()


def test_stop_ends_a_run_that_still_waits_for_its_turn(tab):
    tab.prepare()
    tab.handlers.stop(tab.session)
    *_, last = tab.handlers.run(tab.session)
    assert '"phase":"stopped"' in last[0]
    assert tab.progress not in last[0]
    assert last[1]["interactive"] is True


def test_two_submits_before_the_first_turn_are_one_run(tab):
    tab.prepare()
    shown = tab.prepare()
    *_, last = tab.handlers.run(tab.session)
    assert last[0].startswith(shown)
    assert tab.whole in last[0]
    (output,) = tab.handlers.run(tab.session)
    assert all(value == gr.skip() for value in output), "its turn comes too, and there is nothing left to do"


def test_a_closed_page_ends_its_run_for_good(tab):
    running = tab.begin()
    job = tab.session.job
    tab.session.forget()
    assert texts(running) == []
    assert job.is_cancelled
    assert tab.whole not in job.log.snapshot()
    tab.prepare()
    tab.session.forget()
    assert texts(tab.handlers.run(tab.session)) == [], "what waited in the queue never runs"


def test_of_two_submits_at_once_one_is_left():
    session, jobs = PageSession(), [Job(number) for number in range(200)]
    together(4, lambda worker: [session.begin(job) for job in jobs[worker::4]])
    assert [job for job in jobs if not job.is_cancelled] == [session.job]
    assert session.take() is session.job
    assert session.take() is None


def test_no_line_of_a_log_is_lost():
    log, sent = Log(), []
    together(
        8, lambda worker: [log.append(f"{worker} {number}\n") or sent.append(log.snapshot()) for number in range(200)]
    )
    assert sorted(log.snapshot().splitlines()) == sorted(f"{w} {n}" for w in range(8) for n in range(200))
    assert all(log.snapshot().startswith(text) for text in sent)


def test_another_limit_during_a_sweep_loses_no_line(monkeypatch):
    """A line took long to make between the reading of the text and its writing: what the sweep wrote meanwhile was gone."""

    def slow(*arguments):
        text = choice(*arguments)
        time.sleep(0.002)
        return text

    choice = tune_session.wire.choice
    monkeypatch.setattr(tune_session.wire, "choice", slow)
    monkeypatch.setattr(work, "PROGRESS_SECONDS", 0.0)
    gate = threading.Semaphore(1)
    handlers, session = TuneHandlers(ScriptedBackend(Script(STORY.rounds, gate))), TuneSession()
    handlers.prepare(session, *SWEEP)
    sent, ended = [], threading.Event()

    def sweep():
        for output in handlers.run(session):
            sent.extend(texts([output]))  # as it comes
        ended.set()

    def choose():
        while not session.results.points:
            time.sleep(0.001)
        gate.release(2)
        number = 0
        while not ended.is_set() or number < 20:
            number += 1
            shown = handlers.choose(session, number % 10 / 10, 0)
            if isinstance(shown, str):  # else the sweep sends it
                assert ended.is_set() or '"end"' in shown
                sent.append(shown)
        chosen.append(number)

    chosen: list[int] = []
    together(2, lambda worker: (sweep, choose)[worker]())
    whole = session.results.log.snapshot()
    events = [json.loads(text) for text in whole.splitlines()]
    assert sum("choice" in event for event in events) == chosen[0] + 3, "each choice of the limit, and one per prompt"
    assert [event["done"] for event in events if "done" in event] == [1, 2, 3]
    assert sum("end" in event for event in events) == 1
    assert all(later.startswith(earlier) for earlier, later in zip(sent, sent[1:])), "what is shown only grows"
    assert sent[-1] == whole


def together(count, task):
    """Run a task in several threads, which pass an error on."""
    errors = []

    def guarded(worker):
        try:
            task(worker)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(worker,)) for worker in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
