"""Training and judging of heads on labelled mismatches made by hand."""

import dataclasses
import json

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.verification.judge_head import read_judge_head
from explorer.errors import UserError
from explorer.prompts import PromptItem
from explorer.training.common.collection import shard_path
from explorer.training.common.metrics import auc
from explorer.training.common.progress import finish
from explorer.training.judge import train as training
from explorer.training.judge.data import Labelled, LabelledShard, Mismatch, table_of, write_shard
from explorer.training.judge.evaluate import (
    HEAD,
    _share_better,
    _wins,
    answers,
    answers_table,
    judged,
    rule_points,
    sign_test,
    table,
    thresholds,
)
from explorer.training.judge.train import JudgeRecipe, fit, threshold_for

WIDTH = 12


def made_shard(prompts: int, seed: int, each: int = 6) -> LabelledShard:
    """Mismatches whose importance is the sign of the first entry of their state, with noise in the others; entropy tells nothing."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(prompts * each, WIDTH, generator=generator) * 5 + 2
    important = (states[:, 0] < 2).tolist()
    noise = torch.rand(prompts * each, 4, generator=generator).tolist()
    texts = []
    for prompt in range(prompts):
        rows = range(prompt * each, (prompt + 1) * each)
        mismatches = tuple(
            Mismatch(
                i - prompt * each,
                7,
                ("tiny",),
                important[i],
                "x",
                noise[i][0],
                noise[i][1],
                2,
                noise[i][2],
                noise[i][3],
            )
            for i in rows
        )
        texts.append(Labelled(PromptItem(f"{seed} {prompt}", answer="x"), "x", mismatches))
    return LabelledShard(prompts, 0, tuple(texts), states)


def test_a_head_learns_what_separates_and_no_stand_in_does():
    shards = [made_shard(30, seed) for seed in range(3)]
    learnt, validation, test = (table_of([shard]) for shard in shards)
    found = finish(training.train(learnt, validation, JudgeRecipe()))
    limits = thresholds(found.head, validation, 0.95)
    by_name = {one.name: one for one in judged(found.head, test, limits)}
    assert by_name[HEAD].auc > 0.98
    assert by_name[HEAD].accepted > 0.8
    assert by_name[HEAD].recall > 0.85
    for name, one in by_name.items():
        assert name == HEAD or (one.auc < 0.65 and one.better > 0.99), name
    assert f"| {HEAD} |" in table(list(by_name.values()))


def test_the_resampled_comparison_is_that_of_auc():
    """Two prompts; one is drawn twice, or the other, or both once: ours wins in the first alone, and on the whole."""
    rows = table_of([made_shard(2, 0, each=2)])
    rows = dataclasses.replace(rows, important=torch.tensor([True, False, True, False]))
    ours, theirs = torch.tensor([0.0, 3.0, 1.0, 2.0]), torch.tensor([3.0, 0.0, 1.0, 2.0])
    assert _share_better(ours, theirs, rows, 1) == pytest.approx(0.75 + 0.25 / 2, abs=0.05)
    whole = [auc(scores, ~rows.important) for scores in (ours, theirs)]
    wins = [float(_wins(scores, rows.important, rows.groups, 2).sum()) / 4 for scores in (ours, theirs)]
    assert wins == whole


def test_folds_are_of_prompts(monkeypatch):
    """No prompt stands on both sides of a fold, and every prompt is held out once."""
    rows, seen = table_of([made_shard(11, 5)]), []
    monkeypatch.setattr(
        training, "fit", lambda states, important, decay: seen.append(states) or (torch.zeros(WIDTH), torch.tensor(0.0))
    )
    steps = list(training.cross_validated(rows, JudgeRecipe(folds=4)))
    assert [step.done for step in steps] == list(range(1, 4 * len(training.DECAYS) + 1))
    assert {step.total for step in steps} == {4 * len(training.DECAYS)}
    group_of = {tuple(state.tolist()): int(group) for state, group in zip(rows.states, rows.groups)}
    held_out = []
    for states in seen[:: len(training.DECAYS)]:
        learnt = {group_of[tuple(state.tolist())] for state in states}
        assert len(states) == 6 * len(learnt), "all of a prompt or nothing"
        held_out += set(range(11)) - learnt
    assert sorted(held_out) == list(range(11))


def test_the_fit_does_not_depend_on_the_scale_of_the_states_and_weighs_both_kinds_alike():
    rows = table_of([made_shard(20, 6)])
    weight, bias = fit(rows.states, rows.important, 0.1)
    again, shifted = fit(rows.states * 100 - 7, rows.important, 0.1)
    scores, others = rows.states @ weight + bias, (rows.states * 100 - 7) @ again + shifted
    assert torch.allclose(scores, others, atol=1e-2)
    # Two points, one of them five times: the balanced optimum lies in the middle.
    states = torch.tensor([[1.0]] * 5 + [[-1.0]])
    weight, bias = fit(states, torch.tensor([False] * 5 + [True]), 0.1)
    assert float(weight * 1 + bias) == pytest.approx(-float(weight * -1 + bias), abs=1e-3)


def test_the_threshold_refuses_the_share_it_promises():
    """20 important scores 0 to 19: 95 % are 19 of them, so 18 is refused and 19 kept; what is unimportant has no say in it."""
    scores = torch.cat([torch.arange(20.0), torch.tensor([18.6, 30.0])])
    important = torch.tensor([True] * 20 + [False] * 2)
    assert threshold_for(scores, important, 0.95) == pytest.approx(18.3)
    assert threshold_for(scores, important, 1.0) == pytest.approx(24.5)
    assert threshold_for(torch.tensor([1.0, 2.0]), torch.tensor([True, True]), 1.0) > 2


def test_the_threshold_of_a_written_head_is_a_half():
    learnt, validation = table_of([made_shard(30, 0)]), table_of([made_shard(30, 1)])
    head = finish(training.train(learnt, validation, JudgeRecipe())).head
    refused = head.scores(validation.states)[validation.important] < 0.5
    assert 0.95 <= float(refused.double().mean()) < 0.98


def test_labels_of_one_kind_are_refused():
    rows = table_of([made_shard(8, 0)])
    alike = dataclasses.replace(rows, important=torch.ones_like(rows.important))
    with pytest.raises(UserError, match="validation prompts hold mismatches of one kind only"):
        finish(training.train(rows, alike, JudgeRecipe()))


@pytest.mark.parametrize(
    ("lost", "gained", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (3, 1, 0.625), (2, 2, 1.0)]
)
def test_the_sign_test_by_hand(lost, gained, p):
    assert sign_test(lost, gained) == pytest.approx(p)


def test_answers_under_every_rule_beside_plain_greedy(pair, with_judge_head):
    judged_pair = with_judge_head(pair)
    items = [PromptItem("go on", answer="e"), PromptItem("then", answer="£")]
    points = rule_points(
        DecodeConfig(draft_length=4, max_new_tokens=12), {"entropy (FLy's gate)": 0.1, "KL": -0.4, "margin": -0.3}
    )
    figures = finish(answers(judged_pair, items, points))
    assert [point.checkable for point in figures] == [2] * len(points)
    assert figures[1].same_ids == 2, "exact is plain greedy"
    assert points["kl"].kl_limit == 0.4
    assert points["margin"].margin == 0.3
    assert answers_table(list(points), figures).count("\n") == len(points) + 1


def test_the_commands_train_and_evaluate(command, refused, tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    settings = {
        "seed": 17,
        "drafts": ["smollm2-135m"],
        "pair": "smollm2-135m",
        "target": "sampled-sha256:aa",
        "dtype": "float32 packed",
    }
    (data / "settings.json").write_text(json.dumps(settings))
    for index in range(3):
        write_shard(shard_path(data, index), made_shard(20, index))
    shared = ("judge-head", "--data", data, "--held-out", 1, "--validation", 1)
    code, out, err = command(*shared, "train", "--out", tmp_path / "head")
    assert (code, err) == (0, "")
    head, card = read_judge_head(tmp_path / "head")
    assert card.pairs == ("smollm2-135m",)
    assert card.data["test"] == 120
    report = (tmp_path / "head" / "report.svg").read_text()
    assert report.count("<g ") == 2
    assert str(tmp_path / "head" / "report.svg") in out
    readme = (tmp_path / "head" / "README.md").read_text()
    assert f"AUC {card.metrics['test_auc']:.3f}" in readme
    assert "smollm2-135m-instruct" in readme
    assert "collect --shards 0:3\n" in readme
    code, out, _ = command(*shared, "evaluate", "--head", tmp_path / "head", "--others", data)
    assert code == 0
    assert out.count("| judge head |") == 2
    test = table_of([made_shard(20, 0)])
    assert f"{auc(head.scores(test.states), ~test.important):.3f}" in out
    assert "3 shards" in refused("judge-head", "--data", data, "train")
    assert "holds no config.json" in refused(*shared, "evaluate", "--head", tmp_path)
