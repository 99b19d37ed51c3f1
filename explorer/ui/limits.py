"""How much a browser or a program may send at once: refused before it is parsed, and before it fills memory or a disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from explorer.ui.scripts import IMPORT_LIMIT

BODY_LIMIT = 2 * IMPORT_LIMIT + 2**20  # bytes: a visitor's record travels as a JSON string, at worst all quotes
UPLOAD_LIMIT = 500_000  # bytes of an uploaded file: a set of prompts

AsgiMessage = MutableMapping[str, Any]


class TooLarge(Exception):
    """A body that says nothing of its length and goes on beyond the limit."""


class BodyLimit:
    """ASGI middleware: a request whose body is above `limit` bytes is answered 413, however its length is declared."""

    def __init__(self, app: Callable[..., Awaitable[None]], limit: int = BODY_LIMIT):
        self._app, self._limit = app, limit

    async def __call__(
        self,
        scope: AsgiMessage,
        receive: Callable[[], Awaitable[AsgiMessage]],
        send: Callable[[AsgiMessage], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._limit:
            await _refuse(send)
            return
        received, started = 0, False

        async def counted() -> AsgiMessage:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise TooLarge
            return message

        async def watched(message: AsgiMessage) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except TooLarge:
            if not started:
                await _refuse(send)


async def _refuse(send: Callable[[AsgiMessage], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"too large"})
