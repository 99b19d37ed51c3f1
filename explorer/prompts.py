"""Prompt sets: JSON lines with a prompt each, and where it can be checked, its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from explorer.errors import UserError
from explorer.schema import parse_json, read

EXAMPLES = Path(__file__).parents[1] / "examples"
HELD_OUT = EXAMPLES / "heldout.jsonl"  # every figure is measured on these; nothing is ever trained or tuned on them


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One prompt of a set. `answer`: what the text must contain to be right, where the prompt has one."""

    prompt: str
    id: str = ""
    kind: str = ""
    answer: str | None = None


def read_prompts(path: Path) -> tuple[PromptItem, ...]:
    """Read a JSONL file of prompts; raises UserError naming the line, OSError where there is no file."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text") from None
    items = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                items.append(read(PromptItem, parse_json(line)))
            except UserError as error:
                raise UserError(f"{path} line {number}: {error}") from None
    if not items:
        raise UserError(f"{path} holds no prompts")
    return tuple(items)
