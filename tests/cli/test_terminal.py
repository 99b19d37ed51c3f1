"""The text of a run on a terminal: figures counted as the page counts them, and words that claim no more than was measured."""

import re
from dataclasses import replace

import pytest

from explorer.analysis.metrics import summarize
from explorer.cli import terminal
from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.recorder import plain
from explorer.trace import Baseline
from explorer.ui.run_text import end_event
from explorer.verdicts import Verdict

LOOSE = DecodeConfig(theta=0.0, window=0, draft_length=4, max_new_tokens=24)


@pytest.fixture(scope="module")
def traced(pair, record):
    """A run under some settings, with plain greedy beside it."""

    def run(config):
        prompt = [1, 2, 3]
        return record(pair, prompt, config, Baseline.of(decode(pair, prompt, plain(config))))

    return run


def text_of(trace) -> str:
    return terminal.summary_text(summarize(trace), trace)


def test_a_divergence_is_counted_and_shown_as_on_the_page(traced):
    trace = traced(LOOSE)
    fidelity = end_event(trace)["summary"]["fidelity"]
    line = next(line for line in text_of(trace).splitlines() if line.startswith("first divergence"))
    assert f"at token {fidelity['index']} of {fidelity['compared']}" in line
    assert fidelity["index"] == summarize(trace).divergence + 1
    printable = [re.sub(r"[\x00-\x1f\x7f-\x9f]", "", fidelity[side]) for side in ("ours", "theirs")]
    assert all(text in line for text in printable)


def test_kept_mismatches_are_listed_with_the_targets_own_token(traced):
    text = text_of(traced(LOOSE))
    assert len(re.findall(r'  deferred ".*" for the target\'s ".*" \(entropy \d\.\d\d\)', text)) == min(
        summarize(traced(LOOSE)).loosened, terminal.SHOWN
    )
    assert re.search(
        r'  relaxed ".*" for the target\'s ".*" \(probability', text_of(traced(replace(LOOSE, rule="topk", top_k=8)))
    )


def test_counts_are_said_once(traced):
    exact = text_of(traced(replace(LOOSE, rule="exact")))
    assert re.search(r"rejected \d+ \+ discarded", exact), "under the exact rule there is one reason only"
    assert "rejected 1 (gate 1)" in terminal.counts_text(
        {verdict: int(verdict is Verdict.GATE) for verdict in Verdict}, ", "
    )


def test_a_run_without_drafts_has_no_line_of_drafts(traced):
    text = text_of(traced(replace(LOOSE, rule="autoregressive", max_new_tokens=1)))
    assert "drafted" not in text
    assert "1 tokens in 1 target pass, " in text


def test_phases_that_took_no_time_are_left_out(traced):
    trace = traced(LOOSE)
    assert "preverify" not in text_of(trace)
    assert "tokens/s after the prefill (measured" in text_of(trace)


def test_a_drawn_text_is_not_compared_as_if_the_rule_had_changed_it(traced):
    text = text_of(traced(replace(LOOSE, temperature=0.9, seed=2)))
    assert "first divergence" not in text
    assert "by chance another text than plain greedy" in text
    assert "a drawn text is expected to lie below" in text


def test_text_of_a_model_cannot_move_the_cursor(pair, record):
    trace = record(pair, [1, 2, 3], LOOSE)
    evil = replace(trace, vocabulary=dict.fromkeys(trace.vocabulary, b"\x1b[2J\r"))
    assert "\x1b" not in text_of(evil)
    assert "\x1b" not in "".join(terminal.round_lines(evil))


def test_rounds_in_letters_with_their_key(traced):
    trace = traced(LOOSE)
    *rounds, key = terminal.round_lines(trace)
    assert len(rounds) == len(trace.rounds)
    assert rounds[0].startswith(f"round 1: {terminal.letters(trace.rounds[0].verdicts)}  ")
    shown = {verdict for round_ in trace.rounds for verdict in round_.verdicts}
    assert all(f"{terminal.LETTERS[verdict]} {verdict}" in key for verdict in shown)
    assert key.count(",") == len(shown) - 1
