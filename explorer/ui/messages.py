"""Messages and texts in the visitor's language: the one place where a code becomes words on the page."""

from __future__ import annotations

from types import ModuleType

from explorer.errors import UserError
from explorer.messages import Message
from explorer.ui.catalogue import en as texts
from explorer.ui.catalogue import ko as texts_ko
from explorer.ui.languages import language


def in_visitors_language(said: UserError | Message) -> str:
    """A message, or that of an error, in the language of the visitor whose event is being handled."""
    return (said.message if isinstance(said, UserError) else said).text(language())


def visitors_texts() -> ModuleType:
    """The texts that the server fills in itself, in that language."""
    return texts_ko if language() == "ko" else texts
