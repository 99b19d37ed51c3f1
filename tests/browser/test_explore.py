"""The explorer page on a recorded run: lanes, scrubber, gauges, and thresholds that move without the server."""

import pytest
from accessibility import violations
from scripted import STORY, Script, ScriptedBackend, Step, make_trace

from explorer.ui.recordings import recordings

pytestmark = pytest.mark.browser

HOSTILE = ["<img src=x onerror=window.hacked=1>", "${window.hacked=1}", "{{window.hacked=1}}", "</script><script>window.hacked=1</script>", "\u202eright to left\u202c", "x" * 10_000]  # fmt: skip


def set_theta(page, value):
    page.fill("#knob-theta input[type=number]", str(value))
    page.press("#knob-theta input[type=number]", "Tab")


def wait_for_theta(page, value):
    page.wait_for_function(
        "value => document.querySelector('#knob-theta input[type=number]')?.value === value", arg=value
    )


def lane_marks(page):
    return page.eval_on_selector_all(".lane .mark", "nodes => nodes.map(n => n.textContent)")


def place(page):
    return page.inner_text(".scrub-label")


def test_the_page_opens_on_a_recorded_run_and_says_where_it_is_from(recorded, visit):
    page = visit(recorded)
    assert page.inner_text(".origin").split("\n") == [
        "Recorded run", "A pair from elsewhere", "target float32, draft int8", "CPU, 2 threads", "4 Mar 2026",
    ]  # fmt: skip
    assert page.input_value("#prompt textarea") == "Tell a story."
    assert page.locator(".strip .tok").count() == 31
    assert "deferred" in page.inner_text(".card"), "it opens on the first token that FLy kept"
    assert place(page) == "Round 1 of 6"
    assert page.inner_text(".lanes h3").startswith("Round 1 of 6")
    assert "elsewhere" not in page.input_value("#pair input"), "the pair is not on this machine: the choice stays"


def test_another_recorded_run_brings_its_own_settings(recorded, visit):
    page = visit(recorded)
    page.click("#recordings input")
    page.locator("[role=option]", has_text="Again.").click()
    page.wait_for_function("document.querySelector('.scrub-label').textContent === 'Round 1 of 18'")
    wait_for_theta(page, "1")
    assert page.input_value("#prompt textarea") == "Again."
    assert not page.is_visible(".whatif"), "the controls are those of the run: nothing is asked yet"
    assert page.is_disabled(".seek.deferred"), "this run kept no mismatch"


def test_lanes_show_every_reason(at_start):
    page = at_start
    expected = [
        (list("EDEEEEB"), "deferred and kept", ["all match: held"]),
        (list("EG·"), "the target is sure", ["below θ"]),
        (list("EW····"), "another mismatch follows 2 further on", ["broken, 2 on"]),
        (list("EEEF·"), "needs 3 drafted tokens behind it and has 1", ["needs 3, 1 left"]),
        (list("EEEEEEB"), "All kept", []),
        (list("EEDEEEEEB"), "deferred and kept", ["all match: held"]),
    ]
    page.focus(".strip .tok[tabindex='0']")
    for number, (marks, sentence, windows) in enumerate(expected, 1):
        assert place(page) == f"Round {number} of 6"
        assert lane_marks(page) == marks
        assert sentence in page.inner_text(".round-line")
        assert page.eval_on_selector_all(".window-label", "nodes => nodes.map(n => n.textContent)") == windows
        page.keyboard.press("]")
    faded = page.evaluate("document.querySelectorAll('.lane.faded').length")
    assert faded == 0  # the last round is kept whole


def test_pacers_blocks_show_their_mean_against_the_threshold(at_start):
    page = at_start
    assert page.eval_on_selector_all(".pacer-words", "nodes => nodes.map(n => n.textContent)") == [
        "mean 0.80, threshold 0.50: go on", "mean 0.30, threshold 0.60: stop",
    ]  # fmt: skip
    assert "below its threshold 0.60. All of it was kept, so more might have been." in page.inner_text(".round-line")
    set_theta(page, 1)
    page.wait_for_selector(".round-line >> text=Rightly so, the draft was cut at 2 already.")
    page.click("text=›")
    assert page.locator(".pacer-block").count() == 0


def test_scrubber_strip_card_and_lanes_stay_on_one_place(at_start):
    page = at_start
    page.focus(".scrub-range")
    page.keyboard.press("End")
    assert place(page) == "Round 6 of 6"
    assert page.inner_text(".strip .round.now").strip().startswith("watched the ships")
    assert "ships" in page.inner_text(".card .face")
    page.click(".strip .tok >> text=clever")
    assert place(page) == "Round 2 of 6"
    assert page.get_attribute(".lane[data-position='1']", "aria-selected") == "true"
    page.keyboard.press("Escape")
    page.click(".lane[data-position='2']")
    assert "discarded" in page.inner_text(".card")
    page.focus(".lane[tabindex='0']")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.position") == "0"
    spoken = "Position 2 Draft says red Target says clever Verdict target sure Target's doubt 0.02"
    assert page.get_by_role("option", name=spoken).count() == 1


def test_searching_finds_each_kind_in_turn(at_start):
    page = at_start
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("Home")
    found = []
    for key in ("n", "n", "n", "n", "n", "N", "r", "r", "d", "d"):
        page.keyboard.press(key)
        found.append(int(place(page).split()[1]))
    assert found == [1, 2, 3, 4, 6, 4, 2, 3, 6, 1]
    page.click(".seek.refused")
    assert place(page) == "Round 2 of 6"


def test_playing_goes_through_the_rounds_and_stops_at_the_end(recorded, visit):
    page = visit(recorded, own=True)
    page.clock.install()
    page.click(".scrub-play")
    assert page.locator(".strip .round.later").count() > 3
    page.clock.run_for(950)
    assert place(page) == "Round 2 of 6"
    page.clock.run_for(6000)
    assert place(page) == "Round 6 of 6"
    assert page.locator(".strip .round.later").count() == 0
    assert page.inner_text(".scrub-play") == "Play"


# What if ------------------------------------------------------------------------------------------------------------


def test_a_moved_theta_is_judged_at_once_and_without_a_request(recorded, visit):
    page = visit(recorded)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    slider = page.locator("#knob-theta input[type=range]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(30):
        page.mouse.move(box["x"] + 10 + step * 4, box["y"] + box["height"] / 2)
    page.wait_for_selector(".whatif")
    page.wait_for_function("document.querySelectorAll('.strip .tok.lost').length === 2")
    assert not asked
    page.mouse.up()


def test_theta_at_one_says_which_tokens_would_be_lost(at_start):
    page = at_start
    set_theta(page, 1)
    page.wait_for_selector(".strip .tok.lost")
    lost = page.eval_on_selector_all(".strip .tok.lost", "nodes => nodes.map(n => n.textContent)")
    assert lost == ["upon", "ships"]
    words = page.inner_text(".whatif")
    assert "θ 1 instead of 0.05" in words
    assert "the recorded one is not on this machine" in words
    assert "Round 1 is the first to end differently" in words
    assert "11 drafted tokens lost: 2 refused, 9 behind them" in words
    assert "Round 1, exact, replayed" in words
    assert "Rounds 2 to 6, counterfactual, replayed per round" in words
    assert page.locator(".boundary").count() == 1
    assert "In the run itself" in page.inner_text(".card")
    assert lane_marks(page) == list("EG····")
    page.click("text=Back to the run's own")
    wait_for_theta(page, "0.05")
    page.wait_for_selector(".whatif", state="hidden")
    assert page.locator(".strip .tok.lost, .strip .unsure, .boundary").count() == 0


def test_a_lower_bar_says_what_would_be_kept(at_start):
    page = at_start
    set_theta(page, 0)
    page.fill("#knob-window input[type=number]", "1")
    page.press("#knob-window input[type=number]", "Tab")
    page.wait_for_function("document.querySelectorAll('.strip .tok.replaced').length === 3")
    assert page.get_attribute(".strip .tok.replaced >> nth=0", "data-instead") == "red fox"
    assert "W 1 instead of 3" in page.inner_text(".whatif")


def test_the_cut_line_is_theta_itself(at_start):
    """One theta on the page: dragging the line moves the control, and the control moves the line."""
    page = at_start
    page.focus(".plot.used .cut")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    wait_for_theta(page, "0.07")
    assert page.get_attribute(".plot.used .cut", "aria-valuetext") == "θ 0.07: 1 below, 5 at or above"
    page.keyboard.press("PageUp")
    wait_for_theta(page, "0.12")
    set_theta(page, 0.25)
    page.wait_for_function("document.querySelector('.plot.used .cut').getAttribute('aria-valuenow') === '0.25'")


def test_the_other_measure_can_be_tried_from_its_plot(at_start):
    page = at_start
    page.click(".use-measure:visible")
    wait_for_theta(page, "0.3")
    assert page.is_checked("#knob-entropy label:has-text('Top 3') input")
    page.wait_for_selector(".whatif >> text=measure top 3 instead of normalized")
    assert "top-3" in page.inner_text(".plot.used h4")


def test_an_exact_run_can_be_asked_what_fly_would_keep(serve, visit, tmp_path):
    make_trace(rule="exact").save(tmp_path / "a.json")
    page = visit(serve(ScriptedBackend(STORY), recordings({}, folder=tmp_path)))
    assert page.locator(".plot.used").count() == 0
    page.click(".use-measure >> nth=0")
    page.wait_for_selector(".whatif >> text=rule FLy instead of exact")
    assert page.get_attribute(".strip .tok.replaced >> nth=0", "data-instead") == "upon a time there was"
    assert page.is_checked("#knob-rule label:has-text('FLy') input")


def test_a_dot_leads_to_its_disagreement(at_start):
    page = at_start
    box = page.locator(".plot.used svg").bounding_box()
    page.locator(".plot.used svg").click(position={"x": box["width"] - 7, "y": 109})  # the largest entropy: 0.4
    assert place(page) == "Round 4 of 6"


def test_what_a_replay_cannot_say_is_said(at_start):
    page = at_start
    page.click("#knob-rule label:has-text('Target alone')")
    page.wait_for_selector(".whatif >> text=needs a real run")


def test_another_rule_judges_the_same_rounds_and_brings_its_own_knobs(at_start):
    """Every mismatch of the story is the target's second choice, ln 3 = 1.0986 nats behind the first."""
    page = at_start
    knobs = ("#knob-top_k", "#knob-margin", "#knob-typical_epsilon", "#knob-kl_limit")
    assert [page.is_visible(knob) for knob in knobs] == [False] * 4
    page.click("#knob-rule label:has-text('Top k')")
    page.wait_for_selector(".whatif >> text=rule top k instead of FLy")
    assert [page.is_visible(knob) for knob in knobs] == [True, False, False, False], "of the rule that is chosen"
    assert lane_marks(page)[:2] == ["E", "L"], "kept at once: relaxed, not deferred"
    assert "within the first 2" in page.inner_text(".card .reason")
    assert "relaxed and kept" in page.inner_text(".round-line")
    page.click("#knob-rule label:has-text('Margin')")
    page.wait_for_selector(".whatif >> text=rule margin instead of FLy")
    assert lane_marks(page)[:2] == ["E", "T"]
    assert "1.1 nats behind the first" in page.inner_text(".card .reason")
    page.click("#knob-rule label:has-text('Typical')")
    page.wait_for_selector(".whatif >> text=does not hold what the rule reads")


def test_a_rerun_stands_beside_the_run_it_came_from(recorded, visit):
    page = visit(recorded)
    set_theta(page, 1)
    page.click(".whatif .primary")
    page.wait_for_selector(".compare")
    page.wait_for_selector("#run:not([disabled])")
    assert page.inner_text(".origin").startswith("Live run")
    rows = page.eval_on_selector_all(
        ".compare tbody tr", "rows => rows.map(r => [...r.children].map(c => c.textContent))"
    )
    table = {name: (before, after) for name, before, after in rows}
    assert table["θ"] == ("0.05", "1")
    assert table["deferred"] == ("2", "0")
    assert "at different places or times" in page.inner_text(".compare")
    assert not page.is_visible(".whatif"), "the controls are the new run's own"


def test_hostile_text_is_text_in_every_picture(serve, visit, tmp_path):
    script = Script(
        [([Step(text), Step(" x", text, 0.3), Step(text), Step(text), Step(text)], text) for text in HOSTILE]
    )
    make_trace(script, prompt=HOSTILE[0]).save(tmp_path / "a.json")
    page = visit(serve(ScriptedBackend(script), recordings({"elsewhere": HOSTILE[3]}, folder=tmp_path)))
    page.check(".toggle input")
    page.focus(".strip .tok[tabindex='0']")
    for _ in HOSTILE:
        assert page.locator(".lane").count() == 6
        for position in range(6):
            page.evaluate(f"document.querySelector('.lane[data-position=\"{position}\"]').click()")
        page.keyboard.press("]")
    set_theta(page, 1)
    page.wait_for_selector(".whatif")
    page.click(".rounds > summary")
    assert page.evaluate("window.hacked") is None
    assert page.locator(".run-view img, .run-view script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert HOSTILE[3] in page.inner_text(".origin")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_holds_all_of_it(recorded, visit, scheme):
    page = visit(recorded, viewport={"width": 390, "height": 844}, color_scheme=scheme, reduced_motion="reduce")
    tabs = [tab.bounding_box()["y"] for tab in page.get_by_role("tab").all()]
    assert len(set(tabs)) == 1, "all in one row"
    assert page.locator(".strip").bounding_box()["y"] < 760, "the text begins on the first screen"
    assert "draft and target agree" in page.locator(".legend").text_content(), "for a screen reader at least"
    page.focus(".scrub-range")
    page.keyboard.press("End")
    box = page.locator(".lane[aria-selected=true]").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390, "the column on show is in sight"
    page.focus(".plot.used .cut")
    page.keyboard.press("End")
    page.wait_for_selector(".whatif")
    page.click(".rounds > summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ours = "document.getAnimations().filter((one) => document.querySelector('#run-view').contains(one.effect.target))"
    assert page.evaluate(f"{ours}.length") == 0, "reduced motion"


def test_the_summary_counts_acceptance_by_both_denominators(at_start):
    page = at_start
    page.click(".chart >> nth=0 >> summary")
    rows = page.eval_on_selector_all(
        ".chart:nth-child(1) tbody tr", "rows => rows.map(r => [...r.children].map(c => c.textContent))"
    )
    assert rows[0] == ["1", "6", "6", "100 %", "100 %"]
    assert rows[1] == ["2", "4", "6", "67 %", "67 %"]
    assert rows[4] == ["5", "3", "3", "100 %", "50 %"]
    assert "The longest draft had 8 tokens, in round 6." in page.inner_text(".charts")


def test_the_charts_to_zoom_open_on_demand_and_close_with_the_next_run(recorded, visit, run):
    page = visit(recorded)
    assert page.locator("#plot").count() == 0
    page.click("#charts > button")
    page.wait_for_selector("#plot .main-svg >> text=Every disagreement by both entropies")
    run(page, budget=12)
    page.wait_for_selector("#plot", state="hidden")


def test_a_finished_run_can_be_stepped_too(recorded, visit, run):
    page = visit(recorded)
    run(page, prompt="Tell a story.", budget=30)
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("]")
    assert place(page) == "Round 2 of 6"
    assert page.is_visible(".compare"), "the recorded run of this prompt stands beside it"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_no_accessibility_violation(recorded, visit, scheme, width):
    page = visit(recorded, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.click(".rounds > summary")
    page.click(".why > summary")
    for moved in (False, True):
        if moved:
            page.focus(".plot.used .cut")
            page.keyboard.press("End")
            page.wait_for_selector(".whatif")
        assert violations(page) == []
