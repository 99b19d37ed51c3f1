"""What of the settings stands there: styles by which the line of a chosen option, and the knobs that matter under the choices made,
are shown and all others are not.

Styles, because they hold whoever made the choice (a visitor, a preset, a link, a recorded run) and need neither the server nor a
script. They are made from the table of knobs. Knows no Gradio, but how it draws a control.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.config import Knob
from explorer.ui.page_knobs import page_knobs

KNOBS = "knobs"  # class of what holds one set of controls

_BY_NAME = {knob.name: knob for knob in page_knobs()}


def classes(knob: Knob) -> list[str]:
    """The classes of a knob's control."""
    return ["knob", f"knob-{knob.name}", *(["lined"] if knob.choice_help else [])]


def of_preset() -> list[str]:
    """The classes of the choice of a preset: it matters where theta does."""
    return ["knob-theta"]


def styles() -> str:
    """The style sheet."""
    return "\n".join(rule for knob in page_knobs() for rule in (*_lines(knob), *_hidden(knob)))


def _lines(knob: Knob) -> Iterator[str]:
    for place, choice in enumerate(knob.choice_help, 1):
        line = f".info-text strong:nth-of-type({place})"
        if knob.choice_help_of:
            yield f".{KNOBS}:has({_holds(knob.choice_help_of, choice)}) .knob-{knob.name} {line} {{ display: inline; }}"
        else:
            yield f".knob-{knob.name}:has({_chosen(choice)}) {line} {{ display: inline; }}"


def _hidden(knob: Knob) -> Iterator[str]:
    for need in knob.relevant_when:
        # One :has each, because Gradio cuts a list of selectors at every comma.
        fails = [f":not(:has({_holds(name, choice)}))" for name, choices in need.items() for choice in choices or ("",)]
        yield f".{KNOBS}{''.join(fails)} .knob-{knob.name} {{ display: none; }}"


def _holds(name: str, choice: str) -> str:
    if _BY_NAME[name].choices:
        return f".knob-{name} {_chosen(choice)}"
    return f'.knob-{name} input[type=range]:not([style*="--range_progress: 0%"])'  # Gradio's own mark of how far a slider is


def _chosen(choice: str) -> str:
    return f'input[value="{choice}"]:checked'
