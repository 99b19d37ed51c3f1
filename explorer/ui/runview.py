"""The run view as a Gradio component: one gr.HTML whose value is the growing text of `lines.py`.

Model text never goes through a template: the component's template is empty, and the scripts in assets/ build the picture
from the value with textContent.
"""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

from explorer.config import ENTROPY_MAXIMUM, THETA_OF_MEASURE
from explorer.terminal import LETTERS
from explorer.ui import texts

ASSETS = Path(__file__).parents[2] / "assets"
PURE = ("rule.js", "run.js", "replay.js", "figures.js")  # know no page: they also run under node, in the tests
SCRIPTS = (
    *PURE,
    "dom.js",
    "strip.js",
    "card.js",
    "lanes.js",
    "scrubber.js",
    "gauges.js",
    "whatif.js",
    "summary.js",
    "rounds.js",
    "controls.js",
    "view.js",
)
STYLES = tuple(ASSETS / name for name in ("page.css", "view.css", "lanes.css", "charts.css", "tune.css"))


def script() -> str:
    """The view's scripts as one function body, after the constants they share with Python."""
    return "\n".join([constants(), *(source(name) for name in SCRIPTS)])


def constants() -> str:
    """What both sides must agree on, said once on Python's side."""
    shared = {
        "TEXT": texts.VIEW,
        "VERDICT_OF": {letter: str(verdict) for verdict, letter in LETTERS.items()},
        "ENTROPY_MAXIMUM": ENTROPY_MAXIMUM,
        "THETA_OF_MEASURE": THETA_OF_MEASURE,
    }
    return "\n".join(f"const {name} = {json.dumps(value, ensure_ascii=True)};" for name, value in shared.items())


def source(name: str) -> str:
    """The text of one script."""
    return (ASSETS / name).read_text(encoding="utf-8")


def run_view(value: str = "") -> gr.HTML:
    """A view of the run whose text is given, or an empty one."""
    return gr.HTML(value, html_template="", js_on_load=script(), apply_default_css=False, elem_id="run-view")
