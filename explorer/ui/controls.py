"""From the table of knobs to controls: a knob added to DecodeConfig appears on the page by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.config import PRESETS, RULE_KNOBS, Knob
from explorer.ui import knob_styles
from explorer.ui.languages import localized

# Knobs that most visitors never turn: sampling, and the finer points of drafting.
ADVANCED = (
    "statistic",
    "least_draft",
    "phrases",
    "phrase_length",
    "phrase_window",
    "tree",
    "tree_width",
    "schedule",
    "temperature",
    "seed",
    "raw_prompt",
)


def group_of(knob: Knob) -> str:
    """Under which heading of the settings a knob stands."""
    if knob.name in RULE_KNOBS:
        return "verifying"
    return "writing" if knob.name == "max_new_tokens" else "drafting"


def heading(text: str, knob: Knob | None = None) -> gr.HTML:
    """A heading between groups of controls; knob: the first of its group, with which it comes and goes."""
    return gr.HTML(f"<h3>{text}</h3>", elem_classes=["rail-head", *(knob_styles.classes(knob) if knob else [])])


@dataclass(frozen=True)
class ExploreControls:
    """The controls of the Explore tab that other tabs read or set."""

    prompt: gr.Textbox
    pair: gr.Dropdown
    controls: dict[str, gr.components.Component]  # by knob
    readiness: gr.HTML


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
    common = {
        "label": localized(f"knob.{knob.name}.title"),
        "info": localized(f"knob.{knob.name}.info"),
        "value": value,
        "elem_id": elem_id,
        "elem_classes": knob_styles.classes(knob),
    }
    if knob.kind is bool:
        return gr.Checkbox(**common)
    if knob.choices:
        labels = [localized(f"choice.{knob.name}.{choice}") for choice in knob.choices]
        return gr.Radio(list(zip(labels, knob.choices)), **common)
    if (knob.high - knob.low) / knob.step > 10_000:  # too fine for a slider
        return gr.Number(minimum=knob.low, maximum=knob.high, step=knob.step, **common)
    return gr.Slider(knob.low, knob.high, step=knob.step, **common)


def prompt_control(value: str, elem_id: str) -> gr.Textbox:
    """The field for a prompt."""
    return gr.Textbox(
        label=localized("page.prompt"),
        value=value,
        placeholder=localized("page.prompt_placeholder"),
        lines=2,
        max_lines=8,
        elem_id=elem_id,
        scale=1,
    )


def pair_control(pairs: Sequence[Any], elem_id: str) -> gr.Dropdown:
    """The choice of a known pair, the first one chosen."""
    choices = [(pair_label(pair), pair.name) for pair in pairs]
    return gr.Dropdown(choices, value=pairs[0].name, label=localized("page.pair"), elem_id=elem_id)


def preset_control(value: str, elem_id: str) -> gr.Dropdown:
    """The choice of a preset of FLy; value: its name, "" where the settings are none's."""
    choices = [(localized(f"preset.{name}"), name) for name in PRESETS] + [(localized("page.preset_custom"), "")]
    return gr.Dropdown(
        choices, value=value, label=localized("page.preset"), elem_id=elem_id, elem_classes=knob_styles.of_preset()
    )


def pair_label(pair: Any) -> str:
    """A known pair as a choice: its title, and what it takes to have it where it is not here."""
    if pair.is_here:
        return pair.title
    parts = [localized("page.pair_fetched" if pair.is_embedded else "page.pair_missing")]
    if pair.download_gb is not None:
        parts.append(f"{pair.download_gb:g} GB")
    if not pair.is_embedded:
        parts.append(pair.suits)
    return f"{pair.title} · {', '.join(map(str, parts))}"
