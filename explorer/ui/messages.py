"""Messages and texts in the visitor's language: the one place where a code becomes words on the page."""

from __future__ import annotations

from types import ModuleType

from explorer.errors import UserError
from explorer.messages import Message
from explorer.ui.catalogue import TEXTS
from explorer.ui.languages import visitors_language


def in_visitors_language(said: UserError | Message) -> str:
    """A message, or that of an error, in the language of the visitor whose event is being handled."""
    return (said.message if isinstance(said, UserError) else said).text(visitors_language())


def visitors_texts() -> ModuleType:
    """The catalogue of that language, for what the server fills in itself."""
    return TEXTS[visitors_language()]
