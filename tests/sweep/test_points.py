"""Figures of points and the choice among them, on sweeps written by hand."""

import csv
import dataclasses
import io
import json

import pytest
from sweeps import EXACT, LOOSE, LOOSER, PLAIN, pass_, prompt, run, sweep, with_rounds

from explorer.analysis.costs import CostProfile
from explorer.schema import SchemaError
from explorer.sweep.points import Limit, csv_of, markdown, points_of, recommend
from explorer.sweep.record import MeasuredPoint, Sweep, merged
from explorer.trace import Seconds


def test_every_figure_of_a_point():
    plain, exact, loose, looser = points_of(sweep(prompt(0), prompt(1, right=(True, False, True))))
    assert (plain.tau, plain.loosened_share, plain.fidelity, plain.same_ids) == (1, 0, 0, 2)
    assert (exact.tau, exact.kept_per_round, exact.divergence, exact.fidelity) == (2, 1, None, 0)
    assert (loose.tau, loose.kept_per_round, loose.loosened_share) == (4, 3, 2 / 16)
    assert (loose.same_ids, loose.divergences, loose.divergence) == (0, (5, 5), 5)
    assert loose.fidelity == pytest.approx(-0.4 / 8)
    assert (loose.checkable, loose.right, loose.lost, loose.gained) == (2, 1, 1, 0)
    assert (looser.right, looser.lost) == (2, 0)


def test_log_probabilities_are_pooled_over_tokens():
    """A mean over prompts would weigh one token of a short text as much as eight of a long one."""
    short = dataclasses.replace(
        prompt(1),
        runs=(run([0, 1], [1], [0], 0, -1.0), run([2, 3], [2], [0], 0, -3.0)),
        passes=(pass_([0, 1, 2, 3], 0),),
    )
    loose = points_of(sweep(prompt(0), short))[2]
    assert loose.mean_logprob == pytest.approx(-7.4 / 9)
    assert loose.fidelity == pytest.approx(-7.4 / 9 + 5.0 / 9)


def test_modelled_speeds_are_the_rounds_at_their_measured_times():
    """A drafted token takes 0.25 s and a pass 1 s whatever its rows; the prefill is not part of a speed."""
    plain, exact, loose, looser = points_of(sweep())
    assert plain.tokens_per_second == pytest.approx(1)
    assert exact.tokens_per_second == pytest.approx(8 / 7.5)
    assert loose.tokens_per_second == pytest.approx(8 / 4)
    assert looser.tokens_per_second == looser.times_plain == pytest.approx(8 / 2)


def test_the_drafts_of_one_drafter_are_not_timed_by_anothers():
    """Prompt lookup drafts for nothing: its rounds of the same size must not make a model's drafts cheap."""
    lookup = dataclasses.replace(EXACT, drafter="lookup")
    one = prompt()
    one = dataclasses.replace(
        one,
        runs=(*one.runs, run([4], range(8), [4, 4], 6, -4.0, right=True, steps=False)),
        passes=(*one.passes, *[pass_([4], 4, 0.0, 1.0)] * 9),
    )
    points = points_of(sweep(one, points=(PLAIN, EXACT, LOOSE, LOOSER, lookup)))
    assert points[1].tokens_per_second == pytest.approx(8 / 7.5)
    assert points[4].tokens_per_second == pytest.approx(8 / 2)


HERS = CostProfile("hers", "entered", "ms", step=100.0, passes={1: 400.0, 5: 600.0}, other=0.0)


def test_speeds_at_the_costs_of_another_machine():
    """A draft of four and its pass take 1 s there, one of two 0.7 s, a plain step 0.4 s."""
    plain, exact, loose, looser = points_of(sweep(), HERS)
    assert [point.tokens_per_second for point in (plain, exact, loose, looser)] == pytest.approx(
        [8 / 3.2, 8 / 3.7, 8 / 2, 8 / 1]
    )
    assert [point.times_plain for point in (exact, loose, looser)] == pytest.approx([3.2 / 3.7, 1.6, 3.2])
    assert (loose.tau, loose.fidelity) == (points_of(sweep())[2].tau, points_of(sweep())[2].fidelity), "the text stays"


def test_other_costs_choose_another_point_and_say_so():
    """Where drafting costs nearly as much as a pass, no draft pays; where only ratios are known, no tokens/s are told."""
    dear = dataclasses.replace(HERS, step=900.0)
    assert recommend(points_of(sweep(), dear)).point.config == PLAIN
    ratios = dataclasses.replace(HERS, unit="pass", step=0.1, passes={1: 1.0})
    points = points_of(sweep(), ratios)
    assert [point.tokens_per_second for point in points] == [None] * 4
    choice = recommend(points)
    assert choice.point.config == LOOSE
    assert str(choice.reasons[1]) == (
        "modelled 2.86 times plain greedy, 1.93 times the fastest that changes no text (exact, K = 4)"
    )
    assert " | - | 2.86 | " in markdown(points)
    rows = list(csv.DictReader(io.StringIO(csv_of(sweep(), points, ratios))))
    assert {row["costs_of"] for row in rows} == {"hers"}


def test_the_cost_counts_the_swept_points_only():
    cost = sweep().cost
    assert (cost.points, cost.passes, cost.separate_passes) == (2, 2, 3)
    assert (cost.drafted, cost.separate_drafted) == (8, 12)
    assert (cost.seconds, cost.separate_seconds) == (9, 16)
    assert cost.ratio == 9 / 16
    assert sweep(points=(PLAIN, EXACT, LOOSE, LOOSER), partial=True).cost == cost


# The choice ---------------------------------------------------------------------------------------------------------


def test_the_fastest_point_inside_the_limit_is_chosen():
    choice = recommend(points_of(sweep()))
    assert choice.point.config == LOOSE
    assert "fastest of 1 of 2 points inside the limit" in str(choice.reasons[0])
    assert "1.88 times the fastest that changes no text (exact, K = 4)" in str(choice.reasons[1])
    ((refused, reasons),) = choice.refused
    assert refused.config == LOOSER
    assert [str(reason) for reason in reasons] == ["0.500 nats per token below plain greedy, more than 0.1"]


def test_a_wider_limit_lets_a_faster_point_in():
    assert recommend(points_of(sweep()), Limit(nats=0.5)).point.config == LOOSER


def test_a_right_answer_lost_refuses_a_point_however_fast():
    points = points_of(sweep(prompt(right=(True, False, True), logprobs=(-4.0, -4.0, -4.0))))
    choice = recommend(points)
    assert choice.point.config == LOOSER
    assert recommend(points, Limit(lost=1)).point.config == LOOSER
    points = points_of(sweep(prompt(right=(True, True, False), logprobs=(-4.0, -4.0, -4.0))))
    choice = recommend(points)
    assert choice.point.config == LOOSE
    assert [str(reason) for reason in choice.refused[0][1]] == ["1 right answer lost of 1, more than 0"]


def test_one_answer_gained_does_not_make_up_for_one_lost():
    points = points_of(
        sweep(prompt(0, right=(True, False, True)), prompt(1, right=(False, True, True), logprobs=(-4.0, -4.0, -4.0)))
    )
    assert (points[2].lost, points[2].gained) == (1, 1)
    assert Limit().reasons(points[2])


def test_where_nothing_is_faster_the_exact_rule_is_chosen():
    """A point that gains less than speeds can be told apart is not worth another text."""
    one = prompt()
    slow = dataclasses.replace(
        one,
        runs=(*one.runs[:2], with_rounds(one.runs[2], 4, 4, 4, 2), with_rounds(one.runs[3], 4, 4, 4, 4, 4)),
    )  # fmt: skip
    choice = recommend(points_of(sweep(slow)), Limit(nats=9))
    assert choice.point.config == EXACT
    assert "changes no text" in str(choice.reasons[0])
    assert recommend(points_of(sweep()), Limit(nats=0.0)).point.config == EXACT


def test_where_no_draft_pays_plain_greedy_is_chosen():
    one = prompt()
    dear = [
        dataclasses.replace(each, seconds=Seconds(draft=50.0, verify=1.0)) if each.drafted else each
        for each in one.passes
    ]
    assert recommend(points_of(sweep(dataclasses.replace(one, passes=tuple(dear))))).point.config == PLAIN


def test_of_points_of_one_speed_the_one_that_changes_least_is_chosen():
    """Fewer changed texts, then fewer loosened tokens, then the stricter settings: theta 0.1, W 2 before theta 0, W 1."""
    one = prompt(logprobs=(-4.0, -4.0, -4.0))
    loose, looser = (dataclasses.replace(with_rounds(run, 4, 4), kept=6) for run in one.runs[2:])
    level = dataclasses.replace(one, runs=(*one.runs[:2], loose, looser))
    assert recommend(points_of(sweep(level))).point.config == LOOSE, "loosens one token, not three"
    looser = dataclasses.replace(looser, loosened=())
    level = dataclasses.replace(one, runs=(*one.runs[:2], loose, looser))
    assert recommend(points_of(sweep(level))).point.config == LOOSER
    loose = dataclasses.replace(loose, ids=one.runs[0].ids)
    level = dataclasses.replace(one, runs=(*one.runs[:2], loose, looser))
    assert recommend(points_of(sweep(level))).point.config == LOOSE, "changes no text"
    together = dataclasses.replace(loose, points=(2, 3))
    level = dataclasses.replace(one, runs=(*one.runs[:2], together))
    assert recommend(points_of(sweep(level))).point.config == LOOSE, "stricter, for the same texts"


# Tables and files ---------------------------------------------------------------------------------------------------


def test_tables_say_which_speeds_are_modelled_and_which_measured():
    measured = MeasuredPoint(2, 16, 2, 2, Seconds(prefill=4.0, verify=8.0))
    record = sweep(measured=(measured,))
    assert "tokens/s (modelled)" in markdown(points_of(record)).splitlines()[0]
    rows = list(csv.DictReader(io.StringIO(csv_of(record, points_of(record)))))
    assert [row["tokens_per_second_measured"] for row in rows] == ["", "", "2.0", ""]
    assert [float(row["tokens_per_second_modelled"]) for row in rows][2] == pytest.approx(2)
    assert [row["theta"] for row in rows] == ["", "", "0.1", "0.0"]
    assert {row["pair"] for row in rows} == {"'=hand"}
    assert {row["costs_of"] for row in rows} == {"this sweep"}


def test_a_difference_that_rounds_to_nothing_has_no_minus_sign():
    shown = markdown(points_of(sweep(prompt(logprobs=(-4.0, -4.0001, -4.024)))))
    assert [row.split(" | ")[8] for row in shown.splitlines()[4:]] == ["+0.000", "-0.003"]
    assert "-0.000" not in shown


def test_a_sweep_reads_back_equal(tmp_path):
    record = sweep(prompt(0), prompt(1), partial=True, measured=(MeasuredPoint(1, 8, 1, 1, Seconds(verify=0.1 + 0.2)),))
    record.save(tmp_path / "s.json")
    assert Sweep.load(tmp_path / "s.json") == record


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.update(schema=1), "schema version 1"),
        (lambda data: data["points"].pop(0), "plain greedy"),
        (lambda data: data["points"].pop(), "every point must have one run"),
        (lambda data: data["prompts"][0]["runs"][0]["points"].append(1), "every point must have one run"),
        (lambda data: data["prompts"][0]["runs"][0].update(ids=[]), "needs points, ids and rounds"),
        (lambda data: data["prompts"][0]["runs"][2].update(kept=99), "no more than it drafted"),
        (lambda data: data["prompts"][0]["runs"][0].update(logprob="x"), "logprob must be a finite number"),
        (lambda data: data["prompts"][0]["passes"][0].update(points=[9]), "outside the points"),
        (lambda data: data["prompts"][0]["passes"][0]["work"].update(passes={"1": 2}), "must have one pass"),
        (lambda data: data["prompts"][0]["runs"][0]["work"].update(passes={"0": 2}), "rows of a pass from 1"),
        (lambda data: data["points"][2].update(theta=7), "Theta must be"),
        (lambda data: data["prompts"][0]["item"].update(check="eval"), "check must be one of"),
    ],
)
def test_a_file_that_is_no_sweep_is_refused(change, words, tmp_path):
    path = tmp_path / "s.json"
    sweep().save(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(SchemaError, match=words):
        Sweep.load(path)


def test_parts_are_merged_in_the_order_of_the_prompts():
    whole = sweep(*(prompt(index) for index in range(5)))
    parts = [dataclasses.replace(whole, prompts=whole.prompts[rank::3]) for rank in range(3)]
    assert merged(parts) == whole
    assert merged([parts[0], dataclasses.replace(parts[1], partial=True)]).partial
    with pytest.raises(ValueError, match="not parts of one sweep"):
        merged([whole, sweep(points=(PLAIN, EXACT, LOOSE, dataclasses.replace(LOOSER, window=3)))])
