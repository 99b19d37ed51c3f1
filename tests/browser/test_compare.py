"""The Compare tab over a scripted pair: two settings, one prompt, where the texts part and why."""

import threading

import pytest
from accessibility import violations
from scripted import STORY, Script, Step

pytestmark = pytest.mark.browser

HOSTILE = ["<img src=x onerror=window.hacked=1>", "${window.hacked=1}", "{{window.hacked=1}}", "</script><script>window.hacked=1</script>"]  # fmt: skip


def open_compare(page):
    page.click("button[role=tab]:has-text('Compare')")
    page.wait_for_selector("#compare-view .run-view")
    return page


def compare(page, prompt="go", budget=24, end="done"):
    page.fill("#compare-prompt textarea", prompt)
    page.fill("#compare-max_new_tokens input[type=number]", str(budget))
    page.press("#compare-max_new_tokens input[type=number]", "Tab")
    page.click("#compare-run")
    page.wait_for_selector(f"#compare-view .run-view[data-phase={end}]")
    page.wait_for_selector("#compare-run:not([disabled])")


def test_three_texts_their_partings_and_figures(story, visit):
    page = open_compare(visit(story))
    compare(page)
    assert page.locator(".compare-strip").count() == 3
    assert [page.locator(f".compare-strip >> nth={n}").locator(".tok").count() for n in range(3)] == [24] * 3
    partings = page.inner_text(".compare-partings")
    assert "A leaves the target's own text at token 1" in partings
    assert "B and A part at token 2" in partings
    assert "a near-tie is less than 0.01" in partings
    heads = page.locator(".compare-figures thead th").all_inner_texts()
    assert heads == ["Figure", "Target alone", "A", "B"]
    figures = page.inner_text(".compare-figures")
    for words in ("rule\t\texact\tFLy", "Tokens per second, measured", "deferred", "drafting", "verifying"):
        assert words in figures
    assert page.locator(".compare-time").count() == 3
    assert page.locator(".boundary").count() == 4, "each leaves once, told in both texts"


def test_sides_take_explores_settings_and_the_measure_brings_its_theta(story, visit):
    page = visit(story)
    page.fill("#knob-theta input[type=number]", "0.17")
    page.press("#knob-theta input[type=number]", "Tab")
    page.fill("#prompt textarea", "Tell me.")
    open_compare(page)
    page.wait_for_function("document.querySelector('#compare-prompt textarea').value === 'Tell me.'")
    page.wait_for_selector("#compare-expected >> text=Three runs of at most 96 tokens each.")
    page.click("#a-adopt")
    page.wait_for_function("document.querySelector('#a-theta input[type=number]').value === '0.17'")
    assert page.is_checked("#a-rule label:has-text('FLy') input")
    page.click(".compare-side >> nth=1 >> text=More settings")
    page.click("#b-entropy label:has-text('Top 3')")
    page.wait_for_function("document.querySelector('#b-theta input[type=number]').value === '0.3'")
    assert page.input_value("#a-theta input[type=number]") == "0.17"
    page.click("#b-preset input")
    page.locator("[role=option]", has_text="Released code").click()
    page.wait_for_function("document.querySelector('#b-window input[type=number]').value === '6'")
    page.fill("#compare-prompt textarea", "Mine.")
    page.click("button[role=tab]:has-text('Explore')")
    page.fill("#prompt textarea", "Another.")
    open_compare(page)
    page.wait_for_timeout(300)
    assert page.input_value("#compare-prompt textarea") == "Mine.", "a prompt of one's own here stays"


def test_a_refusal_names_the_side(story, visit):
    page = open_compare(visit(story))
    page.click(".compare-side >> nth=1 >> text=More settings")
    page.check("#b-window_includes_mismatch input")
    page.fill("#b-window input[type=number]", "0")  # a slider goes anywhere; what it cannot stand on is said
    page.press("#b-window input[type=number]", "Tab")
    page.fill("#compare-prompt textarea", "go")
    page.click("#compare-run")
    page.wait_for_selector("text=B: Window W must be at least 1")


def test_stop_keeps_what_is_there(tell, visit):
    gate = threading.Semaphore(30)
    page = open_compare(visit(tell(Script(STORY.rounds, gate))))
    page.fill("#compare-prompt textarea", "go")
    page.click("#compare-run")
    page.wait_for_selector(".compare-strip .tok")
    page.click("#compare-stop")
    gate.release()
    page.wait_for_selector("#compare-view .run-view[data-phase=stopped]")
    assert page.locator(".compare-strip .tok").count() > 0


def test_hostile_text_is_shown_as_text(tell, visit):
    rounds = [([Step(text, " other", 0.3), Step(" a"), Step(" b"), Step(" c"), Step(" d")], text) for text in HOSTILE]
    page = open_compare(visit(tell(Script(rounds))))
    compare(page, prompt=HOSTILE[0])
    assert page.evaluate("window.hacked") is None
    assert HOSTILE[0] in page.evaluate("document.querySelectorAll('.compare-strip')[2].textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(story, visit, scheme):
    page = open_compare(visit(story, viewport={"width": 390, "height": 844}, color_scheme=scheme))
    compare(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_no_accessibility_violation(story, visit, scheme, width):
    page = open_compare(visit(story, viewport={"width": width, "height": 900}, color_scheme=scheme))
    compare(page)
    assert violations(page) == []
