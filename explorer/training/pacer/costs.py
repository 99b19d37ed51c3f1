"""What a draft step, a verification and a layer call take on this machine: what a replay reckons with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from explorer.engine import ranking
from explorer.engine.pair import Pair
from explorer.engine.timing import median_seconds
from explorer.engine.verification.measure import measure
from explorer.errors import UserError
from explorer.schema import parse_json, read

CONTEXT = 160  # tokens held before the timed call


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds. verify[L]: one target pass over L + 1 rows; between and beyond the given lengths it is drawn on straight."""

    draft: float  # one token
    layer: float  # one call, of one block
    verify: dict[int, float]
    where: str = ""  # the machine, and whether measured

    def __post_init__(self) -> None:
        if not (self.draft > 0 and self.layer >= 0 and len(self.verify) >= 2 and min(self.verify.values()) > 0):
            raise UserError("training.costs")

    def verify_at(self, length: int) -> float:
        known = sorted(self.verify)
        high = next((i for i, at in enumerate(known) if at >= length), len(known) - 1) or 1
        a, b = known[high - 1], known[high]
        return self.verify[a] + (self.verify[b] - self.verify[a]) * (length - a) / (b - a)

    def round(self, length: int, calls: int) -> float:
        """One round of `length` drafted tokens and `calls` layer calls."""
        return self.verify_at(length) + length * self.draft + calls * self.layer


def read_costs(path: Path) -> Costs:
    """Costs from a JSON file; raises UserError."""
    try:
        return read(Costs, parse_json(path.read_bytes()))
    except UserError as error:
        raise UserError("file.wrong", file=path, reason=error) from None


@torch.inference_mode()
def measure_costs(
    pair: Pair, block_size: int, lengths: tuple[int, ...] = (0, 1, 3, 5, 7, 9, 11, 15, 19, 23), repeats: int = 7
) -> Costs:
    """Median times on the pair's device, warm; the pair's scorer gives the layer's."""
    ids = torch.randint(0, pair.vocab_size, (CONTEXT,), device=pair.target.device, generator=None)

    def timed(work) -> float:
        return median_seconds(work, pair.target.device, repeats)

    verify = {}
    target = pair.target.open()
    target.prefill(ids)

    def pass_over(count: int) -> None:
        logits, drafted = target.feed(ids[:count], rows=count), ids[1:count]
        argmax = ranking.argmax(logits)
        measure(logits, argmax, drafted, drafted == argmax[:-1], argmax)  # a round's record is made in its time
        target.crop(CONTEXT)

    for length in lengths:
        verify[length] = timed(partial(pass_over, length + 1))
    target.close()
    draft = pair.draft.open(states=True)
    draft.prefill(ids)

    def step() -> None:
        draft.feed(ids[:1], rows=1).softmax(-1).max(-1)

    def rewound() -> None:
        for _ in range(4):
            step()
        draft.crop(CONTEXT)

    each = timed(rewound) / 4
    states = draft.states.expand(block_size, -1).clone()
    draft.close()
    layer = 0.0
    if scorer := pair.scorer_for("exact"):
        run = scorer.open()
        probs = torch.full((block_size,), 0.9, device=states.device)

        def call() -> None:
            run.reset()
            run.score(states, probs).tolist()

        layer = timed(call)
    provenance = pair.provenance()
    return Costs(each, layer, verify, f"measured: {provenance.device}, {provenance.date[:10]}")
