"""The page in a real browser: one browser for the session, one server per backend, and a page that fails on any error."""

import itertools
import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from scripted import STORY, Script, ScriptedBackend, make_trace
from serving import PAGE_PATIENCE, served

from explorer.ui.recordings import recordings

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


@pytest.fixture(scope="session")
def browser():
    playwright_api = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}: install chromium, or name one in CHROMIUM")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def serve():
    """Serve the page over a backend, with recorded runs if it is given any; returns its address. Servers end with the module."""
    with ExitStack() as servers:
        yield lambda backend, recorded=(): servers.enter_context(served(backend, recorded))[1]


@pytest.fixture(scope="session")
def scripted_backend():
    return ScriptedBackend(STORY)


@pytest.fixture(scope="session")
def story(scripted_backend):
    """A page over the scripted story, without recorded runs."""
    with served(scripted_backend) as (_, url):
        yield url


@pytest.fixture
def tell(story, scripted_backend):
    """The page of the story, telling another script in this test; returns its address."""

    def put(script: Script) -> str:
        scripted_backend.script = script
        return story

    yield put
    if gate := scripted_backend.script.gate:
        gate.release(10_000)  # nobody waits there when the next test begins
    scripted_backend.script = STORY


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A page with two recorded runs: the story, and a longer one under a theta that keeps nothing."""
    folder = tmp_path_factory.mktemp("runs")
    make_trace(blocks=True).save(folder / "a.json")
    make_trace(repeats=3, prompt="Again.", theta=1.0).save(folder / "b.json")
    runs = recordings({"elsewhere": "A pair from elsewhere"}, folder=folder)
    with served(ScriptedBackend(STORY), runs) as (_, url):
        yield url


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


class Watch:
    """Notes what a page must never do: an error of a script or on the console, a request to another host."""

    def __init__(self):
        self.seen: list[str] = []

    def over(self, page) -> None:
        page.on("pageerror", lambda error: self.seen.append(f"script: {error}"))
        page.on("console", lambda message: self._heard(message))
        page.on("request", lambda request: self._asked(request.url))

    def check(self) -> None:
        seen, self.seen = self.seen, []
        assert not seen

    def _heard(self, message) -> None:
        if message.type == "error":
            self.seen.append(f"console: {message.text}")

    def _asked(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:")):
            self.seen.append(f"request: {url}")


READY = ("#run-view .legend", "#run")
SCREEN = {"viewport": {"width": 1366, "height": 900}}


def open_page(context, watch: Watch, url: str, ready=READY):
    """A page at an address, when it has everything on show and stands still."""
    context.set_default_timeout(PAGE_PATIENCE)
    page = context.new_page()
    watch.over(page)
    page.goto(url)
    for selector in ready:
        page.wait_for_selector(selector)
    page.evaluate(SETTLED)
    return page


def close_page(page) -> None:
    if not page.is_closed():
        page.evaluate("localStorage.clear()")
        page.close()


@pytest.fixture
def visit(browser, shared_context):
    """Open an address as a new visitor. At the end: no script error, no console error, nothing asked of other hosts.

    own: in a context of its own, for a test that changes the context (its clock, its permissions); a second visitor of a test
    has one too.
    """
    own_contexts, pages, watch = [], [], Watch()

    def visitor(url: str, own: bool = False, ready=READY, **context_options):
        options = SCREEN | context_options
        if own or pages:
            context = browser.new_context(**options)
            own_contexts.append(context)
        else:
            context = shared_context(options)
        pages.append(open_page(context, watch, url, ready))
        return pages[-1]

    yield visitor
    for page in pages:
        close_page(page)
    for context in own_contexts:
        context.close()
    watch.check()


@pytest.fixture(scope="module")
def pages_of_module(shared_context):
    """Pages that the tests of a module share, by address and options."""
    pages, watch = {}, Watch()

    def at(url: str, ready=READY, **context_options):
        options = SCREEN | context_options
        key = json.dumps([url, options], sort_keys=True)
        if key not in pages:
            pages[key] = open_page(shared_context(options), watch, url, ready)
        return pages[key]

    at.watch = watch
    yield at
    for page in pages.values():
        close_page(page)


@pytest.fixture
def look(pages_of_module):
    """The one page of this module at an address, as the test before left it: for tests that put back what they need first.

    Far faster than `visit`. The same holds at the end of each test.
    """
    yield pages_of_module
    pages_of_module.watch.check()


@pytest.fixture(scope="module")
def budgets():
    return itertools.count(33)


@pytest.fixture
def at_start(recorded, look, budgets):
    """The page of the recorded runs that the tests of a module share, as it opens: a place of the first run, with that run's own settings.

    By a link that has a budget of its own, which none of them looks at: when that is on show, so is all that the link asks for.
    """
    page, budget = look(recorded), next(budgets)
    page.keyboard.press("Escape")
    page.evaluate("link => { location.hash = link }", f"#v=1&run=a&round=1&position=2&max_new_tokens={budget}")
    page.wait_for_function(
        "value => document.querySelector('#knob-max_new_tokens input[type=number]').value === value", arg=str(budget)
    )
    page.wait_for_selector(".whatif", state="hidden")
    assert page.inner_text(".scrub-label") == "Round 1 of 6"
    return page


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
