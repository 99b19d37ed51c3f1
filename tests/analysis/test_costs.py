"""Work and cost profiles: the arithmetic by hand, what rounds make a machine do, and files of profiles."""

import dataclasses
import json

import pytest

from explorer.analysis.best_length import best_length, length_estimates
from explorer.analysis.cost_files import find_profile, profile_in, save_profile, shipped_profiles
from explorer.analysis.costs import CostProfile, Work, total, work_of, works_of
from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.schema import SchemaError, parse_json, read, write
from explorer.stops import Stop
from explorer.trace import Baseline, Block, Provenance, Seconds

HERE = Provenance("pair", "T", "D", {}, {"target": "int4", "draft": "int8"}, "CPU", 2, {}, "2026-01-01T00:00:00+00:00")
PROFILE = CostProfile("p", "entered", "ms", step=10.0, passes={1: 100.0, 5: 120.0, 9: 200.0}, block=3.0, other=1.0)


def measured(*samples, baseline=None):
    return CostProfile.measured("m", samples, HERE, baseline)


def round_of(drafted, draft, verify, other=0.0, preverify=0.0, blocks=0, steps=None):
    work = Work(drafted if steps is None else steps, blocks, {drafted + 1: 1})
    return work, Seconds(prefill=9.0, draft=draft, preverify=preverify, verify=verify, other=other)


# The arithmetic -----------------------------------------------------------------------------------------------------


def test_work_is_costed_part_by_part():
    """Six steps, two blocks, and passes over 5, 9 and 1 rows with what else a round takes."""
    assert PROFILE.time(Work(6, 2, {5: 1, 9: 1, 1: 1})) == 60 + 6 + 120 + 200 + 100 + 3
    assert PROFILE.tokens_per_second(10, Work(6, 0, {9: 2})) == pytest.approx(1e4 / 462)
    assert PROFILE.times_plain(10, Work(6, 0, {9: 2})) == pytest.approx(10 * 101 / 462)
    assert PROFILE.times_plain(7, Work.plain(7)) == 1


def test_passes_between_and_beyond_are_drawn_on_straight():
    assert [PROFILE.pass_time(rows) for rows in (1, 3, 5, 7, 9, 13)] == [100, 110, 120, 160, 200, 280]
    above = dataclasses.replace(PROFILE, passes={4: 50.0, 8: 30.0})
    assert above.pass_time(1) == 50, "nothing is known below: no time is made up"
    assert above.pass_time(6) == above.pass_time(100) == 50, "never downwards"
    assert dataclasses.replace(PROFILE, passes={6: 70.0}).pass_time(50) == 70


def test_ratios_know_no_tokens_per_second():
    ratios = CostProfile("r", "published", "pass", step=0.2, passes={1: 1.0}, citation="somebody")
    work = Work(8, 0, {5: 2})
    assert ratios.tokens_per_second(6, work) is None
    assert ratios.times_plain(6, work) == pytest.approx(6 / 3.6)


# Measured -----------------------------------------------------------------------------------------------------------


def test_a_profile_learns_from_measured_rounds():
    found = measured(
        round_of(4, 0.4, 1.2, 0.1, preverify=0.06, blocks=2), round_of(2, 0.2, 1.1, 0.3), round_of(0, 0.0, 1.0)
    )
    assert found.step == pytest.approx(100)
    assert found.block == pytest.approx(30)
    assert found.passes == pytest.approx({1: 1000, 3: 1100, 5: 1200})
    assert found.other == pytest.approx(400 / 3)
    assert (found.source, found.unit, found.forms, found.draft) == ("measured", "ms", HERE.dtype, "D")
    assert found.time(Work(6, 2, {5: 1, 3: 1, 1: 1})) == pytest.approx(4360), "its own rounds at its own costs"


def test_what_a_lookup_takes_is_no_draft_step():
    found = measured(round_of(4, 0.01, 1.0, steps=0), round_of(4, 0.4, 1.0))
    assert (found.step, found.other) == pytest.approx((100, 5))


def test_slow_rounds_count_and_stalls_do_not():
    """A machine that was suspended for a minute says nothing about rounds; one that is shared does."""
    found = measured(*(round_of(1, draft, 1) for draft in (1, 1, 1, 5, 60)))
    assert found.step == pytest.approx(2000)
    assert measured(*[round_of(4, 0, 1)] * 3).step == 0, "a phase that takes no time at all"


def test_noise_makes_no_larger_pass_cheaper():
    """One odd pass over 3 rows shares the mean with its neighbour, by the number of rounds; all passes together take what they took."""
    found = measured(*[round_of(1, 0, 1.0)] * 3, round_of(2, 0, 0.6), round_of(4, 0, 1.5))
    assert found.passes == pytest.approx({2: 900, 3: 900, 5: 1500})
    assert sum(found.pass_time(rows) for rows in (2, 2, 2, 3, 5)) == pytest.approx(5100)


def test_the_baseline_tells_the_pass_of_one_row():
    alone = Baseline((1, 2, 3, 4), (-1.0,) * 4, Seconds(prefill=3.0, verify=1.96, other=0.04))
    found = measured(round_of(4, 0.4, 1.0, 0.1), baseline=alone)
    assert found.passes == pytest.approx({1: 400, 5: 1000})
    assert found.time(Work.plain(4)) == pytest.approx(2000)


def test_without_a_round_nothing_is_known():
    with pytest.raises(ValueError, match="no measured round"):
        measured()


def test_a_run_at_its_own_costs_takes_what_it_took(hand):
    trace = hand.valid()
    costs = CostProfile.of_trace(trace)
    assert costs.time(work_of(trace)) == pytest.approx(1e3 * trace.seconds.decode)


# The work of rounds -------------------------------------------------------------------------------------------------


def test_a_looked_up_token_is_free(hand):
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=5, drafter="model+lookup")
    one = hand.round(3, [0, 1, 2, 3], [0, 1, 2, 3, 4], config)
    one = dataclasses.replace(one, sources=("lookup", "lookup", "model", "model"))
    assert works_of([one], config) == [Work(2, 0, {5: 1})]


def test_every_phrase_is_verified_and_none_is_drafted(hand):
    """Four drafted tokens and two phrases of three."""
    assert work_of(hand.phrases()) == Work(4, 0, {11: 1})


def test_a_tree_takes_a_step_for_each_level_and_a_row_for_each_node(hand):
    trace = hand.tree()
    tree = trace.rounds[0].tree
    assert works_of(trace.rounds, trace.config)[0] == Work(max(tree.depths), 0, {len(tree.ids) + 1: 1})


def test_a_draft_made_ahead_is_work_of_the_round_that_made_it(hand):
    trace = hand.pearl()
    works = works_of(trace.rounds, trace.config)
    assert [work.steps for work in works] == [len(round_.ahead) for round_ in trace.rounds]
    assert [work.passes for work in works] == [{len(round_.drafted) + 1: 1} for round_ in trace.rounds]


def test_only_a_layer_makes_scored_blocks_dear(hand):
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=5, length="pacer")
    blocks = (Block(2, (0.9, 0.8), 0.85, 0.5, True), Block(2, (), None, None, True))
    one = dataclasses.replace(hand.round(3, [0, 1, 2, 3], [0, 1, 2, 3, 4], config), blocks=blocks)
    assert works_of([one], config)[0].blocks == 1
    assert works_of([one], dataclasses.replace(config, length="adaedl"))[0].blocks == 0


def test_works_add_up():
    assert total([Work(2, 1, {3: 1}), Work(1, 0, {2: 1}), Work(0, 0, {3: 2})]) == Work(3, 1, {2: 1, 3: 3})
    assert total([]) == Work()


# The best length ----------------------------------------------------------------------------------------------------


def test_drafts_cut_short_are_judged_again(hand):
    """Two rounds: all of four tokens accepted, and one of four."""
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=7)
    rounds = [
        hand.round(3, [0, 1, 2, 3], [0, 1, 2, 3, 4], config),
        hand.round(8, [5, 6, 7, 8], [5, 15, 7, 8, 10], config),
    ]
    trace = hand.trace(rounds, config, Stop("budget"))
    flat = CostProfile("f", "entered", "ms", step=10.0, passes={1: 100.0})
    found = length_estimates(trace, flat)
    assert [one.tokens_per_round for one in found] == [1, 2, 2.5, 3, 3.5]
    assert [one.times_plain for one in found] == pytest.approx([1, 200 / 110, 250 / 120, 300 / 130, 350 / 140])
    assert best_length(found).length == 4
    assert (
        best_length(length_estimates(trace, dataclasses.replace(flat, passes={1: 100.0, 2: 101.0, 3: 200.0}))).length
        == 1
    )
    assert best_length(length_estimates(trace, dataclasses.replace(flat, step=500.0))).length == 0


def test_a_window_that_no_longer_fits_defers_nothing(hand):
    """The first round of the record defers its second token because the third matches: cut to two, the window is at the edge."""
    found = length_estimates(hand.valid(), PROFILE)
    assert [one.tokens_per_round for one in found] == pytest.approx([1, 2, 7 / 3, 3])


def test_trees_phrases_and_pearl_have_no_best_length(hand):
    for trace in (hand.tree(), hand.phrases(), hand.pearl()):
        assert length_estimates(trace, PROFILE) == []
    assert best_length([]) is None


# Files --------------------------------------------------------------------------------------------------------------


def test_a_profile_reads_back_equal(tmp_path):
    save_profile(PROFILE, tmp_path / "p.json")
    assert find_profile(str(tmp_path / "p.json")) == PROFILE
    assert read(CostProfile, parse_json(json.dumps(write(PROFILE)))) == PROFILE


def test_a_file_of_a_benchmark_and_a_recorded_run_hold_one_too(hand, tmp_path):
    (tmp_path / "bench.json").write_text(json.dumps({"lines": [], "costs": write(PROFILE)}))
    assert find_profile(str(tmp_path / "bench.json")) == PROFILE
    hand.valid().save(tmp_path / "run.json")
    assert find_profile(str(tmp_path / "run.json")) == CostProfile.of_trace(hand.valid())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": -1}, "numbers from 0"),
        ({"passes": {}}, "at least one target pass"),
        ({"passes": {"1": 0}}, "none of them 0"),
        ({"passes": {"0": 1}}, "rows from 1"),
        ({"passes": {"one": 1}}, "not a whole number"),
        ({"step": "x"}, "finite number"),
        ({"unit": "s"}, "one of ms, pass"),
        ({"source": "published"}, "needs a citation"),
        ({"source": None}, "one of measured"),
    ],
)
def test_what_is_no_profile_is_refused(change, words):
    with pytest.raises(SchemaError, match=words):
        profile_in(write(PROFILE) | change)


@pytest.mark.parametrize("data", [[], 3, {}, {"lines": []}])
def test_a_file_without_a_profile_says_so(data):
    with pytest.raises(SchemaError, match="no cost profile in it"):
        profile_in(data)


def test_an_unknown_name_lists_what_there_is(tmp_path):
    with pytest.raises(UserError, match="llama-2-70b-7b"):
        find_profile("llama")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(UserError, match="bad.json"):
        find_profile(str(tmp_path / "bad.json"))


def test_what_ships_is_sourced():
    """No figure without the place it was published in; a ratio is told as one."""
    for profile in shipped_profiles().values():
        assert profile.target
        assert profile.draft
        if profile.source == "published":
            assert "arXiv" in profile.citation
            assert profile.url.startswith("https://")
            assert profile.assumes
        if profile.unit == "pass":
            assert profile.pass_time(1) == 1
            assert "ratio" in profile.assumes
