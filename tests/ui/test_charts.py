"""The charts to zoom: what they plot is what the trace holds."""

import pytest
from scripted import STORY, ScriptedBackend

from explorer.trace import Trace
from explorer.ui import callbacks as cb
from explorer.ui.charts import MARKS, figure
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
    handlers = cb.Callbacks(ScriptedBackend(STORY), recordings({}, folder=tmp_path))
    session = cb.Session(recording="a")
    assert handlers.charts(session).data
    session.recording = ""  # a run is being made
    assert not hasattr(handlers.charts(session), "data")
    session.trace = Trace.load(tmp_path / "a.json")
    assert handlers.charts(session).data
