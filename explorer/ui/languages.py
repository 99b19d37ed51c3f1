"""The page's own texts by language, for Gradio: `say(key)` is a text that the visitor's browser chooses.

English texts are the constants of texts.py and the table of knobs, said once there; another language is a file beside
texts.py with the same keys.
"""

from __future__ import annotations

import gradio as gr

from explorer.config import PRESETS
from explorer.ui import texts, texts_ko
from explorer.ui.scripts import page_knobs

TABLES = ("RULE_LABELS", "DRAFTER_LABELS", "ENTROPY_LABELS", "LENGTH_LABELS", "SCHEDULE_LABELS", "TUNE_SOURCES")
CONSTANTS = (
    "TITLE", "LEAD", "PROMPT_LABEL", "PROMPT_PLACEHOLDER", "EXAMPLES_LABEL", "RECORDINGS_LABEL", "RUN", "STOP", "DOWNLOAD",
    "THEME_TOGGLE", "CHARTS_LABEL", "SETTINGS", "ADVANCED", "PAIR_LABEL", "PAIR_INFO", "PAIR_FETCHED", "PAIR_MISSING",
    "PRESET_LABEL", "PRESET_CUSTOM", "BASELINE_LABEL", "BASELINE_INFO", "WARM_WAITING", "WARM_LOADING",
    "WARM_READY", "WARM_FAILED", "EXPLORE", "COMPARE", "COMPARE_LEAD", "COMPARE_RUN", "COMPARE_ADOPT", "COMPARE_MORE", "TUNE", "TUNE_LEAD", "TUNE_LOAN",
    "TUNE_PROMPTS", "TUNE_COUNT", "TUNE_OWN", "TUNE_OWN_INFO", "TUNE_FILE", "TUNE_THETAS", "TUNE_WINDOWS", "TUNE_LENGTHS",
    "TUNE_LIST_INFO", "TUNE_BUDGET", "TUNE_MORE", "TUNE_RUN", "TUNE_CANCEL", "TUNE_LIMIT", "TUNE_NATS", "TUNE_NATS_INFO",
    "TUNE_LOST", "TUNE_CSV", "TUNE_JSON", "LEARN", "LEARN_LEAD", "LEARN_NONE",
)  # fmt: skip


def english() -> dict[str, str]:
    """All texts of Gradio's parts that do not change while the page is open, by key."""
    found = {name: getattr(texts, name) for name in CONSTANTS}
    found |= {f"{table}.{key}": text for table in TABLES for key, text in getattr(texts, table).items()}
    found |= {f"preset.{name}": preset.label for name, preset in PRESETS.items()}
    for knob in page_knobs():
        found |= {f"{knob.name}.label": knob.label, f"{knob.name}.help": knob.help}
    return found


say = gr.I18n(en=english(), ko=texts_ko.PAGE)
