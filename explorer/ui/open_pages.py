"""Frees what the server holds for a page when the page is closed: Gradio itself keeps the state of closed pages."""

from __future__ import annotations

import gradio as gr

from explorer.ui.jobs import PageSession


class OpenPages:
    """The sessions of each open page, one for every tab with a state."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[PageSession, ...]] = {}

    def watch(self, page: gr.Blocks) -> None:
        """Look after the sessions of a page; call it inside the page, when all of them are there."""
        states = [block for block in page.blocks.values() if isinstance(block, gr.State)]
        states = [state for state in states if isinstance(state.value, PageSession)]
        page.load(self.arrive, states, None, queue=False, show_progress="hidden", api_visibility="private")
        page.unload(self.leave)

    def arrive(self, request: gr.Request, *sessions: PageSession) -> None:
        """A page has been opened."""
        self._sessions[request.session_hash] = sessions

    def leave(self, request: gr.Request) -> None:
        """A page has been closed, or its connection is lost."""
        for session in self._sessions.pop(request.session_hash, ()):
            session.forget()
