"""The page in a real browser: one browser for the session, one server per backend, and a page that fails on any error."""

import json
import os
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# The page is done when its height has stood still: until then a place on the screen is where something was.
SETTLED = """() => new Promise((done) => {
  let height = 0, since = performance.now();
  const look = (now) => {
    const { scrollHeight } = document.documentElement;
    if (scrollHeight !== height) { height = scrollHeight; since = now; }
    if (now - since > 500) done(); else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
TIMEOUT = 60_000  # ms; how long a slow machine may take, not how long it should


@pytest.fixture(scope="session")
def browser():
    playwright_api = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}: install chromium, or name one in CHROMIUM")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def serve():
    """Serve the page over a backend, with recorded runs if it is given any; returns its address."""
    from explorer.ui.page import build_page
    from explorer.ui.theme import launch_options

    pages = []

    def start(backend, recorded=()) -> str:
        page = build_page(backend, recorded=recorded)
        _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", **launch_options())
        pages.append(page)
        return url.rstrip("/")

    yield start
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def story(serve):
    """A page over the scripted story, without recorded runs."""
    from scripted import STORY, ScriptedBackend

    return serve(ScriptedBackend(STORY))


@pytest.fixture(scope="session")
def recorded(serve, tmp_path_factory):
    """A page with two recorded runs: the story, and a longer one under a theta that keeps nothing."""
    from scripted import STORY, ScriptedBackend, make_trace

    from explorer.ui.recordings import recordings

    folder = tmp_path_factory.mktemp("runs")
    make_trace(blocks=True).save(folder / "a.json")
    make_trace(repeats=3, prompt="Again.", theta=1.0).save(folder / "b.json")
    return serve(ScriptedBackend(STORY), recordings({"elsewhere": "A pair from elsewhere"}, folder=folder))


@pytest.fixture(scope="session")
def shared_context(browser):
    """The browser context of some options, one for the session: its cache holds the page's five megabytes of scripts."""
    contexts = {}

    def of(options):
        key = json.dumps(options, sort_keys=True)
        if key not in contexts:
            contexts[key] = browser.new_context(**options)
        return contexts[key]

    yield of
    for context in contexts.values():
        context.close()


@pytest.fixture
def visit(browser, shared_context):
    """Open an address as a new visitor. At the end: no script error, no console error, nothing asked of other hosts.

    own: in a context of its own, for a test that changes the context (its clock, its permissions); a second visitor of a test
    has one too.
    """
    own_contexts, pages, errors, strangers = [], [], [], []

    def open_page(url: str, own: bool = False, ready=("#run-view .legend", "#run"), **context_options):
        options = {"viewport": {"width": 1366, "height": 900}, **context_options}
        if own or pages:
            context = browser.new_context(**options)
            own_contexts.append(context)
        else:
            context = shared_context(options)
        context.set_default_timeout(TIMEOUT)
        page = context.new_page()
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(f"script: {error}"))
        page.on(
            "console", lambda message: errors.append(f"console: {message.text}") if message.type == "error" else None
        )
        page.on("request", lambda request: strangers.append(request.url) if _is_strange(request.url) else None)
        page.goto(url)
        for selector in ready:
            page.wait_for_selector(selector)
        page.evaluate(SETTLED)
        return page

    yield open_page
    for page in pages:
        if not page.is_closed():
            page.evaluate("localStorage.clear()")
            page.close()
    for context in own_contexts:
        context.close()
    assert not errors
    assert not strangers


def _is_strange(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:"))


@pytest.fixture
def run():
    """Type a prompt, press Run, wait for an end."""

    def press(page, prompt: str = "go", budget: int | None = None, end: str = "done"):
        page.fill("#prompt textarea", prompt)
        if budget is not None:
            page.fill("#knob-max_new_tokens input[type=number]", str(budget))
            page.press("#knob-max_new_tokens input[type=number]", "Tab")
        page.click("#run")
        page.wait_for_selector("#run-view .stamp:not(.recorded)")  # a recorded run on show is at its end already
        page.wait_for_selector(f"#run-view .run-view[data-phase={end}]")
        page.wait_for_selector("#run:not([disabled])")

    return press
