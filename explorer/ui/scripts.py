"""The page's scripts and styles as texts: the modules of web/ linked, with what Python gives them. Knows no Gradio."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from explorer.analysis.cost_files import shipped_profiles
from explorer.config import ENTROPY_MAXIMUM, RULE_KNOBS, THETA_OF_MEASURE, Knob
from explorer.conflicts import CONFLICTS, LAYER_POLICIES
from explorer.messages import CATALOGUES
from explorer.schema import write
from explorer.sweep.points import LEVEL
from explorer.trace import EVIDENCE
from explorer.ui.bundle import bundle
from explorer.ui.catalogue import TEXTS
from explorer.ui.page_knobs import page_knobs
from explorer.verdicts import LETTERS, LOOSE_RULES
from explorer.wire import PHASES

WEB = Path(__file__).parent / "web"
VIEW = "explore/view.js"  # the run view's module; each view's module exports `mount`
# In this order: a later sheet may refine an earlier one.
VIEW_STYLES = (
    "core/colours.css",
    "explore/view.css",
    "explore/card.css",
    "explore/summary.css",
    "core/costs_choice.css",
    "explore/rounds_table.css",
    "explore/narrow.css",
    "explore/lanes.css",
    "explore/tree_panel.css",
    "explore/gauges.css",
    "core/charts.css",
    "saved/share.css",
)
PAGE_STYLES = ("page.css", *VIEW_STYLES, "tune/tune.css", "tabs.css", "compare/compare.css", "learn/lesson.css")
STYLES = tuple(WEB / name for name in PAGE_STYLES)

# What the run view says, by language.
VIEW_TEXTS = {language: texts.explore.VIEW | {"lesson": texts.lesson.LESSON} for language, texts in TEXTS.items()}
PARAMETERS = (
    "element, props, trigger, watch"  # what Gradio gives a script; see web/saved/alone.html for a page without it
)
IMPORT_LIMIT = 16 * 2**20  # bytes of a trace that the page opens: a run of the largest budget has about five million

KEPT_PROMPT = "explorer-prompt"  # the name of the prompt in the storage of a tab (web/saved/kept.js)
# The prompt that stood there before the page was loaded anew, where one did.
TYPED = f"(now) => {{ try {{ return sessionStorage.getItem('{KEPT_PROMPT}') ?? now; }} catch {{ return now; }} }}"


def script() -> str:
    """The run view's script, run once."""
    return f"{function()}\nexplorerView({PARAMETERS});"


@cache
def function() -> str:
    """The run view's modules as one function: the browser makes a page that needs no server from the function's own text."""
    return (
        f"function explorerView({PARAMETERS}) {{\n"
        f"const view = {linked(VIEW, given_modules(VIEW_TEXTS))};\n"
        "view.mount({ element, props, trigger, watch, script: () => explorerView.toString() });\n"
        "}"
    )


def view_script(entry: str, said: Mapping[str, Mapping[str, object]]) -> str:
    """The script of another view, run once. entry: its module; said: what it says, by language."""
    return f"({linked(entry, given_modules(said))}).mount({{ {PARAMETERS} }});"


def linked(entry: str, given: Mapping[str, str]) -> str:
    """An expression whose value has the exports of a module of web/. given: of given_modules()."""
    return bundle(entry, lambda path: given[path] if path in given else source(path))


def given_modules(said: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """The modules that Python gives to those of web/, by path: said once on Python's side, and imported like any other.

    said: what a view says, by language.
    """
    return {
        "given/constants.js": exported(constants()),
        "given/texts.js": text_module(said),
        "given/alone.js": exported({"PAGE": source("saved/alone.html"), "STYLES": styles()}),
    }


def constants() -> dict[str, object]:
    """What scripts must know to read and judge rounds, and to check what a link or a visitor sets."""
    return {
        "VERDICT_OF": {letter: str(verdict) for verdict, letter in LETTERS.items()},
        "RULES": {
            name: {"knobs": rule.knobs, "reads": rule.reads, "greedy_only": rule.greedy_only}
            for name, rule in LOOSE_RULES.items()
        },
        "EVIDENCE": list(EVIDENCE),
        "PHASES": PHASES,
        "RELEVANT_WHEN": {knob.name: list(knob.relevant_when) for knob in page_knobs()},
        "CONFLICTS": [asdict(row) for row in CONFLICTS],
        "RULE_KNOBS": RULE_KNOBS,
        "ENTROPY_MAXIMUM": ENTROPY_MAXIMUM,
        "THETA_OF_MEASURE": THETA_OF_MEASURE,
        "KNOBS": {knob.name: _limits(knob) for knob in page_knobs()},
        "IMPORT_LIMIT": IMPORT_LIMIT,
        "KEPT_PROMPT": KEPT_PROMPT,
        "LAYER_POLICIES": LAYER_POLICIES,
        "LEVEL": LEVEL,
        "COST_PROFILES": [write(profile) for profile in shipped_profiles().values()],
    }


def exported(values: Mapping[str, object]) -> str:
    """A module of constants."""
    return "\n".join(f"export const {name} = {_literal(value)};" for name, value in values.items())


def text_module(said: Mapping[str, Mapping[str, object]]) -> str:
    """A module of TEXT, what a script says: the browser's language decides, as it does for Gradio's own texts.

    With the labels of all choices, by knob, and what messages say that a script shows: why settings cannot go together, the notes of
    a run, and why a point of a sweep is chosen, by their codes.
    """
    by_language = {
        language: view
        | {
            "choices": TEXTS[language].knobs.CHOICES,
            "conflicts": _sentences("conflict", language),
            "notes": _sentences("note", language),
            "choice": _sentences("choice", language),
        }
        for language, view in said.items()
    }
    language = 'export const LANGUAGE = /^ko\\b/i.test(globalThis.navigator?.language) ? "ko" : "en";'
    return f"{language}\nexport const TEXT = {_literal(by_language)}[LANGUAGE];"


def _sentences(area: str, language: str) -> dict[str, str]:
    """The messages of one area that scripts show, by their codes after it."""
    messages = CATALOGUES[language].items()
    return {code.removeprefix(f"{area}."): text for code, text in messages if code.startswith(f"{area}.")}


def styles() -> str:
    """The styles of a page without Gradio."""
    return "\n".join(source(name) for name in ("saved/alone.css", *VIEW_STYLES))


def source(name: str) -> str:
    """The text of one file of web/."""
    return (WEB / name).read_text(encoding="utf-8")


def _limits(knob: Knob) -> dict[str, object]:
    """What a value of this knob may be, for a link that may hold anything."""
    if knob.kind is bool:
        return {"kind": "bool"}
    if knob.choices:
        return {"kind": "choice", "choices": list(knob.choices)}
    return {"kind": knob.kind.__name__, "low": knob.low, "high": knob.high}


def _literal(value: object) -> str:
    """A value as JavaScript that may also stand inside a script element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
