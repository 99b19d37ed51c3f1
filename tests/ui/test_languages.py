"""Both languages of the page say everything: the same names, keys and gaps, and Korean where Korean is due.

Each test looks at all texts and names every one that is wrong, as `tune.VIEW.map.cell`: module of the catalogue, name, keys.
"""

import ast
import pkgutil
import re
from pathlib import Path

import pytest
from node import run_script

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.messages import CATALOGUES
from explorer.ui import messages
from explorer.ui.catalogue import TEXTS
from explorer.ui.forms import check_pair, check_prompt, config_of
from explorer.ui.languages import AREAS, I18N, localized
from explorer.ui.messages import in_visitors_language
from explorer.ui.page_knobs import page_knobs
from explorer.verdicts import RULES

UI = Path(messages.__file__).parent
GAP = re.compile(r"\{\w+[^}]*\}")
HANGUL = re.compile("[\uac00-\ud7a3]")
# Names, letters and signs that are the same in every language.
SAME = re.compile(
    r"""explore\.VIEW\.(kinds|others)\.[\w:]+\.mark | (explore|tune)\.VIEW\.locale
    | explore\.VIEW\.(card|lanes)\.theta | explore\.VIEW\.lanes\.policies\.(pacer|adaedl) | explore\.VIEW\.whatif\.tau
    | tune\.VIEW\.(length|map\.cell|map\.range|point\.fly)
    | knobs\.(WORDS\.(theta|window)|VALUES\.fly|CHOICES\.length\.(pacer|adaedl)|UNITS\.nats)
    | (explore\.VIEW\.(whatif|compare)|compare\.VIEW)\.(knobs\.(theta|window)|values\.fly)""",
    re.VERBOSE,
)
# What Korean texts have in Latin letters: names, keys of a keyboard, and what is typed or stands in a file or formula.
LATIN = re.compile(
    r"FLy|PACER|EAGLE-3|EAGLE-2|Medusa|MARS|PEARL|Ouroboros|SVIP|SpecDec\+\+|AdaEDL|vLLM|JSON|Shift|Enter|Escape"
    r"|python -m explorer \w+|TARGET,DRAFT(,cross-tokenizer)?|KL\(target \|\| draft\)|prompt, 알고 있다면 answer"
)
# Their sound changes with the word before, which a gap does not show; nor does one of both forms read well.
PARTICLE_AFTER_GAP = re.compile(
    r"[}]`?(은|는|이|가|을|를|와|과|로|으로|은\(는\)|이\(가\)|을\(를\)|와\(과\)|\(으\)로)(?![\uac00-\ud7a3])"
)


def leaves(value, place):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{place}.{key}")
    else:
        yield place, value


def all_texts(language):
    """Every text of one language by its place, whatever the modules of the catalogue are and the names that they give."""
    found = {}
    for info in pkgutil.iter_modules(TEXTS[language].__path__):
        module = getattr(TEXTS[language], info.name)
        for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for name in (target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper()):
                if not name.startswith("_"):
                    found |= dict(leaves(getattr(module, name), f"{info.name}.{name}"))
    return found


ENGLISH, KOREAN = all_texts("en"), all_texts("ko")


def none_of(wrong):
    """Fails with every one of them, a line each: pytest alone shortens a long list."""
    lines = [f"{place}: {what}" for place, what in sorted(wrong.items())]
    assert not lines, "\n".join(["", *lines])


def test_both_languages_have_every_text():
    assert len(ENGLISH) > 900
    missing = dict.fromkeys(ENGLISH.keys() - KOREAN.keys(), "not in Korean")
    none_of(missing | dict.fromkeys(KOREAN.keys() - ENGLISH.keys(), "not in English"))


def test_no_text_is_empty():
    texts = {
        f"{place} ({language})": text
        for language, all_ in (("en", ENGLISH), ("ko", KOREAN))
        for place, text in all_.items()
    }
    none_of({place: repr(text) for place, text in texts.items() if not (isinstance(text, str) and text.strip())})


def test_both_languages_have_the_same_gaps():
    both = {
        place: [set(GAP.findall(texts[place])) for texts in (ENGLISH, KOREAN)]
        for place in ENGLISH.keys() & KOREAN.keys()
    }
    none_of(
        {
            place: f"{english} in English, {korean} in Korean"
            for place, (english, korean) in both.items()
            if english != korean
        }
    )


def test_korean_is_korean():
    none_of({place: text for place, text in KOREAN.items() if bool(HANGUL.search(text)) == bool(SAME.fullmatch(place))})


def test_no_english_is_left_in_korean():
    rest = {place: LATIN.sub("", GAP.sub("", text)) for place, text in KOREAN.items()}
    none_of({place: KOREAN[place] for place, text in rest.items() if re.search("[A-Za-z]{4}", text)})


def test_particles_that_change_never_follow_a_gap():
    texts = KOREAN | {f"messages.{code}": text for code, text in CATALOGUES["ko"].items()}
    none_of({place: text for place, text in texts.items() if PARTICLE_AFTER_GAP.search(text)})


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
    monkeypatch.setattr(messages, "visitors_language", lambda: "ko")
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
    """A key that the catalogue lacks is refused where the page is built, and what it has is asked for."""
    with pytest.raises(KeyError):
        localized("page.nothing_like_this")
    assert set(I18N.translations_dict["ko"]) == set(I18N.translations_dict["en"])
    sources = [
        ast.parse(path.read_text(encoding="utf-8")) for path in UI.rglob("*.py") if "catalogue" not in path.parts
    ]
    said = [node.value for tree in sources for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    labels = {f"{area}.{key}" for area in AREAS for key in TEXTS["en"].__dict__[area].LABELS}
    none_of(dict.fromkeys(labels - {text for text in said if isinstance(text, str)}, "never asked for"))
