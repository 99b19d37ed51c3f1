"""The axis of the entropy plots ends just above its data, at a number whose quarters can be read."""

import pytest
from node import run_script


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (0.05, 0.06),
        (0.21, 0.24),
        (0.25, 0.32),
        (0.33, 0.4),
        (0.4, 0.4),
        (0.41, 0.48),
        (0.9, 1),
        (1.05, 1.2),
        (3.2, 3.2),
        (0, 1),
    ],
)
def test_the_top_follows_the_data(value, top):
    assert run_script("niceTop(data)", value) == pytest.approx(top)


def test_no_axis_is_much_longer_than_its_data():
    values = [n / 1000 for n in range(1, 1100)]
    tops = run_script("data.map(niceTop)", values)
    assert all(value <= top <= 1.34 * value for value, top in zip(values, tops))
