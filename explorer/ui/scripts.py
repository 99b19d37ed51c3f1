"""The run view's scripts and styles as texts, for the page and for a page that needs no server. Knows no Gradio."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from explorer.config import ENTROPY_MAXIMUM, RULE_KNOBS, THETA_OF_MEASURE, Knob, knobs
from explorer.trace import EVIDENCE
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.catalogue import lesson_en as texts_learn
from explorer.ui.catalogue import lesson_ko as texts_learn_ko
from explorer.ui.catalogue import messages_ko
from explorer.verdicts import LETTERS, LOOSE_RULES

WEB = Path(__file__).parent / "web"
PURE = (
    "core/rule.js",
    "core/run.js",
    "core/replay.js",
    "core/tree.js",
    "core/figures.js",
    "saved/link.js",
    "saved/export.js",
    "core/told.js",
    "learn/steps.js",
)  # know no page: they also run under node
SCRIPTS = (
    *PURE,
    "core/dom.js",
    "core/progress.js",
    "explore/strip.js",
    "explore/card.js",
    "explore/treeview.js",
    "explore/lanes.js",
    "explore/scrubber.js",
    "explore/gauges.js",
    "explore/whatif.js",
    "explore/summary.js",
    "explore/rounds.js",
    "explore/controls.js",
    "explore/thresholds.js",
    "saved/picture.js",
    "saved/share.js",
    "learn/lesson.js",
    "explore/view.js",
)
VIEW_STYLES = ("explore/view.css", "explore/lanes.css", "explore/tree.css", "explore/charts.css", "saved/share.css")
STYLES = tuple(WEB / name for name in ("page.css", *VIEW_STYLES, "tune/tune.css", "learn/lesson.css"))

# Where the labels of a knob's choices stand, in texts.py as a table and in texts_ko.PAGE under its name.
CHOICE_LABELS = {
    "rule": "RULE_LABELS",
    "entropy": "ENTROPY_LABELS",
    "drafter": "DRAFTER_LABELS",
    "length": "LENGTH_LABELS",
    "statistic": "STATISTIC_LABELS",
    "schedule": "SCHEDULE_LABELS",
}
VIEW_TEXTS = ((texts.VIEW, texts_learn.LESSON), (texts_ko.VIEW, texts_learn_ko.LESSON))
PARAMETERS = "element, props, trigger, watch"  # what Gradio gives a script; see explorer/ui/web/saved/alone.html for a page without it
IMPORT_LIMIT = 16 * 2**20  # bytes of a trace that the page opens: a run of the largest budget has about five million


def script() -> str:
    """The view's scripts, run once."""
    return f"{function()}\nexplorerView({PARAMETERS});"


@cache
def function() -> str:
    """The view's scripts as one function: the browser makes a page that needs no server from the function's own text."""
    body = "\n".join([constants(), *(source(name) for name in SCRIPTS)])
    return f"function explorerView({PARAMETERS}) {{\n{body}\n}}"


def constants() -> str:
    """What both sides must agree on, said once on Python's side."""
    shared = {
        **of_rules(),
        "RULE_KNOBS": RULE_KNOBS,
        "ENTROPY_MAXIMUM": ENTROPY_MAXIMUM,
        "THETA_OF_MEASURE": THETA_OF_MEASURE,
        "KNOBS": {knob.name: _limits(knob) for knob in page_knobs()},
        "IMPORT_LIMIT": IMPORT_LIMIT,
        "NOTES": messages_ko.NOTES,
        "PAGE": source("saved/alone.html"),
        "STYLES": styles(),
    }
    return "\n".join([declared(shared), spoken(*(view | {"lesson": lesson} for view, lesson in VIEW_TEXTS))])


def of_rules() -> dict[str, object]:
    """What scripts that read and judge rounds must know: letters, loose rules, the order of evidence, needs of knobs."""
    return {
        "VERDICT_OF": {letter: str(verdict) for verdict, letter in LETTERS.items()},
        "RULES": {
            name: {"knobs": rule.knobs, "reads": rule.reads, "greedy_only": rule.greedy_only}
            for name, rule in LOOSE_RULES.items()
        },
        "EVIDENCE": list(EVIDENCE),
        "NEEDS": {knob.name: list(knob.relevant_when) for knob in page_knobs()},
    }


def declared(constants: Mapping[str, object]) -> str:
    """Values as constants of a script."""
    return "\n".join(f"const {name} = {_literal(value)};" for name, value in constants.items())


def spoken(english: Mapping[str, object], korean: Mapping[str, object]) -> str:
    """TEXT, what a script says: the browser's language decides, as it does for Gradio's own texts.

    With the labels of all choices, by knob.
    """
    by_language = {
        "en": english | {"choices": {knob: getattr(texts, table) for knob, table in CHOICE_LABELS.items()}},
        "ko": korean | {"choices": {knob: _korean_choices(table) for knob, table in CHOICE_LABELS.items()}},
    }
    language = 'const LANGUAGE = /^ko\\b/i.test(globalThis.navigator?.language) ? "ko" : "en";'
    return "\n".join([declared({"TEXTS": by_language}), language, "const TEXT = TEXTS[LANGUAGE];"])


def _korean_choices(table: str) -> dict[str, str]:
    return {choice: texts_ko.PAGE[f"{table}.{choice}"] for choice in getattr(texts, table)}


def page_knobs() -> tuple[Knob, ...]:
    """The knobs a visitor can turn here: all but those with nothing to choose, and lists."""
    return tuple(knob for knob in knobs() if knob.kind is not tuple and len(knob.choices) != 1)


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
