"""Times of rounds learnt from measured ones."""

import pytest

from explorer.sweep.cost import RoundTimes
from explorer.trace import Seconds


def seconds(draft: float, verify: float, other: float = 0.0) -> Seconds:
    return Seconds(prefill=9.0, draft=draft, verify=verify, other=other, forwards=draft + verify)


def test_a_run_costs_its_rounds_and_not_its_prefill():
    times = RoundTimes.of([(0, seconds(0, 3)), (4, seconds(4, 5, 1)), (8, seconds(8, 6, 1))])
    assert [times.seconds(drafted) for drafted in (0, 4, 8)] == [3, 10, 15]
    assert times.run([8, 8, 4, 0]) == 43
    assert times.run([]) == 0


def test_sizes_between_and_beyond_are_drawn_on_straight():
    times = RoundTimes.of([(2, seconds(2, 2)), (4, seconds(4, 4)), (8, seconds(8, 4))])
    assert times.seconds(3) == 6
    assert times.seconds(6) == 10
    assert times.seconds(16) == 20
    assert times.seconds(1) == times.seconds(0) == 4, "nothing is known below: no time is made up"


def test_one_size_serves_all():
    assert RoundTimes.of([(5, seconds(1, 1))]).seconds(50) == 2


def test_noise_never_makes_a_larger_round_cheaper_than_the_one_before():
    times = RoundTimes.of([(4, seconds(4, 4)), (8, seconds(1, 1))])
    assert times.seconds(6) == times.seconds(100) == 8


def test_slow_rounds_count_and_stalls_do_not():
    """A machine that was suspended for a minute says nothing about rounds; one that is shared does."""
    rounds = [(4, seconds(draft, 1)) for draft in (1, 1, 1, 5, 60)]
    assert RoundTimes.of(rounds).seconds(4) == 2 + 1
    assert RoundTimes.of([(4, seconds(0, 1))] * 3).seconds(4) == 1, "a phase that takes no time at all"


def test_without_a_round_nothing_is_known():
    with pytest.raises(ValueError, match="no measured round"):
        RoundTimes.of([])
