"""Several runs at once on one engine, round by round."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from explorer.trace import Round

_ENDED = object()


def in_turn(runs: Sequence[Generator[Round | None]]) -> Iterator[tuple[int, Round] | None]:
    """The rounds of all runs with the run's index, always of the run with the fewest tokens; None where a run gives none yet.

    A machine whose speed drifts thus slows them alike. Closing the iterator closes the runs.
    """
    going, tokens = list(range(len(runs))), [0] * len(runs)
    try:
        while going:
            index = min(going, key=tokens.__getitem__)
            round_ = next(runs[index], _ENDED)
            if round_ is _ENDED:
                going.remove(index)
            elif round_ is None:
                yield None
            else:
                tokens[index] += len(round_.emitted)
                yield index, round_
    finally:
        for run in runs:
            run.close()
