"""Deferred tokens in context, on runs worked out by hand."""

import dataclasses
import math

import pytest

from explorer.analysis.loosened import loosened, loosened_table
from explorer.analysis.metrics import summarize
from explorer.config import DecodeConfig
from explorer.stops import Stop


def test_the_kept_token_stands_in_the_output_and_the_refused_choice_beside_it(hand):
    trace = hand.valid()
    (one,) = loosened(trace)
    assert (one.round, one.position) == (0, 1)
    whole = trace.text
    assert one.before
    assert whole.startswith(one.before + one.kept)
    assert one.choice != one.kept
    row = trace.rounds[0].rows[1]
    assert one.kept_prob == pytest.approx(math.exp(row.drafted_logprob))
    assert one.choice_prob == pytest.approx(math.exp(row.replacement_logprob))
    assert (one.entropy_normalized, one.entropy_top3) == (row.entropy_normalized, row.entropy_top3)


def test_a_deferred_token_that_the_budget_cut_off_is_not_in_the_text(hand):
    config = DecodeConfig(theta=0.3, window=1, draft_length=3, max_new_tokens=1)
    round_ = hand.round(3, [4, 5, 6], [4, 7, 6, 8], config, emit=1)
    assert loosened(hand.trace([round_], config, Stop("budget"))) == []


@pytest.mark.parametrize("shape", ["llama", "self-qwen2"])
def test_a_run_loosens_what_its_summary_counts(shape, make_pair, record):
    trace = record(
        make_pair(shape), [72, 105, 33], DecodeConfig(theta=0.0, window=1, draft_length=6, max_new_tokens=40)
    )
    found = loosened(trace)
    assert len(found) == summarize(trace).loosened > 0
    assert [(one.round, one.position) for one in found] == sorted((one.round, one.position) for one in found)


def test_a_table_cell_is_never_markup(hand):
    """Bars end a cell, backticks end the quotation, line breaks end the row."""
    (one,) = loosened(hand.valid())
    nasty = dataclasses.replace(one, kept="`|\n<img>", before="", after="x")
    row = loosened_table([nasty]).splitlines()[2]
    assert "**`'\\|⏎<img>`**`x`" in row
    assert len(loosened_table([nasty]).splitlines()) == 3
