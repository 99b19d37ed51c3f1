"""Whose costs speeds are modelled with, in Explore and in Tune: by mouse and keyboard, in the browser alone."""

import json
import re

import pytest
from accessibility import violations
from scripted import make_trace
from test_tune import open_tune, sweep

from explorer.analysis.best_length import best_length, length_estimates
from explorer.analysis.cost_files import shipped_profiles
from explorer.analysis.costs import CostProfile, work_of
from explorer.schema import write

pytestmark = pytest.mark.browser

CHOICE = "#run-view .summary .costs select"
HERS = CostProfile(
    "hers", "measured", "ms", step=7.0, passes={1: 90.0, 9: 130.0}, target="T", draft="D", device="her machine"
)


@pytest.fixture
def costing(recorded, look):
    """The page of the recorded runs, at its own costs."""
    page = look(recorded)
    page.wait_for_selector(CHOICE)
    page.select_option(CHOICE, "own")
    yield page
    page.select_option(CHOICE, "own")


def figures(page):
    """The big figures of the summary by what they are called."""
    boxes = page.locator("#run-view .summary .figure-box")
    return {one.locator("dt").inner_text(): one.locator(".big").inner_text() for one in boxes.all()}


def test_the_runs_own_costs_are_measured(costing):
    names = figures(costing)
    assert "tokens per second, measured" in names
    assert not {name for name in names if "modelled" in name} - {"best draft length K, modelled"}


def test_a_published_pair_changes_every_speed_without_a_request(costing):
    page, asked = costing, []
    page.on("request", lambda request: asked.append(request.url))
    page.focus(CHOICE)
    page.keyboard.type("Llama 2 70B")
    shown, trace, costs = figures(page), make_trace(blocks=True), shipped_profiles()["llama-2-70b-7b"]
    best = best_length(length_estimates(trace, costs))
    times = costs.times_plain(len(trace.output_ids), work_of(trace))
    assert shown["times plain greedy, modelled"] == f"{times:.2f}×"
    assert shown["best draft length K, modelled"] == str(best.length)
    assert not {name for name in shown if "measured" in name or "per second" in name}, "only ratios are known"
    note = page.locator("#run-view .costs-note")
    assert "Only a ratio is published" in note.inner_text()
    assert note.locator("a").get_attribute("href") == costs.url
    assert f"{times:.2f} times plain greedy" in page.inner_text("#run-view .costs [role=status]")
    assert "modelled" in page.inner_text("#run-view .summary h4:has-text('target passes')")
    assert not asked


def test_ones_own_numbers_begin_with_those_of_the_run(costing):
    page = costing
    page.select_option(CHOICE, "entered")
    fields = page.locator("#run-view .costs-own input")
    own = CostProfile.of_trace(make_trace(blocks=True))
    assert float(fields.nth(0).input_value()) == pytest.approx(own.step, rel=0.02)
    for field, value in zip(fields.all(), ("10", "200", "5")):
        field.fill(value)
    trace = make_trace(blocks=True)
    costs = CostProfile("", "entered", "ms", step=10.0, passes={1: 200.0, 2: 205.0})
    assert (
        figures(page)["tokens per second, modelled"]
        == f"{costs.tokens_per_second(len(trace.output_ids), work_of(trace)):.1f}"
    )
    fields.nth(1).fill("")
    assert "Three numbers" in page.inner_text("#run-view .costs-note")
    assert "tokens per second, measured" in figures(page)


@pytest.mark.parametrize("wrap", [False, True], ids=["a profile", "a file of bench --out"])
def test_a_file_of_costs_stays_in_the_browser(costing, tmp_path, wrap):
    page, asked = costing, []
    page.on("request", lambda request: asked.append(request.url))
    data = write(HERS)
    (tmp_path / "hers.json").write_text(json.dumps({"lines": [], "costs": data} if wrap else data))
    (tmp_path / "other.json").write_text('{"lines": []}')
    page.select_option(CHOICE, "file")
    for name in ("hers.json", "other.json"):
        with page.expect_file_chooser() as chooser:
            page.click("#run-view .costs-file button")
        chooser.value.set_files(tmp_path / name)
        page.wait_for_selector(
            f"#run-view .costs-note:has-text('{'her machine' if name == 'hers.json' else 'holds no cost profile'}')"
        )
    trace = make_trace(blocks=True)
    times = HERS.times_plain(len(trace.output_ids), work_of(trace))
    assert figures(page)["times plain greedy, modelled"] == f"{times:.2f}×", "the one that was read stays"
    assert not asked


def test_a_moved_theta_is_costed_too(costing):
    page = costing
    page.select_option(CHOICE, "llama-2-70b-7b")
    page.fill("#knob-theta input[type=number]", "1")
    page.press("#knob-theta input[type=number]", "Tab")
    page.wait_for_selector(".whatif:visible .whatif-span")
    assert re.search(r"× plain, modelled \d\.\d\d× → \d\.\d\d×", page.inner_text(".whatif"))
    page.click(".whatif-buttons button:has-text('Back')")
    page.wait_for_selector(".whatif", state="hidden")


def test_other_costs_recommend_another_point_of_a_sweep(story, visit):
    """Where a draft step is nearly a whole pass nothing pays; where it is nearly nothing, a point is recommended."""
    page, asked = open_tune(visit(story)), []
    sweep(page, thetas="0.05, 0.25", windows="1, 3")
    page.on("request", lambda request: asked.append(request.url))
    choice = "#tune-view .costs select"
    page.select_option(choice, "entered")
    step, one, further = page.locator("#tune-view .costs-own input").all()
    for field, value in ((step, "90"), (one, "100"), (further, "0")):
        field.fill(value)
    assert page.inner_text(".point-name") == "Plain greedy"
    assert "modelled more than 2% faster than plain greedy" in page.inner_text(".point-reasons")
    step.fill("1")
    page.wait_for_selector(".point-name:has-text('θ')")
    assert "modelled at the costs chosen" in page.inner_text(".tune-maps .lead")
    assert "times plain greedy" in page.inner_text("#tune-view .costs [role=status]")
    assert page.is_disabled("#tune-view [data-act=measure]"), "this machine is not the one that is asked about"
    assert "modelled" in page.inner_text(".tune-cost h3")
    page.select_option(choice, "llama-2-70b-7b")
    assert "tokens/s" not in page.inner_text(".point-figures")
    assert not [url for url in asked if "/queue/" in url or "/gradio_api/" in url]
    page.click("button[role=tab]:has-text('Explore')")
    page.click("button[role=tab]:has-text('Tune')")
    page.select_option(choice, "own")
    assert "modelled from the rounds of this sweep" in page.inner_text(".tune-maps .lead")
    assert page.is_enabled("#tune-view [data-act=measure]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_it_is_accessible_and_fits_a_phone(recorded, visit, scheme, width):
    page = visit(recorded, viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.wait_for_selector(CHOICE)
    for choice in ("llama-2-70b-7b", "entered", "file"):
        page.select_option(CHOICE, choice)
        assert violations(page) == []
    page.click("#run-view .summary-rest > details > summary")
    inside = "() => [...document.querySelectorAll('#run-view .summary *')].every((node) => node.getBoundingClientRect().right <= innerWidth)"
    page.select_option(CHOICE, "llama-2-70b-7b")
    assert page.evaluate(inside)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_choice_follows_to_the_other_tab(recorded, visit):
    page = visit(recorded)
    page.select_option(CHOICE, "deepseek-coder-33b-1.3b")
    open_tune(page)
    assert page.evaluate("document.querySelector('#tune-view .costs select').value") == "deepseek-coder-33b-1.3b"
