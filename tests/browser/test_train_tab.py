"""The Train tab over a tiny pair of real models: collect, train, use it now; and over a scripted one what has to be held up."""

import threading

import pytest
from accessibility import violations
from scripted import STORY, Script, ScriptedBackend, ScriptedKnownPair

from explorer.ui.backend import Backend

pytestmark = pytest.mark.browser


class TinyBackend(Backend):
    """The page's own backend over a tiny random pair."""

    def __init__(self, pair):
        super().__init__()
        self._tiny = pair

    def pairs(self):
        return (ScriptedKnownPair("tiny-llama", "Tiny pair"),)

    def _load(self, name, progress):
        return self._tiny


@pytest.fixture(scope="module")
def tiny(serve, make_pair):
    return serve(TinyBackend(make_pair("llama")))


def open_train(page):
    page.click("button[role=tab]:has-text('Train')")
    page.wait_for_selector("#train-view .train-view")
    return page


def train(page, end="done", **amounts):
    for name, value in amounts.items():
        page.fill(f"#train-{name} input[type=number]", str(value))
        page.press(f"#train-{name} input[type=number]", "Tab")
    page.click("#train-run")
    page.wait_for_selector(f"#train-view .train-view[data-phase={end}]")
    page.wait_for_selector("#train-run:not([disabled])")


def test_a_layer_is_collected_for_trained_and_used(tiny, visit):
    page = visit(tiny)
    page.fill("#prompt textarea", "go")
    page.click("#knob-length label:has-text('PACER')")
    page.click("#run")
    page.wait_for_selector("[data-testid=toast-body] >> text=none ships for Tiny pair")
    open_train(page)
    assert "32 texts" not in page.inner_text("#train-expected")
    train(page, shards=32, tokens=16, epochs=2)
    assert "32 of 32 texts" in page.inner_text(".train-collected")
    assert page.locator(".train-chart:visible").count() == 2
    page.click(".train-charts summary >> nth=0")
    assert page.locator(".train-charts figure >> nth=0 >> tbody tr").count() == 3, (
        "before training and after two epochs"
    )
    figures = page.inner_text(".train-figures")
    assert "the layer" in figures
    assert "product of them over the round" in figures
    assert "Replayed, PACER with this layer is" in page.inner_text(".train-replayed")
    assert "run it in Explore" in page.inner_text(".train-replayed")
    with page.expect_download() as download:
        page.click("#train-file")
    assert download.value.suggested_filename.endswith(".zip")
    page.click("text=Use it now")
    page.wait_for_selector("#prompt", state="visible")
    assert page.is_checked("#knob-length label:has-text('PACER') input")
    assert page.is_checked("#knob-rule label:has-text('Exact') input")
    page.fill("#prompt textarea", "the man and the")
    page.fill("#knob-max_new_tokens input[type=number]", "16")
    page.press("#knob-max_new_tokens input[type=number]", "Tab")
    page.click("#run")
    page.wait_for_selector("#run-view .run-view[data-phase=done]")
    assert "trained in this session for rule exact" in page.inner_text(".run-notes")
    assert page.locator(".pacer-words").count() > 0
    open_train(page)
    page.click("text=Stop using it")
    page.wait_for_selector("text=Use it now")
    other = visit(tiny)
    other.click("#knob-length label:has-text('PACER')")
    other.fill("#prompt textarea", "go")
    other.click("#run")
    other.wait_for_selector("[data-testid=toast-body] >> text=none ships for Tiny pair")


def test_one_training_at_a_time_and_runs_of_others_go_on(serve, visit):
    gate = threading.Semaphore(1)
    url = serve(ScriptedBackend(Script(STORY.rounds, gate)))
    first, second = open_train(visit(url)), open_train(visit(url))
    first.click("#train-run")
    first.wait_for_selector(".train-collected:has-text('16 of 64')")
    assert first.inner_text(".tune-toolbar >> visible=true").startswith("Collecting")
    second.click("#train-run")
    second.wait_for_selector("#train-view .tune-toolbar:has-text('Waiting for its turn')")
    second.wait_for_selector("#train-expected:has-text('queue')")
    second.click("button[role=tab]:has-text('Explore')")
    second.fill("#prompt textarea", "go")
    second.fill("#knob-max_new_tokens input[type=number]", "12")
    second.press("#knob-max_new_tokens input[type=number]", "Tab")
    second.click("#run")
    for _ in range(40):
        gate.release()
    second.wait_for_selector("#run-view .run-view[data-phase=done]")


def test_cancel_keeps_what_was_collected(serve, visit):
    gate = threading.Semaphore(2)
    page = open_train(visit(serve(ScriptedBackend(Script(STORY.rounds, gate)))))
    page.click("#train-run")
    page.wait_for_selector(".train-collected:has-text('32 of 64')")
    page.click("#train-cancel")
    page.wait_for_selector("#train-view .train-view[data-phase=stopped]")
    page.wait_for_selector("#train-expected:has-text('32 of them are collected already')")
    assert not page.is_visible("text=Use it now")


@pytest.fixture(scope="module")
def scripted(serve):
    return serve(ScriptedBackend(STORY))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(scripted, visit, scheme):
    page = open_train(visit(scripted, viewport={"width": 390, "height": 844}, color_scheme=scheme))
    train(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_no_accessibility_violation(scripted, visit, scheme, width):
    page = open_train(visit(scripted, viewport={"width": width, "height": 900}, color_scheme=scheme))
    train(page)
    assert violations(page) == []
