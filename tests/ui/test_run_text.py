"""The last line of a run: figures and fidelity."""

import json

from scripted import STORY, ScriptedBackend

from explorer import wire as lines
from explorer.analysis.metrics import summarize
from explorer.cli.terminal import summary_text
from explorer.config import DecodeConfig
from explorer.ui.run_text import end_event


def finish(generator):
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


def story_trace(baseline: bool, rounds: int | None = None):
    backend, config = ScriptedBackend(STORY), DecodeConfig(max_new_tokens=25)
    pair = finish(backend.load("scripted"))
    prompt = pair.encode("go")
    recorder = backend.recorder(pair, prompt, config)
    for round_ in list(backend.decode(pair, prompt, config))[:rounds]:
        recorder.add(round_)
    return recorder.trace(finish(backend.baseline(pair, prompt, config)) if baseline else None)


def test_the_figures_of_a_finished_run():
    event = json.loads(lines.line(end_event(story_trace(baseline=False))))
    summary = event["summary"]
    assert (event["end"], event["partial"]) == ("budget", False)
    assert event["provenance"]["device"] == "no device"
    assert summary["tau"] == summary["tokens"] / summary["passes"]
    assert sum(summary["counts"].values()) == summary["drafted"]
    assert summary["counts"]["rejected:gate"] == 1
    assert "fidelity" not in summary


def test_a_divergence_is_counted_from_one_and_shows_both_texts():
    fidelity = end_event(story_trace(baseline=True))["summary"]["fidelity"]
    assert fidelity == {"compared": 5, "index": 2, "ours": " upon a time there was a", "theirs": " there stood a tower"}


def test_a_stopped_run_is_marked_partial():
    event = end_event(story_trace(baseline=False, rounds=2))
    assert (event["end"], event["partial"]) == ("user", True)


def test_what_only_some_runs_have_is_told_only_there(hand):
    keys = {"phrases", "from_phrases", "overlapped_speed", "nodes", "kept_of_nodes"}
    assert not keys & set(end_event(hand.valid())["summary"])
    summary = end_event(hand.phrases())["summary"]
    assert (summary["phrases"], summary["from_phrases"], "overlapped_speed" in summary) == (2, 2, False)
    assert end_event(hand.pearl())["summary"]["overlapped_speed"] == 10 / 15
    summary = end_event(hand.tree())["summary"]
    assert (summary["nodes"], summary["kept_of_nodes"]) == (6, 2 / 6)
    assert "33.3% of them kept" in summary_text(summarize(hand.tree()), hand.tree())
