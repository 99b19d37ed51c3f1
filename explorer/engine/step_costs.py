"""What a pair's steps cost on this machine: measured at the first need, kept in the cache folder for later starts."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path

import torch

from explorer.analysis.cost_files import profile_in, save_profile
from explorer.analysis.costs import CostProfile
from explorer.engine.models.weights import cache_folder
from explorer.engine.pair import Pair
from explorer.engine.timing import least_seconds
from explorer.errors import UserError
from explorer.schema import parse_json

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


def step_costs(pair: Pair) -> CostProfile:
    """Those of this pair on this machine, from the cache folder or measured now; PACER's layer apart, whose time is small."""
    where = _place(pair)
    try:
        return profile_in(parse_json(where.read_bytes()))
    except (OSError, UserError):
        costs = measure(pair)
        try:
            where.parent.mkdir(parents=True, exist_ok=True)
            save_profile(costs, where)
        except OSError:  # a folder that cannot be written costs a measurement at every start, and nothing else
            pass
        return costs


@torch.inference_mode()
def measure(pair: Pair) -> CostProfile:
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
        step = timed(draft, 1)
    told = pair.provenance()
    return CostProfile(
        name=pair.name, source="measured", unit="ms", step=step, passes=passes, target=told.target, draft=told.draft or "",
        forms=dict(told.dtype), device=told.device, date=told.date,
    )  # fmt: skip


def _place(pair: Pair) -> Path:
    """Named by all that the costs depend on: weights, their forms, the device and its threads."""
    told = pair.provenance()
    parts = [dict(told.weights), dict(told.dtype), told.device, told.threads, dict(told.versions)]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / "costs" / f"{key}.json"
