"""Both languages say everything: the same keys, the same placeholders, and Korean where Korean is due."""

import re

import pytest

from explorer.ui import texts, texts_ko, texts_learn, texts_learn_ko
from explorer.ui.languages import english, say

PLACEHOLDER = re.compile(r"\{\w+\}")
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
    assert set(texts_ko.PAGE) == set(english())
    assert all(PLACEHOLDER.findall(text) == PLACEHOLDER.findall(texts_ko.PAGE[key]) for key, text in english().items())
    names = {"LENGTH_LABELS.pacer", "LENGTH_LABELS.adaedl", "SCHEDULE_LABELS.pearl"}
    assert {key for key, text in texts_ko.PAGE.items() if not HANGUL.search(text)} == names


def test_every_text_that_the_page_asks_for_is_there():
    from scripted import STORY, ScriptedBackend

    from explorer.ui.page import build_page

    asked = set(re.findall(r'translation_metadata\W+key\W+([\w.+]+)', repr(build_page(ScriptedBackend(STORY), recorded=()).get_config_file())))  # fmt: skip
    assert len(asked) > 40
    assert asked <= set(say.translations_dict["en"])
