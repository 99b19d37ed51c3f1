"""Where two texts part, and who is to blame: hand-made runs."""

from dataclasses import replace

import pytest

from explorer.analysis.parting import near_tie_gap, parting
from explorer.config import DecodeConfig
from explorer.stops import Stop

LOOSE = DecodeConfig(theta=0.3, window=1, draft_length=3, max_new_tokens=4)
ALONE = replace(LOOSE, rule="autoregressive")
EXACT = replace(LOOSE, rule="exact")


def alone(hand, ids):
    """The target by itself: one token a round."""
    rounds = [hand.round(3 + place, [], [token], ALONE) for place, token in enumerate(ids)]
    return hand.trace(rounds, ALONE, Stop("budget"))


def level(trace, gap):
    """The trace with the target's two likeliest tokens `gap` apart in every row."""
    rows = [
        tuple(replace(row, top_logprobs=(-0.25, -0.25 - gap, -2.75)) for row in round_.rows) for round_ in trace.rounds
    ]
    return replace(trace, rounds=tuple(replace(round_, rows=mine) for round_, mine in zip(trace.rounds, rows)))


def test_a_kept_mismatch_is_the_rules_doing(hand):
    loose = hand.trace([hand.round(3, [4, 5, 6], [4, 7, 6, 8], LOOSE)], LOOSE, Stop("budget"))
    found = parting(loose, alone(hand, [4, 7, 6, 8]))
    assert (found.index, found.kind, found.cause) == (1, "deferred", "fly")
    assert (found.ours, found.theirs) == ((5, 6, 8), (7, 6, 8))
    assert (found.gap, found.near_tie) == (1.25, False)


@pytest.mark.parametrize(("gap", "cause"), [(0.0, "numeric"), (0.009, "numeric"), (0.01, "target"), (1.0, "target")])
def test_the_targets_own_choice_is_a_near_tie_or_is_not(hand, gap, cause):
    """An exact run that leaves the target's own text was blamed on the loose rule: only rounding can be."""
    exact = hand.trace([hand.round(3, [4, 5, 6], [4, 5, 6, 8], EXACT)], EXACT, Stop("budget"))
    found = parting(level(exact, gap), alone(hand, [4, 5, 7, 8]))
    assert (found.index, found.kind, found.cause) == (2, "exact", cause)
    assert found.gap == pytest.approx(gap)


def test_a_kept_mismatch_may_be_a_near_tie_too(hand):
    loose = hand.trace([hand.round(3, [4, 5, 6], [4, 7, 6, 8], LOOSE)], LOOSE, Stop("budget"))
    found = parting(level(loose, 0.001), alone(hand, [4, 7, 6, 8]))
    assert (found.cause, found.near_tie) == ("fly", True)


def test_the_token_is_found_in_a_later_round(hand):
    config = replace(EXACT, max_new_tokens=3)
    rounds = [hand.round(3, [4, 5, 6], [4, 7, 6, 8], config), hand.round(5, [10], [11, 12], config, emit=1)]
    found = parting(hand.trace(rounds, config, Stop("budget")), alone(hand, [4, 7, 10, 2]))
    assert (found.index, found.kind) == (2, "correction")


def test_texts_of_which_one_begins_the_other_do_not_part(hand):
    exact = hand.trace([hand.round(3, [4, 5, 6], [4, 5, 6, 8], EXACT)], EXACT, Stop("budget"))
    assert parting(exact, alone(hand, [4, 5, 6, 8])) is None


def test_half_precision_rounds_more():
    assert near_tie_gap("bfloat16") == near_tie_gap("float16") > near_tie_gap("float32")
