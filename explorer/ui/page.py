"""The layout: header, prompt, settings, run view; and which control calls what."""

from __future__ import annotations

import inspect
import json
from typing import Any

import gradio as gr

from explorer.config import PRESETS, RULE_KNOBS, DecodeConfig, full_help
from explorer.ui import rail
from explorer.ui.backend import Backend
from explorer.ui.catalogue import en as texts
from explorer.ui.compare.layout import compare_tab
from explorer.ui.controls import (
    ADVANCED,
    Explore,
    control,
    group_of,
    heading,
    page_knobs,
    pair_label,
    preset_control,
    prompt_control,
)
from explorer.ui.explore import handlers as cb
from explorer.ui.languages import examples, say
from explorer.ui.learn.layout import CHOSEN, ENTER, TELL, learn_tab, lesson_slot
from explorer.ui.links import LOOSE_KNOBS, SCRIPT, link_controls, tell_pair
from explorer.ui.paces import Paces
from explorer.ui.recordings import Recording, recordings
from explorer.ui.runview import run_view
from explorer.ui.tune.layout import tune_tab
from explorer.ui.visitors import Visitors
from explorer.ui.warmup import Warmup

MODEL = {"concurrency_id": "model", "concurrency_limit": 1}  # one run at a time, whoever asks
QUIET = {"show_progress": "hidden", "api_visibility": "private"}  # of small events

# On a phone the settings would push the text off the first screen.
_NARROW = "() => { if (innerWidth < 768) document.querySelector('#settings > button[aria-expanded=true], #settings > button.open')?.click(); }"
# A choice of light or dark is kept where the browser lets a page keep anything; else the system decides, as before.
_TOGGLE = """() => {
  const dark = document.body.classList.toggle("dark");
  try { localStorage.setItem("explorer-theme", dark ? "dark" : "light"); } catch { /* a frame without storage */ }
}"""
_KEPT_THEME = """() => {
  try {
    const kept = localStorage.getItem("explorer-theme");
    if (kept && !new URLSearchParams(location.search).has("__theme")) document.body.classList.toggle("dark", kept === "dark");
  } catch { /* a frame without storage */ }
}"""
# What a refusal was about is being mended: its message goes.
_MENDED = """() => {
  const drop = () => document.querySelectorAll(".toast-body.error [data-testid=toast-close]").forEach((close) => close.click());
  for (const event of ["input", "change", "explorer-controls"]) document.addEventListener(event, drop, true);
  document.addEventListener("click", ({ target }) => { if (target.closest?.("button.primary")) drop(); }, true);
}"""

# Thresholds move without the server: the view hears of every control at once, and judges the rounds it shows again.
_TELL = """(...values) => {
  const settings = Object.fromEntries(%s.map((name, index) => [name, values[index]]));
  document.dispatchEvent(new CustomEvent("explorer-controls", { detail: settings }));
  const presets = %s;
  return Object.keys(presets).find((name) => Object.keys(presets[name]).every((knob) => presets[name][knob] === settings[knob])) ?? "";
}"""
_WANTED = "() => document.querySelector('#run-view .run-view').wanted"
_CONFIGURED = "(...now) => document.querySelector('#run-view .run-view').configured(now)"
_REFUSED = "() => { document.dispatchEvent(new CustomEvent('explorer-refused')); }"
_KEEP = "() => { document.querySelector('#download').click(); }"
_WHOLE = "(file) => { document.querySelector('#run-view .run-view').fetchPage(file?.url); }"
_CHARTED = "() => { document.querySelector('#run-view .run-view').charted(); }"


def build_page(
    backend: Backend | None = None,
    warm: bool = False,
    recorded: tuple[Recording, ...] | None = None,
    local_folders: bool = True,
) -> gr.Blocks:
    """The whole page over one backend. `warm`: load the default pair in the background at the first visit.

    recorded: the runs to choose from, the first one open; None reads those in examples/runs. local_folders: whether visitors may
    type folders of this machine as a pair.
    """
    backend = backend or Backend()
    if recorded is None:
        recorded = recordings({pair.name: pair.title for pair in backend.pairs()}, cb.ready_pairs(backend))
    handlers = cb.Callbacks(backend, recorded, local_folders)
    opened = recorded[0] if recorded else None
    with gr.Blocks(title=texts.TITLE, analytics_enabled=False, delete_cache=(3600, 86400)) as page:
        session = gr.State(cb.Session(shown=opened.name if opened else ""))
        with gr.Row(elem_id="masthead"):
            with gr.Column(scale=1, min_width=0, elem_id="title"):  # Gradio translates one text of a value
                gr.HTML(f"<h1>{say('TITLE')}</h1>")
                gr.HTML(f"<p class='lead'>{say('LEAD')}</p>")
                gr.HTML(f"<p class='lead marks'>{say('LEAD_MARKS')}</p>")
            newcomer = gr.Button(say("NEWCOMER"), size="sm", variant="secondary", elem_id="newcomer")
            toggle = gr.Button(say("THEME_TOGGLE"), size="sm", variant="secondary", elem_id="theme-toggle")
        toggle.click(None, js=_TOGGLE, api_visibility="private")
        with gr.Tabs(selected="explore", overflow_behavior="wrap", elem_id="views") as views:
            explore = _explore(backend, handlers, session, opened, views)
            learn_tab()
            paces = Paces(recorded)
            compare_tab(backend, explore, MODEL, paces)
            tune_tab(backend, explore, views, MODEL, paces)
        newcomer.click(None, None, [views], js=ENTER, **SCRIPT)
        views.change(None, js=TELL, **SCRIPT)
        page.load(Warmup(backend, warm).watch, None, [explore.readiness], concurrency_limit=None, **QUIET)
        for script in (_KEPT_THEME, _NARROW, _MENDED):
            page.load(None, js=script, api_visibility="private")
        _api(handlers)
        Visitors().attend(page)
    page.queue(max_size=32)
    return page


def _explore(
    backend: Backend, handlers: cb.Callbacks, session: gr.State, opened: Recording | None, views: gr.Tabs
) -> Explore:
    """The first tab: one prompt, one run, every step of it. opened: the recorded run it shows; views: all tabs."""
    recorded = handlers.recorded.values()
    with gr.Tab(say("EXPLORE"), id="explore", elem_id="explore"):
        with gr.Row(elem_id="composer"):
            prompt = prompt_control(opened.prompt if opened else "", "prompt")
            with gr.Column(scale=0, min_width=150, elem_id="run-buttons"):
                run = gr.Button(say("RUN"), variant="primary", elem_id="run")
                stop = gr.Button(say("STOP"), variant="secondary", interactive=False, elem_id="stop")
        with gr.Row(elem_id="examples"):
            gr.HTML(f"<span>{say('EXAMPLES_LABEL')}</span>", elem_id="examples-label")
            for example in examples():
                fill = f"() => {json.dumps(example['prompt'])}"
                gr.Button(say(f"example.{example['kind']}"), size="sm").click(None, None, prompt, js=fill, **SCRIPT)
        with gr.Row(elem_id="work"):
            with gr.Column(scale=0, min_width=296, elem_id="rail"):
                lesson_slot()
                with gr.Accordion(say("SETTINGS"), elem_id="settings", elem_classes=rail.KNOBS):
                    controls, pair, preset, baseline, notes, readiness = _settings(backend, opened)
            with gr.Column(scale=1, min_width=0, elem_id="main"):
                picker = gr.Dropdown(
                    [(cb.recorded_label(recording), recording.name) for recording in recorded],
                    value=opened.name if opened else None,
                    label=say("RECORDINGS_LABEL"),
                    visible=bool(recorded),
                    elem_id="recordings",
                )
                view = run_view(
                    opened.text if opened else "", list(handlers.recorded), handlers.offers.table(), pair.value
                )
                with gr.Accordion(say("CHARTS_LABEL"), open=False, elem_id="charts") as charts:
                    plot = gr.Plot(show_label=False, elem_id="plot")
                # The whole record of the run on show; the view's menu presses it.
                record = str(opened.path) if opened else None
                download = gr.DownloadButton(say("DOWNLOAD"), value=record, visible="hidden", elem_id="download")

        knob_inputs = list(controls.values())
        form = [session, prompt, pair, baseline, *knob_inputs]
        outputs = [view, run, stop, picker, download]
        # Through the queue, because only there a refusal becomes a message on the page; but never waiting for a run.
        prepared = gr.on(
            [run.click, prompt.submit], handlers.prepare, form, [*outputs, charts], concurrency_limit=None, **QUIET
        )
        # "Re-run with these" in the view: the prompt and pair of the run it shows, the settings of the controls.
        again = view.rerun(handlers.same_prompt, None, [prompt, pair], queue=False, **QUIET)
        again = again.then(handlers.prepare, form, [*outputs, charts], concurrency_limit=None, **QUIET)
        for ready, name in ((prepared, "page_run"), (again, "page_rerun")):
            ready.success(
                handlers.run,
                form,
                [*outputs, readiness],
                api_name=name,
                show_progress="minimal",
                show_progress_on=[readiness],  # where the place in the queue shows
                api_visibility="private",
                **MODEL,
            )
        stop.click(handlers.stop, [session], [stop], queue=False, **QUIET)
        opening = [view, prompt, pair, *knob_inputs, download, charts]
        # Chosen, or named by a link, or held by a visitor's file.
        found = [picker, *opening]
        picker.input(handlers.pick_recording, [session, picker], found, queue=False, **QUIET)
        view.linked(handlers.open_linked, [session], found, queue=False, **QUIET)
        read = view.opened(handlers.open_file, [session], found, concurrency_limit=None, **QUIET)
        read.failure(None, js=_REFUSED, api_visibility="private")
        view.configured(None, [pair, *knob_inputs], [pair, *knob_inputs], js=_CONFIGURED, **SCRIPT)
        view.keep(None, js=_KEEP, api_visibility="private")
        view.whole(None, [download], None, js=_WHOLE, **SCRIPT)
        # A visitor's own record is not kept here: the view sends it along.
        charts.expand(None, js=_CHARTED, **SCRIPT)
        view.charted(handlers.charts, [session], [plot], concurrency_limit=None, **QUIET)
        view.tab(None, None, [views], js=CHOSEN, **SCRIPT)

        rule = [controls[name] for name in RULE_KNOBS]
        presets = json.dumps({name: preset.settings for name, preset in PRESETS.items()})
        tell = _TELL % (json.dumps(list(controls)), presets)
        gr.on([component.change for component in knob_inputs], None, knob_inputs, [preset], js=tell, **SCRIPT)
        link_controls(controls, preset)
        tell_pair(pair, "#settings")
        view.wanted(None, None, rule, js=_WANTED, **SCRIPT)
        view.settled(handlers.notes, [pair, *knob_inputs], [notes], queue=False, **QUIET)
    return Explore(session, prompt, pair, controls, readiness)


def _settings(backend: Backend, opened: Recording | None) -> tuple[Any, ...]:
    """The rail of settings, generated from the table of knobs: (controls by name, pair, preset, baseline, notes, readiness)."""
    controls: dict[str, Any] = {}
    known = backend.pairs()
    standing = opened.config if opened else DecodeConfig()
    pair = gr.Dropdown(
        [(pair_label(pair), pair.name) for pair in known],
        value=opened.pair if opened and opened.pair in cb.ready_pairs(backend) else known[0].name,
        label=say("PAIR_LABEL"),
        info=say("PAIR_INFO"),
        allow_custom_value=backend.takes_typed_pairs,  # TARGET,DRAFT: checked when it is used
        elem_id="pair",
    )
    readiness = gr.HTML(cb.readiness_html("WARM_WAITING"), elem_id="readiness", min_height=22)
    group = preset = None
    for knob in page_knobs():
        if knob.name in ADVANCED:
            continue
        if group != group_of(knob):
            group = group_of(knob)
            heading(say(f"GROUPS.{group}"), knob)
        controls[knob.name] = control(knob, getattr(standing, knob.name))
        if knob.name == "rule":
            preset = preset_control(cb.preset_of(*(getattr(standing, name) for name in LOOSE_KNOBS)), "preset")
    baseline = gr.Checkbox(False, label=say("BASELINE_LABEL"), info=say("BASELINE_INFO"), elem_id="baseline")
    with gr.Accordion(say("ADVANCED"), open=False, elem_id="advanced"):
        for knob in page_knobs():
            if knob.name in ADVANCED:
                controls[knob.name] = control(knob, getattr(standing, knob.name))
    notes = gr.HTML("", elem_id="notes")
    ordered = {knob.name: controls[knob.name] for knob in page_knobs()}
    return ordered, pair, preset, baseline, notes, readiness


def _api(handlers: cb.Callbacks) -> None:
    """The public endpoints. The parameters of `run` are the prompt, the pair and the knobs: it grows with their table."""
    first = [("prompt", str, inspect.Parameter.empty), ("pair", str, handlers.pairs[0]), ("baseline", bool, False)]
    table = [(knob.name, knob.kind, knob.default) for knob in page_knobs()]
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
        for name, kind, default in first + table
    ]

    def run(*values: Any) -> dict:
        return handlers.api_run(*values)

    run.__signature__ = inspect.Signature(parameters, return_annotation=dict)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": dict}
    lines = [f"{knob.name} ({knob.range_text}): {full_help(knob)}" for knob in page_knobs()]
    gr.api(run, api_name="run", api_description=texts.API_DESCRIPTION + " " + " ".join(lines), **MODEL)
    gr.api(cb.api_judge, api_name="judge", api_description=texts.API_JUDGE, concurrency_limit=None)
