"""The run view as a Gradio component: one gr.HTML whose value is the growing text of `strip.py`.

Model text never goes through a template: the component's template is empty, and the scripts in assets/ build the picture
from the value with textContent.
"""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

from explorer.ui import texts

ASSETS = Path(__file__).parents[2] / "assets"
SCRIPTS = ("dom.js", "strip.js", "card.js", "summary.js", "rounds.js", "view.js")
STYLES = (ASSETS / "page.css", ASSETS / "view.css")


def script() -> str:
    """The view's scripts as one function body, after the texts they show."""
    parts = [f"const TEXT = {json.dumps(texts.VIEW, ensure_ascii=True)};"]
    return "\n".join(parts + [(ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS])


def run_view() -> gr.HTML:
    """An empty view; give it the text of a run as value."""
    return gr.HTML("", html_template="", js_on_load=script(), apply_default_css=False, elem_id="run-view")
