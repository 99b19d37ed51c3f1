"""A reverse proxy that puts a server under a prefix of its own address, as nginx does with `proxy_pass http://server/`."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

OWN = {"host", "connection", "transfer-encoding", "keep-alive"}  # headers between two neighbours


@contextmanager
def proxied(server: list[str], prefix: str, tells_host: bool = True) -> Iterator[str]:
    """The address under which a server is reached; server: its own address, which may be added later; tells_host: whether the proxy
    says by which name it was called (X-Forwarded-Host)."""
    client = httpx.AsyncClient(timeout=None, trust_env=False)

    async def forward(request: Request) -> Response:
        path = request.url.path
        if not path.startswith(f"{prefix}/"):  # a browser asks the root for an icon by itself
            return Response(status_code=204) if path == "/favicon.ico" else PlainTextResponse("not here", 404)
        headers = {name: value for name, value in request.headers.items() if name not in OWN}
        if tells_host:
            headers["X-Forwarded-Host"] = request.headers["host"]
        url = f"{server[0]}{path.removeprefix(prefix)}" + (f"?{request.url.query}" if request.url.query else "")
        asked = client.build_request(request.method, url, headers=headers, content=await request.body())
        answer = await client.send(asked, stream=True)
        kept = {name: value for name, value in answer.headers.items() if name not in OWN}
        return StreamingResponse(answer.aiter_raw(), answer.status_code, kept)

    app = Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST", "HEAD", "DELETE", "PUT"])])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    proxy = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=proxy.run, daemon=True)
    thread.start()
    while not proxy.started:
        time.sleep(0.001)
    try:
        yield f"http://127.0.0.1:{port}{prefix}"
    finally:
        proxy.should_exit = True
        thread.join()
