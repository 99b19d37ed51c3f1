"""Prompt sets: what counts as a right answer, the forms that are read, and the set that ships."""

import json
from collections import Counter

import pytest

from explorer.errors import UserError
from explorer.files import read_text
from explorer.prompts import CHECKABLE, EXAMPLES, HELD_OUT, PromptItem, prompts_of, read_prompts, typed_prompts
from explorer.training.common.prompts import Exclusion


@pytest.mark.parametrize(
    ("check", "answer", "right", "wrong"),
    [
        ("contains", "RIVER", ["it is RIVER.", "RIVERS"], ["river", "", "RI VER"]),
        ("contains", "- tea\n- rice", ["Sure:\n- tea\n- rice\n- salt"], ["- tea\n\n- rice", "tea\nrice"]),
        ("words", "red", ["Red.", "It is red, I think", "**red**"], ["reddish", "bored", "", "r ed"]),
        ("words", "Emmer, Quill", ["emmer and then: Emmer / Quill."], ["Emmer and Quill", "Quill, Emmer"]),
        ("words", "3 days", ["for 3 days."], ["13 days", "3.5 days"]),
        (
            "number",
            "42",
            ["6 * 7 = 42", "42.", "42.0", "It is $42", "she has 41 and then **42** dollars."],
            ["42 of 50", "142", "-42", "4 2", "forty-two", "", "42,5"],
        ),
        ("number", "1,250", ["1250", "1,250 dollars", "so 1250.00."], ["1.250", "250"]),
        ("number", "-3", ["minus: -3", "−3"], ["3"]),
        ("line", "yes", ["yes", " yes \n", "Answer:\nyes\n"], ["Yes", "yes.", "oh yes", ""]),
    ],
)
def test_what_is_right(check, answer, right, wrong):
    item = PromptItem("?", answer=answer, check=check)
    assert [item.is_right(text) for text in right] == [True] * len(right)
    assert [item.is_right(text) for text in wrong] == [False] * len(wrong)


def test_alternatives_are_as_good():
    item = PromptItem("?", answer="four", alternatives=("4",), check="words")
    assert [item.is_right(text) for text in ("Four goats", "4 goats", "14 goats")] == [True, True, False]


def test_a_prompt_without_an_answer_is_neither_right_nor_wrong():
    assert PromptItem("Tell a story.").is_right("anything") is None


@pytest.fixture
def written(tmp_path):
    def write(*lines):
        path = tmp_path / "set.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
        return path

    return write


def test_question_sets_give_their_final_number(written):
    path = written(
        {"question": "How many?", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"},
        {"question": "How much?", "answer": "A lot.\n#### 1,234"},
        {"question": "Colder?", "answer": "#### -7 "},
    )
    items = read_prompts(path)
    assert [(item.prompt, item.answer, item.check) for item in items] == [
        ("How many?", "5", "number"), ("How much?", "1,234", "number"), ("Colder?", "-7", "number"),
    ]  # fmt: skip
    assert items[1].is_right("so she has 1234 in all")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"question": "x", "answer": "5"}, "#### number"),
        ({"question": "x", "answer": "#### five"}, "#### number"),
        ({"question": "x"}, "answer must be a text"),
        ({"question": 3, "answer": "#### 5"}, "question must be a text"),
        ({"prompt": "x", "answer": "five", "check": "number"}, "cannot be checked as number"),
        ({"prompt": "x", "answer": " ", "check": "words"}, "cannot be checked"),
        ({"prompt": "x", "answer": "y", "alternatives": [""]}, "cannot be checked"),
        ({"prompt": "x", "answer": "y", "check": "eval"}, "check must be one of"),
        ({"prompt": "x", "answer": "y", "alternatives": "yes"}, "alternatives must be a list"),
        ("[1]", "must be an object"),
        ("{", "not valid JSON"),
    ],
)
def test_bad_lines_are_named(written, line, words):
    with pytest.raises(UserError, match="line 2") as refused:
        read_prompts(written({"prompt": "good"}, line))
    assert words in str(refused.value)


def test_the_shipped_set_is_large_varied_and_its_own():
    items = read_prompts(CHECKABLE)
    kinds = Counter(item.kind for item in items)
    assert len({item.id for item in items}) == len({item.prompt for item in items}) == len(items) >= 60
    assert len(kinds) >= 8
    assert min(kinds.values()) >= 4
    assert all(item.answer for item in items)
    held_out = Exclusion([HELD_OUT, EXAMPLES / "prompts.jsonl"])
    assert [item.id for item in items if item.prompt in held_out] == []


def test_the_shipped_answers_are_found_in_a_plain_reply_and_not_in_another():
    """An answer that the check cannot find, or finds in every text, measures nothing."""
    for item in read_prompts(CHECKABLE):
        for answer in (item.answer, *item.alternatives):
            assert item.is_right(answer), item.id
            assert item.check == "line" or item.is_right(f"The answer is: {answer}"), item.id
        assert not item.is_right("I am sorry, I do not know that."), item.id


@pytest.mark.parametrize(
    ("text", "prompts"),
    [
        ("one\n  two \n", ["one", "two"]),
        ("first line\nsecond line\n\nother", ["first line\nsecond line", "other"]),
        ("a\n \n\t\nb\n\n", ["a", "b"]),
        ("  \n", []),
        ('{"prompt": "p", "answer": "x"}\n', ["p"]),
        ('\ufeff{"prompt": "p", "answer": "x"}\n', ["p"]),
        ('[\n  {"prompt": "p"},\n  {"prompt": "q"}\n]', ["p", "q"]),
        ('["p", "q"]', ["p", "q"]),
        ("[1, 2] sort this\n[3, 4] and this", ["[1, 2] sort this", "[3, 4] and this"]),
        ("[3, 1, 2]", ["[3, 1, 2]"]),
        ("\ufeffone\ntwo", ["one", "two"]),
    ],
)
def test_prompts_as_typed(text, prompts):
    assert [item.prompt for item in typed_prompts(text)] == prompts


def test_typed_json_lines_are_checked():
    assert typed_prompts('{"prompt": "p", "answer": "x"}')[0].is_right("xyz")
    with pytest.raises(UserError, match="the text line 2"):
        typed_prompts('{"prompt": "p"}\n{"prompt": 3}')


ENTRIES = [{"prompt": "Größe?\nIn cm.", "answer": "3"}, {"question": "How many?", "answer": "So: #### 4"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_file_is_read_whatever_mark_stands_first_and_as_lines_or_an_array(encoding, as_array, tmp_path):
    """The mark, or the JSON itself, became the prompt, and the answers were lost."""
    path = tmp_path / "set.json"
    lines = [json.dumps(entry, ensure_ascii=False) for entry in ENTRIES]
    path.write_text(json.dumps(ENTRIES, indent=1) if as_array else "\r\n".join(lines), encoding=encoding)
    first, second = read_prompts(path)
    assert (first.prompt, first.answer, second.answer) == (ENTRIES[0]["prompt"], "3", "4")
    assert read_text(path).startswith(("[", "{"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"prompt": "p"}, {"prompt": 3}]', "entry 2: prompt must be"),
        ('[{"prompt": "p"}', "the text: not valid JSON"),
    ],
)
def test_an_array_is_checked_entry_by_entry(text, message):
    with pytest.raises(UserError, match=message):
        typed_prompts(text)
    with pytest.raises(UserError, match="holds no prompts"):
        prompts_of("[]", "the text")
