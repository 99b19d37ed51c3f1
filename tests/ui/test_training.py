"""What the Train tab does: refusals, streaming, cancelling, and whose runs a layer steers. No server, no models."""

import json
import zipfile

import gradio as gr
import pytest
from scripted import STORY, ScriptedBackend

from explorer.ui import training
from explorer.ui.controls import page_knobs
from explorer.ui.explore import handlers as cb

FORM = {"pair": "scripted", "rule": "exact", "theta": 0.05, "window": 3, "shards": 48, "tokens": 48, "epochs": 2}


def form(**changes):
    return list((FORM | changes).values())


def events(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def backend():
    return ScriptedBackend(STORY)


@pytest.fixture
def handlers(backend, monkeypatch):
    monkeypatch.setattr(training, "PROGRESS_SECONDS", 0.0)
    return training.Training(backend)


def train(handlers, session, **changes):
    values = form(**changes)
    handlers.prepare(session, *values)
    return list(handlers.run(session, *values))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pair": "../secret"}, "[Uu]nknown pair"),
        ({"rule": "autoregressive"}, "Rule must be one of exact, fly"),
        ({"theta": 0.01}, "Theta must be from 0.02 to 1.0"),
        ({"theta": None}, "Theta must be"),
        ({"window": 99}, "Window W must be"),
        ({"shards": 16}, "Texts to collect must be from 32 to 128"),
        ({"shards": 100_000}, "Texts to collect must be from 32 to 128"),
        ({"tokens": 4096}, "Tokens per text, at most must be from 16 to 96"),
        ({"epochs": 1.5}, "Epochs must be from 1 to 24"),
        ({"epochs": None}, "Epochs must be from 1 to 24"),
    ],
)
def test_what_is_too_much_for_a_page_is_refused_at_once(handlers, changes, message):
    session = training.TrainSession()
    with pytest.raises(gr.Error, match=message):
        handlers.prepare(session, *form(**changes))
    assert (session.text, session.folder) == ("", None)
    assert "wrong" in handlers.expected(session, *form(**changes))


def test_a_training_streams_its_curves_and_ends_with_a_file(handlers):
    session = training.TrainSession()
    outputs = train(handlers, session)
    texts = [out[0] for out in outputs]
    assert all(later.startswith(earlier) for earlier, later in zip(texts, texts[1:])), "the text only grows"
    head, *rest = events(texts[-1])
    assert (head["texts"], head["epochs"], head["rule"]) == (48, 2, "exact")
    collected = [event for event in rest if event.get("collected")]
    assert [(event["collected"], event["rows"]) for event in collected] == [(16, 100), (32, 200), (48, 300)]
    assert collected[0]["agree"] == 0.7
    assert [event["done"] for event in rest if "share" in event] == [pytest.approx(n / 6, rel=1e-3) for n in (1, 3, 5)]
    assert [event["after"] for event in rest if "after" in event] == [0, 1, 2]
    assert [event["step"] for event in rest if "step" in event] == list(range(1, 9))
    assert rest[-2]["choice"]["threshold"] == 0.6
    assert rest[-1] == {"phase": "done"}
    run, cancel, file = outputs[-1][1:]
    assert (run["interactive"], cancel["interactive"], file["visible"]) == (True, False, True)
    assert zipfile.ZipFile(file["value"]).namelist() == ["card.json"]


def test_cancelling_keeps_what_is_collected_and_the_next_training_goes_on(handlers):
    session = training.TrainSession()
    values = form()
    handlers.prepare(session, *values)
    for out in handlers.run(session, *values):
        if '"collected":32' in out[0]:
            handlers.cancel(session)
    assert events(session.text)[-1] == {"phase": "stopped"}
    assert session.layer is None
    assert "32 of them are collected already" in handlers.expected(session, *values)
    train(handlers, session)
    assert [event["collected"] for event in events(session.text) if event.get("collected")] == [48]
    assert "48 of them are collected already" in handlers.expected(session, *values)
    assert "collected already" not in handlers.expected(session, *form(rule="fly")), (
        "another rule asks more of the target"
    )


def test_how_long_it_will_take_and_how_that_is_known(backend, handlers):
    assert "not known" in handlers.expected(training.TrainSession(), *form())
    known = training.Training(backend, {("scripted", "exact"): training.Pace(0.1, 0.01, "some device")})
    minutes = round((3 * 16 * 48 * 0.1 + 2 * 16 * 48 * 2 * 0.01) / 60)
    assert f"about {minutes} minutes: modelled from a training on some device" in known.expected(
        training.TrainSession(), *form()
    )
    train(known, training.TrainSession())
    assert "the last training on this machine" in known.expected(training.TrainSession(), *form())


def explore_form(**changes):
    values = {knob.name: knob.default for knob in page_knobs()} | {"max_new_tokens": 9} | changes
    return ["Hello", "scripted", False, *values.values()]


def test_a_layer_steers_the_visitors_own_runs_and_nobody_elses(handlers, backend):
    mine, theirs, session = cb.Session(), cb.Session(), training.TrainSession()
    explore = cb.Callbacks(backend)
    with pytest.raises(gr.Error, match="train one first"):
        handlers.use(session, mine)
    train(handlers, session)
    with pytest.raises(gr.Error, match="none ships"):
        explore.prepare(mine, *explore_form(length="pacer"))  # not before it is asked for
    text, pair, *knobs = handlers.use(session, mine)
    assert events(text)[-1] == {"used": True}
    values = dict(zip(training.ADOPTED, knobs, strict=True))
    assert (pair, values["rule"], values["length"]) == ("scripted", "exact", "pacer")
    assert (values["threshold"], values["growth"], values["block_size"], values["draft_length"]) == (0.6, 1.02, 2, 23)
    asked = explore_form(**values)
    head = events(explore.prepare(mine, *asked)[0])[0]
    assert "the layer that was trained in this session for rule exact" in head["notes"][-1]
    list(explore.run(mine, *asked))
    assert backend.steered == [session.layer.folder.name]
    with pytest.raises(gr.Error, match="none ships"):
        explore.prepare(theirs, *asked)
    list(explore.run(mine, *explore_form(rule="exact")))
    assert len(backend.steered) == 1, "only PACER's runs are steered"
    handlers.drop(session, mine)
    with pytest.raises(gr.Error, match="none ships"):
        explore.prepare(mine, *asked)


def test_what_a_visitor_collected_goes_with_them(handlers):
    session = training.TrainSession()
    train(handlers, session)
    folder = session.folder
    assert folder.is_dir()
    session.forget()
    assert not folder.exists()
    assert (session.folder, session.layer, session.stopping) == (None, None, True)
    assert "not known" in handlers.expected(session, *form(rule="fly"))
    training.TrainSession().forget()
