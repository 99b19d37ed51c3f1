"""The Compare tab: two sets of settings, one prompt, and which control calls what."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.config import RULE_KNOBS, DecodeConfig, knobs
from explorer.ui import knob_styles
from explorer.ui.backend import Backend
from explorer.ui.catalogue import TEXTS
from explorer.ui.compare.handlers import CompareHandlers
from explorer.ui.compare.request import CompareSession, side_knobs
from explorer.ui.controls import ExploreControls, control, heading, pair_control, preset_control, prompt_control
from explorer.ui.coupling import couple_controls, tell_pair
from explorer.ui.events import AT_ONCE, MODEL, QUIET, SCRIPT
from explorer.ui.known_paces import KnownPaces
from explorer.ui.languages import localized
from explorer.ui.scripts import view_script

VIEW = "compare/compare.js"
SHARED_TEXTS = ("kinds", "alone", "locale", "summary", "ends")  # of the run view
MORE = ("entropy", "window_includes_mismatch")  # of the rules' knobs; all others of these stand first
BUDGET = 96  # tokens; three runs are waited for
SIDES = {"a": DecodeConfig(rule="exact"), "b": DecodeConfig()}

# Whoever comes from Explore goes on with its prompt and pair, unless they have their own here already.
_TAKE = """(theirs, pair, ...mine) => {
  const views = document.querySelector("#views"), before = views.taken;
  views.taken = [theirs, pair];
  return mine.map((value, index) => (!before || value === before[index] ? views.taken[index] : value));
}"""
# The settings fill the screen: what is asked for would appear below it.
_LOOK = "() => { document.querySelector('#compare-view').scrollIntoView({ block: 'start' }); }"


def script() -> str:
    """The view's script."""
    said = {
        language: texts.compare.VIEW | {key: texts.explore.VIEW[key] for key in SHARED_TEXTS}
        for language, texts in TEXTS.items()
    }
    return view_script(VIEW, said)


def compare_tab(backend: Backend, explore: ExploreControls, paces: KnownPaces) -> None:
    """Build the tab. explore: whose prompt, pair and settings it takes over."""
    handlers = CompareHandlers(backend, paces)
    table = {knob.name: knob for knob in knobs()}
    with gr.Tab(localized("compare.tab"), id="compare") as tab:
        session = gr.State(CompareSession())
        gr.HTML(f"<p class='lead'>{localized('compare.lead')}</p>", elem_classes="tab-lead")
        with gr.Row(elem_id="compare-composer"):
            prompt = prompt_control(explore.prompt.value, "compare-prompt")
            with gr.Column(scale=0, min_width=150, elem_classes="tab-run"):
                run = gr.Button(localized("compare.run"), variant="primary", elem_id="compare-run")
                stop = gr.Button(localized("page.stop"), interactive=False, elem_id="compare-stop")
        with gr.Row(elem_id="compare-common"):
            pair = pair_control(backend.pairs(), "compare-pair")
            budget = control(table["max_new_tokens"], BUDGET, prefix="compare")
            raw = control(table["raw_prompt"], prefix="compare")
        sides = {}
        with gr.Row(elem_id="compare-sides"):
            for side, config in SIDES.items():
                with gr.Column(min_width=260, elem_classes=["compare-side", knob_styles.KNOBS]):
                    sides[side] = _side(side, config, explore)
        expected = gr.HTML("", elem_id="compare-expected", elem_classes="tab-note")
        view = gr.HTML("", html_template="", js_on_load=script(), apply_default_css=False, elem_id="compare-view")

        tell_pair(pair, "#compare-sides .compare-side")
        settings = [pair, budget, raw, *sides["a"], *sides["b"]]
        form = [session, prompt, *settings]
        outputs = [view, run, stop]
        ready = gr.on([run.click, prompt.submit], handlers.prepare, form, outputs, **AT_ONCE)
        ready.success(handlers.run, [session], outputs, api_name="page_compare", **QUIET, **MODEL)
        ready.success(None, js=_LOOK, api_visibility="private")
        stop.click(handlers.stop, [session], [stop], queue=False, **QUIET)
        mine = [prompt, pair]
        tab.select(None, [explore.prompt, explore.pair, *mine], mine, js=_TAKE, **SCRIPT)
        asked = [tab.select, *(part.change for part in settings)]
        gr.on(asked, handlers.expected, settings, [expected], queue=False, trigger_mode="always_last", **QUIET)


def _side(side: str, config: DecodeConfig, explore: ExploreControls) -> list[Any]:
    """The controls of one side, in the order of side_knobs()."""
    mine = side_knobs()
    controls: dict[str, Any] = {}
    with gr.Row(elem_classes="side-head"):
        heading(side.upper())
        adopt = gr.Button(localized("compare.adopt"), size="sm", elem_id=f"{side}-adopt")
    shown = [knob.name for knob in mine if knob.name in RULE_KNOBS and knob.name not in MORE] + ["draft_length"]
    for knob in mine:
        if knob.name not in shown:
            continue
        controls[knob.name] = control(knob, getattr(config, knob.name), prefix=side)
        if knob.name == "rule":
            preset = preset_control("explorer", f"{side}-preset")
    with gr.Accordion(localized("compare.more"), open=False, elem_classes="plain-accordion"):
        for knob in mine:
            if knob.name not in shown:
                controls[knob.name] = control(knob, getattr(config, knob.name), prefix=side)
    ordered = [controls[knob.name] for knob in mine]
    couple_controls(controls, preset)
    theirs = [explore.controls[knob.name] for knob in mine]
    adopt.click(None, theirs, ordered, js="(...settings) => settings", **SCRIPT)
    return ordered
