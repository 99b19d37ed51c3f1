"""What the Compare tab does: refusals that name the side, three runs in turn, where their texts part. No server, no models."""

import json
import threading

import gradio as gr
import pytest
from scripted import STORY, Script, ScriptedBackend

from explorer.config import DecodeConfig
from explorer.ui import streams
from explorer.ui.compare.handlers import CompareHandlers
from explorer.ui.compare.request import CompareSession, side_knobs

EXACT, LOOSE = DecodeConfig(rule="exact"), DecodeConfig()


def form(prompt="go", pair="scripted", budget=24, raw=False, a=None, b=None):
    sides = [
        getattr(config, knob.name) if name not in changes else changes[name]
        for config, changes in ((EXACT, a or {}), (LOOSE, b or {}))
        for knob in side_knobs()
        for name in [knob.name]
    ]
    return [prompt, pair, budget, raw, *sides]


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def compare(handlers, session, *values):
    handlers.prepare(session, *values)
    return list(handlers.run(session))


@pytest.fixture
def handlers(monkeypatch):
    monkeypatch.setattr(streams, "UPDATE_SECONDS", 0.0)  # every event is sent, whatever the clock says
    return CompareHandlers(ScriptedBackend(STORY))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (form(prompt=" "), r"^\W?The prompt is empty"),
        (form(pair="nowhere"), r"^\W?Unknown pair"),
        (form(budget=0), "Budget must be"),
        (form(a={"theta": 9}), r"^\W?A: Theta must be a number from 0 to 1.2"),
        (form(b={"window": None}), r"^\W?B: Window W must be"),
        (form(b={"drafter": "lookup", "length": "pacer"}), r"^\W?B: Length policy pacer"),
    ],
)
def test_a_refusal_names_the_side(handlers, values, message):
    session = CompareSession()
    with pytest.raises(gr.Error, match=message):
        handlers.prepare(session, *values)
    assert session.job is None


def test_three_runs_in_turn_and_where_they_part(handlers):
    outputs = compare(handlers, CompareSession(), *form())
    texts = [out[0] for out in outputs]
    assert all(later.startswith(earlier) for earlier, later in zip(texts, texts[1:])), "the text only grows"
    head, *rest = events(texts[-1])
    assert [config["rule"] for config in head["configs"]] == ["autoregressive", "exact", "fly"]
    side, order = None, []
    for event in rest:
        side = event.get("side", side)
        order += [side] if "d" in event else []
    assert order[:4] == [0, 1, 2, 0], "in turn, so that a machine whose speed drifts slows them alike"
    assert set(order) == {0, 1, 2}
    ends = [event for event in rest if "end" in event]
    assert [end["summary"]["tokens"] for end in ends] == [24, 24, 24]
    assert "fidelity" not in ends[0]["summary"]
    assert all(end["summary"]["speedup"] > 0 for end in ends[1:])
    partings = [event["parting"] for event in rest if "parting" in event]
    assert len(partings) == 2
    apart = next(event for event in rest if "apart" in event)
    assert (apart["apart"]["index"], apart["apart"]["cause"]) == (1, "fly"), "B keeps a token that A refuses"
    assert apart["gap"] > 0
    assert rest[-1] == {"phase": "done"}
    assert outputs[-1][1]["interactive"] is True


def test_equal_settings_do_not_part(handlers):
    outputs = compare(handlers, CompareSession(), *form(b={"rule": "exact"}))
    assert next(event for event in events(outputs[-1][0]) if "apart" in event)["apart"] is None


def test_nothing_of_the_warm_up_is_shown(handlers):
    """A first run that paid for the process's slow start lost every comparison."""
    outputs = compare(handlers, CompareSession(), *form(budget=5))
    rounds = [event for event in events(outputs[-1][0]) if "d" in event]
    assert sum(event["e"] for event in rounds) == 15


def test_stopping_keeps_what_is_there():
    gate = threading.Semaphore(1000)
    backend = ScriptedBackend(Script(STORY.rounds, gate))
    handlers, session = CompareHandlers(backend), CompareSession()
    values = form(budget=400)
    handlers.prepare(session, *values)
    for out in handlers.run(session):
        if '{"side":1}' in out[0]:
            handlers.stop(session)
    found = events(out[0])
    assert found[-1] == {"phase": "stopped"}
    assert not any("apart" in event for event in found)
    assert backend.closed >= 3, "no run is left open"


def test_stopping_before_the_first_round_leaves_nothing():
    backend = ScriptedBackend(Script(STORY.rounds, threading.Semaphore(0)))
    handlers, session = CompareHandlers(backend), CompareSession()
    handlers.prepare(session, *form())
    running = handlers.run(session)
    first = next(running)
    session.stop()
    *_, last = [first, *running]
    assert events(last[0])[-1] == {"phase": "stopped"}


def test_a_failure_is_told_and_the_page_goes_on(handlers):
    session, sent = CompareSession(), []
    values = form(pair="absent")
    handlers.prepare(session, *values)
    with pytest.raises(gr.Error, match="not on this machine"):
        sent.extend(handlers.run(session))
    assert events(sent[-1][0])[-1]["phase"] == "failed"
    assert sent[-1][1]["interactive"] is True
