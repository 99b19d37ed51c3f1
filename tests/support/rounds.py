"""Rounds as tests compare them: without times, and by setting where a grid made them."""

import dataclasses

from explorer.sweep.grid import decode_grid
from explorer.trace import Seconds


def stripped(rounds):
    """Without what no two runs share."""
    return [dataclasses.replace(round_, seconds=Seconds()) for round_ in rounds]


def ids_of_rounds(rounds):
    return [token for round_ in rounds for token in round_.emitted]


def grid_rounds(pair, prompt, configs):
    """The rounds of every setting, and how many target passes it took to make all of them."""
    rounds, passes = [[] for _ in configs], 0
    for outcomes in decode_grid(pair, list(prompt), configs):
        passes += 1
        for members, round_ in outcomes:
            for member in members:
                rounds[member].append(round_)
    return rounds, passes
