"""The rail of settings in the Explore tab, generated from the table of knobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.config import PRESETS, DecodeConfig
from explorer.errors import UserError
from explorer.ui.backend import Backend, ready_pairs
from explorer.ui.controls import ADVANCED, control, group_of, heading, pair_label, preset_control
from explorer.ui.coupling import LOOSE_KNOBS
from explorer.ui.forms import config_of
from explorer.ui.languages import localized
from explorer.ui.messages import in_visitors_language
from explorer.ui.notices import note
from explorer.ui.offers import PairOffers
from explorer.ui.page_knobs import page_knobs
from explorer.ui.recordings import Recording
from explorer.ui.warmup import readiness_html


@dataclass(frozen=True)
class Settings:
    """The controls of the rail."""

    controls: dict[str, gr.components.Component]  # by knob, in the order of the table
    pair: gr.Dropdown
    preset: gr.Dropdown
    baseline: gr.Checkbox
    notes: gr.HTML
    readiness: gr.HTML

    @property
    def knobs(self) -> list[gr.components.Component]:
        return list(self.controls.values())


def settings_rail(backend: Backend, opened: Recording | None) -> Settings:
    """Build the rail. opened: the recorded run that the page shows first."""
    controls: dict[str, Any] = {}
    known = backend.pairs()
    standing = opened.config if opened else DecodeConfig()
    pair = gr.Dropdown(
        [(pair_label(pair), pair.name) for pair in known],
        value=opened.pair if opened and opened.pair in ready_pairs(backend) else known[0].name,
        label=localized("page.pair"),
        info=localized("explore.pair_info"),
        allow_custom_value=backend.takes_typed_pairs,  # TARGET,DRAFT: checked when it is used
        elem_id="pair",
    )
    readiness = gr.HTML(readiness_html("page.warm_waiting"), elem_id="readiness", min_height=22)
    group = preset = None
    for knob in page_knobs():
        if knob.name in ADVANCED:
            continue
        if group != group_of(knob):
            group = group_of(knob)
            heading(localized(f"group.{group}"), knob)
        controls[knob.name] = control(knob, getattr(standing, knob.name))
        if knob.name == "rule":
            preset = preset_control(preset_of(*(getattr(standing, name) for name in LOOSE_KNOBS)), "preset")
    baseline = gr.Checkbox(
        False, label=localized("explore.baseline"), info=localized("explore.baseline_info"), elem_id="baseline"
    )
    with gr.Accordion(localized("explore.advanced"), open=False, elem_id="advanced"):
        for knob in page_knobs():
            if knob.name in ADVANCED:
                controls[knob.name] = control(knob, getattr(standing, knob.name))
    notes = gr.HTML("", elem_id="notes")
    ordered = {knob.name: controls[knob.name] for knob in page_knobs()}
    return Settings(ordered, pair, preset, baseline, notes, readiness)


def preset_of(*values: Any) -> str:
    """The preset that the loose knobs stand on, or "" for none."""
    settings = dict(zip(LOOSE_KNOBS, values))
    return next((name for name, preset in PRESETS.items() if preset.settings == settings), "")


def notes_html(offers: PairOffers, pair: Any, *values: Any) -> str:
    """What is unusual or wrong about the settings as they stand, for this pair; empty where nothing is. HTML, escaped."""
    try:
        config = config_of({knob.name: value for knob, value in zip(page_knobs(), values)})
        offers.check(config, pair)
    except UserError as error:
        return note(in_visitors_language(error), "note wrong")
    return "".join(note(in_visitors_language(caution), "note") for caution in config.notes)
