"""What the Tune tab does: refusals before anything runs, streaming, stopping, measuring, another limit. No server, no models."""

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from scripted import STORY, Script, ScriptedBackend

from explorer.prompts import HELD_OUT, PromptItem, read_prompts
from explorer.sweep.points import Limit, points_of, recommend
from explorer.sweep.record import Sweep
from explorer.ui import streams
from explorer.ui.known_paces import KnownPaces
from explorer.ui.offers import PairOffers
from explorer.ui.recordings import recordings
from explorer.ui.tune import work
from explorer.ui.tune.handlers import TuneHandlers
from explorer.ui.tune.plan import read_plan, spread
from explorer.ui.tune.session import TuneSession

FORM = {
    "pair": "scripted", "source": "own", "count": 6, "own": "go\nstay", "entropy": "normalized", "thetas": "0.05, 0.5",
    "windows": "1,3", "lengths": "8", "budget": 24, "drafter": "model", "length": "fixed", "includes": False,
}  # fmt: skip


def form(**changes):
    return list((FORM | changes).values())


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def sweep(handlers, session, nats=0.1, lost=0, **changes):
    """All outputs of a sweep, after the step that clears the view."""
    values = [nats, lost, *form(**changes)]
    handlers.prepare(session, *values)
    return list(handlers.run(session))


@pytest.fixture
def handlers(monkeypatch):
    monkeypatch.setattr(streams, "UPDATE_SECONDS", 0.0)
    monkeypatch.setattr(work, "PROGRESS_SECONDS", 0.0)  # every pass is told, whatever the clock says
    return TuneHandlers(ScriptedBackend(STORY))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pair": "../secret"}, "[Uu]nknown pair"),
        ({"own": "  \n"}, "no prompts"),
        ({"own": "go\n" * 25}, "at most 24"),
        ({"own": "x" * 20_001}, "at most 20,000"),
        ({"own": '{"prompt": 3}'}, "line 1"),
        ({"source": "elsewhere"}, "no prompts"),
        ({"source": "checkable", "count": 25}, "at most 24"),
        ({"thetas": "0.1, much"}, "Theta must be a number from 0 to 1.2, got 'much'"),
        ({"thetas": "0.1, 9"}, "Theta must be a number from 0 to 1.2, got 9"),
        ({"thetas": "nan"}, "Theta must be"),
        ({"thetas": " , "}, "got nothing"),
        ({"windows": "1.5"}, "Window W must be a whole number"),
        ({"lengths": "0"}, "Draft length K must be a whole number from 1 to 64"),
        ({"lengths": "2,3,4,5"}, "at most 3"),
        ({"budget": 600}, "at most 512"),
        ({"budget": None}, "Budget"),
        ({"thetas": ",".join(str(n / 100) for n in range(31))}, "62 points: at most 60"),
        ({"windows": "0, 1", "includes": True}, "at least 1"),
        ({"drafter": "lookup", "length": "pacer"}, "needs a draft model"),
        ({"drafter": "model+phrases"}, "share rounds"),
        ({"drafter": "features", "length": "pacer"}, "feature-fed head"),
    ],
)
def test_bad_input_is_refused_at_once_and_nothing_runs(handlers, changes, message):
    session = TuneSession()
    with pytest.raises(gr.Error, match=message):
        handlers.prepare(session, 0.1, 0, *form(**changes))
    assert session.job is None
    assert "wrong" in handlers.expected(*form(**changes))


@pytest.mark.parametrize(("nats", "lost"), [(None, 0), (-1, 0), (float("nan"), 0), (0.1, -1), ("0.1", 0)])
def test_an_impossible_limit_is_refused(handlers, nats, lost):
    with pytest.raises(gr.Error, match="limit"):
        handlers.prepare(TuneSession(), nats, lost, *form())


def test_a_sweep_streams_its_prompts_and_ends_with_files(handlers):
    session = TuneSession()
    outputs = sweep(handlers, session)
    texts = [out[0] for out in outputs]
    assert all(later.startswith(earlier) for earlier, later in zip(texts, texts[1:])), "the text only grows"
    head, *rest = events(texts[-1])
    assert (head["thetas"], head["windows"], head["lengths"]) == ([0.05, 0.5], [1, 3], [8])
    assert [point["name"] for point in head["points"][:2]] == ["plain greedy", "exact, K = 8"]
    assert [prompt["prompt"] for prompt in head["prompts"]] == ["go", "stay"]
    done = [event for event in rest if "done" in event]
    assert [event["done"] for event in done] == [1, 2]
    assert any("passes" in event for event in rest)
    figures = points_of(session.results.sweep)
    assert [one["tau"] for one in done[-1]["figures"]] == [point.tau for point in figures]
    assert [one["prompts"] for one in done[0]["figures"]] == [1] * len(figures)
    assert sorted(point for run in done[0]["runs"] for point in run["points"]) == list(range(len(figures)))
    choice = [event for event in rest if "choice" in event][-1]
    found = recommend(figures, Limit(0.1, 0))
    assert choice["choice"] == found.point.index
    assert choice["reasons"] == [str(reason) for reason in found.reasons]
    assert choice["outside"] == [p.index for p in figures if p.config.rule == "fly" and Limit(0.1, 0).reasons(p)]
    assert rest[-1]["end"] == "done"
    run, cancel = outputs[-1][1:3]
    assert (run["interactive"], cancel["interactive"]) == (True, False)


def test_the_files_hold_the_whole_sweep(handlers):
    session = TuneSession()
    handlers.prepare(session, 0.1, 0, *form())
    for out in handlers.run(session):
        if isinstance(out[3], dict) and out[3].get("value"):  # while Gradio copies them
            rows = list(csv.DictReader(Path(out[3]["value"]).read_text(encoding="utf-8").splitlines()))
            read = Sweep.load(out[4]["value"])
    assert len(rows) == len(session.results.sweep.points)
    assert {row["tokens_per_second_measured"] for row in rows} == {""}
    assert read == session.results.sweep


def test_stopping_keeps_the_prompts_that_are_through(handlers):
    session = TuneSession()
    values = [0.1, 0, *form(own="one\ntwo\nthree")]
    handlers.prepare(session, *values)
    running = handlers.run(session)
    for out in running:
        if '\n{"done":1' in out[0]:
            handlers.stop(session)
    assert session.results.sweep.partial
    assert len(session.results.sweep.prompts) < 3
    end = events(session.results.log.snapshot())[-1]
    assert (end["end"], end["through"]) == ("stopped", len(session.results.sweep.prompts))


def test_stopping_before_the_first_prompt_leaves_nothing():
    import threading

    handlers = TuneHandlers(ScriptedBackend(Script(STORY.rounds, threading.Semaphore(0))))
    session = TuneSession()
    handlers.prepare(session, 0.1, 0, *form())
    running = handlers.run(session)
    for _ in running:
        session.stop()
    assert session.results.sweep is None
    assert events(session.results.log.snapshot())[-1] == {"phase": "stopped"}


def test_a_failure_is_told_and_the_page_goes_on(handlers):
    session = TuneSession()
    values = [0.1, 0, *form(own="go\ntoo long")]
    handlers.prepare(session, *values)
    sent = []
    with pytest.raises(gr.Error, match="9000 tokens"):
        sent.extend(handlers.run(session))
    assert events(session.results.log.snapshot())[-1]["phase"] == "failed"
    assert sent[-1][1]["interactive"] is True
    assert len(session.results.sweep.prompts) == 1, "what was through is kept"


def test_another_limit_chooses_again_without_a_run(handlers):
    session = TuneSession()
    assert handlers.choose(session, 0.1, 0) == gr.skip()
    sweep(handlers, session)
    before = events(session.results.log.snapshot())[-2]
    wide = events(handlers.choose(session, 10, 0))[-1]
    assert wide["limit"] == [10, 0]
    assert wide["outside"] == []
    assert wide["choice"] == recommend(session.results.points, Limit(10, 0)).point.index != before["choice"]
    assert handlers.choose(session, None, 0) == gr.skip()


def test_a_point_is_measured_beside_its_model(handlers):
    session = TuneSession()
    sweep(handlers, session)
    point = session.results.sweep.swept[0]
    handlers.prepare_measure(session, SimpleNamespace(point=point))
    outputs = list(handlers.run(session))
    plain, one = [event["measured"] for event in events(outputs[-1][0]) if "measured" in event]
    assert (plain["point"], one["point"], plain["times"]) == (0, point, 1.0)
    assert one["modelled"] == session.results.points[point].times_plain
    assert one["speed"] == session.results.sweep.measured[1].tokens_per_second == one["times"] * plain["speed"]
    assert (one["same"], one["prompts"]) == (2, 2)
    handlers.prepare_measure(session, SimpleNamespace(point=point))
    list(handlers.run(session))
    assert [one.point for one in session.results.sweep.measured] == [0, point], "measured anew, not twice"


@pytest.mark.parametrize("point", [None, "1", -1, 99])
def test_only_a_swept_point_can_be_measured(handlers, point):
    session = TuneSession()
    with pytest.raises(gr.Error, match="no sweep"):
        handlers.prepare_measure(session, SimpleNamespace(point=0))
    sweep(handlers, session)
    with pytest.raises(gr.Error, match="no sweep"):
        handlers.prepare_measure(session, SimpleNamespace(point=point))


def test_how_long_it_will_take_and_how_that_is_known(handlers, tmp_path, hand):
    assert "not known" in handlers.expected(*form())
    sweep(handlers, TuneSession())
    assert "the last runs on this machine" in handlers.expected(*form())
    hand.valid().save(tmp_path / "a.json")
    recorded = recordings({}, folder=tmp_path)
    known = TuneHandlers(
        ScriptedBackend(STORY), KnownPaces([SimpleNamespace(pair="scripted", trace=recorded[0].trace)])
    )
    assert "modelled from a run recorded on CPU" in known.expected(*form())
    assert "nothing can be deferred" in known.expected(*form(windows="3,8"))


def test_the_shipped_prompts_are_spread_over_their_kinds():
    items = [PromptItem(str(n), kind=kind) for n, kind in enumerate("aaabbc")]
    assert [item.kind for item in spread(items, 3)] == ["a", "b", "c"]
    assert [item.prompt for item in spread(items, 5)] == ["0", "1", "3", "4", "5"]
    for source in ("checkable", "examples"):
        plan = read_plan(PairOffers(ScriptedBackend(STORY).pairs()), *form(source=source))
        assert len(plan.items) == 6
        assert len({item.kind for item in plan.items}) == 6
        assert all(item.answer for item in plan.items) is (source == "checkable")
        assert not {item.prompt for item in plan.items} & {item.prompt for item in read_prompts(HELD_OUT)}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("mine.json", '\ufeff[{"prompt": "p", "answer": "4"}]', ["4"]),
        ("MINE.JSON", '[{"question": "q", "answer": "#### 4"}, "r"]', ["4", None]),
        ("mine.txt", "\ufeffone\ntwo", [None, None]),
    ],
)
def test_a_file_is_what_it_is_called(name, content, expected, handlers, tmp_path):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    text, _ = handlers.open_file(str(path))
    items = read_plan(PairOffers(ScriptedBackend(STORY).pairs()), *form(own=text)).items
    assert [item.answer for item in items] == expected
    assert not any(item.prompt.startswith(("\ufeff", "[", "{")) for item in items)
    path = tmp_path / "other.json"
    path.write_text("Say hello.", encoding="utf-8")
    with pytest.raises(gr.Error, match="line 1: not valid JSON"):
        handlers.open_file(str(path))


def test_a_file_of_prompts_becomes_the_visitors_own(handlers, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question": "How many?", "answer": "So: #### 4"}\n', encoding="utf-8")
    text, source = handlers.open_file(str(path))
    assert source == "own"
    assert read_plan(PairOffers(ScriptedBackend(STORY).pairs()), *form(own=text)).items[0].answer == "4"
    for content, message in (
        (b"\xff\x00", "UTF-8"),
        (b'{"prompt"', "line 1"),
        (b"x" * 500_001, "500 kB"),
        (b"", "no prompts"),
    ):
        path.write_bytes(content)
        with pytest.raises(gr.Error, match=message):
            handlers.open_file(str(path))
