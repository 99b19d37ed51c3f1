"""What the controls do: refusals before anything runs, streaming, stopping, presets. No server, no models."""

import json
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from explore import ExploreHandlers
from scripted import STORY, Script, ScriptedBackend, Step, make_trace

from explorer.config import PRESETS
from explorer.conflicts import Offers
from explorer.trace import Trace
from explorer.ui import streams
from explorer.ui.coupling import LOOSE_KNOBS
from explorer.ui.explore import opening
from explorer.ui.explore.api import judge
from explorer.ui.explore.run_choices import choice_label
from explorer.ui.explore.session import OWN, ExploreSession, OwnRun
from explorer.ui.explore.settings import notes_html, preset_of
from explorer.ui.page_knobs import page_knobs
from explorer.ui.recordings import recordings
from explorer.ui.scripts import IMPORT_LIMIT


def form(prompt="go", pair="scripted", baseline=False, **changes):
    defaults = {knob.name: knob.default for knob in page_knobs()} | {"max_new_tokens": 30}
    return [prompt, pair, baseline, *(defaults | changes).values()]


def run(handlers, session, *values):
    """All outputs of a run, after the step that clears the view."""
    handlers.prepare(session, *values)
    return list(handlers.run(session))


def events(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def backend():
    return ScriptedBackend(STORY)


@pytest.fixture
def handlers(backend, monkeypatch):
    monkeypatch.setattr(streams, "UPDATE_SECONDS", 0.0)  # every event is sent, whatever the clock says
    return ExploreHandlers(backend)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (form(prompt=""), "prompt is empty"),
        (form(prompt="  \n"), "prompt is empty"),
        (form(prompt=None), "prompt is empty"),
        (form(prompt="x" * 20_001), "at most 20,000"),
        (form(pair="nobody"), "[Uu]nknown pair"),
        (form(pair="../secret,model"), "[Nn]ot on this machine"),
        (form(theta=9), "Theta must be a number from 0 to 1.2"),
        (form(window=None), "Window W must be a whole number from 0 to 32, got nothing"),
        (form(window=0, window_includes_mismatch=True), "at least 1"),
    ],
)
def test_bad_input_is_refused_at_once_and_nothing_runs(handlers, backend, values, message):
    session = ExploreSession()
    with pytest.raises(gr.Error, match=message):
        handlers.prepare(session, *values)
    assert session.job is None
    assert backend.closed == 0


def test_the_text_only_grows_and_ends_with_the_figures_and_the_trace(handlers):
    outputs = run(handlers, ExploreSession(), *form(baseline=True))
    texts = [output[0] for output in outputs]
    assert all(after.startswith(before) for before, after in zip(texts, texts[1:]))
    *_, last = events(texts[-1])
    assert last["end"] == "budget"
    assert last["summary"]["fidelity"]["index"] == 2


def test_the_trace_to_download_is_the_run(handlers):
    session = ExploreSession()
    values = form()
    handlers.prepare(session, *values)
    for output in handlers.run(session):
        if isinstance(output[4], dict) and output[4].get("value"):
            path = Path(output[4]["value"])
            trace = Trace.load(path)
    assert trace.stop.reason == "budget"
    assert not path.exists()  # a server that runs for weeks keeps no pile of them


def test_stop_keeps_what_is_there_and_closes_the_run(handlers, backend):
    session, values = ExploreSession(), form()
    handlers.prepare(session, *values)
    for output in handlers.run(session):
        if '"d":' in output[0]:
            handlers.stop(session)
    *_, last = events(output[0])
    assert (last["end"], last["partial"], last["summary"]["passes"]) == ("user", True, 1)
    assert backend.closed == 1


def test_a_visitor_who_leaves_closes_the_run(handlers, backend):
    session, values = ExploreSession(), form()
    handlers.prepare(session, *values)
    running = handlers.run(session)
    while '"d":' not in next(running)[0]:
        pass
    running.close()
    assert backend.closed == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [(form(pair="absent"), "not on this machine"), (form(prompt="too long"), "shorten the prompt")],
)
def test_a_failure_is_told_in_the_view_and_the_buttons_come_back(handlers, values, message):
    session = ExploreSession()
    handlers.prepare(session, *values)
    outputs = []
    with pytest.raises(gr.Error, match=message):
        _collect(handlers.run(session), outputs)
    text, run_button, stop_button, *_ = outputs[-1]
    assert message in events(text)[-1]["message"]
    assert (run_button["interactive"], stop_button["interactive"]) == (True, False)


def _collect(running, into):
    for output in running:
        into.append(output)


def test_an_unforeseen_failure_shows_no_traceback(handlers, backend, monkeypatch):
    def broken(*_):
        raise RuntimeError("secret path /home/x")
        yield

    monkeypatch.setattr(backend, "decode", broken)
    session = ExploreSession()
    handlers.prepare(session, *form())
    with pytest.raises(gr.Error) as caught:
        list(handlers.run(session))
    assert "secret" not in str(caught.value)
    assert "RuntimeError" in str(caught.value)


def test_two_sessions_do_not_share_a_stop(handlers):
    first, second = ExploreSession(), ExploreSession()
    handlers.prepare(first, *form())
    handlers.prepare(second, *form())
    handlers.stop(first)
    assert (first.job.is_cancelled, second.job.is_cancelled) == (True, False)
    assert first.job.name != second.job.name


def test_hostile_text_ends_in_the_view_as_it_was(monkeypatch):
    text = "<img src=x onerror=alert(1)>"
    backend = ScriptedBackend(Script([([Step(text)], text)]))
    outputs = run(ExploreHandlers(backend), ExploreSession(), *form(max_new_tokens=2))
    assert [piece for event in events(outputs[-1][0]) for piece in event.get("v", ())][0] == text


def test_the_endpoint_gives_text_figures_and_trace(handlers):
    answer = handlers.api_run(*form(max_new_tokens=8))
    assert answer["text"].startswith(" Once upon a time")
    assert answer["summary"]["tokens"] == 8
    assert Trace.from_json(json.loads(json.dumps(answer["trace"]))).text == answer["text"]


def test_the_endpoint_refuses_bad_input_in_words(handlers):
    with pytest.raises(gr.Error, match="Theta must be"):
        handlers.api_run(*form(theta=9))


def test_presets_are_recognised():
    for name, preset in PRESETS.items():
        assert preset_of(*(preset.settings[knob] for knob in LOOSE_KNOBS)) == name
    assert preset_of("normalized", 0.123, 3, False) == ""


def test_a_preset_sets_exactly_the_loose_knobs():
    assert all(set(preset.settings) == set(LOOSE_KNOBS) for preset in PRESETS.values())


@pytest.fixture
def recorded(tmp_path, hand):
    hand.valid().save(tmp_path / "b.json")
    hand.valid(theta=0.25).save(tmp_path / "a.json")
    (tmp_path / "c.json").write_text("{}")
    return recordings({"hand": "Hand-made"}, folder=tmp_path)


def test_recorded_runs_come_by_name_and_a_bad_file_is_left_out(recorded):
    assert [(recording.name, recording.short, recording.title) for recording in recorded] == [
        ("a", "abc", "Hand-made"),
        ("b", "abc", "Hand-made"),
    ]
    label = choice_label(recorded[0])
    assert label.startswith("abc · __i18n__")
    assert '"run.fly.fixed"' in label
    assert label.endswith(" · Hand-made")
    first, *rounds, last = events(recorded[0].text)
    assert (first["recorded"], first["provenance"]["dtype"]["target"]) == (True, "float32")
    assert len(rounds) == 3
    assert last["summary"]["passes"] == 3


def test_opening_a_recorded_run_sets_the_page_to_it(backend, recorded):
    """One set of thresholds: the page's controls are those of the run in the view, until somebody moves them."""
    picker, text, prompt, pair, *knobs, _, _ = ExploreHandlers(backend, recorded).open_run(ExploreSession(), "b")
    assert (picker["value"], [value for _, value in picker["choices"]]) == ("b", ["a", "b"])
    assert (text, prompt) == (recorded[1].text, "abc")
    assert (
        pair == "scripted"
    )  # not a pair of this machine: a run of one's own gets the default, never the last one chosen
    values = dict(zip((knob.name for knob in page_knobs()), knobs, strict=True))
    assert (values["theta"], values["window"], values["draft_length"]) == (0.3, 1, 3)


def test_opening_what_is_not_there_changes_nothing(backend, recorded):
    for name in ("../secret", OWN):  # no run of one's own yet
        opened = ExploreHandlers(backend, recorded).open_run(ExploreSession(), name)
        assert all(value == gr.skip() for value in opened)


def test_a_list_that_is_left_as_it_was_resets_nothing(backend, recorded):
    """Opening the list of runs and leaving it says the run on show again, and took the settings back to the run's."""
    handlers, session = ExploreHandlers(backend, recorded), ExploreSession(shown="a")
    assert all(value == gr.skip() for value in handlers.pick(session, "a"))
    assert handlers.pick(session, "b")[0]["value"] == session.shown == "b"


def test_ones_own_run_can_be_opened_again(backend, recorded):
    """The list of runs was blank after a run, and the run was gone once another was looked at."""
    handlers, session = ExploreHandlers(backend, recorded), ExploreSession()
    form = ["Mine", "scripted", False, *((9 if k.name == "max_new_tokens" else k.default) for k in page_knobs())]
    picker = handlers.prepare(session, *form)[3]
    assert (picker["value"], picker["choices"][0][1], picker["interactive"]) == (OWN, OWN, False)
    *_, (text, _, _, picker, *_) = handlers.run(session)
    assert picker["interactive"]
    picker, shown, *_ = handlers.open_run(session, "a")
    assert (picker["value"], [value for _, value in picker["choices"]]) == ("a", [OWN, "a", "b"])
    picker, again, prompt, pair, *_, download, _ = handlers.open_run(session, OWN)
    assert Trace.load(download["value"]).output_ids == session.own.trace.output_ids
    assert (picker["value"], again, prompt, pair) == (OWN, text, "Mine", "scripted")
    assert again != shown
    session.forget()
    assert not Path(download["value"]).exists()


def test_a_rerun_takes_the_prompt_of_the_view_and_a_pair_of_this_machine(handlers):
    event = SimpleNamespace(prompt="again", pair="scripted")
    assert handlers.prompt_and_pair(event) == ["again", "scripted"]
    assert handlers.prompt_and_pair(SimpleNamespace(prompt=3, pair="absent")) == [gr.skip(), "scripted"]


@pytest.fixture
def bare():
    """Of a pair that ships nothing."""
    return ExploreHandlers(ScriptedBackend(STORY, offers=Offers(pacer_layer=False, head=False, judge_head=False)))


def test_a_policy_without_its_layer_is_refused_before_anything_is_cleared(bare):
    """The run on show was wiped, models were loaded, and only then came the refusal."""
    session = ExploreSession(shown="before")
    form = ["Hello", "scripted", False, *(("pacer" if k.name == "length" else k.default) for k in page_knobs())]
    with pytest.raises(gr.Error, match="PACER layer .*Scripted pair has none; there is one for: Absent pair"):
        bare.prepare(session, *form)
    assert session.shown == "before"


def test_notes_say_what_is_unusual_or_wrong(handlers, bare):
    values = {knob.name: knob.default for knob in page_knobs()}
    offers = handlers.offers
    assert notes_html(offers, "scripted", *values.values()) == ""
    assert "nothing can be deferred" in notes_html(offers, "scripted", *(values | {"window": 8}).values())
    assert "PACER layer" in notes_html(bare.offers, "scripted", *(values | {"length": "pacer"}).values())
    assert notes_html(offers, "typed,pair", *(values | {"length": "pacer"}).values()) == "", "nobody knows yet"
    assert "Theta must be" in notes_html(offers, "scripted", *(values | {"theta": None}).values())


def opened(text, name="f.json"):
    return SimpleNamespace(text=text, name=name)


def test_a_visitors_file_is_shown_like_a_recorded_run_and_kept_nowhere(handlers):
    trace = make_trace(theta=0.3)
    session = ExploreSession(own=OwnRun("r", trace, "", "scripted"), shown="x")
    picked, text, prompt, pair, *knobs, download, charts = handlers.open_file(
        session, opened(json.dumps(trace.to_json()))
    )
    head, *_, end = events(text)
    assert (head["imported"], head["recorded"], head["pair"], end["end"]) == (True, True, "elsewhere", "budget")
    assert (picked["value"], prompt) == (OWN, "Tell a story.")
    assert dict(zip([knob.name for knob in page_knobs()], knobs))["theta"] == 0.3
    assert (download["value"], charts["open"]) == (None, False)
    assert (session.own, session.shown) == (None, "")
    assert handlers.charts(session, opened(json.dumps(trace.to_json()))).data, (
        "its charts come from what the browser kept"
    )
    with pytest.raises(gr.Error, match="Schema version"):
        handlers.charts(session, opened("{}"))


def edited(**changes):
    return json.dumps(make_trace().to_json() | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON"),
        ("{}", "schema version"),
        ("[" * 100_000, "not valid JSON"),
        (edited(schema=99), "schema version 99"),
        (edited(rounds="many"), "rounds must be a list"),
        (edited(stop_ids=[10**20]), "whole number"),
        (edited(vocabulary={"1": {"hex": "zz"}}), "vocabulary"),
        (json.dumps(make_trace().to_json()).replace('"deferred"', '"exact"'), "the rule gives other verdicts"),
        ('{"schema": NaN}', "not a number"),
        ("\ud800", "not valid JSON"),
        (None, "not a text"),
        (["{}"], "not a text"),
    ],
)
def test_a_file_that_is_no_record_is_refused_with_the_reason(handlers, text, reason):
    session = ExploreSession(shown="kept")
    with pytest.raises(gr.Error, match=reason) as refusal:
        handlers.open_file(session, opened(text, "<b>f.json"))
    assert "&lt;b&gt;f.json is no record" in str(refusal.value), "shown as markup, so written as text"
    assert session.shown == "kept", "what was on show stays"


def test_the_size_of_a_file_is_checked_before_it_is_parsed(handlers, monkeypatch):
    monkeypatch.setattr(opening, "parse_json", lambda text: pytest.fail("it was parsed"))
    for text in ("x" * (IMPORT_LIMIT + 1), "한" * (IMPORT_LIMIT // 3 + 1)):
        with pytest.raises(gr.Error, match="more than 16,777,216 bytes"):
            handlers.open_file(ExploreSession(), opened(text))


def test_a_linked_run_is_chosen_and_shown(backend, tmp_path):
    make_trace().save(tmp_path / "a.json")
    handlers = ExploreHandlers(backend, recordings({}, folder=tmp_path))
    picked, text, *_ = handlers.open_linked(ExploreSession(), SimpleNamespace(run="a"))
    assert (picked["value"], events(text)[0]["run"]) == ("a", "recorded a")
    session = ExploreSession(shown="kept")
    for name in ("../a", OWN):
        assert all(output == gr.skip() for output in handlers.open_linked(session, SimpleNamespace(run=name)))
    assert session.shown == "kept"


def test_a_draft_is_judged_for_a_program():
    answer = judge([True, False, True, True], [0.0, 0.5, 0.0, 0.0], theta=0.3, window=2)
    assert answer == {"verdicts": ["exact", "deferred", "exact", "exact"], "kept": 4, "cut": None, "last": "bonus"}
    assert judge([False], [0.9], protected=[True])["verdicts"] == ["rejected:stop"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"match": "yes"}, "match must be a list"),
        ({"match": [1]}, "true or false"),
        ({"entropy": [float("nan")]}, "finite number"),
        ({"entropy": []}, "one entry per drafted token"),
        ({"theta": 1.3}, "Theta must be a number from 0 to 1.2"),
        ({"theta": float("nan")}, "Theta must be"),
        ({"window": 33}, "Window W must be"),
        ({"window": 0, "includes_mismatch": True}, "at least 1"),
        ({"rule": "loose"}, "Rule must be one of"),
        ({"match": [True] * 65, "entropy": [0.0] * 65}, "Draft length K must be"),
        ({"protected": [True, False]}, "one entry per drafted token"),
    ],
)
def test_a_draft_that_the_page_could_not_hold_is_refused(values, message):
    with pytest.raises(gr.Error, match=message):
        judge(**({"match": [True], "entropy": [0.1]} | values))
