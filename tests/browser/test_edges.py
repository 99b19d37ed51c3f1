"""What a first-time visitor stumbled over, each with the test that would have caught it."""

import pytest
from scripted import STORY, ScriptedBackend, make_trace

from explorer.ui.recordings import recordings

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def recorded(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_trace(prompt="Tell a story that has a very long beginning, longer than any field.").save(folder / "a.json")
    make_trace(prompt="Again.", rule="exact", length="pacer", draft_length=24).save(folder / "b.json")
    return serve(ScriptedBackend(STORY), recordings({"elsewhere": "A pair from elsewhere"}, folder=folder))


def toasts(page):
    return page.locator("[data-testid=toast-body]").count()


def test_dark_stays_dark(recorded, visit):
    page = visit(recorded, color_scheme="light")
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert page.evaluate(scheme) == "light"
    page.click("#theme-toggle")
    assert page.evaluate(scheme) == "dark", "scrollbars are the browser's own"
    page.reload()
    page.wait_for_selector("body.dark #run")
    page.wait_for_timeout(500)
    assert page.evaluate("document.body.classList.contains('dark')"), "not undone by what loads later"
    page.click("#theme-toggle")
    page.reload()
    page.wait_for_selector("#run")
    page.wait_for_timeout(500)
    assert not page.evaluate("document.body.classList.contains('dark')")


def test_a_refusal_goes_when_its_cause_is_mended(recorded, visit):
    page = visit(recorded)
    page.fill("#prompt textarea", " ")
    page.click("#run")
    page.wait_for_selector("[data-testid=toast-body] >> text=The prompt is empty")
    page.fill("#prompt textarea", "go")
    page.wait_for_function("!document.querySelector('[data-testid=toast-body]')")
    assert toasts(page) == 0


def test_a_low_window_keeps_the_text_in_sight(recorded, visit):
    page = visit(recorded, viewport={"width": 1366, "height": 560})
    page.fill("#knob-theta input[type=number]", "0.3")
    page.press("#knob-theta input[type=number]", "Tab")
    page.wait_for_selector(".whatif")
    page.locator(".strip").scroll_into_view_if_needed()
    strip, bar = (page.locator(part).bounding_box() for part in (".strip", ".whatif"))
    assert bar["y"] >= strip["y"] + strip["height"]


def test_no_part_of_the_settings_scrolls_by_itself(recorded, visit):
    page = visit(recorded)
    page.click("#advanced > button")
    page.wait_for_selector("#knob-temperature")
    scrolling = page.evaluate("""() => [...document.querySelectorAll('#settings, #settings :not(input, textarea)')]
      .filter((node) => /auto|scroll/.test(getComputedStyle(node).overflow)).map((node) => node.id || node.className)""")
    assert scrolling == []


def test_the_settings_show_what_matters_and_explain_what_is_chosen(recorded, visit):
    page = visit(recorded)
    info = lambda knob: page.inner_text(f"#knob-{knob} .info-text").strip()  # noqa: E731
    seen = lambda *knobs: [page.is_visible(f"#knob-{knob}") for knob in knobs]  # noqa: E731
    assert info("rule").startswith("Also keeps a mismatch")
    assert seen("theta", "draft_length", "threshold", "growth") == [True, True, False, False]
    page.check("#knob-length input[value=confidence]", force=True)
    page.wait_for_function("document.querySelector('#knob-draft_length input[type=number]').value === '20'")
    assert info("threshold") == "Least probability of a token to go on."
    assert seen("threshold", "growth", "block_size") == [True, False, False]
    # With the keyboard: the arrows go through the options, as in any group of radios, and the line under them follows.
    page.focus("#knob-length input[value=confidence]")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.value") == "pacer"
    assert info("length").startswith("When a small trained layer")
    described = page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText"
    )
    assert described == info("length")
    assert (
        page.evaluate("document.activeElement.closest('[role=radiogroup]').getAttribute('aria-labelledby')")
        == "knob-length-label"
    )
    assert seen("threshold", "growth", "block_size") == [True, True, True]
    page.click("#advanced > button")
    page.wait_for_selector("#knob-temperature")
    assert seen("seed", "statistic") == [False, True]
    page.fill("#knob-temperature input[type=number]", "0.5")
    page.wait_for_selector("#knob-seed")
    page.click("#knob-rule label:has-text('Target alone')")
    page.wait_for_selector("#knob-drafter", state="hidden")
    assert seen("theta", "preset", "length", "draft_length", "statistic", "max_new_tokens") == [False] * 5 + [True]


def test_recorded_runs_are_told_apart_and_a_run_of_ones_own_stands_beside_them(recorded, visit, run):
    page = visit(recorded)
    page.click("#recordings input")
    names = page.locator("#recordings [role=option]").all_inner_texts()
    assert "FLy (loose, deferred) + Fixed length · A pair from elsewhere" in names[0]
    assert "Again. · Exact match + PACER" in names[1]
    page.keyboard.press("Escape")
    run(page, prompt="Mine.", budget=12)
    assert page.input_value("#recordings input") == "Your own run"
    page.click("#recordings input")
    page.locator("[role=option]", has_text="Again.").click()
    page.wait_for_selector("#run-view .stamp.recorded")
    page.wait_for_function("document.querySelector('#prompt textarea').value === 'Again.'")
    page.click("#recordings input")
    page.locator("#recordings [role=option]", has_text="Your own run").click()
    page.wait_for_selector("#run-view .stamp:not(.recorded)")
    assert page.locator(".strip .tok").count() == 12
    page.wait_for_function("document.querySelector('#prompt textarea').value === 'Mine.'")


def test_on_a_phone_names_end_before_the_arrow_and_the_card_leaves_room(recorded, visit):
    page = visit(recorded, viewport={"width": 390, "height": 844})
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('#recordings input')).paddingRight)") >= 24
    page.click(".strip .tok.deferred >> nth=0")
    page.wait_for_selector(".card.pinned")
    box = page.locator(".card.pinned").bounding_box()
    assert box["height"] <= 0.45 * 844
    token = page.locator(".strip .tok.deferred >> nth=0").bounding_box()
    assert token["y"] + token["height"] <= box["y"], "the token is not under its own card"
