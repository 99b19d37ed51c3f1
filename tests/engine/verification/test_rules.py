"""The loose rules other than FLy in real decoding: what they read is measured right, and what they promise holds."""

import dataclasses
import json
import math

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.verification.measure import measure
from explorer.trace import EVIDENCE, Trace
from explorer.verdicts import LOOSE_RULES, Verdict

PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
RELAXING = [rule for rule in LOOSE_RULES if rule != "fly"]
BASE = DecodeConfig(draft_length=6, max_new_tokens=30)
LOOSE = {rule: {knob.name: knob.loosest for knob in LOOSE_RULES[rule].settings} for rule in RELAXING}


@pytest.fixture(scope="module")
def runs(make_pair, with_stop_ids, with_judge_head, record):
    """One run under every rule, without stop ids, on pairs of which some drafts are wrong."""
    made = {}

    def run(shape, rule, **changes):
        key = shape, rule, *changes.items()
        if key not in made:
            pair = with_judge_head(with_stop_ids(make_pair(shape, 0.08)))
            made[key] = record(pair, PROMPT, dataclasses.replace(BASE, rule=rule, **(LOOSE.get(rule, {}) | changes)))
        return made[key]

    return run


@pytest.mark.parametrize("rule", RELAXING)
@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_a_run_is_a_valid_trace_that_keeps_mismatches(shape, rule, runs, tmp_path):
    trace = runs(shape, rule)
    counts = trace.verdict_counts
    assert counts[Verdict.RELAXED], "this pair and setting must relax something"
    assert not counts[Verdict.DEFERRED]
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace


@pytest.mark.parametrize(
    ("rule", "strict"),
    [(rule, LOOSE[rule] | settings) for rule in RELAXING for settings in LOOSE_RULES[rule].exact_at],
)
@pytest.mark.parametrize("drafter", ["model", "model+lookup"])
def test_the_strictest_setting_is_plain_greedy(
    rule, strict, drafter, make_pair, with_stop_ids, with_judge_head, plain_greedy_ids
):
    pair = with_judge_head(with_stop_ids(make_pair("llama", 0.08)))
    rounds = decode(pair, list(PROMPT), dataclasses.replace(BASE, rule=rule, drafter=drafter, **strict))
    assert [token for round_ in rounds for token in round_.emitted] == plain_greedy_ids(pair, PROMPT, 30)


@pytest.mark.parametrize("drafter", ["model", "model+lookup"])
@torch.inference_mode()
def test_what_rules_read_is_measured_right(drafter, runs, make_pair):
    """Every drafted row of a kl run against float64 arithmetic over transformers' own modules, after the same text."""
    trace, pair = runs("llama", "kl", drafter=drafter), make_pair("llama", 0.08)
    sequence, seen = list(PROMPT), 0
    for round_ in trace.rounds:
        text = torch.tensor([sequence + list(round_.drafted)])
        p, q = (
            model(input_ids=text).logits[0, len(sequence) - 1 : -1, : pair.vocab_size].double().log_softmax(-1)
            for model in (pair.oracle, pair.oracle_draft)
        )
        for index, (row, token) in enumerate(zip(round_.rows, round_.drafted)):
            found = {name: read(row, round_.vocab_size) for name, read in EVIDENCE.items() if name != "harmless"}
            likelier = int((p[index] > p[index, token]).sum())
            truth = {
                "prob": p[index, token].exp().item(),
                "top_prob": p[index].max().exp().item(),
                "gap": (p[index].max() - p[index, token]).item(),
                "rank": None if likelier >= 8 else max(likelier + 1, 2),  # only mismatches are asked
                "certainty": (p[index].exp() * p[index]).sum().exp().item(),
                "divergence": (p[index].exp() * (p[index] - q[index])).sum().item(),
            }
            assert found == pytest.approx(truth, abs=2e-4)
            seen += not round_.match[index]
        assert round_.rows[-1].divergence is None, "the bonus row has no draft to compare with"
        sequence += round_.emitted
    assert seen > 5


@torch.inference_mode()
def test_the_divergence_is_the_targets_from_the_drafts():
    """p = (1/2, 1/4, 1/4), q = (1/4, 1/2, 1/4): p ln(p/q) sums to ln(2)/4; of p = (1/2, 1/4, 1/4) from q = (1/8, 1/8, 3/4) the two
    directions differ: 0.5 ln 4 + 0.25 ln 2 - 0.25 ln 3 = 0.5918, the other way 0.5640."""
    p = torch.tensor([[0.5, 0.25, 0.25]])
    for q, truth in (([0.25, 0.5, 0.25], math.log(2) / 4), ([0.125, 0.125, 0.75], 0.591781), ([0.5, 0.25, 0.25], 0.0)):
        logits, drafted = (torch.cat([p, p]).log() + 3.0), torch.tensor([1])
        argmax = logits.argmax(-1)
        rows, _, _ = measure(logits, argmax, drafted, drafted == argmax[:-1], argmax, torch.tensor([q]))
        assert rows[0].divergence == pytest.approx(truth, abs=1e-6)
        assert rows[1].divergence is None
    certain = torch.tensor([[0.0, 1.0, 0.0]])  # a draft that rules out what the target prefers: large, and finite
    logits = torch.cat([p, p]).log()
    rows, _, _ = measure(logits, argmax, drafted, drafted == argmax[:-1], argmax, certain)
    assert 50 < rows[0].divergence < 100


def test_only_kl_measures_the_divergence_and_only_then_it_is_written(runs):
    rows = [row for round_ in runs("llama", "topk").to_json()["rounds"] for row in round_["rows"]]
    assert not any("divergence" in row for row in rows)
    (kl,) = [round_["rows"] for round_ in runs("llama", "kl").to_json()["rounds"][:1]]
    assert ["divergence" in row for row in kl] == [True] * (len(kl) - 1) + [False]


@pytest.mark.parametrize("rule", RELAXING)
def test_stop_ids_are_never_loosened(rule, runs, make_pair, with_stop_ids, with_judge_head, record):
    """The stop id is a token that the rule kept against the target's choice, then one that it should have written instead."""
    settings = dataclasses.replace(BASE, rule=rule, **LOOSE[rule])
    trace = runs("llama", rule)
    place = next(
        (round_, position)
        for round_ in trace.rounds
        for position, verdict in enumerate(round_.verdicts)
        if verdict is Verdict.RELAXED
    )
    for stop in (place[0].drafted[place[1]], place[0].replacement[place[1]]):
        stopped = record(with_judge_head(with_stop_ids(make_pair("llama", 0.08), stop)), PROMPT, settings)
        for round_ in stopped.rounds:
            for verdict, protected, match in zip(round_.verdicts, round_.protected, round_.match):
                assert not (protected and not match) or verdict in (Verdict.STOP, Verdict.DISCARDED)
        assert stopped.verdict_counts[Verdict.STOP] or stopped.stop.reason == "stop_id"


def test_old_records_are_read_and_written_without_new_fields(runs):
    """A record of an earlier explorer has no size of the vocabulary: it reads, and is written as it was."""
    data = json.loads(json.dumps(runs("llama", "topk").to_json()))
    for round_ in data["rounds"]:
        del round_["vocab_size"]
    assert Trace.from_json(data).to_json() == data
