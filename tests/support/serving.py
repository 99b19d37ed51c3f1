"""The page served over loopback, by a machine that may be busy with other things."""

import os
import threading
import time
from contextlib import contextmanager

import gradio.http_server
import gradio.networking
import pytest
from gradio.exceptions import ServerFailedToStartError

PATIENCE = 180.0  # seconds that a busy machine may take for one answer, not what it should take
PAGE_PATIENCE = 60_000.0  # milliseconds, of a browser
PORTS = 20_000 + 100 * os.getpid() % 12_000  # the first that is tried: test processes beside each other do not meet


@contextmanager
def served(backend, recorded=(), **options):
    """The page over a backend, with recorded runs if it is given any; gives (its blocks, its address) and closes the server at the end.
    options: of launch()."""
    from explorer.ui.page import build_page

    page = build_page(backend, recorded=recorded)
    try:
        yield page, launch(page, **options)
    finally:
        page.close(verbose=False)


def launch(page, **options) -> str:
    """Serve a page from this process; returns its address. Gradio's own checks of the start, of 3 and 5 seconds, are replaced."""
    from explorer.ui.theme import launch_options

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradio.http_server.Server, "run_in_thread", _start)
        patch.setattr(gradio.http_server, "INITIAL_PORT_VALUE", PORTS)
        patch.setattr(
            gradio.networking, "url_ok", lambda url: True
        )  # it has answered one request, without a limit, by then
        _, url, _ = page.launch(
            prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", **launch_options(), **options
        )
    return url.rstrip("/")


def _start(server) -> None:
    """Start a server in a thread and wait for it as long as it takes; raises where it ends, as on a port that is taken."""
    server.thread = threading.Thread(target=server.run, daemon=True)
    server.thread.start()
    while not server.started:
        if not server.thread.is_alive():
            raise ServerFailedToStartError("The server ended before it had started.")
        time.sleep(0.001)
