"""What a pair's steps cost on this machine: measured at the first need, kept in the cache folder for later starts."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from explorer.engine.models.weights import cache_folder
from explorer.engine.pair import Pair
from explorer.engine.timing import least_seconds
from explorer.files import write_whole

ROWS = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    16,
    24,
)  # of the target passes that are timed; between them the cost is drawn straight
TEXT = 128  # tokens that both sides hold meanwhile
REPEATS = 5  # of which the fastest counts: whatever else runs only ever adds


@dataclass(frozen=True)
class StepCosts:
    """Milliseconds of one draft step, and of a target pass by its rows."""

    step: float
    passes: dict[int, float]

    def pass_time(self, rows: int) -> float:
        """Between and beyond the measured rows drawn straight."""
        if rows in self.passes:
            return self.passes[rows]
        known = sorted(self.passes)
        place = min(max(sum(count < rows for count in known), 1), len(known) - 1)
        low, high = known[place - 1], known[place]
        slope = max((self.passes[high] - self.passes[low]) / (high - low), 0.0)
        return self.passes[low] + slope * (rows - low)


def step_costs(pair: Pair) -> StepCosts:
    """Those of this pair on this machine, from the cache folder or measured now."""
    where = _place(pair)
    try:
        stored = json.loads(where.read_text(encoding="utf-8"))
        return StepCosts(stored["step"], {int(rows): time for rows, time in stored["passes"].items()})
    except (OSError, ValueError, KeyError):
        costs = measure(pair)
        try:
            where.parent.mkdir(parents=True, exist_ok=True)
            write_whole(where, json.dumps(asdict(costs)))
        except OSError:  # a folder that cannot be written costs a measurement at every start, and nothing else
            pass
        return costs


@torch.inference_mode()
def measure(pair: Pair) -> StepCosts:
    """Time both sides on a text of arbitrary tokens. Passes over more rows never count as cheaper: that is noise."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, pair.vocab_size, (TEXT + ROWS[-1],), generator=generator).to(pair.target.device)

    def timed(context, rows: int) -> float:
        def once() -> None:
            context.feed(ids[TEXT : TEXT + rows], rows)
            context.crop(TEXT)

        return 1e3 * least_seconds(once, pair.target.device, REPEATS)

    with closing(pair.open_target()) as target:
        target.prefill(ids[:TEXT])
        passes, dearest = {}, 0.0
        for rows in ROWS:
            passes[rows] = dearest = max(timed(target, rows), dearest)
    with closing(pair.draft.open()) as draft:
        ids = ids % pair.draft.vocab_size
        draft.prefill(ids[:TEXT])
        return StepCosts(timed(draft, 1), passes)


def _place(pair: Pair) -> Path:
    """Named by all that the costs depend on: weights, their forms, the device and its threads."""
    told = pair.provenance()
    parts = [dict(told.weights), dict(told.dtype), told.device, told.threads, dict(told.versions)]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / "costs" / f"{key}.json"
