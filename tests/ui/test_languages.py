"""Both languages say everything: the same keys, the same placeholders, and Korean where Korean is due."""

import re

import pytest
from node import run_script

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.ui import messages
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.catalogue import lesson_en as texts_learn
from explorer.ui.catalogue import lesson_ko as texts_learn_ko
from explorer.ui.catalogue import messages_ko
from explorer.ui.forms import check_pair, check_prompt, config_of
from explorer.ui.languages import english, say
from explorer.ui.messages import told
from explorer.ui.scripts import page_knobs
from explorer.verdicts import RULES

PLACEHOLDER = re.compile(r"\{\w+[^}]*\}")
GAP = re.compile(r"\{(\w+)[^}]*\}")
HANGUL = re.compile("[\uac00-\ud7a3]")
# Names, letters and signs that are the same in every language.
UNTRANSLATED = re.compile(r"^(kinds|others)\.[\w:]+\.mark$|^locale$|^card\.theta$|^lanes\.theta$|^lanes\.policies\.(pacer|adaedl)$|^whatif\.tau$|^whatif\.values\.fly$|\.knobs\.(theta|window)$|^tune\.(locale|length|map\.cell|map\.range|point\.fly)$|^comparison\.values\.fly$")  # fmt: skip


def leaves(table, path=""):
    for key, value in table.items():
        place = f"{path}.{key}" if path else key
        yield from leaves(value, place) if isinstance(value, dict) else [(place, value)]


def views(language, learn):
    """All texts that scripts say, by place."""
    tables = (
        (language.VIEW, ""),
        (language.TUNE_VIEW, "tune"),
        (language.COMPARE_VIEW, "comparison"),
        (language.CHARTS, "charts"),
        (learn.LESSON, "lesson"),
    )
    return dict(leaf for table, path in tables for leaf in leaves(table, path))


ENGLISH, KOREAN = views(texts, texts_learn), views(texts_ko, texts_learn_ko)


def test_the_view_has_the_same_keys_in_both_languages():
    assert list(KOREAN) == list(ENGLISH)


@pytest.mark.parametrize("place", ENGLISH)
def test_a_text_of_the_view_has_the_same_placeholders(place):
    assert set(PLACEHOLDER.findall(KOREAN[place])) == set(PLACEHOLDER.findall(ENGLISH[place]))


@pytest.mark.parametrize("place", [place for place in ENGLISH if not UNTRANSLATED.search(place)])
def test_a_text_of_the_view_is_korean(place):
    assert HANGUL.search(KOREAN[place])


def test_gradios_parts_have_the_same_keys_in_both_languages():
    korean = say.translations_dict["ko"]
    assert set(korean) == set(english())
    assert all(PLACEHOLDER.findall(text) == PLACEHOLDER.findall(korean[key]) for key, text in english().items())
    names = {"LENGTH_LABELS.pacer", "LENGTH_LABELS.adaedl", "UNITS.nats"}
    assert {key for key, text in korean.items() if not HANGUL.search(text)} == names


def test_what_the_server_fills_in_is_there_in_both_languages():
    names = [
        name
        for name in vars(texts_ko)
        if name.isupper() and name not in ("PAGE", "VIEW") and not name.endswith("_VIEW")
    ]
    assert len(names) > 8
    for name in names:
        ours, theirs = ([value] if isinstance(value, str) else list(value.values()) for value in (getattr(texts, name), getattr(texts_ko, name)))  # fmt: skip
        assert [sorted(PLACEHOLDER.findall(text)) for text in ours] == [
            sorted(PLACEHOLDER.findall(text)) for text in theirs
        ]


def test_a_template_has_the_same_gaps_in_both_languages():
    named = {getattr(texts, name): korean for name, korean in messages_ko.NAMED.items()}
    for english_, korean in (messages_ko.MESSAGES | messages_ko.NOTES | named).items():
        assert sorted(GAP.findall(english_)) == sorted(GAP.findall(korean)), english_


def refusals():
    """Messages of every kind, each made by the very code that refuses."""
    values = {knob.name: knob.default for knob in page_knobs()}
    for changes in (
        {"theta": None}, {"theta": 9}, {"window": "x"}, {"rule": "loose"}, {"raw_prompt": 3}, {"seed": -1},
        {"window": 0, "window_includes_mismatch": True}, {"drafter": "lookup", "length": "pacer"},
        {"drafter": "features", "length": "pacer"}, {"schedule": "pearl"}, {"phrases": 2, "temperature": 0.5}, {"phrases": 2, "rule": "kl"},
        {"rule": "exact", "schedule": "pearl", "length": "entropy"}, {"drafter": "features", "phrases": 2}, {"drafter": "features", "tree": 8, "temperature": 0.5},
        {"rule": "topk", "temperature": 0.5}, {"rule": "kl", "drafter": "lookup"}, {"margin": 11},
    ):  # fmt: skip
        with pytest.raises(UserError) as refused:
            config_of(values | changes)
        yield str(refused.value)
    for prompt, pair in (("", "scripted"), ("x" * 30_000, "scripted"), ("go", "elsewhere")):
        with pytest.raises(UserError) as refused:
            check_pair(pair, check_prompt(prompt) and ("scripted",))
        yield str(refused.value)
    for theta, window in ((0.05, 8), (1.2, 3)):
        yield from DecodeConfig(theta=theta, window=window).notes
    yield from DecodeConfig(rule="topk", top_k=1).notes
    yield from DecodeConfig(rule="judge", judge_run=0).notes
    yield from DecodeConfig(tree=8).notes


@pytest.mark.parametrize("message", list(refusals()))
def test_what_is_refused_or_noted_is_told_in_korean(message, monkeypatch):
    assert told(message) == message
    monkeypatch.setattr(messages, "language", lambda: "ko")
    assert HANGUL.search(told(message))
    assert not re.search(
        r"[A-Za-z]{4}",
        re.sub(
            rf"\bFLy\b|lookup|pacer|{'|'.join(RULES)}|scripted|elsewhere|loose|pearl|serial|fixed",
            "",
            told(message),
        ),
    )
    assert told("something nobody foresaw") == "something nobody foresaw"


def test_a_recorded_runs_notes_are_told_by_the_browser():
    notes = [*DecodeConfig(window=8).notes, "free text"]
    said = run_script("data.map((note) => told(note, 'ko'))", notes)
    assert [bool(HANGUL.search(text)) for text in said] == [True, False]
    assert "8" in said[0]
    assert run_script("data.map((note) => told(note, 'en'))", notes) == notes


def test_every_text_that_the_page_asks_for_is_there():
    from scripted import STORY, ScriptedBackend

    from explorer.ui.page import build_page

    asked = set(re.findall(r'translation_metadata\W+key\W+([\w.+]+)', repr(build_page(ScriptedBackend(STORY), recorded=()).get_config_file())))  # fmt: skip
    assert len(asked) > 40
    assert asked <= set(say.translations_dict["en"])
