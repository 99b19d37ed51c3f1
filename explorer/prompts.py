"""Prompt sets: JSON lines with a prompt each, and where it can be checked, its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from explorer.errors import UserError
from explorer.files import read_text
from explorer.schema import parse_json, read

EXAMPLES = Path(__file__).parents[1] / "examples"
HELD_OUT = EXAMPLES / "heldout.jsonl"  # every figure is measured on these; nothing is ever trained or tuned on them
CHECKABLE = EXAMPLES / "checkable.jsonl"  # easy prompts with answers, to tune on

# How an answer is looked for: anywhere in the text as it is written; as whole words, case and punctuation aside; as the last
# number of the text; as one of its lines, spaces around it aside.
Check = Literal["contains", "words", "number", "line"]
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
FINAL_NUMBER = re.compile(r"####\s*(" + NUMBER.pattern + r")\s*$")


class PromptError(UserError):
    """A prompt that cannot be decoded: empty, foreign to the vocabulary, or longer than the context allows."""


def check_prompt_text(text: str) -> None:
    """Raise PromptError where there is no text, or bytes that are none."""
    if not text.strip():
        raise PromptError("prompt.empty")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise PromptError("prompt.not_text")


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One prompt of a set. `answer`: what makes a text right, where the prompt has one; `alternatives`: as good."""

    prompt: str
    id: str = ""
    kind: str = ""
    answer: str | None = None
    alternatives: tuple[str, ...] = ()
    check: Check = "contains"

    def __post_init__(self) -> None:
        if self.answer is None:
            return
        for answer in (self.answer, *self.alternatives):
            if not answer.strip() or (self.check == "number" and not NUMBER.fullmatch(answer)):
                raise UserError("prompts.cannot_check", answer=repr(answer[:60]), check=self.check)

    def is_right(self, text: str) -> bool | None:
        """Whether a text gives the answer; None where there is nothing to check."""
        if self.answer is None:
            return None
        return any(_holds(text, answer, self.check) for answer in (self.answer, *self.alternatives))


def _holds(text: str, answer: str, check: Check) -> bool:
    if check == "words":
        return f" {' '.join(_words(answer))} " in f" {' '.join(_words(text))} "
    if check == "number":
        numbers = NUMBER.findall(text)
        return bool(numbers) and _number(numbers[-1]) == _number(answer)
    if check == "line":
        return answer.strip() in (line.strip() for line in text.splitlines())
    return answer in text


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def read_prompts(path: Path) -> tuple[PromptItem, ...]:
    """Read a file of prompts: JSON lines or one JSON array, in this project's form or as GSM8K and its kin: a question, an answer that
    ends in `#### number`. Raises UserError naming the line or entry, OSError where there is no file."""
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise UserError("file.not_text", file=path) from None
    return prompts_of(text, str(path))


def prompts_of(text: str, source: str) -> tuple[PromptItem, ...]:
    """The prompts of JSON lines or of a JSON array, as `read_prompts`; source: what a message calls the text."""
    if text.lstrip().startswith("["):
        return _of_array(text, source)
    items = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                items.append(_item(parse_json(line)))
            except UserError as error:
                raise UserError("prompts.line", source=source, number=number, reason=error) from None
    if not items:
        raise UserError("prompts.none_in", source=source)
    return tuple(items)


def _of_array(text: str, source: str) -> tuple[PromptItem, ...]:
    """The prompts of a JSON array: objects as in lines, or texts."""
    try:
        entries = parse_json(text)
    except UserError as error:
        raise UserError("file.wrong", file=source, reason=error) from None
    items = []
    for number, entry in enumerate(entries, 1):
        try:
            items.append(PromptItem(entry) if isinstance(entry, str) else _item(entry))
        except UserError as error:
            raise UserError("prompts.entry", source=source, number=number, reason=error) from None
    if not items:
        raise UserError("prompts.none_in", source=source)
    return tuple(items)


def typed_prompts(text: str) -> tuple[PromptItem, ...]:
    """Prompts as a person types them: one a line, or, where there are blank lines, one a paragraph. JSON lines and a JSON array are
    read as such; a text that only begins with a bracket is none."""
    text = text.lstrip("\ufeff")
    if text.lstrip().startswith("{") or _is_array(text):
        return prompts_of(text, "the text")
    paragraphs = re.split(r"\n\s*\n", text.strip())
    parts = paragraphs if len(paragraphs) > 1 else text.splitlines()
    return tuple(PromptItem(part.strip()) for part in parts if part.strip())


def _is_array(text: str) -> bool:
    if not text.lstrip().startswith("["):
        return False
    if re.match(r"\s*\[\s*\{", text):  # meant as one, right or wrong
        return True
    try:
        entries = parse_json(text)
    except UserError:
        return False
    return bool(entries) and all(isinstance(entry, str) for entry in entries)


def _item(data: Any) -> PromptItem:
    if isinstance(data, dict) and "question" in data and "prompt" not in data:
        question, answer = (read(str, data.get(field), field) for field in ("question", "answer"))
        final = FINAL_NUMBER.search(answer)
        if not final:
            raise UserError("prompts.gsm8k")
        return PromptItem(question, answer=final[1], check="number")
    return read(PromptItem, data)
