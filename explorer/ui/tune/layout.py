"""The Tune tab: its form, its view, and which control calls what."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from explorer.config import DecodeConfig, knobs
from explorer.sweep.points import Limit
from explorer.ui.backend import Backend
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.controls import Explore, control, heading, pair_control
from explorer.ui.languages import say
from explorer.ui.links import tell_pair
from explorer.ui.paces import Paces
from explorer.ui.scripts import view_script
from explorer.ui.tune import handlers as tuning

VIEW = "tune/tune.js"
QUIET = {"show_progress": "hidden", "api_visibility": "private"}
LIVE = {"queue": False, "trigger_mode": "always_last", **QUIET}  # of controls that move
ADOPTED = ("rule", "entropy", "theta", "window", "window_includes_mismatch", "drafter", "length", "draft_length")

_USE = """() => {
  const { used } = document.querySelector("#tune-view .run-view");
  return %s.map((name) => used[name]);
}"""
_THETAS = "(measure, now) => (%s)[measure] ?? now"


def script() -> str:
    """The view's script."""
    return view_script(VIEW, texts.TUNE_VIEW, texts_ko.TUNE_VIEW)


def tune_tab(backend: Backend, explore: Explore, views: gr.Tabs, model: dict[str, Any], paces: Paces) -> None:
    """Build the tab. explore: whose controls take over a point; views: the tabs; model: event options of work on models."""
    handlers = tuning.Tuning(backend, paces)
    table = {knob.name: knob for knob in knobs()}
    limit = Limit()
    with gr.Tab(say("TUNE"), id="tune") as tab:
        session = gr.State(tuning.TuneSession())
        gr.HTML(f"<p class='lead'>{say('TUNE_LEAD')}</p>", elem_classes="tab-lead")
        if backend.loan_seconds:
            gr.HTML(f"<p class='note'>{say('TUNE_LOAN')}</p>", elem_id="tune-loan")
        with gr.Row(elem_classes="tab-work"):
            with gr.Column(scale=0, min_width=296, elem_classes="tab-rail"):
                pair = pair_control(backend.pairs(), "tune-pair")
                choices = [(say(f"TUNE_SOURCES.{name}"), name) for name in tuning.SOURCES]
                origin = gr.Radio(choices, value=tuning.SOURCES[0], label=say("TUNE_PROMPTS"), elem_id="tune-source")
                count = gr.Slider(
                    1,
                    tuning.MAX_PROMPTS,
                    value=tuning.DEFAULT_PROMPTS,
                    step=1,
                    label=say("TUNE_COUNT"),
                    elem_id="tune-count",
                )
                with gr.Group(visible=False, elem_classes="plain-group") as mine:
                    own = gr.Textbox(
                        label=say("TUNE_OWN"), info=say("TUNE_OWN_INFO"), lines=5, max_lines=12, elem_id="tune-own"
                    )
                file = gr.UploadButton(
                    say("TUNE_FILE"), file_types=[".jsonl", ".json", ".txt"], size="sm", elem_id="tune-file"
                )
                measure = control(table["entropy"], prefix="tune")
                lists = [
                    gr.Textbox(label=label, value=value, info=say("TUNE_LIST_INFO"), max_lines=1, elem_id=elem_id)
                    for label, value, elem_id in (
                        (say("TUNE_THETAS"), tuning.DEFAULT_THETAS["normalized"], "tune-thetas"),
                        (say("TUNE_WINDOWS"), tuning.DEFAULT_WINDOWS, "tune-windows"),
                        (say("TUNE_LENGTHS"), tuning.DEFAULT_LENGTHS, "tune-lengths"),
                    )
                ]
                budget = gr.Slider(
                    8,
                    tuning.MAX_BUDGET,
                    value=tuning.DEFAULT_BUDGET,
                    step=8,
                    label=say("TUNE_BUDGET"),
                    elem_id="tune-budget",
                )
                tell_pair(pair, ".sweep-knobs")
                with gr.Accordion(say("TUNE_MORE"), open=False, elem_classes=["plain-accordion", "sweep-knobs"]):
                    more = [
                        control(table[name], getattr(DecodeConfig(), name), prefix="tune")
                        for name in ("drafter", "length", "window_includes_mismatch")
                    ]
                expected = gr.HTML("", elem_id="tune-expected")
                with gr.Row(elem_classes="tab-buttons"):
                    run = gr.Button(say("TUNE_RUN"), variant="primary", elem_id="tune-run")
                    cancel = gr.Button(say("TUNE_CANCEL"), interactive=False, elem_id="tune-cancel")
                heading(say("TUNE_LIMIT"))
                nats = gr.Slider(
                    0,
                    1,
                    value=limit.nats,
                    step=0.01,
                    label=say("TUNE_NATS"),
                    info=say("TUNE_NATS_INFO"),
                    elem_id="tune-nats",
                )
                lost = gr.Slider(0, 12, value=limit.lost, step=1, label=say("TUNE_LOST"), elem_id="tune-lost")
                with gr.Row(elem_classes="tab-buttons"):
                    table_file = gr.DownloadButton(say("TUNE_CSV"), visible=False, size="sm", elem_id="tune-csv")
                    record = gr.DownloadButton(say("TUNE_JSON"), visible=False, size="sm", elem_id="tune-json")
            with gr.Column(scale=1, min_width=0, elem_classes="tab-main"):
                view = gr.HTML("", html_template="", js_on_load=script(), apply_default_css=False, elem_id="tune-view")

        form = [pair, origin, count, own, measure, *lists, budget, *more]
        asked = [session, nats, lost, *form]
        outputs = [view, run, cancel, table_file, record]
        gr.on([tab.select, *(part.change for part in form)], handlers.expected, form, [expected], **LIVE)
        origin.change(_sources, [origin], [count, mine], **LIVE)
        file.upload(handlers.open_file, [file], [own, origin], concurrency_limit=None, **QUIET)
        measure.input(
            None, [measure, lists[0]], [lists[0]], js=_THETAS % json.dumps(tuning.DEFAULT_THETAS), queue=False, **QUIET
        )
        # Through the queue, because only there a refusal becomes a message on the page; but never waiting for a run.
        ready = run.click(handlers.prepare, asked, outputs, concurrency_limit=None, **QUIET)
        ready.success(handlers.run, asked, outputs, api_name="page_sweep", **QUIET, **model)
        again = view.measure(handlers.prepare_measure, [session], outputs, concurrency_limit=None, **QUIET)
        again.success(handlers.measure, [session], outputs, api_name="page_measure", **QUIET, **model)
        cancel.click(handlers.cancel, [session], [cancel], queue=False, **QUIET)
        gr.on([nats.change, lost.change], handlers.choose, [session, nats, lost], [view], **LIVE)
        adopted = [explore.controls[name] for name in ADOPTED]
        used = view.use(handlers.pair_of, [session], [explore.pair], queue=False, **QUIET)
        used.then(None, None, adopted, js=_USE % json.dumps(ADOPTED), queue=False, **QUIET).then(
            lambda: gr.Tabs(selected="explore"), None, [views], queue=False, **QUIET
        )


def _sources(source: str) -> tuple[Any, Any]:
    """Shipped prompts are counted, own ones typed."""
    return gr.update(visible=source != "own"), gr.update(visible=source == "own")
