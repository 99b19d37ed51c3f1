"""Sweeps on tiny pairs: what every point comes to, stopping halfway, the command line, several processes."""

import csv
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.__main__ import main
from explorer.analysis.cost_files import find_profile
from explorer.analysis.costs import work_of
from explorer.analysis.loosened import loosened
from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer.card import Card, Choice, Rule, save
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.models.model import LanguageModel
from explorer.errors import UserError
from explorer.prompts import HELD_OUT, PromptItem, read_prompts
from explorer.sweep.points import points_of
from explorer.sweep.record import Sweep
from explorer.sweep.runner import run_again, sweep_points, sweep_prompts, tasks
from explorer.training.pacer.train import LayerRecipe

ROOT = Path(__file__).parents[2]
ITEMS = (
    PromptItem("Hello there", "a", answer="e"),
    PromptItem("the other and", "b"),
    PromptItem("one two three four", "c", answer="no such text"),
)
BASE = DecodeConfig(max_new_tokens=24)
POINTS = sweep_points(BASE, [0.0, 0.2, 0.4], [0, 1, 2], [3, 6])


def swept(pair, items=ITEMS, points=POINTS) -> Sweep:
    done = [one for one in sweep_prompts(pair, tasks(pair, items, points), points) if one]
    return Sweep(pair.provenance(), points, tuple(done), partial=len(done) < len(items))


def test_the_points_of_a_sweep():
    """Plain greedy first, then what every table of a loose rule must show beside it."""
    assert [point.rule for point in POINTS[:4]] == ["autoregressive", "exact", "exact", "exact"]
    assert [(point.drafter, point.draft_length) for point in POINTS[1:4]] == [("model", 3), ("model", 6), ("lookup", 6)]
    assert [(p.draft_length, p.window, p.theta) for p in POINTS[4:8]] == [
        (3, 0, 0),
        (3, 0, 0.2),
        (3, 0, 0.4),
        (3, 1, 0),
    ]
    assert len(POINTS) == 4 + 2 * 9
    assert sweep_points(BASE, [0.2, 0.2], [1, 1], [6, 6]) == sweep_points(BASE, [0.2], [1], [6])
    with pytest.raises(ConfigError, match="at least 1"):
        sweep_points(dataclasses.replace(BASE, window=1, window_includes_mismatch=True), [0.1], [0], [6])


@pytest.mark.parametrize("shape", [pytest.param("llama", marks=pytest.mark.slow), "packed-qwen2", "self-llama"])
def test_every_point_comes_to_what_a_separate_run_does(shape, make_pair, record):
    """Ids, figures and loosened tokens of a trace of its own."""
    pair = make_pair(shape)
    sweep = swept(pair)
    assert not sweep.partial
    loose = 0
    for prompt, task in zip(sweep.prompts, tasks(pair, ITEMS, POINTS)):
        assert prompt.item == task.item
        for index, point in enumerate(POINTS):
            run, trace = prompt.run(index), record(pair, task.prompt.ids, point)
            assert run.ids == trace.output_ids
            assert run.drafted == sum(len(round_.drafted) for round_ in trace.rounds)
            assert run.work == work_of(trace)
            assert (run.text, run.stop) == (trace.text, trace.stop.reason)
            assert run.loosened == tuple(loosened(trace))
            assert run.logprob == sum(value for round_ in trace.rounds for value in round_.emitted_logprobs)
            loose += len(run.loosened)
    assert loose
    assert sweep.prompts[0].run(0).right is not None
    assert sweep.prompts[1].run(0).right is None
    cost = sweep.cost
    assert cost.passes < cost.separate_passes / 2
    assert cost.separate_passes == sum(point.passes for point in points_of(sweep) if point.config.rule == "fly")


def test_a_sweep_stopped_halfway_keeps_its_finished_prompts(make_pair, monkeypatch):
    pair, contexts = make_pair("llama"), []
    original = LanguageModel.open
    monkeypatch.setattr(LanguageModel, "open", lambda self, *a: contexts.append(original(self, *a)) or contexts[-1])
    running, done = sweep_prompts(pair, tasks(pair, ITEMS, POINTS), POINTS), []
    for one in running:
        if one:
            done.append(one)
        elif done:
            break
    running.close()
    assert contexts
    assert not any(context.length for context in contexts)
    partial = Sweep(pair.provenance(), POINTS, tuple(done), partial=True)
    whole = swept(pair, ITEMS[:1])
    assert [point.tau for point in points_of(partial)] == [point.tau for point in points_of(whole)]
    assert partial.prompts[0].runs == whole.prompts[0].runs


def test_a_point_run_again_is_measured_over_the_same_prompts(make_pair):
    pair = make_pair("packed-llama")
    sweep = swept(pair)
    chosen = (0, 2, len(POINTS) - 1)
    *_, measured = run_again(pair, tasks(pair, ITEMS, POINTS), sweep, chosen)
    for point, one in zip(chosen, measured, strict=True):
        assert (one.point, one.tokens, one.same_ids, one.prompts) == (point, points_of(sweep)[point].tokens, 3, 3)
        assert one.tokens_per_second == one.tokens / one.seconds.decode > 0


def test_the_held_out_prompts_are_not_for_tuning(make_pair):
    items = [PromptItem("fine"), *read_prompts(HELD_OUT)[3:5]]
    with pytest.raises(UserError, match="prompt 2 is a held-out one"):
        tasks(make_pair(), items, POINTS)


def test_a_prompt_that_cannot_run_is_named_before_anything_runs(make_pair):
    with pytest.raises(UserError, match="prompt 2: .*context of 256"):
        tasks(make_pair(), [PromptItem("fine"), PromptItem("word " * 300)], POINTS)


@pytest.mark.real
@pytest.mark.slow
def test_the_embedded_pair_sweeps_as_it_decodes(real_pair):
    """Thirty points at most at half the cost of thirty runs, and equal to them id by id."""
    items = read_prompts(ROOT / "examples/checkable.jsonl")
    items = [next(item for item in items if item.kind == kind) for kind in ("arithmetic", "passage")]
    points = sweep_points(dataclasses.replace(BASE, max_new_tokens=32), [0, 0.02, 0.05, 0.1, 0.2, 0.3], range(5), [8])
    sweep = swept(real_pair, items, points)
    assert sweep.cost.points == 30
    assert sweep.cost.separate_passes >= 2 * sweep.cost.passes
    assert sweep.cost.separate_drafted >= 2 * sweep.cost.drafted
    chosen = [0, 1, 2, *range(3, 33, 5)]
    for prompt, task in zip(sweep.prompts, tasks(real_pair, items, points)):
        for index in chosen:
            rounds = decode(real_pair, list(task.prompt.ids), points[index])
            assert prompt.run(index).ids == tuple(token for round_ in rounds for token in round_.emitted)


# Command line ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(make_pair, tmp_path_factory):
    """A tiny pair on disk, as TARGET,DRAFT."""
    pair, folder = make_pair("llama"), tmp_path_factory.mktemp("pair")
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(folder / side)
        pair.tokenizer.save_pretrained(folder / side)
    return f"{folder / 'target'},{folder / 'draft'}"


@pytest.fixture
def arguments(saved, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    lines = [{"prompt": f"Tell me about {word}", "id": word} for word in ("tea", "ink", "salt", "rope", "moss")]
    lines.append({"question": "What is 1 + 1?", "answer": "#### 2"})
    prompts.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return ["sweep", "--pair", saved, "--prompts", str(prompts), "--thetas", "0, 0.2,0.4", "--windows", "0,1",
            "--draft-lengths", "3,6", "--max-new-tokens", "12", "--out", str(tmp_path / "s.csv")]  # fmt: skip


def test_a_sweep_counts_the_window_either_way(arguments, tmp_path):
    """The last of the two forms holds; with the mismatch counted a window of 0 would be refused."""
    short = [*arguments, "--limit", "1", "--windows", "1"]
    for options, counted in (
        (["--window-includes-mismatch"], True),
        (["--window-includes-mismatch", "--no-window-includes-mismatch"], False),
    ):
        assert main([*short, *options]) == 0
        loose = [point for point in Sweep.load(tmp_path / "s.json").points if point.rule == "fly"]
        assert {point.window_includes_mismatch for point in loose} == {counted}


def test_sweep_writes_both_files_and_prints_the_choice(arguments, tmp_path, capsys):
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    sweep = Sweep.load(tmp_path / "s.json")
    assert len(sweep.prompts) == 6
    assert [point.theta for point in sweep.points if point.rule == "fly"][:3] == [0.0, 0.2, 0.4]
    assert all(point.max_new_tokens == 12 for point in sweep.points)
    with open(tmp_path / "s.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(sweep.points) == 4 + 12
    assert [int(row["tokens"]) for row in rows] == [point.tokens for point in points_of(sweep)]
    assert "| plain greedy | 1.00 |" in out
    assert "**Chosen: " in out
    assert "times plain greedy (measured); modelled " in out
    assert "the sweep's ids on 6 of 6 prompts" in out
    assert "prompt 6 of 6" in err
    assert main(["costs", "--sweep", str(tmp_path / "s.json"), "--costs", "llama-2-70b-7b"]) == 0
    out, _ = capsys.readouterr()
    assert "Speeds: modelled at the costs of llama-2-70b-7b" in out
    assert "measured in" not in out
    again = points_of(sweep, find_profile("llama-2-70b-7b"))
    assert (
        f"| {again[-1].name} | {again[-1].tau:.2f} | {again[-1].kept_per_round:.2f} | - | {again[-1].times_plain:.2f} |"
        in out
    )


def test_a_trained_layer_steers_a_sweep(arguments, make_pair, tmp_path, capsys):
    """Its own settings unless others are named; without a layer the policy is refused."""
    layer = PreVerificationLayer.beside(make_pair("llama").oracle_draft)
    card = Card("tiny", {}, {"target": "float32", "draft": "float32"}, layer.shape, Rule("fly", 0.05, 3, "normalized"),
                {}, LayerRecipe().numbers, {}, {"fly": Choice(0.0, 1.1, 3, 6)})  # fmt: skip
    save(tmp_path / "layer", layer, card)
    few = [*arguments, "--limit", "1", "--length", "pacer"]
    assert main([*few, "--block-size", "2", "--pacer-layer", str(tmp_path / "layer")]) == 0
    steered = [point for point in Sweep.load(tmp_path / "s.json").points if point.needs_layer]
    assert {point.rule for point in steered} == {"exact", "fly"}
    assert {(point.threshold, point.growth, point.block_size) for point in steered} == {(0.0, 1.1, 2)}
    assert main(few) == 2
    assert "train one" in capsys.readouterr().err


def test_limit_takes_the_first_prompts(arguments, tmp_path):
    assert main([*arguments, "--limit", "2", "--entropy", "top3"]) == 0
    sweep = Sweep.load(tmp_path / "s.json")
    assert [prompt.item.id for prompt in sweep.prompts] == ["tea", "ink"]
    assert {point.entropy for point in sweep.points} == {"top3"}


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--thetas", "0.1,x", "a number from 0 to 1.2, got 'x'"),
        ("--thetas", "", "a number from 0 to 1.2"),
        ("--thetas", "0.1,,0.2", "a number from 0 to 1.2"),
        ("--windows", "1,33", "a whole number from 0 to 32"),
        ("--draft-lengths", "0", "a whole number from 1 to 64"),
        ("--limit-nats", "-1", "a number from 0"),
        ("--limit-nats", "nan", "a number from 0"),
        ("--limit-lost", "x", "a whole number from 0"),
        ("--limit", "0", "a whole number from 1"),
        ("--out", "/no/such/folder/s.csv", "no folder"),
        ("--out", "s.json", "names the CSV file"),
        ("--prompts", "no-such-file", "no-such-file"),
        ("--prompts", str(HELD_OUT), "held-out"),
        ("--temperature", "0.5", "--temperature"),
    ],
)
def test_bad_options_are_one_line(arguments, option, value, words, capsys):
    try:
        code = main([*arguments, option, value])
    except SystemExit as stopped:
        code = stopped.code
    err = capsys.readouterr().err
    assert code == 2
    assert words in err.splitlines()[-1]
    assert "Traceback" not in err


def test_an_interrupt_keeps_the_finished_prompts(arguments, tmp_path, capsys, monkeypatch):
    from explorer.sweep import runner as command

    original = command.sweep_prompts

    def interrupted(*given):
        for done, one in enumerate(one for one in original(*given) if one):
            if done == 2:
                raise KeyboardInterrupt
            yield one

    monkeypatch.setattr(command, "sweep_prompts", interrupted)
    assert main(arguments) == 0
    sweep = Sweep.load(tmp_path / "s.json")
    assert (len(sweep.prompts), sweep.partial, sweep.measured) == (2, True, ())
    assert "2 prompts (stopped early)" in capsys.readouterr().out


def test_an_interrupt_while_speeds_are_measured_keeps_the_sweep(arguments, tmp_path, capsys, monkeypatch):
    from explorer.sweep import runner as command

    def interrupted(*_):
        yield None
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_again", interrupted)
    assert main(arguments) == 0
    sweep = Sweep.load(tmp_path / "s.json")
    assert (len(sweep.prompts), sweep.partial, sweep.measured) == (6, False, ())
    assert "Run again" not in capsys.readouterr().out


def test_two_processes_come_to_what_one_does(arguments, tmp_path):
    """Prompts are split, results merged in their order. torchrun is what `accelerate launch` starts several GPUs with; on CPUs
    that one needs MPI."""
    assert main(arguments) == 0
    alone = Sweep.load(tmp_path / "s.json")
    launched = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "explorer",
    ]
    result = subprocess.run(
        [*launched, *arguments], capture_output=True, text=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert result.returncode == 0, result.stderr[-2000:]
    together = Sweep.load(tmp_path / "s.json")
    assert "[0] prompt 3 of 3" in result.stderr
    assert "[1] prompt 3 of 3" in result.stderr
    assert result.stdout.count("**Chosen: ") == 1
    assert together.points == alone.points
    for mine, theirs in zip(together.prompts, alone.prompts, strict=True):
        assert (mine.index, mine.item, mine.runs) == (theirs.index, theirs.item, theirs.runs)
