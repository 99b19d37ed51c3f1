"""What a form holds, checked: prompt, pair and settings. Used by every tab; raises a UserError that says what is wrong."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from explorer.config import ConfigError, DecodeConfig
from explorer.errors import UserError
from explorer.ui.page_knobs import page_knobs

PROMPT_LIMIT = 20_000  # characters: far above any context here, far below what stalls a tokenizer


def check_prompt(prompt: Any) -> str:
    """A prompt with at least one word."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise UserError("prompt.empty")
    check_length(prompt)
    return prompt


def check_length(*prompts: str) -> None:
    """Refuse a prompt that no pair could read."""
    longest = max(map(len, prompts))
    if longest > PROMPT_LIMIT:
        raise UserError("prompt.too_many_characters", size=longest, limit=PROMPT_LIMIT)


def check_pair(pair: Any, names: Collection[str]) -> str:
    """One of the pairs that a visitor can choose."""
    if not isinstance(pair, str) or pair not in names:
        raise UserError("pair.unknown", pair=repr(pair), names=", ".join(names))
    return pair


def config_of(values: dict[str, Any]) -> DecodeConfig:
    """The settings that controls hold, by knob name; raises ConfigError with the knob's name and range."""
    settings = {}
    for knob in page_knobs():
        value = values[knob.name]
        if value is None:
            raise ConfigError("knob.missing", label=knob.label_message, range=knob.range_message)
        # A browser knows one kind of number.
        if knob.kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        settings[knob.name] = value
    return DecodeConfig(**settings)
