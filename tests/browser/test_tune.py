"""The Tune tab over a scripted pair: from prompts to a chosen point, by mouse and keyboard, and to the Explore tab."""

import csv
import json
import threading

import pytest
from accessibility import violations
from scripted import STORY, Script, Step

pytestmark = pytest.mark.browser

HOSTILE = ["<img src=x onerror=window.hacked=1>", "${window.hacked=1}", "{{window.hacked=1}}", "</script><script>window.hacked=1</script>", "\u202eright to left\u202c"]  # fmt: skip


def open_tune(page):
    page.click("button[role=tab]:has-text('Tune')")
    page.wait_for_selector("#tune-view .tune-view")
    return page


def sweep(page, prompts="go\nstay", end="done", **fields):
    page.click("#tune-source label:has-text('own')")
    page.fill("#tune-own textarea", prompts)
    for name, value in fields.items():
        page.fill(f"#tune-{name} :is(input, textarea)", value)
        page.press(f"#tune-{name} :is(input, textarea)", "Tab")
    page.click("#tune-run")
    page.wait_for_selector(f"#tune-view .tune-view[data-phase={end}]")
    page.wait_for_selector("#tune-run:not([disabled])")


def cells(page, figure=0):
    return page.locator(".heat").nth(figure).locator("g[role=button]")


def labels(page, figure=0):
    return cells(page, figure).evaluate_all("nodes => nodes.map((node) => node.getAttribute('aria-label'))")


def test_the_tab_is_not_there_before_it_is_opened(story, visit):
    """Explore opens as fast as without the other tabs."""
    page = visit(story)
    assert page.locator("#tune-view, #compare-view, #tune-pair, #a-knob-rule").count() == 0
    assert page.is_visible("#prompt")


def test_a_sweep_draws_a_cell_for_every_point_and_marks_the_recommended(story, visit):
    page = open_tune(visit(story))
    sweep(page, thetas="0.05, 0.25, 0.5", windows="1, 3")
    assert page.locator(".heat-map:visible").count() == 4, "no answers to check, so no map of them"
    names = labels(page)
    assert len(names) == 6
    assert [name.split(":")[0].split(", Tokens")[0] for name in names[:3]] == [
        "theta 0.05, W 1",
        "theta 0.25, W 1",
        "theta 0.5, W 1",
    ]
    assert sum("recommended" in name for name in names) <= 1
    assert page.locator(".tune-point h3").inner_text().startswith("Recommended")
    assert page.locator(".heat-value >> visible=true").count() == 24
    assert "modelled" in page.inner_text(".heat-map:has-text('times plain')")
    assert "modelled" in page.inner_text(".point-figures")
    assert "measured" not in page.inner_text(".point-figures")


@pytest.fixture
def swept(story, look):
    """The page that these tests share, with a sweep of two thetas and two windows."""
    page = look(story)
    if page.locator("#tune-view .heat").count() == 0:
        open_tune(page)
        sweep(page, thetas="0.05, 0.25", windows="1, 3")
    return page


def test_cells_are_reached_by_keys_and_a_cell_shows_its_point(swept):
    page = swept
    assert page.locator(".heat >> nth=0").locator("[tabindex='0']").count() == 1
    cells(page).nth(0).click()
    assert page.inner_text(".point-name") == "θ 0.05, W 1, K 8"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".point-name") == "θ 0.25, W 3, K 8"
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert cells(page, 2).nth(3).get_attribute("aria-pressed") == "true", "all maps show the same point"
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".point-name") == "θ 0.25, W 3, K 8", "the edge of the map"


def test_the_limit_moves_the_recommendation_without_a_run(story, visit):
    page = open_tune(visit(story))
    sweep(page, thetas="0.05, 0.25", windows="1, 3")
    assert any("outside the limit" in name for name in labels(page))
    page.fill("#tune-nats input[type=number]", "1")
    page.press("#tune-nats input[type=number]", "Tab")
    page.wait_for_function(
        "!document.querySelector('.heat').textContent.includes('outside') && ![...document.querySelectorAll('.heat g')].some((node) => node.getAttribute('aria-label').includes('outside'))"
    )
    assert "at most 1 nats" in page.inner_text(".tune-point")
    assert page.inner_text(".point-name").startswith("θ ")
    assert page.locator(".loosened-list li").count() > 0
    assert "the target would say" in page.inner_text(".loosened-list")


def test_a_point_is_measured_and_used_in_explore(story, visit):
    page = open_tune(visit(story))
    sweep(page, thetas="0.05, 0.25", windows="1, 2", lengths="8, 12")
    page.click(".tune-lengths button:has-text('K = 8')")
    cells(page).nth(3).click()
    assert page.inner_text(".point-name") == "θ 0.25, W 2, K 8"
    page.click("[data-act=measure]")
    page.wait_for_selector(".point-figures:has-text('Speed, measured')")
    assert "against modelled" in page.inner_text(".point-figures")
    page.wait_for_selector("#tune-run:not([disabled])")
    page.click("[data-act=use]")
    page.wait_for_selector("#prompt", state="visible")
    page.wait_for_function("document.querySelector('#knob-theta input[type=number]').value === '0.25'")
    assert page.input_value("#knob-window input[type=number]") == "2"
    assert page.input_value("#knob-draft_length input[type=number]") == "8"
    assert page.is_checked("#knob-rule label:has-text('FLy') input")


def test_prompts_come_as_a_file_and_answers_are_checked(story, visit, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(
        '{"prompt": "Tell it.", "answer": "lighthouse"}\n{"prompt": "Again.", "answer": "castle"}\n', encoding="utf-8"
    )
    page = open_tune(visit(story))
    with page.expect_file_chooser() as chooser:
        page.click("#tune-file")
    chooser.value.set_files(str(path))
    page.wait_for_selector("#tune-own textarea")
    page.wait_for_function("document.querySelector('#tune-own textarea').value.includes('castle')")
    assert page.is_checked("#tune-source label:has-text('own') input")
    page.click("#tune-run")
    page.wait_for_selector("#tune-view .tune-view[data-phase=done]")
    assert page.locator(".heat-map:visible").count() == 5
    assert "of 2; " in page.inner_text(".point-figures")
    assert page.locator(".tune-texts details").count() == 2


def test_the_files_hold_the_sweep(story, visit):
    page = open_tune(visit(story))
    sweep(page)
    with page.expect_download() as table:
        page.click("#tune-csv")
    rows = list(csv.DictReader(table.value.path().read_text(encoding="utf-8").splitlines()))
    assert len([row for row in rows if row["rule"] == "fly"]) == 12
    with page.expect_download() as record:
        page.click("#tune-json")
    assert [p["item"]["prompt"] for p in json.loads(record.value.path().read_text(encoding="utf-8"))["prompts"]] == [
        "go",
        "stay",
    ]
    assert table.value.suggested_filename.endswith(".csv")


def test_cancel_keeps_the_prompts_that_are_through(tell, visit):
    gate = threading.Semaphore(1)
    page = open_tune(visit(tell(Script(STORY.rounds, gate))))
    page.click("#tune-source label:has-text('own')")
    page.fill("#tune-own textarea", "one\ntwo\nthree")
    page.click("#tune-run")
    page.wait_for_selector(".heat-value:has-text('.')")
    assert "Over 1 of 3 prompts" in page.inner_text(".heat-key")
    page.click("#tune-cancel")
    page.wait_for_selector("#tune-view .tune-view[data-phase=stopped]")
    page.wait_for_selector("#tune-csv")
    assert "1 of 3 prompts are through" in page.inner_text(".tune-toolbar")
    assert page.locator(".tune-texts details").count() == 1


def test_a_sweep_waits_for_a_run_of_another_visitor(tell, visit):
    gate = threading.Semaphore(1)
    url = tell(Script(STORY.rounds, gate))
    first, second = visit(url), open_tune(visit(url))
    first.fill("#prompt textarea", "go")
    first.click("#run")
    first.wait_for_selector(".strip .tok")
    second.click("#tune-run")
    second.wait_for_selector("#tune-view .tune-toolbar:has-text('Waiting for its turn')")
    assert second.locator(".heat-value >> visible=true").count() == 0
    for _ in range(60):
        gate.release()
    second.wait_for_selector("#tune-view .tune-view[data-phase=done]")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("thetas", "0.1, much", "Theta must be a number"),
        ("windows", "", "got nothing"),
        ("lengths", "1,2,3,4", "at most 3"),
    ],
)
def test_bad_input_is_told_at_once_and_refused(story, visit, field, value, message):
    page = open_tune(visit(story))
    page.fill(f"#tune-{field} :is(input, textarea)", value)
    page.wait_for_selector(f"#tune-expected .wrong:has-text('{message}')")
    page.click("#tune-run")
    page.wait_for_selector(f"[data-testid=toast-body]:has-text('{message}'), .toast-body:has-text('{message}')")
    assert page.locator(".heat-value >> visible=true").count() == 0


def test_hostile_text_is_shown_as_text(tell, visit):
    steps = [Step(text, " other", 0.3) for text in HOSTILE]
    rounds = [([step, Step(" a"), Step(" b"), Step(" c")], text) for step, text in zip(steps, HOSTILE)]
    page = open_tune(visit(tell(Script(rounds))))
    sweep(page, prompts="\n".join(HOSTILE), thetas="0.05", windows="1")
    cells(page).nth(0).click()
    for summary in page.locator(".tune-texts summary").all():
        summary.click()
    assert page.evaluate("window.hacked") is None
    for text in HOSTILE[:4]:
        assert text in page.evaluate("document.querySelector('.tune-texts').textContent")
        assert text in page.evaluate("document.querySelector('.loosened-list').textContent")


def test_the_table_says_what_the_maps_show(swept):
    page = swept
    page.click(".tune-table summary")
    page.wait_for_selector(".tune-table tbody tr")
    rows = page.locator(".tune-table tbody tr")
    assert rows.count() == 3 + 4
    assert page.locator(".tune-table :text-is('recommended')").count() == 1
    page.click(".tune-table button:has-text('θ 0.25, W 1, K 8')")
    assert page.inner_text(".point-name") == "θ 0.25, W 1, K 8"
    assert page.evaluate("document.activeElement.textContent") == "θ 0.25, W 1, K 8", "the focus stays in the table"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(story, visit, scheme):
    page = open_tune(visit(story, viewport={"width": 390, "height": 844}, color_scheme=scheme))
    sweep(page)
    page.click(".tune-table summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_no_accessibility_violation(story, visit, scheme, width):
    page = open_tune(visit(story, viewport={"width": width, "height": 900}, color_scheme=scheme))
    sweep(page)
    page.click(".tune-table summary")
    assert violations(page) == []
