"""How the lines of a job reach its view: as they come about, a few times a second, and the end with what belongs to it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import gradio as gr

from explorer.messages import Message
from explorer.ui.jobs import Job, PageSession
from explorer.ui.messages import in_visitors_language
from explorer.ui.notices import failure, message_of
from explorer.wire import line

Result = TypeVar("Result")

UPDATE_SECONDS = 0.04  # 25 a second: the browser keeps up, but never skips one, so more would queue up there

Finish = Callable[[Job, Any, Path], tuple[Any, ...]]


def stream(
    session: PageSession, lines: Callable[[Job], Generator[str, None, Any]], finish: Finish, outputs: int
) -> Any:
    """Run the newest job of a session. Yields values for `outputs` parts of the page, the first of them the view.

    lines: makes the lines of a job as they come about ("" where nothing is new) and returns what it came to. finish: gets the job,
    that (None where there is nothing) and a folder for files; returns the values after the view's. A job that was replaced sends
    nothing more.
    """
    skips = (gr.skip(),) * (outputs - 1)
    job = session.take()
    if job is None:
        yield gr.skip(), *skips
        return
    opened = job.log.open_stream()
    try:
        result = yield from _growing(session, job, lines(job), skips)
        with tempfile.TemporaryDirectory() as folder:
            # Gradio has copied the files when it asks for the next value.
            yield from _last(session, job, opened, finish(job, result, Path(folder)))
    except Exception as error:
        message = message_of(error)
        job.log.append(line({"phase": "failed", "message": message}))
        yield from _last(session, job, opened, finish(job, None, Path()))
        if session.is_current(job):
            raise failure(message) from None
    finally:
        job.log.close_stream(opened)


def _growing(
    session: PageSession, job: Job, lines: Generator[str, None, Result], skips: tuple[Any, ...]
) -> Generator[tuple[Any, ...], None, Result]:
    sent, sent_at = job.log.size, 0.0
    with closing(lines):
        while True:
            try:
                text = next(lines)
            except StopIteration as end:
                return end.value
            if text:
                job.log.append(text)
            if job.log.size > sent and monotonic() - sent_at >= UPDATE_SECONDS and session.is_current(job):
                sent, sent_at = job.log.size, monotonic()
                yield job.log.snapshot(), *skips


def _last(session: PageSession, job: Job, opened: object, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The end of the text with what belongs to it; and once more where others appended while it was sent."""
    sent = -1
    while session.is_current(job) and not job.log.close_stream(opened, sent):
        text = job.log.snapshot()
        sent = len(text)
        yield text, *values


def long_step(
    job: Job, step: Generator[Message | str, None, Result], phase: str
) -> Generator[str, None, Result | None]:
    """Go through a step that reports now and then; returns its result, or None where the job was cancelled."""
    with closing(step):
        while not job.is_cancelled:
            try:
                message = next(step)
            except StopIteration as end:
                return end.value
            # An empty line sends nothing new, but what waits for its turn goes out.
            yield line({"phase": phase, "message": in_visitors_language(message)}) if message else ""
    return None


def result_of(lines: Iterator[str]) -> Any:
    """Go through lines that nobody reads; returns what they came to."""
    while True:
        try:
            next(lines)
        except StopIteration as end:
            return end.value


def run_buttons(running: bool) -> tuple[Any, Any]:
    """Run and Stop."""
    return gr.update(interactive=not running), gr.update(interactive=running)
