"""Messages made below the page, in the visitor's language: refusals, notes on settings, failures.

What lies below the page speaks English, to a terminal as to a page. Here a message is matched with the templates of
messages_ko.py, and what stands in its gaps is translated the same way, so that the name of a knob and its range become Korean
too. A message that fits no template stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from explorer.messages import CATALOGUES
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.catalogue import messages_ko
from explorer.ui.languages import language
from explorer.ui.scripts import page_knobs

_GAP = re.compile(r"\{(\w+)(?:!\w)?(?::[^}]*)?\}")


def told(message: str) -> str:
    """A message in the language of the visitor whose event is being handled."""
    return _korean(message) if language() == "ko" else message


def words() -> ModuleType:
    """The texts that the server fills in itself, in that language: texts, or texts_ko under the same names."""
    return texts_ko if language() == "ko" else texts


def _korean(message: str) -> str:
    for english, korean in _templates():
        if found := english.fullmatch(message):
            return korean.format(**{name: _korean(value) for name, value in found.groupdict().items()})
    return message


@cache
def _templates() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What matches a message, and what it becomes; templates with fewer gaps first, so that `got nothing` is no value."""
    pairs = sorted(_all(), key=lambda pair: len(_GAP.findall(pair[0])))
    return tuple((re.compile(_pattern(english), re.DOTALL), korean) for english, korean in pairs)


def _all() -> Iterator[tuple[str, str]]:
    yield from messages_ko.MESSAGES.items()
    yield from messages_ko.NOTES.items()
    yield from ((english, CATALOGUES["ko"][code]) for code, english in CATALOGUES["en"].items())
    for name, korean in messages_ko.NAMED.items():
        yield getattr(texts, name), korean
    for knob in page_knobs():
        yield knob.label, texts_ko.PAGE[f"{knob.name}.label"]


def _pattern(template: str) -> str:
    parts = _GAP.split(template)
    return "".join(f"(?P<{part}>.+?)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
