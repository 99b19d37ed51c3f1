"""Both languages of the page say everything: the same keys, the same placeholders, and Korean where Korean is due."""

import re

from node import run_script

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.messages import CATALOGUES
from explorer.ui import messages
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.catalogue import lesson_en as texts_learn
from explorer.ui.catalogue import lesson_ko as texts_learn_ko
from explorer.ui.forms import check_pair, check_prompt, config_of
from explorer.ui.languages import english, say
from explorer.ui.messages import in_visitors_language
from explorer.ui.scripts import page_knobs
from explorer.verdicts import RULES

PLACEHOLDER = re.compile(r"\{\w+[^}]*\}")
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


def test_the_view_has_the_same_texts_in_both_languages():
    assert not set(ENGLISH) - set(KOREAN), "not in Korean"
    assert not set(KOREAN) - set(ENGLISH), "not in English"
    assert len(ENGLISH) > 600


def test_texts_of_the_view_have_the_same_placeholders():
    wrong = [place for place, text in ENGLISH.items() if set(PLACEHOLDER.findall(KOREAN[place])) != set(PLACEHOLDER.findall(text))]  # fmt: skip
    assert not wrong


def test_texts_of_the_view_are_korean():
    assert not [place for place in ENGLISH if not UNTRANSLATED.search(place) and not HANGUL.search(KOREAN[place])]


def test_gradios_parts_have_the_same_keys_in_both_languages():
    korean = say.translations_dict["ko"]
    assert not set(english()) - set(korean), "not in Korean"
    assert not set(korean) - set(english()), "not in English"
    wrong = [key for key, text in english().items() if PLACEHOLDER.findall(text) != PLACEHOLDER.findall(korean[key])]
    assert not wrong
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
        ], name


def refusals():
    """Errors and notes of every kind, each made by the very code that refuses."""
    values = {knob.name: knob.default for knob in page_knobs()}
    for changes in (
        {"theta": None}, {"theta": 9}, {"window": "x"}, {"rule": "loose"}, {"raw_prompt": 3}, {"seed": -1},
        {"window": 0, "window_includes_mismatch": True}, {"drafter": "lookup", "length": "pacer"},
        {"drafter": "features", "length": "pacer"}, {"schedule": "pearl"}, {"phrases": 2, "temperature": 0.5}, {"phrases": 2, "rule": "kl"},
        {"rule": "exact", "schedule": "pearl", "length": "entropy"}, {"drafter": "features", "phrases": 2}, {"drafter": "features", "tree": 8, "temperature": 0.5},
        {"rule": "topk", "temperature": 0.5}, {"rule": "kl", "drafter": "lookup"}, {"margin": 11},
    ):  # fmt: skip
        yield refused(config_of, values | changes)
    for prompt, pair in (("", "scripted"), ("x" * 30_000, "scripted"), ("go", "elsewhere")):
        yield refused(lambda prompt, pair: check_pair(pair, check_prompt(prompt) and ("scripted",)), prompt, pair)
    for theta, window in ((0.05, 8), (1.2, 3)):
        yield from DecodeConfig(theta=theta, window=window).notes
    yield from DecodeConfig(rule="topk", top_k=1).notes
    yield from DecodeConfig(rule="judge", judge_run=0).notes
    yield from DecodeConfig(tree=8).notes


def refused(check, *values):
    try:
        check(*values)
    except UserError as error:
        return error
    raise AssertionError(f"not refused: {values}")


def test_what_is_refused_or_noted_is_said_in_korean(monkeypatch):
    said = list(refusals())
    assert [in_visitors_language(one) for one in said] == [str(one) for one in said]
    monkeypatch.setattr(messages, "language", lambda: "ko")
    kept = rf"\bFLy\b|lookup|pacer|{'|'.join(RULES)}|scripted|elsewhere|loose|pearl|serial|fixed"
    korean = {str(one): in_visitors_language(one) for one in said}
    wrong = {one: text for one, text in korean.items() if not HANGUL.search(text) or re.search("[A-Za-z]{4}", re.sub(kept, "", text))}  # fmt: skip
    assert not wrong


def test_a_recorded_runs_notes_are_said_by_the_browser():
    """They come as codes with values: each language fills in its own sentence."""
    notes = [note for config in (DecodeConfig(window=8), DecodeConfig(tree=8)) for note in config.notes]
    for language in ("en", "ko"):
        templates = CATALOGUES[language]
        data = [{"template": templates[note.code], "values": dict(note.values)} for note in notes]
        assert run_script("data.map((note) => say(note.template, note.values))", data) == [
            note.text(language) for note in notes
        ]


def test_every_text_that_the_page_asks_for_is_there():
    from scripted import STORY, ScriptedBackend

    from explorer.ui.page import build_page

    asked = set(re.findall(r'translation_metadata\W+key\W+([\w.+]+)', repr(build_page(ScriptedBackend(STORY), recorded=()).get_config_file())))  # fmt: skip
    assert len(asked) > 40
    assert asked <= set(say.translations_dict["en"])
