"""The page costs runs again without the server: its JavaScript must find what Python finds."""

import dataclasses
import json
import random
import re
from pathlib import Path

import pytest
from node import run_script
from sweeps import EXACT, LOOSE, PLAIN, WHERE, pass_, run

from explorer.analysis.best_length import length_estimates
from explorer.analysis.cost_files import profile_in, shipped_profiles
from explorer.analysis.costs import CostProfile, Work, total, works_of
from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.messages import CATALOGUES
from explorer.prompts import PromptItem
from explorer.schema import write
from explorer.sweep import wire
from explorer.sweep.points import Limit, points_of, recommend
from explorer.sweep.record import PromptRuns, Sweep
from explorer.trace import Trace
from explorer.wire import RunEncoder, header

RUNS = sorted((Path(__file__).parents[2] / "examples" / "runs").glob("*.json"))
READ_RUN = """(() => {
  const run = newRun(JSON.parse(data.lines[0]));
  data.lines.slice(1).forEach((line) => readEvent(run, JSON.parse(line)));
  const works = worksOf(run.rounds, run.head.config), measured = measuredProfile("m", run.rounds, run.head.config, data.plain);
  return { works, measured, estimates: data.profiles.map((profile) => lengthEstimates(run, readProfile(profile))) };
})()"""


def passes(work):
    return [list(pair) for pair in work.passes.items()]


def profiles(count=200, seed=20260103):
    chance = random.Random(seed)
    for _ in range(count):
        rows = sorted(chance.sample(range(1, 30), chance.randint(1, 6)))
        yield CostProfile(
            "p",
            "entered",
            chance.choice(("ms", "pass")),
            step=chance.choice((0.0, chance.random() * 50)),
            passes={one: chance.random() * 300 + 1e-6 for one in rows},
            block=chance.random() * 5,
            other=chance.random(),
        )


def test_times_agree_on_random_profiles():
    """Between, below and beyond known rows, on rising and falling passes."""
    chance = random.Random(5)
    cases = []
    for profile in profiles():
        work = Work(
            chance.randrange(60), chance.randrange(9), {rows: chance.randint(1, 9) for rows in (1, 2, 7, 9, 29, 64)}
        )
        cases.append((profile, work, chance.randint(1, 90)))
    found = run_script(
        """data.map(({profile, work, tokens}) => {
          const costs = readProfile(profile);
          return [timeOf(costs, work), tokensPerSecond(costs, tokens, work), timesPlain(costs, tokens, work)];
        })""",
        [
            {"profile": write(profile), "work": write(work) | {"passes": passes(work)}, "tokens": tokens}
            for profile, work, tokens in cases
        ],
    )
    for (profile, work, tokens), values in zip(cases, found):
        expected = [profile.time(work), profile.tokens_per_second(tokens, work), profile.times_plain(tokens, work)]
        assert values == [None if one is None else pytest.approx(one) for one in expected]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_agrees(path):
    """Its work round by round, what it took, and the best draft length at its own and at all shipped costs."""
    trace = Trace.load(path)
    costs, works = CostProfile.of_trace(trace), works_of(trace.rounds, trace.config)
    plain = trace.baseline and {
        "speed": len(trace.baseline.ids) / trace.baseline.seconds.decode,
        "tokens": len(trace.baseline.ids),
    }
    encoder = RunEncoder(trace.vocabulary, frozenset(trace.stop_ids))
    lines = [header("r", "p", "P", "go", trace.config), *(encoder.round(round_) for round_ in trace.rounds)]
    asked = [costs, *shipped_profiles().values()]
    found = run_script(READ_RUN, {"lines": lines, "plain": plain, "profiles": [write(one) for one in asked]})
    assert found["works"] == [write(work) | {"passes": passes(work)} for work in works]
    for name in ("step", "block", "other"):
        assert found["measured"][name] == pytest.approx(getattr(costs, name), rel=1e-3)
    assert [rows for rows, _ in found["measured"]["passes"]] == list(costs.passes)
    assert [time for _, time in found["measured"]["passes"]] == pytest.approx(list(costs.passes.values()), rel=1e-3)
    for estimates, profile in zip(found["estimates"], asked, strict=True):
        expected = length_estimates(trace, profile)
        assert [one["length"] for one in estimates] == [one.length for one in expected]
        assert [one["tokens"] for one in estimates] == pytest.approx([one.tokens_per_round for one in expected])
        assert [one["times"] for one in estimates] == pytest.approx([one.times_plain for one in expected])


def test_work_made_ahead_and_scored_blocks_agree(hand):
    trace = hand.pearl()
    encoder = RunEncoder(trace.vocabulary)
    lines = [header("r", "p", "P", "go", trace.config), *(encoder.round(round_) for round_ in trace.rounds)]
    found = run_script(READ_RUN, {"lines": lines, "plain": None, "profiles": []})
    assert [one["steps"] for one in found["works"]] == [work.steps for work in works_of(trace.rounds, trace.config)]


def test_noise_and_stalls_agree(hand):
    """Rounds of odd times: both sides pool the same neighbours and leave out the same stall."""
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=40)
    chance, rounds, length = random.Random(3), [], 3
    for size in (1, 4, 2, 3, 1, 4, 2, 2):
        one = hand.round(length, [0, 1, 2, 3][:size], [0, 1, 2, 3, 4][: size + 1], config)
        seconds = {
            "draft": chance.random(),
            "verify": chance.random() * (40 if size == 3 else 1),
            "other": chance.random(),
        }
        rounds.append(dataclasses.replace(one, seconds=dataclasses.replace(one.seconds, **seconds)))
        length += size + 1
    works = works_of(rounds, config)
    where = hand.valid().provenance
    costs = CostProfile.measured("m", zip(works, (round_.seconds for round_ in rounds)), where)
    encoder = RunEncoder(dict.fromkeys(range(30), b"x"))
    lines = [header("r", "p", "P", "go", config), *(encoder.round(round_) for round_ in rounds)]
    found = run_script(READ_RUN, {"lines": lines, "plain": None, "profiles": []})["measured"]
    assert [time for _, time in found["passes"]] == pytest.approx(list(costs.passes.values()), rel=1e-3)
    assert found["other"] == pytest.approx(costs.other, rel=1e-3)
    assert total(works).rounds == 8


GOOD = write(CostProfile("p", "published", "ms", 1.0, {1: 2.0, 9: 3.0}, citation="c"))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"block": None},
        {"step": -1},
        {"step": "1"},
        {"step": True},
        {"passes": {}},
        {"passes": {"1": 0}},
        {"passes": {"0": 1}},
        {"passes": {"1.5": 1}},
        {"passes": {"one": 1}},
        {"passes": [1]},
        {"unit": "s"},
        {"source": "heard"},
        {"citation": ""},
        {"name": 3},
    ],
)
def test_both_refuse_the_same_files(change):
    def python(data):
        try:
            return profile_in(data).name
        except UserError:
            return None

    for data in (GOOD | change, {"lines": [], "costs": GOOD | change}):
        read = run_script("data.map((one) => readProfile(one)?.name ?? null)", [data])
        assert read == [python(data)], json.dumps(data)


@pytest.mark.parametrize("data", [None, 3, [], "x", {}, {"costs": None}, {"costs": 3}])
def test_what_is_no_profile_at_all_is_none(data):
    assert run_script("readProfile(data[0])", [data]) is None


# The choice of a sweep's point ---------------------------------------------------------------------------------------

CHOOSE = """data.sweeps.map(({figures, points, profile, limit}) => {
  const costs = readProfile(profile);
  const shown = figures.map((of, index) => {
    const [steps, blocks, passes] = of.work, work = {steps, blocks, passes};
    return {...of, ...points[index], tokens_per_second_modelled: tokensPerSecond(costs, of.tokens, work), times_plain_modelled: timesPlain(costs, of.tokens, work)};
  });
  const found = recommend(shown, limit);
  return {...found, reasons: found.reasons.map(inWords), refused: found.refused.map(([index, reasons]) => [index, reasons.map(inWords)])};
})"""


def random_sweep(chance):
    """Texts, work and answers by chance; several points share a run, so that ties have to be broken."""
    points = (PLAIN, EXACT, dataclasses.replace(EXACT, drafter="lookup"), *(
        dataclasses.replace(LOOSE, theta=theta, window=window) for theta in (0.0, 0.1, 0.3) for window in (1, 2)
    ))  # fmt: skip
    prompts = []
    for index in range(chance.randint(1, 3)):
        runs, passes, free = [], [], list(range(len(points)))
        right = chance.choice((None, True, False))
        while free:
            members = (
                [free.pop(0)]
                if len(runs) < 3
                else [free.pop(0), *(free.pop(0) for _ in range(chance.randint(0, 2)) if free)]
            )
            rounds = [0] * 8 if not runs else [chance.randint(1, 4) for _ in range(chance.randint(2, 7))]
            ids = (
                range(8)
                if len(runs) < 3 or chance.random() < 0.3
                else [chance.randrange(50) for _ in range(chance.randint(5, 9))]
            )
            kept = chance.randint(2, sum(rounds)) if sum(rounds) > 2 else 0
            loose = chance.randint(0, min(kept, 3)) if len(runs) > 2 else 0
            mine = right if right is None or len(runs) < 3 else chance.random() < 0.8
            runs.append(
                run(
                    members,
                    ids,
                    rounds,
                    kept,
                    -4.0 - chance.random() * (len(runs) > 2),
                    loose,
                    mine,
                    steps=len(runs) != 2,
                )
            )
            passes += [pass_(members, drafted, 0.1 * drafted, 1.0) for drafted in rounds]
        item = PromptItem("Say it.", answer=None if right is None else "text")
        prompts.append(PromptRuns(index, item, 3, tuple(runs), tuple(passes)))
    return Sweep(WHERE, points, tuple(prompts))


NUMBER = re.compile(r"[-+]?\d+\.\d+")


def same_words(found, expected):
    """Sentence by sentence; a half that the two sides round apart is no difference."""
    figures = [[float(one) for text in texts for one in NUMBER.findall(text)] for texts in (found, expected)]
    texts = [[NUMBER.sub("#", text) for text in texts] for texts in (found, expected)]
    return texts[0] == texts[1] and figures[0] == pytest.approx(
        figures[1], abs=0.101 if "tokens/s" in str(found) else 0.0101
    )


def test_the_point_to_choose_agrees():
    """300 sweeps, each at other costs under another limit: the point, every sentence, and what is refused."""
    chance = random.Random(20260104)
    cases = []
    for profile in profiles(300, seed=7):
        sweep = random_sweep(chance)
        limit = Limit(chance.choice((0.0, 0.02, 0.05, 0.1, 1.0)), chance.randint(0, 2))
        cases.append((sweep, profile, limit))
    asked = []
    for sweep, profile, limit in cases:
        event = json.loads(wire.done(sweep, points_of(sweep)))
        head = json.loads(wire.header("s", "title", sweep.points, [one.item for one in sweep.prompts], limit))
        asked.append(
            {"figures": event["figures"], "points": head["points"], "profile": write(profile), "limit": head["limit"]}
        )
    codes = {code.removeprefix("choice.") for code in CATALOGUES["en"] if code.startswith("choice.")}
    found = run_script(CHOOSE, {"sweeps": asked}, "tune/costed.js")
    seen = set()
    for (sweep, profile, limit), answer in zip(cases, found, strict=True):
        points = points_of(sweep, profile)
        expected = recommend(points, limit)
        seen |= {reason.code.removeprefix("choice.") for reason in expected.reasons}
        assert same_words(answer["reasons"], [str(reason) for reason in expected.reasons])
        assert answer["choice"] == expected.point.index
        assert [index for index, _ in answer["refused"]] == [point.index for point, _ in expected.refused]
        assert all(
            same_words(found_why, list(map(str, why)))
            for (_, found_why), (_, why) in zip(answer["refused"], expected.refused)
        )
        assert answer["outside"] == [p.index for p in points if p.config.rule == "fly" and limit.reasons(p)]
    assert seen >= {"fastest", "fastest_of_level", "none_faster", "speed", "times", "cost"}
    assert seen <= codes
