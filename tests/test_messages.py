"""The catalogues of messages: each language says everything, every code that is raised is there with its gaps, and no entry is idle."""

import ast
import pickle
import re
from pathlib import Path

import pytest

from explorer import errors
from explorer.config import ConfigError, knobs
from explorer.messages import CATALOGUES, Message, Term

EXPLORER = Path(__file__).parents[1] / "explorer"
ENGLISH, KOREAN = CATALOGUES["en"], CATALOGUES["ko"]
GAP = re.compile(r"\{(\w+)[^}]*\}")
HANGUL = re.compile("[\uac00-\ud7a3]")
# What consists of gaps alone, or of a sign between two.
GAPS_ALONE = {"compare.side", "file.wrong", "record.at", "record.inconsistent"}


def sources():
    for path in EXPLORER.rglob("*.py"):
        if path.parent.name != "messages":
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def made():
    """Every message that is made with a literal code: where, the code, the names of its values (None where they are not literal)."""
    raised = _subclasses(errors.UserError)
    for path, tree in sources():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
            name, code = getattr(call.func, "id", ""), call.args[0]
            if not (isinstance(code, ast.Constant) and isinstance(code.value, str)):
                continue
            place = f"{path.relative_to(EXPLORER)}:{call.lineno}"
            if name in raised:
                yield place, code.value, {keyword.arg for keyword in call.keywords}
            elif name == "Message":
                values = call.args[1] if len(call.args) > 1 else ast.Dict([], [])
                literal = isinstance(values, ast.Dict)
                yield place, code.value, {key.value for key in values.keys} if literal else None


def _subclasses(kind):
    """Names of all errors for a person, also those whose modules are not imported here."""
    found = {kind.__name__}
    grown = True
    while grown:
        grown = False
        for _, tree in sources():
            for node in ast.walk(tree):
                new = isinstance(node, ast.ClassDef) and node.name not in found
                if new and any(getattr(base, "id", "") in found for base in node.bases):
                    found.add(node.name)
                    grown = True
    return found


def test_every_message_that_is_made_is_in_the_catalogue_with_its_gaps():
    wrong = []
    for place, code, given in made():
        if code not in ENGLISH:
            wrong.append(f"{place}: no message {code!r}")
        elif given is not None and given != set(GAP.findall(ENGLISH[code])):
            wrong.append(f"{place}: {code} is given {sorted(given)}, has gaps {GAP.findall(ENGLISH[code])}")
    assert not wrong, "\n".join(wrong)


def test_messages_are_found():
    assert len(list(made())) > 150


def test_no_message_is_idle():
    texts, begun = set(), set()
    for _, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                begun.add(node.values[0].value)  # as f"conflict.{code}"
    whole = {prefix for prefix in begun if re.fullmatch(r"[a-z_]+\.", prefix)}
    idle = [code for code in ENGLISH if code not in texts and not code.startswith(tuple(whole))]
    assert not idle


def test_both_languages_say_everything():
    labels = {f"knob.{knob.name}" for knob in knobs()}
    missing = sorted(set(ENGLISH) - set(KOREAN))
    assert not missing, "not in Korean: " + ", ".join(missing)
    extra = (set(KOREAN) - set(ENGLISH)) ^ labels  # names of knobs have their English in their table
    assert not extra, "not in English, or a knob without a Korean name: " + ", ".join(sorted(extra))


def test_both_languages_have_the_same_gaps():
    assert not [code for code in ENGLISH if sorted(GAP.findall(ENGLISH[code])) != sorted(GAP.findall(KOREAN[code]))]


def test_korean_is_korean():
    assert not [code for code, text in KOREAN.items() if not HANGUL.search(text) and code not in GAPS_ALONE]


def test_a_message_within_a_message_speaks_the_same_language():
    """The label of a knob, its range, an error that another one quotes."""
    theta = next(knob for knob in knobs() if knob.name == "theta")
    with pytest.raises(ConfigError) as refused:
        theta.check(9)
    assert str(refused.value) == "Theta must be a number from 0 to 1.2, got 9"
    korean = refused.value.message.text("ko")
    assert KOREAN["knob.theta"] in korean
    assert "Theta" not in korean
    assert "number" not in korean
    outer = errors.UserError("compare.side", side="A", reason=refused.value)
    assert outer.message.text("ko") == f"A: {korean}"
    assert str(outer) == f"A: {refused.value}"


def test_a_code_that_no_catalogue_has_is_an_error():
    with pytest.raises(KeyError):
        errors.UserError("a sentence without a code")


def test_an_error_crosses_to_another_process_with_its_message():
    error = ConfigError("knob.out_of_range", label=Term("knob.theta", "Theta"), range=Message("range.bool"), value="x")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ConfigError
    assert (str(again), again.message.text("ko")) == (str(error), error.message.text("ko"))
