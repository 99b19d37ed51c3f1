"""From the table of knobs to controls and back: a knob added to DecodeConfig appears on the page by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.config import ConfigError, DecodeConfig, Knob, knobs
from explorer.ui import texts

# Knobs that most visitors never turn: sampling, and those of single length policies.
ADVANCED = ("block_size", "threshold", "growth", "statistic", "least_draft", "temperature", "seed", "raw_prompt")
_CHOICE_LABELS = {
    "rule": texts.RULE_LABELS,
    "entropy": texts.ENTROPY_LABELS,
    "drafter": texts.DRAFTER_LABELS,
    "length": texts.LENGTH_LABELS,
}


@dataclass(frozen=True)
class Explore:
    """The controls of the Explore tab that other tabs read or set."""

    prompt: gr.Textbox
    pair: gr.Dropdown
    controls: dict[str, gr.components.Component]  # by knob
    readiness: gr.HTML


def page_knobs() -> tuple[Knob, ...]:
    """The knobs a visitor can turn here: all but those with nothing to choose, and lists."""
    return tuple(knob for knob in knobs() if knob.kind is not tuple and len(knob.choices) != 1)


def control(knob: Knob, value: Any = None, prefix: str = "knob") -> gr.components.Component:
    """The control of one knob, with its range, default and help from the table; `value` in place of the default.

    prefix: of its id on the page, where several tabs have such a control.
    """
    component = _control(knob, knob.default if value is None else value, f"{prefix}-{knob.name}")
    # Gradio's own range check would answer first, without the knob's name. (A subclass would have to bring its own page
    # assets, so the one instance is changed.)
    component.preprocess = lambda payload: payload
    return component


def _control(knob: Knob, value: Any, elem_id: str) -> gr.components.Component:
    common = {"label": knob.label, "info": knob.help, "value": value, "elem_id": elem_id}
    if knob.kind is bool:
        return gr.Checkbox(**common)
    if knob.choices:
        labels = _CHOICE_LABELS.get(knob.name, {})
        return gr.Radio([(labels.get(choice, choice), choice) for choice in knob.choices], **common)
    if (knob.high - knob.low) / knob.step > 10_000:  # too fine for a slider
        return gr.Number(minimum=knob.low, maximum=knob.high, step=knob.step, **common)
    return gr.Slider(knob.low, knob.high, step=knob.step, **common)


def config_of(values: dict[str, Any]) -> DecodeConfig:
    """The settings that controls hold, by knob name; raises ConfigError with the knob's name and range."""
    settings = {}
    for knob in page_knobs():
        value = values[knob.name]
        if value is None:
            raise ConfigError(texts.MISSING_INPUT.format(label=knob.label, range=knob.range_text))
        # A browser knows one kind of number.
        if knob.kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        settings[knob.name] = value
    return DecodeConfig(**settings)
