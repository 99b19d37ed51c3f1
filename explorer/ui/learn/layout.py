"""The Learn tab. It has no parts of its own: while it is chosen, the view of Explore stays and a lesson stands beside it.

The steps are in explorer/ui/web/learn/lesson_steps.js, the panel in explorer/ui/web/learn/lesson_panel.js, what it says in lesson.py of
explorer/ui/catalogue/en and ko.
"""

from __future__ import annotations

import gradio as gr

from explorer.ui.languages import localized

# Choose this tab, as Gradio takes it from a script.
ENTER = "() => ({ __type__: 'update', selected: 'learn' })"


def learn_tab() -> None:
    """The tab itself: a line about the lesson, and one for a page without its recorded runs."""
    with gr.Tab(localized("lesson.tab"), id="learn", elem_id="learn"):
        gr.HTML(f"<p class='lead'>{localized('lesson.lead')}</p>", elem_classes="tab-lead")
        gr.HTML(f"<p class='note'>{localized('lesson.none')}</p>", elem_id="no-lesson")


def lesson_slot() -> None:
    """Where the panel stands: beside the view, above the settings it asks the learner to move."""
    gr.HTML("", elem_id="lesson", apply_default_css=False)
