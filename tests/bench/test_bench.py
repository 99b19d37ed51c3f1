"""The benchmark's arithmetic on measurements written by hand, and its rows on a tiny pair."""

import pytest

from explorer.bench.lines import drafts_that_differ, kind_table, line, notes, table
from explorer.bench.measured import PLAIN, WARM, Measured, row_name
from explorer.bench.rows import (
    EXACT_WITH_TREE,
    PEARL,
    THEIR_ASSISTED,
    THEIR_PLAIN,
    is_chosen,
    measure,
    our_rows,
    ours,
    ours_warm,
    runnable,
    their_names,
    their_rows,
)
from explorer.config import DecodeConfig
from explorer.engine.drafters.phrases import PhrasePool
from explorer.trace import Round, Row, Seconds
from explorer.verdicts import LOOSE_RULES, Verdict


def round_(verdicts: tuple[Verdict, ...] = (), logprob: float = -1.0, before: int = 1, **seconds: float) -> Round:
    """A round that keeps its whole draft; every emitted token has the given log-probability."""
    seconds = {"verify": 1.0, "forwards": 1.0} | seconds
    size = len(verdicts)
    row = {"argmax": 0, "argmax_logprob": -0.1, "entropy_normalized": 0.5, "entropy_top3": 0.5}
    row |= {"top_ids": (0,), "top_logprobs": (-0.1,), "replacement_logprob": logprob}
    return Round(
        length_before=before,
        requested=size,
        drafted=tuple(range(size)),
        draft_probs=(None,) * size,
        sources=("lookup",) * size,
        rows=(*(Row(**row, drafted_logprob=logprob) for _ in verdicts), Row(**row)),
        match=tuple(verdict == Verdict.EXACT for verdict in verdicts),
        replacement=(0,) * (size + 1),
        protected=(False,) * size,
        verdicts=verdicts,
        committed=(*range(size), 0),
        emitted=(*range(size), 0),
        seconds=Seconds(**seconds),
    )


def measured(tokens: int, wall: float, forwards: float = 0.5, passes: int = 1, first: int = 0) -> Measured:
    ids = tuple(range(first, first + tokens))
    return Measured(ids, wall, passes, (round_(verify=wall, forwards=forwards),))


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


@pytest.mark.parametrize("loosened", [Verdict.DEFERRED, Verdict.RELAXED])
def test_fidelity_is_per_token_against_plain_greedys_own_text(loosened):
    """Pooled over tokens: a mean of means would weigh a prompt that stopped at once as much as a long one."""
    exact, deferred = Verdict.EXACT, loosened
    plain = [[Measured((0,), 1.0, 1, (round_(logprob=-1.0),)), Measured((0,), 1.0, 1, (round_(logprob=-1.0),))]]
    loose = [round_((exact, deferred), logprob=-1.5), round_((), logprob=-3.0)]
    ours = [[Measured(one.emitted, 1.0, 1, (one,)) for one in loose]]
    one = line("fly", ours, plain, ["a", "b"])
    assert one.fidelity == pytest.approx(-(3 * 1.5 + 3.0) / 4 + 1.0)
    assert one.loosened == pytest.approx(1 / 4)
    assert "| 25.0% | -0.875 |" in table([one])


def test_rows_that_are_not_ours_claim_no_phases():
    one = line(THEIR_PLAIN, [[Measured((1, 2), 1.0, 2)]], [[measured(2, 1.0)]], ["a"])
    assert (one.seconds, one.limit, one.overhead, one.loosened, one.fidelity) == (None,) * 5
    assert table([one]).splitlines()[2].endswith("| - | - | - | - | - |")
    assert kind_table([one]).splitlines()[0] == "| x plain | a |"


def test_plain_greedy_is_always_run():
    assert is_chosen(PLAIN, ["lookup"])
    assert not is_chosen("exact", ["lookup"])
    assert is_chosen("exact, prompt lookup", ["lookup", "fly"])
    assert is_chosen("anything", None)


def test_every_row_runs_and_exact_ones_agree(make_pair, with_judge_head):
    """Same prompt, same budget, same stops: whatever promises to be exact gives the ids of plain greedy."""
    pair = with_judge_head(make_pair("llama"))
    base, lengths = DecodeConfig(max_new_tokens=16), (2, 4)
    rows, theirs = our_rows(pair, base, lengths), their_rows(pair, base, lengths)
    assert sorted(theirs) == sorted(their_names(lengths))
    rows |= theirs
    (result,) = measure(rows, [[1, 2, 3, 4, 2, 3]], 1)
    plain = result[PLAIN][0]
    for row, (one,) in result.items():
        assert one.wall > 0
        if row.partition(",")[0] not in LOOSE_RULES:
            assert one.ids == plain.ids, row
    for length in lengths:
        ours, assisted = (result[row_name(name, length)][0] for name in ("exact", THEIR_ASSISTED))
        assert ours.passes == assisted.passes < plain.passes == len(plain.ids)
        differing, compared = drafts_that_differ(result, length)
        assert differing == 0 < compared, "float32: lookup inside the draft model drafts what the model alone drafts"


def test_a_warm_pool_is_new_in_every_pass(make_pair):
    """The second pass over the same prompts must not find its own answers of the first; the second prompt may find the first's."""
    pair, config = make_pair("llama"), DecodeConfig(rule="exact", phrases=3, draft_length=3, max_new_tokens=16)
    warm, prompts = ours_warm(pair, config), [[1, 2, 3, 4, 2, 3], [39, 68, 75, 75]]
    first = [warm(prompt) for prompt in prompts]
    again = [warm(prompt) for prompt in prompts]
    assert [one.drafts for one in first] == [one.drafts for one in again]
    pool = PhrasePool(config.phrase_length, pair.stop_ids)
    told = [ours(pair, config, pool)(prompts[0]) for _ in range(2)]
    assert told[1].passes < told[0].passes == first[0].passes, "what a kept pool would have given"


def test_notes_say_what_the_table_has_no_column_for(hand):
    phrases, pearl = hand.phrases().rounds, hand.pearl().rounds
    plain = [[measured(7, 1.0)]]
    rows = [
        (row_name(WARM, 4), phrases),
        (row_name(PEARL, 3), pearl),
        (row_name(EXACT_WITH_TREE, 3), hand.tree().rounds),
        ("exact, K = 4", hand.valid().rounds),
    ]
    lines = []
    for name, rounds in rows:
        ids = tuple(token for one in rounds for token in one.emitted)
        lines.append(line(name, [[Measured(ids, 1.0, len(rounds), rounds)]], plain, ["a"]))
    told = notes(lines)
    assert "28.6% of the emitted tokens" in told[0]
    assert "EAGLE-3 tree, K = 3: trees of at most 8 nodes, of which 33.3% were kept" in told[1]
    assert "leaks" in told[2]
    assert "0.7 tokens/s modelled" in told[3]
    assert len(told) == 4


def test_a_row_that_a_pair_refuses_is_left_out_with_the_reason(make_pair):
    pair, base = make_pair("gemma3"), DecodeConfig(max_new_tokens=4)
    rows, left_out = runnable(our_rows(pair, base, [2]), [1, 2, 3])
    assert row_name(PEARL, 2) in rows
    assert not any("Ouroboros" in row for row in rows)
    assert len(left_out) == 4
    assert sum("an attention mask of" in reason for reason in left_out) == 3
    assert any("judge, K = 2: not run here, Rule judge needs a judge head" in reason for reason in left_out)


def test_drafts_are_compared_where_both_started_after_the_same_text():
    exact = Verdict.EXACT
    alone = Measured((), 1.0, 1, (round_((exact, exact), before=1), round_((exact,), before=4)))
    accelerated = Measured((), 1.0, 1, (round_((exact,), before=1), round_((exact,), before=4), round_(before=9)))
    names = [row_name(name, 2) for name in ("exact", "exact, model + lookup")]
    assert drafts_that_differ(dict(zip(names, [[alone], [accelerated]])), 2) == (1, 2)
    assert drafts_that_differ({}, 2) == (0, 0)
