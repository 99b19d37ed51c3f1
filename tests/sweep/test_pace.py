"""How long a sweep will take, worked out by hand from measured rounds."""

import pytest
from sweeps import prompt, sweep

from explorer.analysis.costs import Work
from explorer.stops import Stop
from explorer.sweep.pace import TREE, Pace


def test_from_a_recorded_run(hand):
    """Three rounds of 0.25 s drafting, 0.5 s verifying, 0.25 s other; eight tokens in them, eight drafted."""
    pace = Pace.of_run(hand.valid())
    assert (pace.tau, pace.device) == (pytest.approx(8 / 3), "CPU")
    alone, grid = 0.75, TREE * 30 / (8 / 3) * (3 * 0.75 / 8 + 0.5 + 0.25)
    assert pace.sweep_seconds(2, 30, [3]) == pytest.approx(2 * (2 * 30 * alone + grid))
    assert pace.sweep_seconds(2, 30, [3, 3]) == pytest.approx(2 * (2 * 30 * alone + 2 * grid))


def test_a_run_without_a_draft_tells_nothing(hand):
    from explorer.config import DecodeConfig

    config = DecodeConfig(rule="autoregressive", max_new_tokens=1)
    assert Pace.of_run(hand.trace([hand.round(3, [], [4], config)], config, Stop("budget"))) is None


def test_from_an_earlier_sweep():
    pace = Pace.of_sweep(sweep(prompt(0), prompt(1)))
    assert (pace.tau, pace.device) == (2.0, "CPU")  # the exact point: 8 tokens in 4 rounds
    assert pace.costs.time(Work.of_round(4)) == pytest.approx(2000.0)
    assert pace.sweep_seconds(1, 8, [4]) == pytest.approx(2 * 8 * 1.0 + TREE * 4 * 2.0 + 3 * pace.prefill)
