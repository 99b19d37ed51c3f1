"""The texts of Gradio's parts: `localized(key)` is one that the visitor's browser chooses, by gr.I18n.

They are the catalogue's (explorer/ui/catalogue), by dotted keys such as `tune.run` or `choice.rule.fly`.
"""

from __future__ import annotations

from types import ModuleType

import gradio as gr
from gradio.context import LocalContext
from gradio.i18n import I18nData

from explorer.ui.catalogue import TEXTS
from explorer.ui.page_knobs import page_knobs

AREAS = ("page", "explore", "compare", "tune", "lesson")  # of whose modules Gradio shows LABELS


def gradio_texts(texts: ModuleType) -> dict[str, str]:
    """All texts of Gradio's parts that do not change while the page is open, by key. texts: the catalogue of one language."""
    knobs = texts.knobs
    tables = {area: getattr(texts, area).LABELS for area in AREAS} | {
        "group": knobs.GROUPS,
        "preset": knobs.PRESETS,
        "example": texts.explore.EXAMPLES,
        "source": texts.tune.SOURCES,
        "run": run_kinds(knobs),
        **{f"choice.{knob}": labels for knob, labels in knobs.CHOICES.items()},
        **_knob_texts(knobs),
    }
    return {f"{name}.{key}": text for name, table in tables.items() for key, text in table.items()}


def _knob_texts(knobs: ModuleType) -> dict[str, dict[str, str]]:
    """By knob its title, which is its label with its unit, and its info.

    Gradio takes one text for the info, so the lines of all choices stand in it, each as `strong` by the only markup an info may
    have; knob_styles shows the one of the chosen.
    """
    made = {}
    for knob in page_knobs():
        label, info = knobs.LABELS[knob.name], knobs.HELP[knob.name]
        made[f"knob.{knob.name}"] = {
            "title": f"{label} ({knobs.UNITS[knob.unit]})" if knob.unit else label,
            "info": info if isinstance(info, str) else " ".join(f"**{info[choice]}**" for choice in knob.choice_help),
        }
    return made


def run_kinds(knobs: ModuleType) -> dict[str, str]:
    """What kind of run a recorded one is, by rule and length policy, from the labels of both."""
    rules, policies = knobs.CHOICES["rule"], knobs.CHOICES["length"]
    # The target alone drafts nothing, so no policy is named.
    return {
        f"{rule}.{policy}": label if rule == "autoregressive" else f"{label} + {policy_label}"
        for rule, label in rules.items()
        for policy, policy_label in policies.items()
    }


def visitors_language() -> str:
    """`ko` or `en`: what the browser of the visitor whose event is being handled asks for; English where there is none.

    By the same wish Gradio's parts and the scripts choose theirs.
    """
    request = LocalContext.request.get(None)
    wish = request.headers.get("accept-language") if request else None
    return "ko" if (wish or "").strip().lower().startswith("ko") else "en"


def localized(key: str) -> I18nData:
    """A text that the visitor's browser chooses; raises KeyError for a key that the catalogue does not have."""
    if key not in _ENGLISH:
        raise KeyError(key)
    return I18N(key)


_ENGLISH = gradio_texts(TEXTS["en"])
I18N = gr.I18n(**{language: gradio_texts(texts) for language, texts in TEXTS.items()})
