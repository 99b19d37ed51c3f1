"""The lesson in a real browser: it drives the view's own parts, has an address for every step, and answers without the server."""

import pytest
from accessibility import violations
from scripted import STORY, ScriptedBackend

from explorer.ui.catalogue import en, ko
from explorer.ui.recordings import RUNS, recordings

pytestmark = pytest.mark.browser

STEPS = list(en.lesson.LESSON["step"])
TITLES = {name: step["title"] for name, step in en.lesson.LESSON["step"].items()}


@pytest.fixture(scope="module")
def lesson(serve):
    """A page with the recorded runs that ship."""
    return serve(ScriptedBackend(STORY), recordings({}, folder=RUNS))


def open_at(visit, url, name, **options):
    return visit(f"{url}#learn={number(name)}", ready=[".lesson-question"], **options)


def number(name):
    return STEPS.index(name) + 1


def at_step(page, name):
    """Wait until a step is on show, with its run."""
    page.wait_for_selector(f".lesson-title >> text={TITLES[name]}")
    page.wait_for_selector(".lesson-question:visible")
    assert page.evaluate("location.hash") == f"#learn={number(name)}"


def note(page, right):
    page.wait_for_selector(f".lesson-note{'.right' if right else ':not(.right)'}:visible")
    return page.inner_text(".lesson-note")


def set_knob(page, name, value):
    page.fill(f"#knob-{name} input[type=number]", str(value))
    page.press(f"#knob-{name} input[type=number]", "Tab")


def test_every_step_has_an_address_and_the_browser_goes_back_and_forth(lesson, visit):
    page = visit(lesson)
    page.click("#newcomer")
    at_step(page, "slow")
    assert not page.is_visible("#composer")
    assert not page.is_visible("#newcomer")
    # What the target wrote alone was no guess: it has no mark.
    assert page.evaluate("getComputedStyle(document.querySelector('.strip .tok.bonus'), '::after').content") == "none"
    assert not page.is_visible("#settings"), "this step asks for no setting"
    assert page.inner_text(".lesson-count") == f"Step 1 of {len(STEPS)}"
    page.click(".lesson-forth")
    at_step(page, "verify")
    assert page.evaluate("document.activeElement.textContent") == TITLES["verify"], "a screen reader goes on from here"
    page.get_by_role("button", name=f"Step {number('doubt')}: {TITLES['doubt']}", exact=True).click()
    at_step(page, "doubt")
    assert page.get_by_role("tab", name="Learn").get_attribute("aria-selected") == "true"
    page.go_back()
    at_step(page, "verify")
    page.go_back()
    at_step(page, "slow")
    page.go_back()
    page.wait_for_selector("#composer:visible")
    assert page.get_by_role("tab", name="Explore").get_attribute("aria-selected") == "true"
    page.go_forward()
    at_step(page, "slow")
    page.get_by_role("tab", name="Explore").click()
    page.wait_for_selector("#composer:visible")
    assert page.evaluate("location.hash").startswith("#v=1&run=12-story-alone")
    assert page.is_visible(".legend")
    page.go_back()
    at_step(page, "slow")


def test_questions_are_answered_by_moving_the_pages_own_controls_without_the_server(lesson, visit):
    page = open_at(visit, lesson, "doubt")
    at_step(page, "doubt")
    assert page.is_visible(".gauges")
    assert page.is_visible("#knob-theta")
    assert not page.is_visible("#knob-window")
    assert not page.is_visible(".lesson-note")
    page.route("**/gradio_api/**", lambda route: None)  # nobody answers
    set_knob(page, "theta", 0.1)
    assert "0.1" in note(page, right=False)
    page.focus(".plot.used .cut")
    for _ in range(2):
        page.keyboard.press("PageDown")
    assert note(page, right=True).startswith("Right. At θ\u00a00 an entropy of 0.02")
    assert "deferred" in page.inner_text(".round-line")
    dot = page.get_by_role("button", name=f"Step {number('doubt')}: {TITLES['doubt']}, answered")
    assert dot.get_attribute("aria-current") == "step"
    page.click(".lesson-forth")  # another step of the same run: its own settings again
    at_step(page, "holds")
    page.wait_for_function("document.querySelector('#knob-theta input[type=number]').value === '0.05'")
    set_knob(page, "window", 4)
    assert "4" in note(page, right=False)
    set_knob(page, "window", 5)
    note(page, right=True)
    page.click(".lesson-forth")
    at_step(page, "breaks")
    set_knob(page, "window", 1)
    note(page, right=True)


def test_the_rule_and_the_places_in_the_view_answer_too(lesson, visit):
    page = open_at(visit, lesson, "verify")
    at_step(page, "verify")
    page.click("text=›")
    note(page, right=False)
    while page.locator(".lesson-note.right").count() == 0:
        page.click("text=›")
    page.click(".lesson-forth")
    at_step(page, "synonym")
    page.click("#knob-rule label >> text=FLy")
    note(page, right=True)
    page.click(".lesson-forth")
    page.get_by_role("button", name=f"Step {number('edge')}: {TITLES['edge']}").click()
    at_step(page, "edge")
    page.click(".lane[data-position='5']")
    page.click(".lesson-answer")
    note(page, right=False)
    page.click(".lane[data-position='4']")
    page.click(".lesson-answer >> text=Answer: position 5")
    note(page, right=True)
    page.get_by_role("button", name=f"Step {number('lost')}: {TITLES['lost']}").click()
    at_step(page, "lost")
    page.click(".strip .tok.deferred >> nth=1")
    note(page, right=False)
    page.click(".strip .tok.deferred >> nth=0")
    note(page, right=True)


def test_a_round_to_predict_hides_what_became_of_it_until_it_is_answered(lesson, visit):
    page = open_at(visit, lesson, "predict")
    at_step(page, "predict")
    visible = "names => names.filter((name) => [...document.querySelectorAll(name)].some((node) => node.checkVisibility({ visibilityProperty: true })))"
    telling = [".strip", ".scrubber", ".lane .of-verdict", ".window", ".round-line", ".card"]
    assert page.evaluate(visible, telling) == []
    for answer in (4, 8, 7):
        page.click(".lane[data-position='1']")
        page.click(".lesson-answer")
        note(page, right=False)
        page.click(f".lane[data-position='{answer}']")
        page.click(".lesson-answer")
        note(page, right=True)
        assert ".lane .of-verdict" in page.evaluate(visible, telling)
        if answer != 7:
            page.click(".lesson-again")
            page.wait_for_selector(".lesson-note:not(.right)", state="attached")
    assert page.locator(".lesson-dot.done").count() == 1
    page.click(".lesson-forth")
    page.wait_for_selector("#composer:visible")


def test_a_run_of_ones_own_is_not_pushed_aside_unasked(lesson, visit, run):
    page = visit(lesson)
    run(page, budget=12)
    page.get_by_role("tab", name="Learn").click()
    page.wait_for_selector(f".lesson-text >> text={en.lesson.LESSON['guards']['own'][:40]}")
    assert page.locator(".strip .tok").count() == 12
    page.click(".lesson >> text=Begin")
    at_step(page, "slow")
    assert page.inner_text(".origin .stamp") == "Recorded run"


def test_on_a_phone_in_korean_the_question_stays_in_sight(lesson, visit):
    page = open_at(visit, lesson, "tune", viewport={"width": 390, "height": 844}, locale="ko-KR")
    page.wait_for_selector(f".lesson-title >> text={ko.lesson.LESSON['step']['tune']['title']}")
    page.wait_for_selector(".lesson-question:visible")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".gauges").scroll_into_view_if_needed()
    box = page.locator(".lesson-task").bounding_box()
    assert box["y"] + box["height"] <= 844
    set_knob(page, "theta", 0.2)
    note(page, right=True)


def test_a_step_that_is_not_there_is_refused(lesson, visit):
    page = visit(f"{lesson}#learn=99")
    assert "step" in page.inner_text(".share-message")
    assert page.is_visible("#composer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_violation(lesson, visit, scheme):
    page = open_at(visit, lesson, "doubt", color_scheme=scheme)
    at_step(page, "doubt")
    assert violations(page) == []
    set_knob(page, "theta", 0)
    note(page, right=True)
    assert violations(page) == []
