"""What the server holds for a page is let go when the page is closed: Gradio itself keeps the state of closed pages."""

from __future__ import annotations

from typing import Protocol

import gradio as gr


class Session(Protocol):
    """State of one page on the server that may hold much."""

    def forget(self) -> None:
        """Let go of everything, and ask what still runs to stop."""


class Visitors:
    """Which sessions belong to which open page."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Session, ...]] = {}

    def attend(self, page: gr.Blocks) -> None:
        """Look after every state of a page that can forget; call it inside the page, when all of them are there."""
        states = [block for block in page.blocks.values() if isinstance(block, gr.State)]
        states = [state for state in states if hasattr(state.value, "forget")]
        page.load(self.arrive, states, None, queue=False, show_progress="hidden", api_visibility="private")
        page.unload(self.leave)

    def arrive(self, request: gr.Request, *sessions: Session) -> None:
        """A page has been opened."""
        self._open[request.session_hash] = sessions

    def leave(self, request: gr.Request) -> None:
        """A page has been closed, or its connection is lost."""
        for session in self._open.pop(request.session_hash, ()):
            session.forget()
