"""The benchmark's arithmetic on measurements written by hand, and its rows on a tiny pair."""

import pytest

from explorer import bench
from explorer.bench import PLAIN, THEIR_ROWS, Measured, is_chosen, kind_table, line, our_rows, table, their_rows
from explorer.config import DecodeConfig
from explorer.trace import Seconds


def measured(tokens: int, wall: float, forwards: float = 0.5, passes: int = 1, first: int = 0) -> Measured:
    return Measured(tuple(range(first, first + tokens)), wall, passes, Seconds(verify=wall, forwards=forwards))


def test_speeds_are_pooled_over_prompts_and_the_median_over_passes():
    """A mean of per-prompt speeds would weigh short prompts as much as long ones."""
    plain = [[measured(10, 1.0), measured(30, 3.0)]] * 3
    ours = [[measured(10, wall, 0.4, 5), measured(30, wall, 0.4, 5)] for wall in (1.0, 0.5, 2.0)]
    one = line("ours", ours, plain, ["code", "story"])
    assert one.tokens_per_second == pytest.approx(40 / 2.0)
    assert (one.slowest_pass, one.fastest_pass) == pytest.approx((10.0, 40.0))
    assert one.times_plain == pytest.approx(2.0)
    assert one.times_plain_by_kind == pytest.approx({"code": 1.0, "story": 3.0})
    assert one.tau == pytest.approx(40 / 10)
    assert one.limit == pytest.approx(40 / 0.8)
    assert one.overhead == pytest.approx(1 - 0.8 / 4.0), "of the last pass"


def test_same_ids_are_counted_by_ids():
    plain = [[measured(5, 1.0), measured(5, 1.0)]]
    assert line("ours", [[measured(5, 1.0), measured(5, 1.0, first=1)]], plain, ["a", "b"]).same_ids == 1


def test_rows_that_are_not_ours_claim_no_phases():
    one = line(THEIR_ROWS[0], [[Measured((1, 2), 1.0, 2)]], [[measured(2, 1.0)]], ["a"])
    assert (one.seconds, one.limit, one.overhead) == (None, None, None)
    assert table([one]).splitlines()[2].endswith("| - | - | - |")
    assert kind_table([one]).splitlines()[0] == "| x plain | a |"


def test_plain_greedy_is_always_run():
    assert is_chosen(PLAIN, ["lookup"])
    assert not is_chosen("exact", ["lookup"])
    assert is_chosen("exact, prompt lookup", ["lookup", "fly"])
    assert is_chosen("anything", None)


def test_every_row_runs_and_exact_ones_agree(make_pair):
    """Same prompt, same budget, same stops: whatever promises to be exact gives the ids of plain greedy."""
    pair = make_pair("llama")
    base = DecodeConfig(max_new_tokens=16, draft_length=4)
    rows = our_rows(pair, base) | their_rows(pair, base)
    (result,) = bench.measure(rows, [[1, 2, 3, 4, 2, 3]], 1)
    plain = result[PLAIN][0]
    for row, (one,) in result.items():
        assert one.wall > 0
        if "fly" not in row:
            assert one.ids == plain.ids, row
    assert result["exact"][0].passes == result["transformers: assisted"][0].passes < plain.passes == len(plain.ids)
