"""The list of runs to open: the recorded ones, and before them the visitor's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from explorer.ui.explore.session import OWN
from explorer.ui.languages import localized
from explorer.ui.recordings import Recording


class RunChoices:
    """The recorded runs by name, and the dropdown that offers them."""

    def __init__(self, recorded: Sequence[Recording]):
        self.recorded = {recording.name: recording for recording in recorded}

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Label and value of each recorded run."""
        return [(choice_label(recording), recording.name) for recording in self.recorded.values()]

    def update(self, own: str | None, value: str = OWN, interactive: bool = True) -> Any:
        """The dropdown with the visitor's own run before the others: `own` is the key of its label, None where there is none."""
        choices = [*([(localized(own), OWN)] if own else []), *self.choices]
        return gr.update(choices=choices, value=value, interactive=interactive, visible=bool(choices))


def choice_label(recording: Recording) -> str:
    """A recorded run as a choice: its prompt, rule and length policy, pair."""
    kind = localized(f"run.{recording.config.rule}.{recording.config.length}")
    return f"{recording.short} · {kind} · {recording.title}"
