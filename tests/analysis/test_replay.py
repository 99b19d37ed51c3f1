"""What-if on a recorded run: exact up to and including the first round that changes, counterfactual behind it."""

import dataclasses
import itertools

import pytest

from explorer.analysis.replay import first_change, replay, spans
from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.stops import Stop

PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77]


def test_same_settings_change_nothing(hand):
    trace = hand.valid()
    rounds = replay(trace, trace.config)
    assert [round_.index for round_ in rounds] == [0, 1, 2]
    assert not any(round_.changed or round_.counterfactual for round_ in rounds)
    assert all(round_.before == round_.after for round_ in rounds)
    assert first_change(rounds) is None
    assert [round_.committed(recorded) for round_, recorded in zip(rounds, trace.rounds)] == [
        recorded.committed for recorded in trace.rounds
    ]


def test_the_first_change_and_what_lies_behind_it(hand):
    """Figures behind the first change hold only on the recorded text, and must be marked."""
    trace = hand.valid()
    rounds = replay(trace, dataclasses.replace(trace.config, theta=0.1))  # round 2's mismatch has entropy 0.2
    assert [round_.changed for round_ in rounds] == [False, True, False]
    assert [round_.counterfactual for round_ in rounds] == [False, False, True]
    assert first_change(rounds) == 1
    assert rounds[1].committed(trace.rounds[1]) == (10, 11, 12, 14)
    rounds = replay(trace, dataclasses.replace(trace.config, rule="exact"))
    assert [round_.changed for round_ in rounds] == [True, False, False]
    assert [round_.counterfactual for round_ in rounds] == [False, True, True]
    assert rounds[0].committed(trace.rounds[0]) == (4, 7)
    assert [str(v) for v in rounds[0].after.verdicts] == ["exact", "rejected", "discarded"]


def test_another_reason_for_the_same_cut_is_no_change(hand):
    """A verdict may change its reason without changing the text."""
    trace = hand.valid()
    rounds = replay(trace, dataclasses.replace(trace.config, theta=0.1, window=2))
    assert [str(v) for v in rounds[1].after.verdicts] == ["exact", "rejected:edge", "discarded"]
    assert not rounds[1].changed


def test_the_other_measure_reads_the_other_entropy(hand):
    config = DecodeConfig(theta=0.3, window=1, draft_length=3, max_new_tokens=2)
    rows = [hand.row(4, 4), hand.row(7, 5, normalized=0.2, top3=0.9), hand.row(6, 6), hand.row(8)]
    round_ = dataclasses.replace(hand.round(3, [4, 5, 6], [4, 7, 6, 8], config, entropy=0.2), rows=tuple(rows))
    trace = hand.trace([round_], config, Stop("budget"))
    (again,) = replay(trace, dataclasses.replace(config, entropy="top3"))
    assert (again.before.accepted, again.after.accepted) == (1, 3)


def test_a_text_that_ended_before_the_rounds_part_ends_there_again(hand):
    """A stop string or the budget may cut a round in what both settings keep: the very same text comes out."""
    config = DecodeConfig(rule="exact", draft_length=3, max_new_tokens=16, stop_strings=("e",))
    round_ = dataclasses.replace(hand.round(3, [4, 5, 6], [4, 7, 6, 8], config), emitted=(4,))
    trace = hand.trace([round_], config, Stop("stop_string", 0))
    (again,) = rounds = replay(trace, dataclasses.replace(config, rule="fly", theta=0.0, window=1))
    assert (again.before.accepted, again.after.accepted, again.changed) == (1, 3, False)
    exact, _ = spans(rounds, trace)
    assert exact.tau == 1


SETTINGS = [
    {},
    {"rule": "exact"},
    *({"rule": "fly", "theta": theta, "window": window, "entropy": entropy, "window_includes_mismatch": includes}
      for theta, window, (entropy, includes) in itertools.product([0.0, 0.15, 0.3, 1.2], [1, 3], [("normalized", False), ("top3", True)])),
]  # fmt: skip


@pytest.mark.parametrize("shape", ["llama", "packed-qwen2"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_replaying_equals_decoding_up_to_the_first_change(shape, temperature, make_pair, record):
    """Re-judging a recorded run under X gives the rounds of a real run under X, the first changed one included."""
    pair = make_pair(shape)
    base = DecodeConfig(
        rule="fly", theta=0.2, window=2, draft_length=6, max_new_tokens=24, temperature=temperature, seed=5
    )
    trace = record(pair, PROMPT, base)
    changes = set()
    for setting in SETTINGS:
        config = dataclasses.replace(base, **setting)
        replayed = replay(trace, config)
        change = first_change(replayed)
        real = decode(pair, list(PROMPT), config)
        for again, recorded, round_ in zip(replayed[: None if change is None else change + 1], trace.rounds, real):
            assert again.after.verdicts == round_.verdicts
            assert again.committed(recorded) == round_.committed
            assert not again.counterfactual
        real.close()
        changes.add(change)
    assert None in changes
    assert len(changes) > 1, "some settings must change this run"


def test_a_round_with_phrases_is_judged_again_as_one_draft(hand):
    """The phrase that a round takes is the same under every rule, so the round that changes is still exact."""
    trace = hand.phrases()
    loose = dataclasses.replace(trace.config, rule="fly", theta=0.5, window=0)
    (round_,) = replay(trace, loose)
    assert (round_.changed, round_.counterfactual) == (True, False)
    assert round_.committed(trace.rounds[0]) == (0, 1, 2, 3, 4, 5, 6, 7)


def test_pearls_schedule_cannot_be_judged_again_under_another_rule(hand):
    trace = hand.pearl()
    assert not any(round_.changed for round_ in replay(trace, trace.config))
    with pytest.raises(ConfigError, match="rule exact alone"):
        replay(trace, DecodeConfig(rule="fly"))
