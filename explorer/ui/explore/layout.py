"""The Explore tab: one prompt, one run, every step of it; and which control calls what."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.config import PRESETS, RULE_KNOBS
from explorer.ui import knob_styles
from explorer.ui.backend import Backend
from explorer.ui.controls import ExploreControls, prompt_control
from explorer.ui.coupling import couple_controls, tell_pair
from explorer.ui.events import AT_ONCE, MODEL, QUIET, SCRIPT
from explorer.ui.examples import examples
from explorer.ui.explore.handlers import RunHandlers
from explorer.ui.explore.opening import OpenHandlers
from explorer.ui.explore.request import RequestReader
from explorer.ui.explore.run_choices import RunChoices
from explorer.ui.explore.session import ExploreSession
from explorer.ui.explore.settings import Settings, notes_html, settings_rail
from explorer.ui.languages import localized
from explorer.ui.offers import PairOffers
from explorer.ui.recordings import Recording
from explorer.ui.runview import run_view
from explorer.ui.scripts import TYPED
from explorer.ui.tabs import CHOSEN

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
_STORE = "(file) => { document.querySelector('#run-view .run-view').store(file?.url); }"
_CHARTED = "() => { document.querySelector('#run-view .run-view').charted(); }"


@dataclass(frozen=True)
class _Parts:
    """What stands in the tab."""

    session: gr.State
    prompt: gr.Textbox
    run: gr.Button
    stop: gr.Button
    settings: Settings
    picker: gr.Dropdown
    view: gr.HTML
    charts: gr.Accordion
    plot: gr.Plot
    download: gr.DownloadButton


def explore_tab(
    backend: Backend,
    reader: RequestReader,
    recorded: tuple[Recording, ...],
    views: gr.Tabs,
    above_settings: Callable[[], None],
) -> ExploreControls:
    """Build the tab. recorded: the runs to choose from, the first one open; views: all tabs; above_settings: builds what stands there."""
    opened = recorded[0] if recorded else None
    runs = RunChoices(recorded)
    with gr.Tab(localized("explore.tab"), id="explore", elem_id="explore"):
        session = gr.State(ExploreSession(shown=opened.name if opened else ""))
        prompt, run, stop = _composer(opened)
        with gr.Row(elem_id="work"):
            with gr.Column(scale=0, min_width=296, elem_id="rail"):
                above_settings()
                with gr.Accordion(localized("explore.settings"), elem_id="settings", elem_classes=knob_styles.KNOBS):
                    settings = settings_rail(backend, opened)
            with gr.Column(scale=1, min_width=0, elem_id="main"):
                picker = gr.Dropdown(
                    runs.choices,
                    value=opened.name if opened else None,
                    label=localized("explore.recordings"),
                    visible=bool(recorded),
                    elem_id="recordings",
                )
                view = run_view(
                    opened.text if opened else "", list(runs.recorded), reader.offers.table(), settings.pair.value
                )
                with gr.Accordion(localized("explore.charts"), open=False, elem_id="charts") as charts:
                    plot = gr.Plot(show_label=False, elem_id="plot")
                # The whole record of the run on show; the view's menu presses it.
                record = str(opened.path) if opened else None
                download = gr.DownloadButton(
                    localized("explore.download"), value=record, visible="hidden", elem_id="download"
                )
        parts = _Parts(session, prompt, run, stop, settings, picker, view, charts, plot, download)
        opening = OpenHandlers(reader, runs)
        _connect_runs(parts, RunHandlers(backend, reader, runs), opening)
        _connect_opening(parts, opening, views)
        _connect_settings(parts, reader.offers)
    return ExploreControls(prompt, settings.pair, settings.controls, settings.readiness)


def _composer(opened: Recording | None) -> tuple[gr.Textbox, gr.Button, gr.Button]:
    """Prompt, Run and Stop, under them the examples."""
    with gr.Row(elem_id="composer"):
        prompt = prompt_control(opened.prompt if opened else "", "prompt")
        with gr.Column(scale=0, min_width=150, elem_id="run-buttons"):
            run = gr.Button(localized("explore.run"), variant="primary", elem_id="run")
            stop = gr.Button(localized("page.stop"), variant="secondary", interactive=False, elem_id="stop")
    with gr.Row(elem_id="examples"):
        gr.HTML(f"<span>{localized('explore.examples')}</span>", elem_id="examples-label")
        for example in examples():
            fill = f"() => {json.dumps(example['prompt'])}"
            gr.Button(localized(f"example.{example['kind']}"), size="sm").click(None, None, prompt, js=fill, **SCRIPT)
    return prompt, run, stop


def _connect_runs(parts: _Parts, handlers: RunHandlers, opening: OpenHandlers) -> None:
    """Run, Stop, and "re-run with these" in the view: the prompt and pair of the run it shows, the settings of the controls."""
    settings, session = parts.settings, parts.session
    form = [session, parts.prompt, settings.pair, settings.baseline, *settings.knobs]
    outputs = [parts.view, parts.run, parts.stop, parts.picker, parts.download]
    prepared = gr.on(
        [parts.run.click, parts.prompt.submit], handlers.prepare, form, [*outputs, parts.charts], **AT_ONCE
    )
    again = parts.view.rerun(opening.prompt_and_pair, None, [parts.prompt, settings.pair], queue=False, **QUIET)
    again = again.then(handlers.prepare, form, [*outputs, parts.charts], **AT_ONCE)
    for ready, name in ((prepared, "page_run"), (again, "page_rerun")):
        ready.success(
            handlers.run,
            [session],
            [*outputs, settings.readiness],
            api_name=name,
            show_progress="minimal",
            show_progress_on=[settings.readiness],  # where the place in the queue shows
            api_visibility="private",
            **MODEL,
        )
    parts.stop.click(handlers.stop, [session], [parts.stop], queue=False, **QUIET)


def _connect_opening(parts: _Parts, handlers: OpenHandlers, views: gr.Tabs) -> None:
    """Runs that have ended: chosen, or named by a link, or in a visitor's file; their charts and their download."""
    settings, session, view = parts.settings, parts.session, parts.view
    shown = [parts.picker, view, parts.prompt, settings.pair, *settings.knobs, parts.download, parts.charts]
    parts.picker.input(handlers.pick, [session, parts.picker], shown, queue=False, **QUIET)
    view.linked(handlers.open_linked, [session], shown, queue=False, **QUIET)
    read = view.opened(handlers.open_file, [session], shown, **AT_ONCE)
    read.failure(None, js=_REFUSED, api_visibility="private")
    view.keep(None, js=_KEEP, api_visibility="private")
    read.success(None, [parts.prompt], [parts.prompt], js=TYPED, **SCRIPT)
    view.store(None, [parts.download], None, js=_STORE, **SCRIPT)
    view.whole(None, [parts.download], None, js=_WHOLE, **SCRIPT)
    # A visitor's own record does not stay here: the view sends it along.
    parts.charts.expand(None, js=_CHARTED, **SCRIPT)
    view.charted(handlers.charts, [session], [parts.plot], **AT_ONCE)
    view.tab(None, None, [views], js=CHOSEN, **SCRIPT)


def _connect_settings(parts: _Parts, offers: PairOffers) -> None:
    """Controls that the view hears of, and that it sets. offers: what each pair can do."""
    settings, view, knobs = parts.settings, parts.view, parts.settings.knobs

    def notes(pair: Any, *values: Any) -> str:
        return notes_html(offers, pair, *values)

    configured: list[Any] = [settings.pair, *knobs]
    view.configured(None, configured, configured, js=_CONFIGURED, **SCRIPT)
    presets = json.dumps({name: preset.settings for name, preset in PRESETS.items()})
    tell = _TELL % (json.dumps(list(settings.controls)), presets)
    gr.on([component.change for component in knobs], None, knobs, [settings.preset], js=tell, **SCRIPT)
    couple_controls(settings.controls, settings.preset)
    view.wanted(None, None, [settings.controls[name] for name in RULE_KNOBS], js=_WANTED, **SCRIPT)
    tell_pair(settings.pair, "#settings")
    view.settled(notes, configured, [settings.notes], queue=False, **QUIET)
