"""The check of modelled speeds, on files written by hand: rounds of one form of the weights at the costs of another."""

import json
from dataclasses import asdict

import pytest

from explorer import __main__ as cli
from explorer.analysis.costs import CostProfile, Work
from explorer.bench.cost_check import check, costs_of, read_bench
from explorer.bench.lines import line
from explorer.bench.measured import Measured
from explorer.bench.rows import measure, our_rows
from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.schema import write
from explorer.trace import Provenance, Seconds


def bench(tmp_path, name, step, one_row, rows, passes=(100.0, 140.0)):
    """A file as `bench --out` writes it. rows: name -> (tokens, seconds of decoding, work); costs: ms of a step and of passes of 1 and 5 rows."""
    where = Provenance("pair", "T", "D", {}, {"target": name}, "CPU", 2, {}, "2026-01-01T00:00:00+00:00")
    costs = CostProfile(name, "measured", "ms", step=step, passes={1: one_row, 5: passes[1]})
    lines = [
        {"row": row, "tokens": tokens, "seconds": asdict(Seconds(prefill=5.0, verify=seconds)), "work": write(work)}
        for row, (tokens, seconds, work) in rows.items()
    ]
    theirs = {"row": "transformers: plain greedy", "tokens": 20, "seconds": None, "work": None}
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps({"provenance": asdict(where), "lines": [*lines, theirs], "costs": write(costs)}))
    return path


PLAIN, DRAFTED = Work.plain(20), Work(20, 0, {5: 5})


@pytest.fixture
def files(tmp_path):
    """float32 is slow; int4 takes 50 ms a pass of one row, 70 of five, 5 a step: 1 s and 0.45 s for the same rounds."""
    slow = bench(tmp_path, "float32", 10.0, 200.0, {"plain": (20, 4.0, PLAIN), "exact": (20, 1.4, DRAFTED)}, (0, 240.0))
    fast = bench(tmp_path, "int4", 5.0, 50.0, {"exact": (20, 0.48, DRAFTED), "plain": (20, 1.0, PLAIN)}, (0, 70.0))
    return slow, fast


def test_recorded_rounds_at_other_costs_against_what_was_measured(files):
    plain, exact = check(*map(read_bench, files))
    assert (plain.row, plain.before, plain.measured, plain.modelled) == ("plain", 5, 20, pytest.approx(20))
    assert (exact.before, exact.measured) == pytest.approx((20 / 1.4, 20 / 0.48))
    assert exact.modelled == exact.own == pytest.approx(20 / 0.45)
    assert exact.off == pytest.approx(0.48 / 0.45 - 1)


def test_the_command_tells_whether_all_rows_are_within_the_bound(files, tmp_path, capsys):
    assert cli.main(["costs", "--check", *map(str, files)]) == 0
    printed = capsys.readouterr().out
    assert "| exact | 14.29 | 41.67 | 44.44 | +6.7% | +6.7% |" in printed
    assert "2 of 2 rows within 10%" in printed
    off = bench(tmp_path, "int8", 12.0, 50.0, {"exact": (20, 0.48, DRAFTED)}, (0, 70.0))
    assert cli.main(["costs", "--check", str(files[0]), str(off)]) == 1
    assert "0 of 1 rows within 10%" in capsys.readouterr().out


def test_files_without_costs_or_common_rows_are_refused(files, tmp_path):
    (tmp_path / "old.json").write_text(json.dumps({"lines": []}))
    with pytest.raises(UserError, match="no cost profile in it"):
        read_bench(tmp_path / "old.json")
    other = bench(tmp_path, "int8", 9.0, 50.0, {"another": (20, 0.48, DRAFTED)})
    with pytest.raises(UserError, match="no row of this engine in common"):
        check(read_bench(files[0]), read_bench(other))


def test_costs_of_a_real_benchmark_are_those_of_its_rounds(make_pair):
    """A tiny pair, three rows: all their rounds at the profile learnt from them take what they took, and lookups no draft step."""
    pair = make_pair("llama")
    base = DecodeConfig(max_new_tokens=12)
    rows = our_rows(pair, base, [4])
    chosen = {name: rows[name] for name in ("plain greedy", "exact, K = 4", "exact, prompt lookup, K = 4")}
    passes = measure(chosen, [[39, 68, 75, 75, 78, 258]], 1)
    costs = costs_of(passes, pair.provenance())
    runs = [one for row in passes[0].values() for one in row]
    assert set(costs.passes) == {rows for one in runs for work in one.works for rows in work.passes}
    assert all(
        work.steps == 0 for name in chosen if "exact, K" not in name for one in passes[0][name] for work in one.works
    )
    assert costs.step > 0
    lines = {name: line(name, [passes[0][name]], [passes[0]["plain greedy"]], ["a"]) for name in chosen}
    assert lines["plain greedy"].work == Work.plain(len(passes[0]["plain greedy"][0].ids))


def test_a_heads_steps_are_not_the_draft_models(hand):
    """Beside rows that a model drafts, those of a head are left out; alone they are what there is."""
    tree = hand.tree()
    where = tree.provenance
    by_head = Measured((1,), 1.0, 1, tree.rounds, tuple(Work(2, 0, {4: 1}) for _ in tree.rounds))
    run = hand.valid()
    by_model = Measured((1,), 1.0, 3, run.rounds, tuple(Work(3, 0, {4: 1}) for _ in run.rounds))
    alone = Measured((1,), 1.0, 1, run.rounds[:1], (Work.plain(1),))
    both = costs_of([{"head": [by_head], "model": [by_model]}], where)
    assert both == costs_of([{"model": [by_model]}], where)
    head = costs_of([{"plain": [alone], "head": [by_head]}], where)
    assert head.step > 0
