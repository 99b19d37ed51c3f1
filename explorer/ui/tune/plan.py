"""The Tune form as typed values: which prompts, which points, under which limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from explorer.config import ConfigError, DecodeConfig, knobs
from explorer.errors import UserError
from explorer.messages import Message
from explorer.prompts import CHECKABLE, EXAMPLES, PromptItem, read_prompts, typed_prompts
from explorer.sweep.points import Limit
from explorer.ui.forms import check_length, check_pair, config_of
from explorer.ui.limits import UPLOAD_LIMIT
from explorer.ui.offers import PairOffers
from explorer.ui.page_knobs import page_knobs

# Of a sweep on the page; the command line has no limits.
MAX_PROMPTS, MAX_POINTS, MAX_LENGTHS, MAX_BUDGET = 24, 60, 3, 512
SOURCES = ("checkable", "examples", "own")
DEFAULT_PROMPTS, DEFAULT_BUDGET = 6, 48
DEFAULT_THETAS = {"normalized": "0.02, 0.05, 0.1, 0.2", "top3": "0.1, 0.3, 0.5, 0.7"}
DEFAULT_WINDOWS, DEFAULT_LENGTHS = "1, 3, 6", "8"
SWEPT = ("theta", "window", "draft_length")


@dataclass(frozen=True)
class SweepPlan:
    """One filled-in form, checked."""

    pair: str
    items: tuple[PromptItem, ...]
    base: DecodeConfig
    thetas: tuple[float, ...]
    windows: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def cells(self) -> int:
        return len(self.thetas) * len(self.windows) * len(self.lengths)


def read_plan(
    pairs: PairOffers,
    pair: Any,
    source: Any,
    count: Any,
    own: Any,
    entropy: Any,
    thetas: Any,
    windows: Any,
    lengths: Any,
    budget: Any,
    *rest: Any,
) -> SweepPlan:
    """The Tune form as typed values; raises a UserError that says what is wrong. rest: drafter, length policy, counting."""
    check_pair(pair, tuple(pairs))
    drafter, policy, includes = rest
    swept = {name: _numbers(name, value) for name, value in zip(SWEPT, (thetas, windows, lengths))}
    if len(swept["draft_length"]) > MAX_LENGTHS:
        raise UserError("tune.too_many", what=Message("tune.draft_lengths"), limit=MAX_LENGTHS)
    values = {knob.name: knob.default for knob in page_knobs()}
    values |= {"rule": "fly", "entropy": entropy, "drafter": drafter, "length": policy, "max_new_tokens": budget}
    values |= {name: numbers[-1] for name, numbers in swept.items()} | {"window_includes_mismatch": includes}
    base = config_of(values)
    if base.max_new_tokens > MAX_BUDGET:
        raise UserError("tune.budget", limit=MAX_BUDGET)
    plan = SweepPlan(pair, _items(source, count, own), base, swept["theta"], swept["window"], swept["draft_length"])
    if plan.cells > MAX_POINTS:
        raise UserError("tune.too_many_points", points=plan.cells, limit=MAX_POINTS)
    for window in plan.windows:
        pairs.check(replace(base, window=window), pair, "sweep")
    return plan


def read_limit(nats: Any, lost: Any) -> Limit:
    """The fidelity limit of the form; raises a UserError."""
    good = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (nats, lost))
    if not good or not 0 <= nats <= 10 or not 0 <= lost <= MAX_PROMPTS:
        raise UserError("tune.bad_limit")
    return Limit(float(nats), int(lost))


def spread(items: Sequence[PromptItem], count: int) -> tuple[PromptItem, ...]:
    """`count` prompts, as many of each kind as may be, in the order of the set."""
    seen: dict[str, int] = {}
    ranked = []
    for index, item in enumerate(items):
        seen[item.kind] = rank = seen.get(item.kind, -1) + 1
        ranked.append((rank, index))
    return tuple(items[index] for index in sorted(index for _, index in sorted(ranked)[:count]))


def _items(source: Any, count: Any, own: Any) -> tuple[PromptItem, ...]:
    if source == "own":
        if not isinstance(own, str) or not own.strip():
            raise UserError("tune.no_prompts")
        if len(own) > UPLOAD_LIMIT:
            raise UserError("tune.file_too_large", limit=UPLOAD_LIMIT // 1000)
        items = typed_prompts(own)
        if len(items) > MAX_PROMPTS:
            raise UserError("tune.too_many", what=Message("tune.prompts"), limit=MAX_PROMPTS)
        check_length(*(item.prompt for item in items))
        return items
    if source not in SOURCES:
        raise UserError("tune.no_prompts")
    if not isinstance(count, (int, float)) or not 1 <= count <= MAX_PROMPTS:
        raise UserError("tune.too_many", what=Message("tune.prompts"), limit=MAX_PROMPTS)
    return spread(read_prompts(CHECKABLE if source == "checkable" else EXAMPLES / "prompts.jsonl"), int(count))


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    """A list of numbers as typed, each in the range of its knob, sorted and without repetition."""
    knob = next(knob for knob in knobs() if knob.name == name)
    found = set()
    for part in str(value or "").replace(";", ",").split(","):
        if not part.strip():
            continue
        try:
            number = knob.kind(part.strip())
        except ValueError:
            raise ConfigError(
                "knob.out_of_range", label=knob.label_message, range=knob.range_message, value=repr(part.strip()[:60])
            ) from None
        knob.check(number)
        found.add(number)
    if not found:
        raise ConfigError(
            "knob.out_of_range", label=knob.label_message, range=knob.range_message, value=Message("knob.nothing")
        )
    return tuple(sorted(found))
