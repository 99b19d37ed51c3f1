"""Sentences for a person: a note beside the form, a refusal, a failure. Plain text in, escaped markup or an error out."""

from __future__ import annotations

import html
import logging
from errno import ENOSPC
from traceback import format_tb
from typing import Any

import gradio as gr

from explorer.errors import UserError, is_out_of_memory
from explorer.messages import Message
from explorer.ui.messages import in_visitors_language, visitors_texts

log = logging.getLogger(__name__)


def note(text: str, tone: str) -> str:
    """A line of text as HTML, escaped."""
    return f"<p class='{tone}'>{html.escape(text)}</p>"


def refusal(error: UserError) -> gr.Error:
    """What a visitor or a program is told about input that cannot be used."""
    return error_box(_sentence(in_visitors_language(error)), visitors_texts().page.NOTICES["error_title"], duration=12)


def failure(message: str) -> gr.Error:
    """What is told about a run that has failed."""
    return error_box(message, visitors_texts().page.NOTICES["failed_title"])


def error_box(message: str, title: str, **options: Any) -> gr.Error:
    """Gradio shows a message as markup, and a message may quote what somebody typed or a file holds."""
    return gr.Error(html.escape(message, quote=False), title=title, print_exception=False, **options)


def message_of(error: Exception) -> str:
    """A failure in words for a person; of what nobody foresaw the log gets the place, not the words: they may quote a prompt."""
    if isinstance(error, UserError):
        return _sentence(in_visitors_language(error))
    if isinstance(error, gr.Error):  # of the machine that lends a GPU: a quota is spent, no GPU is free
        return str(error.message)
    if is_out_of_memory(error):
        return in_visitors_language(Message("run.out_of_memory"))
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return visitors_texts().page.NOTICES["disk_full"]
    log.error("a run failed: %s\n%s", type(error).__name__, "".join(format_tb(error.__traceback__)))
    return visitors_texts().page.NOTICES["unexpected"].format(error=type(error).__name__)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
