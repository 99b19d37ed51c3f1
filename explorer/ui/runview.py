"""The run view as a Gradio component: one gr.HTML whose value is the growing text of explorer/wire.py.

Model text never goes through a template: the component's template is empty, and the scripts in web/ build the picture
from the value with textContent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gradio as gr

from explorer.ui.scripts import script


def run_view(
    value: str = "", runs: Sequence[str] = (), offers: Mapping[str, Mapping[str, bool]] = {}, pair: str = ""
) -> gr.HTML:  # noqa: B006
    """A view of the run whose text is given, or an empty one. runs: the names a link may hold; offers: of each pair that it may
    name (PairOffers.table); pair: the chosen one."""
    return gr.HTML(
        value,
        html_template="",
        js_on_load=script(),
        apply_default_css=False,
        elem_id="run-view",
        runs=list(runs),
        pairs=list(offers),
        offers=dict(offers),
        pair=pair,
    )
