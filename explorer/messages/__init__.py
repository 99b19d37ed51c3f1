"""What is said to a person, by code: the English and the Korean catalogue side by side, filled in with values.

A message is made where something is found out (`UserError("prompt.too_long", tokens=900, ...)`) and becomes words where it is
shown: English on a terminal, the visitor's language on the page. A value may be a message itself, such as the name of a knob.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.messages import en, ko

CATALOGUES: Mapping[str, Mapping[str, str]] = {"en": en.MESSAGES, "ko": ko.MESSAGES}


@dataclass(frozen=True)
class Message:
    """A code of the catalogues with the values of its gaps."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def text(self, language: str = "en") -> str:
        """The words in a language; raises KeyError for a code that is in no catalogue."""
        values = {name: _in_language(value, language) for name, value in self.values.items()}
        return CATALOGUES[language][self.code].format(**values)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Term:
    """A name that its owner says in English, such as the label of a knob; other languages have it in their catalogue."""

    code: str
    english: str

    def text(self, language: str = "en") -> str:
        """The name in a language."""
        return self.english if language == "en" else CATALOGUES[language][self.code]

    def __str__(self) -> str:
        return self.english


def _in_language(value: Any, language: str) -> Any:
    """A value of a gap: messages, names and errors that carry a message in the language, anything else as it is."""
    if isinstance(value, Exception):
        value = getattr(value, "message", None) or value
    return value.text(language) if isinstance(value, (Message, Term)) else value
