"""The example prompts of the page."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "prompts.jsonl"


@cache
def examples() -> tuple[dict[str, str], ...]:
    """The example prompts: kind, label, prompt."""
    return tuple(json.loads(text) for text in EXAMPLES.read_text(encoding="utf-8").splitlines() if text.strip())
