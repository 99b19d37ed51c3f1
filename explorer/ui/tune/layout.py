"""The Tune tab: its form, its view, and which control calls what."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.config import DecodeConfig, knobs
from explorer.sweep.points import Limit
from explorer.ui.backend import Backend
from explorer.ui.catalogue import TEXTS
from explorer.ui.controls import ExploreControls, control, heading, pair_control
from explorer.ui.coupling import tell_pair
from explorer.ui.events import AT_ONCE, LIVE, MODEL, QUIET
from explorer.ui.known_paces import KnownPaces
from explorer.ui.languages import localized
from explorer.ui.scripts import view_script
from explorer.ui.tune import plan
from explorer.ui.tune.handlers import TuneHandlers
from explorer.ui.tune.session import TuneSession

VIEW = "tune/tune.js"
ADOPTED = ("rule", "entropy", "theta", "window", "window_includes_mismatch", "drafter", "length", "draft_length")

_USE = """() => {
  const { used } = document.querySelector("#tune-view .run-view");
  return %s.map((name) => used[name]);
}"""
_THETAS = "(measure, now) => (%s)[measure] ?? now"


def script() -> str:
    """The view's script."""
    return view_script(VIEW, {language: texts.tune.VIEW for language, texts in TEXTS.items()})


@dataclass(frozen=True)
class _Form:
    """What a sweep is asked for with."""

    pair: gr.Dropdown
    source: gr.Radio
    count: gr.Slider
    own: gr.Textbox
    own_group: gr.Group
    file: gr.UploadButton
    measure: gr.Radio
    lists: list[gr.Textbox]  # thetas, windows, draft lengths
    budget: gr.Slider
    more: list[gr.components.Component]

    @property
    def inputs(self) -> list[gr.components.Component]:
        """In the order of read_plan's parameters."""
        return [self.pair, self.source, self.count, self.own, self.measure, *self.lists, self.budget, *self.more]


def tune_tab(backend: Backend, explore: ExploreControls, views: gr.Tabs, paces: KnownPaces) -> None:
    """Build the tab. explore: whose controls take over a point; views: the tabs."""
    handlers = TuneHandlers(backend, paces)
    with gr.Tab(localized("tune.tab"), id="tune") as tab:
        session = gr.State(TuneSession())
        gr.HTML(f"<p class='lead'>{localized('tune.lead')}</p>", elem_classes="tab-lead")
        if backend.sweep_gpu_seconds:
            gr.HTML(f"<p class='note'>{localized('tune.loan')}</p>", elem_id="tune-loan")
        with gr.Row(elem_classes="tab-work"):
            with gr.Column(scale=0, min_width=296, elem_classes="tab-rail"):
                form = _form(backend)
                expected = gr.HTML("", elem_id="tune-expected")
                with gr.Row(elem_classes="tab-buttons"):
                    run = gr.Button(localized("tune.run"), variant="primary", elem_id="tune-run")
                    stop = gr.Button(localized("tune.cancel"), interactive=False, elem_id="tune-cancel")
                nats, lost = _limit()
                with gr.Row(elem_classes="tab-buttons"):
                    table_file = gr.DownloadButton(localized("tune.csv"), visible=False, size="sm", elem_id="tune-csv")
                    record = gr.DownloadButton(localized("tune.json"), visible=False, size="sm", elem_id="tune-json")
            with gr.Column(scale=1, min_width=0, elem_classes="tab-main"):
                view = gr.HTML("", html_template="", js_on_load=script(), apply_default_css=False, elem_id="tune-view")

        gr.on([tab.select, *(part.change for part in form.inputs)], handlers.expected, form.inputs, [expected], **LIVE)
        _connect_form(form, handlers)
        outputs = [view, run, stop, table_file, record]
        ready = run.click(handlers.prepare, [session, nats, lost, *form.inputs], outputs, **AT_ONCE)
        ready.success(handlers.run, [session], outputs, api_name="page_sweep", **QUIET, **MODEL)
        again = view.measure(handlers.prepare_measure, [session], outputs, **AT_ONCE)
        again.success(handlers.run, [session], outputs, api_name="page_measure", **QUIET, **MODEL)
        stop.click(handlers.stop, [session], [stop], queue=False, **QUIET)
        gr.on([nats.change, lost.change], handlers.choose, [session, nats, lost], [view], **LIVE)
        adopted = [explore.controls[name] for name in ADOPTED]
        used = view.use(handlers.pair_of, [session], [explore.pair], queue=False, **QUIET)
        used.then(None, None, adopted, js=_USE % json.dumps(ADOPTED), queue=False, **QUIET).then(
            lambda: gr.Tabs(selected="explore"), None, [views], queue=False, **QUIET
        )


def _form(backend: Backend) -> _Form:
    table = {knob.name: knob for knob in knobs()}
    pair = pair_control(backend.pairs(), "tune-pair")
    choices = [(localized(f"source.{name}"), name) for name in plan.SOURCES]
    source = gr.Radio(choices, value=plan.SOURCES[0], label=localized("tune.prompts"), elem_id="tune-source")
    count = gr.Slider(
        1, plan.MAX_PROMPTS, value=plan.DEFAULT_PROMPTS, step=1, label=localized("tune.count"), elem_id="tune-count"
    )
    with gr.Group(visible=False, elem_classes="plain-group") as own_group:
        own = gr.Textbox(
            label=localized("tune.own"), info=localized("tune.own_info"), lines=5, max_lines=12, elem_id="tune-own"
        )
    file = gr.UploadButton(
        localized("tune.file"), file_types=[".jsonl", ".json", ".txt"], size="sm", elem_id="tune-file"
    )
    measure = control(table["entropy"], prefix="tune")
    lists = [
        gr.Textbox(label=label, value=value, info=localized("tune.list_info"), max_lines=1, elem_id=elem_id)
        for label, value, elem_id in (
            (localized("tune.thetas"), plan.DEFAULT_THETAS["normalized"], "tune-thetas"),
            (localized("tune.windows"), plan.DEFAULT_WINDOWS, "tune-windows"),
            (localized("tune.lengths"), plan.DEFAULT_LENGTHS, "tune-lengths"),
        )
    ]
    budget = gr.Slider(
        8, plan.MAX_BUDGET, value=plan.DEFAULT_BUDGET, step=8, label=localized("tune.budget"), elem_id="tune-budget"
    )
    tell_pair(pair, ".sweep-knobs")
    with gr.Accordion(localized("tune.more"), open=False, elem_classes=["plain-accordion", "sweep-knobs"]):
        more = [
            control(table[name], getattr(DecodeConfig(), name), prefix="tune")
            for name in ("drafter", "length", "window_includes_mismatch")
        ]
    return _Form(pair, source, count, own, own_group, file, measure, lists, budget, more)


def _limit() -> tuple[gr.Slider, gr.Slider]:
    """The limit on what may be lost: nats per token, right answers."""
    limit = Limit()
    heading(localized("tune.limit"))
    nats = gr.Slider(
        0,
        1,
        value=limit.nats,
        step=0.01,
        label=localized("tune.nats"),
        info=localized("tune.nats_info"),
        elem_id="tune-nats",
    )
    return nats, gr.Slider(0, 12, value=limit.lost, step=1, label=localized("tune.lost"), elem_id="tune-lost")


def _connect_form(form: _Form, handlers: TuneHandlers) -> None:
    form.source.change(_sources, [form.source], [form.count, form.own_group], **LIVE)
    form.file.upload(handlers.open_file, [form.file], [form.own, form.source], **AT_ONCE)
    thetas = form.lists[0]
    typical = _THETAS % json.dumps(plan.DEFAULT_THETAS)
    form.measure.input(None, [form.measure, thetas], [thetas], js=typical, queue=False, **QUIET)


def _sources(source: str) -> tuple[Any, Any]:
    """Shipped prompts are counted, own ones typed."""
    return gr.update(visible=source != "own"), gr.update(visible=source == "own")
