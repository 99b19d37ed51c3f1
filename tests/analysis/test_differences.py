"""The counted differences between FLy's paper and its code: by hand on one small run, and docs/papers.md against the command."""

from pathlib import Path

import pytest
from scripted import Script, Step, make_trace

from explorer.analysis.differences import differences, table
from explorer.trace import Trace

ROOT = Path(__file__).parents[2]

# Rounds of eight drafted tokens under the scripted entropies: top-3 is three times the normalized one, at most ln 3.
ROUNDS = Script(
    [
        # Deferred at 2 by W = 3 and by W = 6 (2 + 6 = 8); the second mismatch, 6 further on, lies in the paper's window of 6
        # and not in the released one.
        ([Step("a"), Step("B", "b", 0.2), *(Step(c) for c in "cdefg"), Step("H", "h", 0.2)], "i"),
        # Below 0.3 nats, so both gates of 0.3 refuse it; the explorer's 0.05 does not.
        ([Step("A", "a", 0.08), *(Step(c) for c in "bcdefgh")], "i"),
        # Doubt enough for the paper's gate.
        ([Step("A", "a", 0.4), *(Step(c) for c in "bcdefgh")], "i"),
    ]
)


@pytest.fixture(scope="module")
def counted():
    return {one.what: one.consequence for one in differences([make_trace(ROUNDS)])}


def of(counted, start):
    return next(text for what, text in counted.items() if what.startswith(start))


def test_gates_are_counted_at_every_disagreement(counted):
    assert of(counted, "entropy: mismatches") == "paper text 1, released code 3, explorer 4; of 4"


def test_the_countings_part_where_two_mismatches_are_w_apart(counted):
    assert of(counted, "window") == "W = 3: 2 / 2, W = 6: 1 / 2"


def test_presets_are_replayed(counted):
    # exact 1, 0, 0 of eight; the explorer's 7 (the last is at the edge), 8, 8; paper: only the last round;
    # released: 7, 0, 8; its port, whose window is one longer: 1, 0, 8.
    assert of(counted, "presets") == "exact 0.33, explorer 7.67, paper 3.00, released 5.00, vllm 3.00"


def test_counters_that_ignore_the_cut_and_the_gate_count_more(counted):
    # All but the last of round 1 and the first of round 2 pass by themselves: 7 + 7 + 8, where 7 + 0 + 8 are kept.
    assert of(counted, "counters") == "22 where 15 are kept, 3 where 2 are deferred"


def test_two_draws_are_closed_form(counted):
    # First drafted tokens have the probabilities 0.6, 0.2 and 0.2.
    assert of(counted, "two draws").startswith("52.0% instead of 33.3%, 0.187 away")


def test_no_stop_ids_no_flat_distributions(counted):
    assert of(counted, "stop ids") == "0, of which 0 would be deferred without the guard"
    assert (
        of(counted, "entropy: great doubt") == "0 of 1 with normalized entropy of 0.3 or more, the least sum is 1.099"
    )


def test_the_page_says_what_the_command_prints():
    traces = [Trace.load(path) for path in sorted((ROOT / "examples" / "runs").glob("0[1-8]*.json"))]
    assert table(traces) in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
