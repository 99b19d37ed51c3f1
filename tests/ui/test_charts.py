"""The charts to zoom: what they plot is what the trace holds."""

import re
from types import SimpleNamespace

import pytest
from explore import ExploreHandlers
from scripted import STORY, ScriptedBackend, make_trace

from explorer.analysis.calibration import calibration, predictions
from explorer.trace import Trace
from explorer.ui import messages
from explorer.ui.explore.charts import MARKS, figure
from explorer.ui.explore.session import OWN, ExploreSession, OwnRun
from explorer.ui.recordings import recordings
from explorer.verdicts import Verdict


def test_every_disagreement_is_one_mark(hand):
    trace = hand.valid()
    marks = [part for part in figure(trace).data if part.type == "scatter"]
    points = {part.name: list(zip(part.x, part.y, part.text)) for part in marks}
    assert points == {
        "deferred, kept": [(0.5, 0.5, "round 1, position 2")],
        "target sure": [(pytest.approx(0.2), pytest.approx(0.2), "round 2, position 2")],
    }


def test_the_phases_of_a_round_add_up_to_its_time(hand):
    trace = hand.valid()
    bars = [part for part in figure(trace).data if part.type == "bar"]
    for index, round_ in enumerate(trace.rounds):
        assert sum(part.y[index] for part in bars) == pytest.approx(round_.seconds.decode)


def test_every_verdict_of_a_mismatch_has_a_mark():
    assert set(MARKS) == {str(verdict) for verdict in Verdict} - {"exact"}


def test_charts_are_of_the_run_on_show(hand, tmp_path):
    hand.valid().save(tmp_path / "a.json")
    handlers = ExploreHandlers(ScriptedBackend(STORY), recordings({}, folder=tmp_path))
    event = SimpleNamespace(text=None)
    session = ExploreSession(shown="a")
    assert handlers.charts(session, event).data
    session.shown = ""  # a run is being made
    assert not hasattr(handlers.charts(session, event), "data")
    session.own, session.shown = OwnRun("r", Trace.load(tmp_path / "a.json"), "", "hand"), OWN
    assert handlers.charts(session, event).data


def test_a_run_that_pacer_steered_shows_its_drafts_and_whether_its_predictions_held():
    trace = make_trace(blocks=True)
    parts = {part.name: part for part in figure(trace).data}
    kept, lost = parts["kept"].y, parts["not kept"].y
    assert [sum(pair) for pair in zip(kept, lost)] == [len(round_.drafted) for round_ in trace.rounds]
    assert list(kept) == [round_.accepted for round_ in trace.rounds]
    bins = calibration(*predictions(trace.rounds))
    scored = parts["scored tokens"]
    assert list(zip(scored.x, scored.y)) == [(one.predicted, one.kept) for one in bins]
    assert sum(int(text.split(": ")[1].split()[0]) for text in scored.text) == sum(one.count for one in bins) > 0
    assert "scored tokens" not in {part.name for part in figure(make_trace()).data}


def test_a_korean_visitor_reads_korean_charts(monkeypatch):
    monkeypatch.setattr(messages, "visitors_language", lambda: "ko")
    made = figure(make_trace(blocks=True))
    said = [part.name for part in made.data] + [note.text for note in made.layout.annotations]
    said += [axis.title.text for axis in (made.layout.xaxis, made.layout.xaxis2, made.layout.yaxis4) if axis.title.text]
    assert all(re.search("[\uac00-\ud7a3]", text) for text in said)
