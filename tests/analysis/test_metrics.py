"""Figures of a hand-made run, worked out on paper."""

import dataclasses

import pytest

from explorer.analysis.metrics import first_divergence, kept_emitted, overlapped_seconds, summarize
from explorer.config import DecodeConfig
from explorer.stops import Stop
from explorer.trace import Baseline, Seconds
from explorer.verdicts import Verdict


def test_figures_of_a_run_ended_by_a_stop_id(hand):
    """tau counts tokens after the stop (vllm#56101), or the length of the last round only (EAGLE#95).

    Round 1 keeps exact, deferred, exact and adds the bonus: 4 tokens. Round 2 keeps one, corrects one: 2. Round 3 drafts a
    stop id that the target wants: the bonus behind it is committed and never emitted: 2.
    """
    summary = summarize(hand.valid())
    assert (summary.tokens, summary.passes) == (8, 3)
    assert summary.tau == pytest.approx(8 / 3)
    assert summary.drafted == 3 + 3 + 2
    assert summary.counts == {
        Verdict.EXACT: 5, Verdict.DEFERRED: 1, Verdict.RELAXED: 0, Verdict.STOP: 0, Verdict.GATE: 1, Verdict.WINDOW: 0,
        Verdict.EDGE: 0, Verdict.LIMIT: 0, Verdict.REJECTED: 0, Verdict.DISCARDED: 1,
    }  # fmt: skip
    assert sum(summary.counts.values()) == summary.drafted
    assert summary.kept == 3 + 1 + 2
    assert summary.kept_per_round == 2.0
    assert summary.loosened == 1
    assert summary.tokens_per_second == 8 / 3.0
    assert summary.mean_logprob == pytest.approx((7 * -0.25 - 1.5) / 8)
    assert (summary.baseline_tokens_per_second, summary.baseline_mean_logprob) == (None, None)
    assert (summary.speedup, summary.divergence) == (None, None)


def test_tokens_behind_the_cut_are_not_counted(hand):
    """A deferred token that the budget cut off is neither kept nor loosened; the round counts with what it emitted."""
    config = DecodeConfig(theta=0.3, window=1, draft_length=3, max_new_tokens=1)
    round_ = hand.round(3, [4, 5, 6], [4, 7, 6, 8], config, emit=1)
    assert round_.accepted == 3
    summary = summarize(hand.trace([round_], config, Stop("budget")))
    assert (summary.tokens, summary.kept, summary.loosened, summary.tau) == (1, 1, 0, 1.0)
    assert kept_emitted(round_) == 1
    assert summary.mean_logprob == -0.25


def test_zero_length_drafts_leave_rates_alone(hand):
    """Placeholder drafts counted as rejected (vllm PR#50518)."""
    config = DecodeConfig(rule="autoregressive", max_new_tokens=2)
    rounds = [hand.round(3, [], [4], config), hand.round(4, [], [5], config)]
    summary = summarize(hand.trace(rounds, config, Stop("budget")))
    assert (summary.drafted, summary.kept, summary.tau, summary.kept_per_round) == (0, 0, 1.0, 0.0)


def test_a_run_without_rounds_divides_by_nothing(hand):
    summary = summarize(hand.trace([], DecodeConfig(), Stop("user")))
    assert (summary.tokens, summary.tau, summary.kept_per_round) == (0, None, None)
    assert (summary.tokens_per_second, summary.mean_logprob, summary.speedup) == (None, None, None)


def test_beside_plain_greedy(hand):
    """Baseline counted by its own ids and time."""
    trace = hand.valid()
    baseline = Baseline((4, 7, 6, 8), (-0.5, -0.25, -0.5, -0.75), Seconds(9.0, verify=1.5, other=0.5))
    trace = hand.trace(trace.rounds, trace.config, trace.stop, baseline)
    summary = summarize(trace)
    assert summary.baseline_tokens_per_second == 2.0, "the prefill is apart"
    assert summary.speedup == pytest.approx(8 / 3 / 2)
    assert summary.baseline_mean_logprob == -0.5
    assert summary.divergence == 1, "the deferred token"


@pytest.mark.parametrize(
    ("ids", "reference", "where"),
    [([1, 2, 3], [1, 2, 3], None), ([1, 2], [1, 2, 3], None), ([1, 2, 3], [1, 2], None), ([], [1], None), ([1, 4, 3], [1, 2, 3], 1), ([0], [1], 0)],
)  # fmt: skip
def test_first_divergence(ids, reference, where):
    assert first_divergence(ids, reference) == where


@pytest.mark.parametrize("rule", ["autoregressive", "exact", "fly"])
@pytest.mark.parametrize("shape", ["llama", "packed-qwen2"])
def test_a_real_run_agrees_with_its_rounds(rule, shape, make_pair, record):
    """The counters cannot drift from the record."""
    pair = make_pair(shape)
    trace = record(pair, [1, 2, 3], DecodeConfig(rule=rule, theta=0.2, window=1, draft_length=4, max_new_tokens=30))
    summary = summarize(trace)
    kinds = [kind for round_ in trace.rounds for kind in round_.emitted_kinds]
    assert summary.tokens == len(kinds) == len(trace.output_ids)
    assert summary.kept == kinds.count("exact") + kinds.count("deferred")
    assert summary.loosened == kinds.count("deferred")
    assert summary.passes - 1 <= kinds.count("bonus") + kinds.count("correction") <= summary.passes
    assert sum(summary.counts.values()) == summary.drafted


def test_nodes_of_a_tree_are_counted_apart_from_the_draft(hand):
    """Six verified, three of them the draft, two of those kept; without other branches, what is drafted is what is verified."""
    summary = summarize(hand.tree())
    assert (summary.drafted, summary.verified, summary.kept, summary.kept_of_verified) == (3, 6, 2, 2 / 6)
    assert summarize(hand.valid()).verified == summarize(hand.valid()).drafted


def test_tokens_of_a_phrase_are_counted_where_they_are_kept(hand):
    summary = summarize(hand.phrases())
    assert (summary.tau, summary.kept, summary.from_phrases, summary.phrases) == (7.0, 6, 2, 2)
    assert summary.overlapped_tokens_per_second is None
    cut = dataclasses.replace(hand.phrases().rounds[0], emitted=(0, 1, 2, 3, 4))
    trace = dataclasses.replace(
        hand.phrases(), rounds=(cut,), config=dataclasses.replace(hand.phrases().config, max_new_tokens=5)
    )
    assert summarize(trace).from_phrases == 1


def test_pearl_as_the_paper_counts_it(hand):
    """gamma 3, T_target = 3 T_draft = 3: three tokens in 3 units where both run at once, against 6 units for 4 tokens."""
    together = 3 / overlapped_seconds([Seconds(draft=3.0, verify=3.0)])
    apart = 4 / Seconds(draft=3.0, verify=3.0).decode
    assert (together, together / apart) == (1.0, 1.5)
    summary = summarize(hand.pearl())
    assert summary.tokens_per_second == 10 / (4 * 6 + 3), "measured: one after the other"
    assert summary.overlapped_tokens_per_second == 10 / (5 * 3)
    assert summarize(hand.valid()).overlapped_tokens_per_second is None
