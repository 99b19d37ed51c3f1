"""Predicted against kept, worked by hand."""

from dataclasses import replace

import pytest

from explorer.analysis.calibration import Bin, calibration, predictions
from explorer.config import DecodeConfig
from explorer.trace import Block


def test_bins_hold_their_scores_and_empty_ones_are_left_out():
    table = calibration([0.05, 0.55, 0.58, 1.0], [False, True, False, True])
    assert [(one.low, one.count, one.kept) for one in table] == [(0.0, 1, 0.0), (0.5, 2, 0.5), (0.9, 1, 1.0)]
    assert table[1].predicted == pytest.approx(0.565)
    assert calibration([0.5], [True], bins=2) == (Bin(0.5, 1.0, 1, 0.5, 1.0),)
    assert calibration([], []) == ()
    with pytest.raises(ValueError, match="shorter|longer"):
        calibration([0.5], [])


def test_only_scored_tokens_are_predictions_and_what_is_cut_off_was_not_kept(hand):
    config = DecodeConfig(rule="exact", draft_length=5)
    round_ = hand.round(3, [4, 5, 6, 7, 8], [4, 5, 10, 7, 8, 11], config)  # the third is refused: two are kept
    blocks = (
        Block(2, (0.9, 0.8), 0.85, 0.5, True),
        Block(2, (0.7, 0.6), 0.65, 0.5, True),
        Block(1, (), None, None, False),
    )
    scores, kept = predictions([replace(round_, blocks=blocks), round_])
    assert (scores, kept) == ([0.9, 0.8, 0.7, 0.6], [True, True, False, False])
