"""The Train tab: its form, its view, and which control calls what."""

from __future__ import annotations

import gradio as gr

from explorer.config import knobs
from explorer.ui import training
from explorer.ui.backend import Backend
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.controls import Explore, control, pair_control
from explorer.ui.languages import say
from explorer.ui.scripts import view_script

VIEW = "train/train.js"
QUIET = {"show_progress": "hidden", "api_visibility": "private"}
LIVE = {"queue": False, "trigger_mode": "always_last", **QUIET}  # of controls that move
# One training at a time; runs of other visitors come between its steps, they do not wait for its end.
ONE = {"concurrency_id": "train", "concurrency_limit": 1}


def script() -> str:
    """The view's script."""
    return view_script(VIEW, texts.TRAIN_VIEW, texts_ko.TRAIN_VIEW)


def train_tab(backend: Backend, explore: Explore, views: gr.Tabs) -> None:
    """Build the tab. explore: whose runs a layer steers, and whose controls take over its settings; views: the tabs."""
    handlers = training.Training(backend, training.REFERENCES)
    table = {knob.name: knob for knob in knobs()}
    with gr.Tab(say("TRAIN"), id="train") as tab:
        session = gr.State(training.TrainSession())
        gr.HTML(f"<p class='lead'>{say('TRAIN_LEAD')}</p>", elem_classes="tab-lead")
        with gr.Row(elem_classes="tab-work"):
            with gr.Column(scale=0, min_width=296, elem_classes="tab-rail"):
                pair = pair_control(backend.pairs(), "train-pair")
                rule = gr.Radio(
                    [(say(f"TRAIN_RULES.{name}"), name) for name in texts.TRAIN_RULES],
                    value="exact",
                    label=say("TRAIN_RULE"),
                    info=say("TRAIN_RULE_INFO"),
                    elem_id="train-rule",
                )
                with gr.Group(visible=False, elem_classes="plain-group") as loose:
                    theta, window = (control(table[name], prefix="train") for name in ("theta", "window"))
                amounts = [
                    gr.Slider(
                        low,
                        high,
                        value=first,
                        step=training.ROWS if name != "epochs" else 1,
                        label=label,
                        info=info,
                        elem_id=f"train-{name}",
                    )
                    for (name, (low, high, first)), label, info in zip(
                        training.LIMITS.items(),
                        (say("TRAIN_SHARDS"), say("TRAIN_TOKENS"), say("TRAIN_EPOCHS")),
                        (say("TRAIN_SHARDS_INFO"), None, None),
                        strict=True,
                    )
                ]
                expected = gr.HTML("", elem_id="train-expected")
                with gr.Row(elem_classes="tab-buttons"):
                    run = gr.Button(say("TRAIN_RUN"), variant="primary", elem_id="train-run")
                    cancel = gr.Button(say("TRAIN_CANCEL"), interactive=False, elem_id="train-cancel")
                file = gr.DownloadButton(say("TRAIN_FILE"), visible=False, size="sm", elem_id="train-file")
            with gr.Column(scale=1, min_width=0, elem_classes="tab-main"):
                view = gr.HTML("", html_template="", js_on_load=script(), apply_default_css=False, elem_id="train-view")

        form = [pair, rule, theta, window, *amounts]
        outputs = [view, run, cancel, file]
        gr.on([tab.select, *(part.change for part in form)], handlers.expected, [session, *form], [expected], **LIVE)
        rule.change(lambda name: gr.update(visible=name == "fly"), [rule], [loose], **LIVE)
        # Through the queue, because only there a refusal becomes a message on the page; but never waiting for a training.
        ready = run.click(handlers.prepare, [session, *form], outputs, concurrency_limit=None, **QUIET)
        ready.success(
            handlers.run,
            [session, *form],
            outputs,
            api_name="page_train",
            show_progress="minimal",
            show_progress_on=[expected],  # where the place in the queue shows
            api_visibility="private",
            **ONE,
        ).then(handlers.expected, [session, *form], [expected], **LIVE)
        cancel.click(handlers.cancel, [session], [cancel], queue=False, **QUIET)
        adopted = [explore.controls[name] for name in training.ADOPTED]
        used = view.use(
            handlers.use, [session, explore.session], [view, explore.pair, *adopted], concurrency_limit=None, **QUIET
        )
        used.success(lambda: gr.Tabs(selected="explore"), None, [views], queue=False, **QUIET)
        view.drop(handlers.drop, [session, explore.session], [view], queue=False, **QUIET)
