"""The page judges and replays without the server: its JavaScript must say what Python says, case by case."""

import dataclasses
import itertools
import math
import random

import pytest
from node import run_script
from scripted import STORY, Words, make_round

from explorer.analysis.replay import first_change, replay, spans
from explorer.cases import Case
from explorer.config import ConfigError, DecodeConfig
from explorer.schema import read
from explorer.stops import Stop
from explorer.trace import EVIDENCE, Prompt, Provenance, Trace, mentioned_ids
from explorer.verdicts import LOOSE_RULES, judge
from explorer.wire import RunEncoder, header

# As `python -m explorer judge` writes a judgement.
AS_WRITTEN = ".map(({ accepted, ...judged }) => ({ ...judged, kept: accepted }))"
JUDGE_ALL = (
    """data.map(({match, entropy, protected: stops, includes_mismatch, ...settings}) =>
    judgeEvidence({match, entropy, protected: stops}, {...settings, window_includes_mismatch: includes_mismatch ?? false}))"""
    + AS_WRITTEN
)


def python(case):
    judged = judge(**case)
    return {
        "verdicts": list(judged.verdicts),
        "kept": judged.accepted,
        "cut": judged.cut,
        "last": judged.last,
    }


def test_the_rule_passes_the_golden_cases(golden):
    assert run_script(JUDGE_ALL, [case["input"] for case in golden]) == [case["expected"] for case in golden]


def test_the_rule_agrees_on_random_cases():
    """10,000 drafts; a third of the entropies equal theta, because equality is where the two could part."""
    chance = random.Random(20260101)
    cases = []
    for _ in range(10_000):
        size, theta, includes = chance.randrange(0, 20), chance.random(), chance.random() < 0.5
        quality = chance.random()
        cases.append(
            {
                "match": [chance.random() < quality for _ in range(size)],
                "entropy": [chance.choice([theta, chance.random(), chance.random()]) for _ in range(size)],
                "protected": [chance.random() < 0.1 for _ in range(size)],
                "rule": chance.choice(["fly", "fly", "fly", "exact"]),
                "theta": theta,
                "window": chance.randrange(int(includes), 9),
                "includes_mismatch": includes,
            }
        )
    expected = [python(case) for case in cases]
    assert run_script(JUDGE_ALL, cases) == expected
    verdicts = {verdict for answer in expected for verdict in answer["verdicts"]}
    assert verdicts >= {"exact", "deferred", "rejected:stop", "rejected:gate", "rejected:window", "rejected:edge"}


RELAXING = [rule for rule in LOOSE_RULES if rule != "fly"]
RELAXED_KNOBS = [knob for rule in RELAXING for knob in LOOSE_RULES[rule].settings]
JUDGE_RELAXED = (
    """data.map((input) => judgeEvidence({match: input.match, protected: input.protected,
    ...Object.fromEntries(EVIDENCE.map((name) => [name, input[name] ?? []]))}, input))"""
    + AS_WRITTEN
)


def test_the_other_rules_pass_their_cases(relaxed_cases):
    assert run_script(JUDGE_RELAXED, [case["input"] for case in relaxed_cases]) == [
        case["expected"] for case in relaxed_cases
    ]


def test_the_other_rules_agree_on_random_cases():
    """5,000 drafts; every other figure stands exactly on a threshold."""
    chance = random.Random(20260102)
    cases = []
    for _ in range(5000):
        size = chance.randrange(0, 12)

        case = {"rule": chance.choice(RELAXING)}
        for knob in RELAXED_KNOBS:
            whole = knob.kind is int
            case[knob.name] = (
                chance.randint(knob.low, knob.high) if whole else chance.uniform(knob.low, min(knob.high, 1))
            )
        edges = [case[knob.name] for knob in LOOSE_RULES[case["rule"]].settings]
        edges.append(case["typical_delta"] * 0.5)  # a floor under typical where certainty is 0.5
        figures = [*(float(edge) for edge in edges), 0.5]
        case |= {
            "match": [chance.random() < 0.6 for _ in range(size)],
            "protected": [chance.random() < 0.1 for _ in range(size)],
            "rank": [
                chance.choice([2, 2, 3, *(edge for edge in edges if isinstance(edge, int)), 9, None])
                for _ in range(size)
            ],
        } | {
            name: [chance.choice([*figures, chance.random(), chance.random() * 3]) for _ in range(size)]
            for name in EVIDENCE
            if name != "rank"
        }
        cases.append(case)
    expected = [read(Case, case).answer() for case in cases]
    assert run_script(JUDGE_RELAXED, cases) == expected
    seen = {(case["rule"], verdict) for case, answer in zip(cases, expected) for verdict in answer["verdicts"]}
    assert seen >= {(rule, v) for rule in RELAXING for v in ("relaxed", "rejected:limit", "rejected:stop")}


# Replay -------------------------------------------------------------------------------------------------------------


def story_trace(config, repeats=3, stop=None):
    """The story told several times as one trace, its rounds cut at nothing."""
    words, rounds, length = Words(), [], 1
    prompt = Prompt((words.id("go"),), "go")
    for steps, bonus in STORY.rounds * repeats:
        rounds.append(make_round(words, steps, bonus, length, config))
        length += len(rounds[-1].emitted)
    config = dataclasses.replace(config, max_new_tokens=length - 1)
    provenance = Provenance("p", "t", "d", {}, {"target": "float32"}, "CPU", 1, {}, "2026-01-01T00:00:00+00:00")
    vocabulary = {token: words[token] for token in mentioned_ids(prompt, rounds, (), None)}
    return Trace(provenance, prompt, config, tuple(rounds), Stop("budget"), (), vocabulary)


def run_lines(trace):
    encoder = RunEncoder(trace.vocabulary, frozenset(trace.stop_ids))
    return [header("r", "p", "P", "go", trace.config), *(encoder.round(round_) for round_ in trace.rounds)]


REPLAY_ALL = """(() => {
  const run = newRun(JSON.parse(data.lines[0]));
  data.lines.slice(1).forEach((line) => readEvent(run, JSON.parse(line)));
  return data.settings.map((settings) => {
    const again = replay(run, settings);
    const span = ({passes, tokens, counts}) => ({passes, tokens, counts});
    return {first: again.firstChange, exact: span(again.exact), counterfactual: span(again.counterfactual),
            verdicts: again.rounds.map((round) => round.after.verdicts),
            marks: again.rounds.map((round) => [round.changed, round.counterfactual])};
  });
})()"""


def python_replay(trace, config):
    rounds = replay(trace, config)
    return {
        "first": first_change(rounds),
        "verdicts": [list(map(str, round_.after.verdicts)) for round_ in rounds],
        "marks": [[round_.changed, round_.counterfactual] for round_ in rounds],
        **{
            name: {
                "passes": span.passes,
                "tokens": span.tokens,
                "counts": {str(verdict): count for verdict, count in span.counts.items() if count},
            }
            for name, span in zip(("exact", "counterfactual"), spans(rounds, trace))
        },
    }


def check_replay(trace):
    """Both sides over a grid of settings, thresholds at recorded entropies included; returns the first changes seen."""
    seen = sorted({row.entropy_normalized for round_ in trace.rounds for row in round_.rows})
    thetas = [0.0, *seen[:: max(1, len(seen) // 6)], 0.3, math.nextafter(seen[-1], 2), 1.2]
    configs = [
        dataclasses.replace(
            trace.config, theta=theta, window=window, entropy=entropy, window_includes_mismatch=includes
        )
        for theta, window, entropy, includes in itertools.product(
            thetas, (1, 3, 6), ("normalized", "top3"), (False, True)
        )
    ] + [dataclasses.replace(trace.config, rule="exact")]
    if trace.config.temperature == 0:
        gaps = [row.argmax_logprob - row.drafted_logprob for round_ in trace.rounds for row in round_.rows[:-1]]
        configs += [dataclasses.replace(trace.config, rule="topk", top_k=k) for k in (1, 2, 3, 8)]
        configs += [
            dataclasses.replace(trace.config, rule="margin", margin=m)
            for m in (0.0, sorted(gap for gap in gaps if 0 < gap < 10)[-1], 0.3, 10.0)
        ]
        if trace.rounds[0].vocab_size:
            configs += [
                dataclasses.replace(trace.config, rule="typical", typical_epsilon=epsilon, typical_delta=delta)
                for epsilon, delta in ((0.09, 0.3), (0.0, 0.0), (1.0, 1.0), (0.5, 0.1))
            ]
        if trace.config.rule == "judge":
            configs += [
                dataclasses.replace(trace.config, rule="judge", judge_threshold=threshold, judge_run=most)
                for threshold, most in ((0.0, 0), (0.0, 1), (0.0, 16), (0.4, 2), (0.6, 16), (1.0, 16))
            ]
        if trace.config.rule == "kl":
            seen = [row.divergence for round_ in trace.rounds for row in round_.rows[:-1]]
            limits = (0.0, min(sorted(seen)[len(seen) // 2], 10.0), 0.3, 10.0)
            configs += [
                dataclasses.replace(trace.config, rule="kl", kl_limit=limit, kl_confidence=0.99) for limit in limits
            ]
    settings = [dataclasses.asdict(config) for config in configs]
    expected = [python_replay(trace, config) for config in configs]
    assert run_script(REPLAY_ALL, {"lines": run_lines(trace), "settings": settings}) == expected
    return {answer["first"] for answer in expected}


def test_replay_agrees_on_a_scripted_run():
    assert len(check_replay(story_trace(DecodeConfig()))) > 2


def test_replay_agrees_where_a_stop_id_ends_the_text(hand):
    """A kept draft that would now reach a stop id ends there: the text cannot go on behind it."""
    assert len(check_replay(hand.valid())) > 1
    config = DecodeConfig(theta=0.6, window=1, draft_length=3, max_new_tokens=1)
    refused = hand.round(3, [4, 5, hand.stop_id], [7, 5, hand.stop_id, 8], config)  # its mismatch has entropy 0.5
    trace = hand.trace([refused], config, Stop("budget"))
    exact, _ = spans(replay(trace, dataclasses.replace(config, theta=0.5)), trace)
    assert exact.tokens == 3, "all three drafted ones, and no bonus behind the stop id"
    assert check_replay(trace) == {None, 0}


def test_replay_agrees_where_a_window_ends_in_a_phrase(hand):
    """At c the target says another token; the window that keeps c reaches into the phrase e f g behind d."""
    config = DecodeConfig(theta=0.4, window=3, draft_length=4, phrases=2, phrase_length=3, max_new_tokens=7)
    (exact,) = hand.phrases().rounds
    wide = dataclasses.replace(config, draft_length=7)
    loose = hand.round(3, exact.drafted, [0, 1, 8, 3, 4, 5, 19, 7], wide)
    told = {name: getattr(exact, name) for name in ("requested", "sources", "draft_probs", "branches")}
    trace = hand.trace([dataclasses.replace(loose, **told)], config, Stop("budget"))
    assert [str(verdict) for verdict in trace.rounds[0].verdicts[2:4]] == ["deferred", "exact"]
    assert check_replay(trace) == {None, 0}


def test_a_tree_is_judged_again_as_one_draft(hand):
    """Which path was chosen does not depend on the rule: kept under top k, the last token of the path is followed by a bonus."""
    trace = hand.tree()
    assert [
        round_.after.accepted for round_ in replay(trace, dataclasses.replace(trace.config, rule="topk", top_k=2))
    ] == [3]
    assert check_replay(trace)


def test_the_page_refuses_pearls_schedule_under_another_rule(hand):
    settings = [{"rule": rule, "window": 1} for rule in ("exact", "fly", "autoregressive")]
    recorded = dataclasses.asdict(hand.pearl().config)
    refusals = run_script("data[0].map((settings) => replayRefusal(settings, data[1], []))", [settings, recorded])
    assert refusals == [None, "pearl", "alone"]


@pytest.mark.parametrize(("temperature", "rule"), [(0.0, "fly"), (0.8, "fly"), (0.0, "kl"), (0.0, "judge")])
def test_replay_agrees_on_a_decoded_run(temperature, rule, make_pair, with_judge_head, record):
    """Real decoding, drawn matches included: above temperature 0 a match is not equality of tokens. Under kl and judge the record
    holds what these rules read."""
    config = DecodeConfig(
        theta=0.2, window=2, draft_length=6, max_new_tokens=40, temperature=temperature, seed=5, rule=rule
    )
    trace = record(with_judge_head(make_pair("llama")), [39, 68, 75, 75, 78, 258, 82, 66, 66, 77], config)
    assert len(check_replay(trace)) > 1


def reading(*names):
    """The rules that read one of these lists."""
    return [rule for rule, entry in LOOSE_RULES.items() if set(names) & set(entry.reads)]


def test_what_a_record_does_not_hold_refuses_the_rule(make_pair, record):
    """Both sides: Python with a sentence, the page with the key of one. A run that was drawn refuses rules of greedy runs."""
    prompt = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77]
    trace = record(make_pair("llama"), prompt, DecodeConfig(draft_length=6, max_new_tokens=24))
    old = dataclasses.replace(
        trace, rounds=tuple(dataclasses.replace(round_, vocab_size=None) for round_ in trace.rounds)
    )
    drawn = record(make_pair("llama"), prompt, DecodeConfig(draft_length=6, max_new_tokens=24, temperature=0.8))
    refusal = """(() => {
      const run = newRun(JSON.parse(data.lines[0]));
      data.lines.slice(1).forEach((line) => readEvent(run, JSON.parse(line)));
      return ["exact", "fly", ...Object.keys(RULES)].map((rule) => replayRefusal({...run.head.config, rule}, run.head.config, run.rounds));
    })()"""
    rules = ["exact", "fly", *LOOSE_RULES]
    for mine, expected in (
        (trace, dict.fromkeys(reading("divergence", "harmless"), "evidence")),
        (old, dict.fromkeys(reading("divergence", "harmless", "certainty"), "evidence")),
        (drawn, {rule: "drawn" for rule, entry in LOOSE_RULES.items() if entry.greedy_only}),
    ):
        assert run_script(refusal, {"lines": run_lines(mine)}) == [expected.get(rule) for rule in rules]
        for rule in rules:
            if rule in expected:
                with pytest.raises(ConfigError, match="run the prompt again|greedy decoding only"):
                    replay(mine, dataclasses.replace(mine.config, rule=rule))
            else:
                replay(mine, dataclasses.replace(mine.config, rule=rule))
