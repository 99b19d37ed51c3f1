"""The public endpoints of the page, for programs: `run` and `judge`."""

from __future__ import annotations

import inspect
from typing import Any

import gradio as gr

from explorer.cases import Case
from explorer.config import full_help, knobs
from explorer.errors import UserError
from explorer.schema import read
from explorer.ui.backend import Backend
from explorer.ui.events import MODEL
from explorer.ui.explore.request import RequestReader
from explorer.ui.explore.run import run_lines
from explorer.ui.jobs import Job
from explorer.ui.messages import in_visitors_language, visitors_texts
from explorer.ui.notices import error_box, failure, message_of
from explorer.ui.page_knobs import page_knobs
from explorer.ui.run_text import end_event
from explorer.ui.streams import result_of

KNOBS = {knob.name: knob for knob in knobs()}
# What a program reads about an endpoint, in English alone.
_ABOUT_RUN = (
    "Decode one prompt; returns its text, the figures of the run, and the whole trace (schema version 1). "
    "prompt: what to answer. pair: name of a known pair. baseline: also decode plainly, with the target alone, and compare."
)
_ABOUT_JUDGE = (
    "Judge one draft of K tokens, without a model. match: whether each drafted token is the target's own choice [K booleans]. "
    "entropy: the target's at each position, in the unit of theta [K numbers]. rule: fly or exact (the others read more than that: "
    "python -m explorer judge). theta: least entropy to defer "
    "(0 to 1.2). window: following tokens that must match (0 to 32). includes_mismatch: the window counts the mismatch itself. "
    "protected: positions with a stop id, never loosened [K booleans]; null for none. K is at most 64. Returns verdicts [K], kept, "
    "cut (the first refused position from 0, or null) and last (correction or bonus)."
)


def add_endpoints(backend: Backend, reader: RequestReader) -> None:
    """The parameters of `run` are the prompt, the pair and the knobs: it grows with their table."""
    first = [("prompt", str, inspect.Parameter.empty), ("pair", str, reader.pairs[0]), ("baseline", bool, False)]
    table = [(knob.name, knob.kind, knob.default) for knob in page_knobs()]
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
        for name, kind, default in first + table
    ]

    def run(*values: Any) -> dict:
        return run_once(backend, reader, *values)

    run.__signature__ = inspect.Signature(parameters, return_annotation=dict)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": dict}
    lines = [f"{knob.name} ({knob.range_text}): {full_help(knob)}" for knob in page_knobs()]
    gr.api(run, api_name="run", api_description=_ABOUT_RUN + " " + " ".join(lines), **MODEL)
    gr.api(judge, api_name="judge", api_description=_ABOUT_JUDGE, concurrency_limit=None)


def run_once(backend: Backend, reader: RequestReader, *form: Any) -> dict[str, Any]:
    """One run: the text, the figures and the trace."""
    try:
        job = Job(reader.read(*form))
        trace = result_of(run_lines(backend, job))
    except Exception as error:
        raise failure(message_of(error)) from None
    notes = [str(note) for note in (*job.request.config.notes, *trace.provenance.notes)]
    return {"text": trace.text, "notes": notes, "summary": end_event(trace)["summary"], "trace": trace.to_json()}


def judge(
    match: list[bool],
    entropy: list[float],
    rule: str = "fly",
    theta: float = KNOBS["theta"].default,
    window: int = KNOBS["window"].default,
    includes_mismatch: bool = False,
    protected: list[bool] | None = None,
) -> dict[str, Any]:
    """The verdicts of one draft; refuses what the page's own controls could not say."""
    try:
        for name, value in (("rule", rule), ("theta", theta), ("window", window)):
            KNOBS[name].check(value)
        values = {
            "match": match,
            "entropy": entropy,
            "rule": rule,
            "theta": theta,
            "window": window,
            "includes_mismatch": includes_mismatch,
            "protected": protected,
        }
        case = read(Case, values)
        KNOBS["draft_length"].check(len(case.match))
        return case.answer()
    except UserError as error:
        raise error_box(in_visitors_language(error), visitors_texts().page.NOTICES["error_title"]) from None
