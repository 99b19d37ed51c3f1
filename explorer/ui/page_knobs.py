"""Which knobs the page has."""

from __future__ import annotations

from explorer.config import Knob, knobs


def page_knobs() -> tuple[Knob, ...]:
    """The knobs a visitor can turn here: all but those with nothing to choose, and lists."""
    return tuple(knob for knob in knobs() if knob.kind is not tuple and len(knob.choices) != 1)
