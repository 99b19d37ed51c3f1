"""The lesson: every step finds its place in the recorded runs, the place shows what the text claims, and questions are answered.

Places are looked up by explorer/ui/web/learn/lesson_steps.js; what they must show is said here by verdict, so that a run recorded anew either fits or
fails here.
"""

import json
import re
from functools import cache

import pytest
from node import run_script

from explorer.config import DecodeConfig
from explorer.trace import Trace
from explorer.ui.catalogue import en
from explorer.ui.recordings import RUNS, recordings
from explorer.verdicts import Verdict

READ = """(() => {
  const read = (text) => {
    const [head, ...lines] = text.trim().split("\\n").map(JSON.parse);
    const run = newRun(head);
    for (const line of lines) readEvent(run, line);
    return run;
  };
  %s
})()"""
PLACES = "return LESSON.map((step) => ({ ...step, places: (step.rounds ?? [step.find]).map((find) => find(read(data[step.run]))) }));"
CHECK = """
  return data.cases.map(({ name, part = 0, at, answer, settings = {}, seen = [] }) => {
    const step = LESSON.find((one) => one.name === name), run = read(data.texts[step.run]);
    const now = { ...run.head.config, ...settings }, again = replay(run, now);
    const place = (step.rounds?.[part] ?? step.find)(run);
    const judgementOf = (round) => sameRule(now, run.head.config) ? round.judgement : again.rounds[round.index].after;
    return step.check({ run, place, at: { ...place, ...at }, settings: now, judgementOf, seen: new Set(seen), answer: { ...place, ...answer } });
  });"""


@cache
def texts():
    return {recording.name: recording.text for recording in recordings({}, folder=RUNS)}


@pytest.fixture(scope="module")
def steps():
    """The steps by name, each with the places it finds."""
    return {step["name"]: step for step in run_script(READ % PLACES, texts())}


@pytest.fixture(scope="module")
def traces():
    return {name: Trace.load(RUNS / f"{name}.json") for name in texts()}


@pytest.fixture
def shown(steps, traces):
    """The trace that a step opens, and the round and position it looks up (the first of several)."""

    def look(name, part=0):
        trace, place = traces[steps[name]["run"]], steps[name]["places"][part]
        return trace, trace.rounds[place["round"]], place["position"]

    return look


def check(*cases):
    return run_script(READ % CHECK, {"texts": texts(), "cases": list(cases)})


def test_every_step_has_its_run_its_places_and_its_words(steps):
    assert list(en.lesson.LESSON["step"]) == list(steps), "in the order they are taken"
    assert 8 <= len(steps) <= 12
    for step in steps.values():
        assert step["run"] in texts()
        assert all(step["places"]), f"{step['name']} finds nothing in {step['run']}"


def test_the_target_alone_adds_one_token_a_pass(shown):
    trace, round_, _ = shown("slow")
    assert trace.config.rule == "autoregressive"
    assert all(not one.drafted and len(one.emitted) == 1 for one in trace.rounds)
    assert len(trace.rounds) > 20


def test_verification_cuts_some_rounds_and_keeps_others_and_changes_nothing(shown):
    trace, round_, position = shown("verify")
    assert trace.config.rule == "exact"
    assert round_.verdicts[position] == Verdict.REJECTED
    assert any(one.drafted and len(one.committed) == len(one.drafted) + 1 for one in trace.rounds)
    assert trace.output_ids == trace.baseline.ids, "the text says that the exact rule changes nothing"


def test_the_synonym_is_refused_by_the_exact_rule_and_kept_by_fly(shown):
    trace, round_, position = shown("synonym")
    assert round_.verdicts[position] == Verdict.REJECTED
    assert round_.judge(DecodeConfig()).verdicts[position] == Verdict.DEFERRED
    assert position < len(round_.drafted) - 1, "some more tokens were thrown away with it"


def test_the_sure_target_refuses_at_the_gate(shown):
    _, round_, position = shown("doubt")
    assert round_.verdicts[position] == Verdict.GATE
    assert round_.rows[position].entropy_normalized > 0.01, "a theta that lets it pass can be set by hand"


def test_one_window_holds_to_the_end_of_its_draft(shown):
    trace, round_, position = shown("holds")
    assert round_.verdicts[position] == Verdict.DEFERRED
    assert all(round_.match[position + 1 :])
    assert len(round_.drafted) - 1 - position > trace.config.window, "a larger W is to be found"


def test_one_window_breaks(shown):
    trace, round_, position = shown("breaks")
    assert round_.verdicts[position] == Verdict.WINDOW
    assert round_.match[position + 1], "so that W = 1 keeps it"


def test_one_mismatch_is_refused_at_the_edge_with_one_token_left(shown):
    trace, round_, position = shown("edge")
    assert round_.verdicts[position] == Verdict.EDGE
    assert len(round_.drafted) - 1 - position == 1, "the text says that one is left"
    assert len(round_.drafted) == trace.config.draft_length


def test_a_long_draft_is_kept_whole_once_and_wasted_once(shown):
    trace, *_ = shown("longer")
    kept = [len(one.committed) - 1 for one in trace.rounds]
    assert max(kept) == trace.config.draft_length >= 15
    wasted = [len(one.drafted) - count for one, count in zip(trace.rounds, kept)]
    assert max(wasted) >= trace.config.draft_length - 1
    assert wasted.count(max(wasted)) <= 2


def test_pacer_ends_some_drafts_and_not_all(shown):
    trace, round_, _ = shown("pacer")
    assert trace.config.length == "pacer"
    ended = [any(block.mean is not None and not block.passed for block in one.blocks) for one in trace.rounds]
    assert any(ended)
    assert not all(ended)
    kept = [len(one.committed) - 1 for one in trace.rounds]
    assert max(kept) == trace.config.draft_length, "it grows to its largest length"
    assert any(len(one.drafted) - count > 10 for one, count in zip(trace.rounds, kept)), "and is wrong once"
    assert round_.blocks
    assert kept[trace.rounds.index(round_)] == max(kept)


def test_theta_can_tell_the_slip_from_the_other_way_to_say_it(shown, traces):
    trace, slip, at = shown("tune")
    _, harmless, position = shown("holds")
    assert (slip.verdicts[at], harmless.verdicts[position]) == (Verdict.DEFERRED, Verdict.DEFERRED)
    assert slip.rows[at].entropy_normalized + 0.01 < harmless.rows[position].entropy_normalized
    assert trace.rounds.index(harmless) < trace.rounds.index(slip)
    assert re.search(r"full of water\.[^.]*\.\s*[^.]*opened the bottle and found a message", trace.text)


def test_the_text_parts_at_a_deferred_token(shown):
    trace, *_ = shown("lost")
    index = next(i for i, pair in enumerate(zip(trace.output_ids, trace.baseline.ids)) if pair[0] != pair[1])
    for round_ in trace.rounds:
        if index < len(round_.emitted):
            assert round_.verdicts[index] == Verdict.DEFERRED
            return
        index -= len(round_.emitted)
    pytest.fail("the texts do not part")


def test_the_rounds_to_predict_end_for_different_reasons(shown):
    ends = []
    for part in range(3):
        _, round_, position = shown("predict", part)
        assert position == 0
        kept = len(round_.committed) - 1
        ends.append("all" if kept == len(round_.drafted) else str(round_.verdicts[kept]))
    assert len(set(ends)) == 3
    assert "all" in ends


ANSWERS = [
    # (a state that answers, states that do not)
    ({"name": "slow", "seen": [0, 1, 2, 3]}, {"name": "slow", "seen": [0, 1]}),
    ({"name": "verify", "at": {"round": 4}}, {"name": "verify", "at": {"round": 2}}),
    ({"name": "synonym", "settings": {"rule": "fly"}}, {"name": "synonym", "settings": {"rule": "exact"}}, {"name": "synonym", "settings": {"rule": "fly", "theta": 1}}),
    ({"name": "doubt", "settings": {"theta": 0.025}}, {"name": "doubt", "settings": {"theta": 0.03}}),
    ({"name": "holds", "settings": {"window": 5}}, {"name": "holds", "settings": {"window": 4}}, {"name": "holds", "settings": {"window": 6}}),
    ({"name": "breaks", "settings": {"window": 1}}, {"name": "breaks", "settings": {"window": 2}}),
    ({"name": "edge", "answer": {"position": 4}}, {"name": "edge", "answer": {"position": 5}}, {"name": "edge", "answer": {"position": 3}}, {"name": "edge", "answer": {"round": 0}}),
    ({"name": "longer", "at": {"round": 8}}, {"name": "longer", "at": {"round": 0}}),
    ({"name": "pacer", "at": {"round": 0}}, {"name": "pacer", "at": {"round": 1}}),
    ({"name": "tune", "settings": {"theta": 0.2}}, {"name": "tune", "settings": {"theta": 0.1}}, {"name": "tune", "settings": {"theta": 0.4}}),
    ({"name": "lost", "at": {"round": 1, "position": 4}}, {"name": "lost", "at": {"round": 0, "position": 4}}, {"name": "lost", "at": {"round": 3, "position": 0}}),
    ({"name": "predict", "answer": {"position": 4}}, {"name": "predict", "answer": {"position": 1}}, {"name": "predict", "answer": {"position": 6}}, {"name": "predict", "answer": {"round": 0}}),
    ({"name": "predict", "part": 1, "answer": {"position": 8}}, {"name": "predict", "part": 1, "answer": {"position": 4}}),
    ({"name": "predict", "part": 2, "answer": {"position": 7}}, {"name": "predict", "part": 2, "answer": {"position": 3}}),
]  # fmt: skip


def test_questions_are_answered_from_the_state(steps):
    """Each question has an answer that is right, others that are not, and words for all of them."""
    cases = [case for group in ANSWERS for case in group]
    outcomes = iter(check(*cases))
    for good, *bad in ANSWERS:
        outcome = next(outcomes)
        assert outcome["right"], (good, outcome)
        for case in [good, *bad]:
            if case is not good:
                outcome = next(outcomes)
                assert not outcome["right"], (case, outcome)
            said = en.lesson.LESSON["step"][case["name"]]["notes"]
            assert outcome["note"] in said, (case, outcome)
    assert {group[0]["name"] for group in ANSWERS} == set(steps)


def test_no_text_holds_a_figure():
    """Figures come from the run on show, so that a run recorded anew brings its own."""
    said = json.dumps(en.lesson.LESSON["step"], ensure_ascii=False)
    assert re.findall(r"\d+(?:\.\d+)?", re.sub(r"\{\w+\}", "", said)) == ["0", "1"], "the ends of the entropy's scale"
