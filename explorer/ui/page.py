"""The page: its header and its tabs."""

from __future__ import annotations

import gradio as gr

from explorer.ui.backend import Backend, ready_pairs
from explorer.ui.catalogue import en
from explorer.ui.compare.layout import compare_tab
from explorer.ui.events import AT_ONCE, SCRIPT
from explorer.ui.explore.api import add_endpoints
from explorer.ui.explore.layout import explore_tab
from explorer.ui.explore.request import RequestReader
from explorer.ui.known_paces import KnownPaces
from explorer.ui.languages import localized
from explorer.ui.learn.layout import ENTER, learn_tab, lesson_slot
from explorer.ui.open_pages import OpenPages
from explorer.ui.recordings import Recording, recordings
from explorer.ui.scripts import TYPED
from explorer.ui.tabs import TELL
from explorer.ui.tune.layout import tune_tab
from explorer.ui.warmup import Warmup

# On a phone the settings would push the text off the first screen.
_NARROW = "() => { if (innerWidth < 768) document.querySelector('#settings > button[aria-expanded=true], #settings > button.open')?.click(); }"
# A choice of light or dark is stored where the browser lets a page store anything; else the system decides.
_TOGGLE = """() => {
  const dark = document.body.classList.toggle("dark");
  try { localStorage.setItem("explorer-theme", dark ? "dark" : "light"); } catch { /* a frame without storage */ }
}"""
_STORED_THEME = """() => {
  try {
    const stored = localStorage.getItem("explorer-theme");
    if (stored && !new URLSearchParams(location.search).has("__theme")) document.body.classList.toggle("dark", stored === "dark");
  } catch { /* a frame without storage */ }
}"""
# What a refusal was about is being mended: its message goes.
_MENDED = """() => {
  const drop = () => document.querySelectorAll(".toast-body.error [data-testid=toast-close]").forEach((close) => close.click());
  for (const event of ["input", "change", "explorer-controls"]) document.addEventListener(event, drop, true);
  document.addEventListener("click", ({ target }) => { if (target.closest?.("button.primary")) drop(); }, true);
}"""


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
        recorded = recordings({pair.name: pair.title for pair in backend.pairs()}, ready_pairs(backend))
    reader = RequestReader(backend, local_folders)
    with gr.Blocks(title=en.page.LABELS["title"], analytics_enabled=False, delete_cache=(3600, 86400)) as page:
        with gr.Row(elem_id="masthead"):
            with gr.Column(scale=1, min_width=0, elem_id="title"):  # Gradio translates one text of a value
                gr.HTML(f"<h1>{localized('page.title')}</h1>")
                gr.HTML(f"<p class='lead'>{localized('page.lead')}</p>")
                gr.HTML(f"<p class='lead marks'>{localized('page.lead_marks')}</p>")
            newcomer = gr.Button(localized("page.newcomer"), size="sm", variant="secondary", elem_id="newcomer")
            toggle = gr.Button(localized("page.theme_toggle"), size="sm", variant="secondary", elem_id="theme-toggle")
        toggle.click(None, js=_TOGGLE, api_visibility="private")
        with gr.Tabs(selected="explore", overflow_behavior="wrap", elem_id="views") as views:
            explore = explore_tab(backend, reader, recorded, views, above_settings=lesson_slot)
            learn_tab()
            paces = KnownPaces(recorded)
            compare_tab(backend, explore, paces)
            tune_tab(backend, explore, views, paces)
        newcomer.click(None, None, [views], js=ENTER, **SCRIPT)
        views.change(None, js=TELL, **SCRIPT)
        page.load(Warmup(backend, warm).watch, None, [explore.readiness], **AT_ONCE)
        page.load(None, explore.prompt, explore.prompt, js=TYPED, **SCRIPT)
        for script in (_STORED_THEME, _NARROW, _MENDED):
            page.load(None, js=script, api_visibility="private")
        add_endpoints(backend, reader)
        OpenPages().watch(page)
    page.queue(max_size=32)
    return page
