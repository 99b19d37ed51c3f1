"""The page over a scripted pair: every kind of token, hostile text, keyboard, card, refusals, stop, two visitors."""

import threading
from dataclasses import replace

import pytest
from scripted import STORY, Script, ScriptedBackend, Step, make_trace
from serving import PATIENCE

from explorer.ui.recordings import recordings

pytestmark = pytest.mark.browser

FOX = "🦊".encode()
HOSTILE = [
    "<img src=x onerror=window.hacked=1>", "${window.hacked=1}", "{{window.hacked=1}}", "</script><script>window.hacked=1</script>",
    "\u202eright to left\u202c", "`${window.hacked=1}`", "\\u0041", "&lt;b&gt;", "x" * 10_000,
]  # fmt: skip


def strip_text(page):
    """The text of the strip as a reader would copy it, without the pictures drawn beside it."""
    return page.evaluate("document.querySelector('.strip').textContent")


def card_text(page):
    return page.inner_text(".card")


def test_a_run_shows_every_kind_of_token_a_legend_a_summary_and_rounds(story, visit, run):
    page = visit(story)
    page.check("#baseline input")
    run(page, budget=30)
    assert strip_text(page).startswith(
        " Once upon a time there was a small clever, that lived by the tall lighthouse.\n\n"
    )
    kinds = page.eval_on_selector_all(".strip .tok", "nodes => nodes.map(n => n.className.split(' ')[1])")
    assert set(kinds) == {"exact", "deferred", "correction", "bonus"}
    assert len(kinds) == 30
    marks = page.eval_on_selector_all(".strip .tok.deferred", "nodes => nodes.map(n => n.dataset.mark)")
    assert set(marks) == {"D"}  # not by colour alone
    counted = page.eval_on_selector_all(".legend .count", "nodes => nodes.map(n => +n.textContent)")
    assert sum(counted) == 30
    assert "30 committed tokens / 6 target passes" in page.inner_text(".summary")
    assert "First divergence at token 2" in page.inner_text(".summary")
    assert "identical" not in page.inner_text("body").lower()
    assert page.locator(".rounds tbody tr").count() == 0  # made when the table is opened
    page.click(".rounds > summary")
    page.wait_for_selector(".rounds tbody tr")
    assert page.locator(".rounds tbody tr").count() == 6
    assert page.inner_text(".rounds tbody tr:nth-child(3) .c-verdicts").replace(" ", "") == "EW····C"


@pytest.fixture
def finished(story, look, run):
    """The page that these tests share, with a whole run of the story on show."""
    page = look(story)
    page.keyboard.press("Escape")
    if page.locator(".strip .tok").count() != 30:
        run(page, budget=30)
    return page


def test_a_token_pins_a_card_with_its_reason(finished):
    page = finished
    page.click(".strip .tok.deferred >> nth=0")
    assert "The target would have written" in card_text(page)
    assert "next 3 drafted tokens all match" in card_text(page)
    assert page.get_attribute(".strip .tok.deferred >> nth=0", "aria-selected") == "true"
    for nth, reason in enumerate(("sure here", "another mismatch follows 2 further on", "does not fit")):
        page.click(f".strip .tok.correction >> nth={nth}")
        assert reason in card_text(page)
        assert "Refused draft token" in card_text(page)
    page.keyboard.press("Escape")
    assert page.locator(".card.pinned").count() == 0


def test_the_strip_is_one_tab_stop_with_arrow_keys(finished):
    page = finished
    assert page.locator(".strip .tok[tabindex='0']").count() == 1
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("Home")
    focused = "+document.activeElement.dataset.i"
    for key, index in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 29), ("Home", 0)):
        page.keyboard.press(key)
        assert page.evaluate(focused) == index
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) > 3
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".card.pinned").count() == 1
    page.keyboard.press("ArrowRight")
    assert "upon" in card_text(page)  # a pinned card stays
    assert page.locator(".strip .tok[tabindex='0']").count() == 1


def test_a_round_of_the_table_leads_to_its_tokens(finished):
    page = finished
    page.click(".rounds > summary")
    page.click(".rounds tbody tr:nth-child(2) button")
    assert page.evaluate("document.activeElement.textContent") == "small"


def test_hostile_text_appears_as_text(tell, visit, run):
    url = tell(Script([([Step(text), Step(" x", text, 0.01)], " y") for text in HOSTILE]))
    page = visit(url)
    run(page, budget=2 * len(HOSTILE))
    assert strip_text(page) == "".join(text + text for text in HOSTILE)
    for index in range(len(HOSTILE)):
        page.focus(f".strip .tok[data-i='{2 * index + 1}']")
        shown = page.evaluate("document.querySelector('.card .face').textContent")
        assert HOSTILE[index][:40] in shown.replace("\u2026", "")
    assert page.evaluate("window.hacked") is None
    assert page.locator(".run-view img, .run-view script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_character_split_over_tokens_shows_once(tell, visit, run):
    url = tell(Script([([Step(" a"), Step(FOX[:1]), Step(FOX[1:3])], FOX[3:]), ([Step("!")], "\n")]))
    page = visit(url)
    run(page, budget=6)
    assert strip_text(page) == " a🦊!\n"
    assert page.get_attribute(".strip .tok.part >> nth=0", "data-label") == "f0"
    page.focus(".strip .tok[data-i='3']")
    assert "bytes 8a" in card_text(page)


@pytest.mark.parametrize(("prompt", "pair", "message"), [("", None, "prompt is empty"), ("too long", None, "shorten the prompt"), ("go", "Absent pair", "not on this machine")])  # fmt: skip
def test_bad_input_is_told_and_the_page_goes_on(story, look, run, prompt, pair, message):
    page = look(story)
    if pair:
        page.click("#pair input")
        page.locator("[role=option]", has_text=pair).click()
    page.fill("#prompt textarea", prompt)
    page.click("#run")
    page.wait_for_selector(f"text={message}")
    if pair:
        page.click("#pair input")
        page.locator("[role=option]", has_text="Scripted pair").click()
    run(page, budget=5)
    assert page.locator(".strip .tok").count() == 5


def test_a_note_says_when_nothing_can_be_deferred_and_the_presets_follow(story, visit):
    page = visit(story)
    page.fill("#knob-window input[type=number]", "8")
    page.press("#knob-window input[type=number]", "Tab")
    page.wait_for_selector("#notes >> text=nothing can be deferred")
    page.wait_for_function("document.querySelector('#preset input').value === 'Custom'")
    page.click("#knob-entropy label:has-text('Top 3')")
    page.wait_for_function("document.querySelector('#knob-theta input[type=number]').value === '0.3'")
    page.click("#preset input")
    page.locator("[role=option]", has_text="Released code").click()
    page.wait_for_function("document.querySelector('#knob-window input[type=number]').value === '6'")
    page.wait_for_function("document.querySelector('#knob-window_includes_mismatch input').checked")


def test_stop_keeps_the_text_and_marks_it_partial(tell, visit, run):
    gate = threading.Semaphore(2)
    url = tell(Script(STORY.rounds, gate))
    page = visit(url)
    page.fill("#prompt textarea", "go")
    page.click("#run")
    page.wait_for_selector(".strip .tok.correction")  # the second round: the run now waits at the gate
    # What if, while it streams: the next round comes to a view that judges by other settings.
    page.fill("#knob-theta input[type=number]", "0.9")
    page.press("#knob-theta input[type=number]", "Tab")
    page.wait_for_selector(".whatif")
    gate.release()
    page.wait_for_function("document.querySelector('.scrub-label').textContent.endsWith('of 3')")
    page.click("#stop")
    page.wait_for_selector("#stop[disabled]")
    gate.release()
    page.wait_for_selector("#run-view .run-view[data-phase=stopped]")
    assert "partial" in page.inner_text(".summary")
    assert page.inner_text(".scrub-label").endswith("of 4")
    page.wait_for_selector("#run:not([disabled])")
    for _ in range(20):
        gate.release()
    run(page, budget=5)
    assert "partial" not in page.inner_text(".summary")


def test_two_visitors_have_their_own_state_and_one_waits(tell, visit):
    gate = threading.Semaphore(1)
    url = tell(Script(STORY.rounds, gate))
    first, second = visit(url), visit(url)
    for page, budget in ((first, 14), (second, 7)):
        page.fill("#prompt textarea", "go")
        page.fill("#knob-max_new_tokens input[type=number]", str(budget))
        page.press("#knob-max_new_tokens input[type=number]", "Tab")
    first.click("#run")
    first.wait_for_selector(".strip .tok")
    second.click("#run")
    second.wait_for_selector("#run-view .run-view[data-phase=preparing]")
    assert second.locator(".strip .tok").count() == 0
    for _ in range(20):
        gate.release()
    for page, budget in ((first, 14), (second, 7)):
        page.wait_for_selector("#run-view .run-view[data-phase=done]")
        assert page.locator(".strip .tok").count() == budget


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll_and_opens_details_from_below(story, visit, run, scheme):
    page = visit(story, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    run(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not page.is_visible(".card")
    page.click(".strip .tok.deferred >> nth=0")
    assert page.is_visible(".card.pinned")
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).position") == "fixed"
    page.click(".card .unpin")
    assert not page.is_visible(".card")


def test_the_target_alone_needs_no_marks_of_drafts(story, visit, run):
    page = visit(story)
    page.click("#knob-rule label:has-text('Target alone')")
    run(page, budget=5)
    assert page.locator(".legend li").count() == 1
    assert "0" not in page.inner_text(".legend .count")
    page.focus(".strip .tok >> nth=0")
    assert "the target writes every token itself" in card_text(page)


def test_the_trace_downloads(story, look, run):
    import json

    from explorer.trace import Trace

    page = look(story)
    run(page, budget=12)
    with page.expect_download() as download:
        page.click(".save summary")
        page.get_by_role("button", name="Whole record, JSON").click()
    trace = Trace.from_json(json.loads(download.value.path().read_text(encoding="utf-8")))
    assert len(trace.output_ids) == 12
    assert download.value.suggested_filename.startswith("trace-scripted-")


def test_a_program_can_run_by_name_and_bad_input_is_told_in_words(story):
    from gradio_client import Client

    client = Client(story, verbose=False, analytics_enabled=False, httpx_kwargs={"timeout": PATIENCE})
    answer = client.predict(prompt="go", max_new_tokens=8, api_name="/run")
    assert answer["text"].startswith(" Once upon a time")
    assert answer["trace"]["config"]["max_new_tokens"] == 8
    with pytest.raises(Exception, match="Theta must be a number from 0 to 1.2"):
        client.predict(prompt="go", theta=9, api_name="/run")
    described = client.view_api(return_format="dict")["named_endpoints"]
    assert list(described) == ["/run", "/judge"]
    judged = client.predict(match=[True, False, True], entropy=[0, 0.4, 0], theta=0.3, window=1, api_name="/judge")
    assert judged["verdicts"] == ["exact", "deferred", "exact"]
    with pytest.raises(Exception, match="Window W must be"):
        client.predict(match=[True], entropy=[0], window=99, api_name="/judge")
    kinds = {
        parameter["parameter_name"]: parameter["python_type"]["type"] for parameter in described["/judge"]["parameters"]
    }
    assert (kinds["match"], kinds["theta"], kinds["window"]) == ("list[bool]", "float", "int")


def test_a_typed_pair_runs_and_two_tokenizers_have_a_badge(story, visit, run, tmp_path):
    for name in ("target", "draft"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "model.safetensors").write_bytes(b"")
    page = visit(story)
    assert page.locator(".origin .crossed").count() == 0
    page.fill("#pair input", f"{tmp_path / 'target'},{tmp_path / 'draft'},cross-tokenizer")
    page.keyboard.press("Enter")
    run(page, budget=10)
    assert page.inner_text(".origin .crossed") == "Two tokenizers"
    assert "target / draft" in page.inner_text(".origin")


def test_settings_of_the_target_that_were_not_followed_stand_beside_the_run(serve, visit, tmp_path):
    trace = make_trace(blocks=True)
    left_out = ("repetition_penalty 1.1", "stop_strings ['<b>']")
    replace(trace, provenance=replace(trace.provenance, ignored=left_out)).save(tmp_path / "a.json")
    page = visit(serve(ScriptedBackend(STORY), recordings({"elsewhere": "A pair"}, folder=tmp_path)))
    assert page.inner_text(".origin").split("\n")[-1] == "ignored: repetition_penalty 1.1, stop_strings ['<b>']"
