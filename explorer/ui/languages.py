"""The page's own texts by language, for Gradio: `say(key)` is a text that the visitor's browser chooses.

English texts are the constants of texts.py and the table of knobs, said once there; another language is a file beside
texts.py with the same keys.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import gradio as gr
from gradio.context import LocalContext

from explorer.config import PRESETS
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.scripts import page_knobs

EXAMPLES = Path(__file__).parents[2] / "examples" / "prompts.jsonl"
TABLES = (
    "RULE_LABELS",
    "DRAFTER_LABELS",
    "ENTROPY_LABELS",
    "LENGTH_LABELS",
    "STATISTIC_LABELS",
    "SCHEDULE_LABELS",
    "UNITS",
    "GROUPS",
    "TUNE_SOURCES",
)
CONSTANTS = (
    "TITLE", "LEAD", "LEAD_MARKS", "NEWCOMER", "PROMPT_LABEL", "PROMPT_PLACEHOLDER", "EXAMPLES_LABEL", "RECORDINGS_LABEL", "OWN_RUN", "OWN_FILE", "RUN", "STOP", "DOWNLOAD",
    "THEME_TOGGLE", "CHARTS_LABEL", "SETTINGS", "ADVANCED", "PAIR_LABEL", "PAIR_INFO", "PAIR_FETCHED", "PAIR_MISSING",
    "PRESET_LABEL", "PRESET_CUSTOM", "BASELINE_LABEL", "BASELINE_INFO", "WARM_WAITING", "WARM_LOADING",
    "WARM_READY", "WARM_FAILED", "EXPLORE", "COMPARE", "COMPARE_LEAD", "COMPARE_RUN", "COMPARE_ADOPT", "COMPARE_MORE", "TUNE", "TUNE_LEAD", "TUNE_LOAN",
    "TUNE_PROMPTS", "TUNE_COUNT", "TUNE_OWN", "TUNE_OWN_INFO", "TUNE_FILE", "TUNE_THETAS", "TUNE_WINDOWS", "TUNE_LENGTHS",
    "TUNE_LIST_INFO", "TUNE_BUDGET", "TUNE_MORE", "TUNE_RUN", "TUNE_CANCEL", "TUNE_LIMIT", "TUNE_NATS", "TUNE_NATS_INFO",
    "TUNE_LOST", "TUNE_CSV", "TUNE_JSON",
   
    "LEARN", "LEARN_LEAD", "LEARN_NONE",
)  # fmt: skip


def english() -> dict[str, str]:
    """All texts of Gradio's parts that do not change while the page is open, by key."""
    found = {name: getattr(texts, name) for name in CONSTANTS}
    found |= {f"{table}.{key}": text for table in TABLES for key, text in getattr(texts, table).items()}
    found |= {f"preset.{name}": preset.label for name, preset in PRESETS.items()}
    for knob in page_knobs():
        found[f"{knob.name}.label"] = texts.SIGNED.get(knob.name, knob.label)
        found |= {f"{knob.name}.{choice}": line for choice, line in knob.choice_help.items()} or {
            f"{knob.name}.help": knob.help
        }
    found |= {f"example.{example['kind']}": example["label"] for example in examples()}
    return composed(found)


def composed(found: dict[str, str]) -> dict[str, str]:
    """The texts of one language with those that are made of them: what stands over and under a knob, and kinds of runs."""
    return found | _knob_texts(found) | run_kinds(found)


def _knob_texts(labels: dict[str, str]) -> dict[str, str]:
    """By knob its title, which is its label with its unit, and its info.

    Gradio takes one text for the info, so the lines of all choices stand in it, each as `strong` by the only markup an info may
    have; rail.styles() shows the one of the chosen.
    """
    made = {}
    for knob in page_knobs():
        label = labels[f"{knob.name}.label"]
        made[f"{knob.name}.title"] = f"{label} ({labels[f'UNITS.{knob.unit}']})" if knob.unit else label
        lines = [f"**{labels[f'{knob.name}.{choice}']}**" for choice in knob.choice_help]
        made[f"{knob.name}.info"] = " ".join(lines) or labels[f"{knob.name}.help"]
    return made


def run_kinds(labels: dict[str, str]) -> dict[str, str]:
    """What kind of run a recorded one is, by rule and length policy, from the labels of both."""
    rules, policies = (next(knob.choices for knob in page_knobs() if knob.name == name) for name in ("rule", "length"))
    kinds = {(rule, policy): [labels[f"RULE_LABELS.{rule}"]] for rule in rules for policy in policies}
    for (rule, policy), parts in kinds.items():
        if rule != "autoregressive":  # which drafts nothing
            parts.append(labels[f"LENGTH_LABELS.{policy}"])
    return {f"run.{rule}.{policy}": " + ".join(parts) for (rule, policy), parts in kinds.items()}


@cache
def examples() -> tuple[dict[str, str], ...]:
    """The example prompts: kind, label, prompt."""
    return tuple(json.loads(text) for text in EXAMPLES.read_text(encoding="utf-8").splitlines() if text.strip())


def language() -> str:
    """`ko` or `en`: what the browser of the visitor whose event is being handled asks for; English where there is none.

    By the same wish Gradio's parts and the scripts choose theirs.
    """
    request = LocalContext.request.get(None)
    wish = request.headers.get("accept-language") if request else None
    return "ko" if (wish or "").strip().lower().startswith("ko") else "en"


say = gr.I18n(en=english(), ko=composed(texts_ko.PAGE))
