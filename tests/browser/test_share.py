"""Share and keep in a real browser: links, files, a page without a server, a visitor's own file, Korean."""

import csv
import io
import json
import re
import struct
import threading
from xml.etree import ElementTree

import pytest
from scripted import STORY, Script, Step, make_trace
from serving import PAGE_PATIENCE

from explorer.analysis.cost_files import shipped_profiles
from explorer.analysis.costs import work_of
from explorer.trace import Trace
from explorer.ui import exports

pytestmark = pytest.mark.browser

HOSTILE = [
    "<img src=x onerror=window.hacked=1>", "${window.hacked=1}", "{{window.hacked=1}}", "</script><script>window.hacked=1</script>",
    "<!--<script>", "%{script}", "\u202eright to left\u202c", "\x08\x1b[31m", "\u2028", "x" * 3000,
]  # fmt: skip


@pytest.fixture
def alone(browser, tmp_path):
    """Open a page from a file, in a browser that is offline: no error, no request but for the file itself."""
    contexts, errors, asked = [], [], []

    def open_file(text, fragment="", **context_options):
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1366, "height": 900}, **context_options})
        context.set_default_timeout(PAGE_PATIENCE)
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: None if request.url.startswith((path.as_uri(), "blob:", "data:")) else asked.append(request.url))  # fmt: skip
        page.goto(path.as_uri() + fragment)
        page.wait_for_selector(".run-view[data-phase=done]")
        return page

    open_file.errors = errors
    yield open_file
    for context in contexts:
        context.close()
    assert not errors
    assert not asked


def place(page):
    return page.inner_text(".scrub-label")


def wait_for_place(page, text):
    page.wait_for_function("text => document.querySelector('.scrub-label')?.textContent === text", arg=text)


def set_knob(page, name, value):
    page.fill(f"#knob-{name} input[type=number]", str(value))
    page.press(f"#knob-{name} input[type=number]", "Tab")


def wait_for_knob(page, name, value):
    page.wait_for_function(
        "([name, value]) => document.querySelector(`#knob-${name} input[type=number]`)?.value === value",
        arg=[name, value],
    )


def wait_for_link(page, link):
    page.wait_for_function("link => location.hash === link", arg=link)


def saved(page, name):
    """The file that a button of the menu saves: (name, bytes)."""
    if not page.is_visible(".save-panel"):
        page.click(".save summary")
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    return download.value.suggested_filename, download.value.path().read_bytes()


# Links ---------------------------------------------------------------------------------------------------------------


def test_a_page_that_nobody_touched_keeps_its_plain_address(recorded, visit):
    page = visit(recorded)
    page.wait_for_selector(".strip .tok")
    page.wait_for_timeout(800)
    assert page.evaluate("location.hash") == ""


def test_the_address_follows_without_a_history(recorded, visit):
    page = visit(recorded)
    before = page.evaluate("history.length")
    page.focus(".strip .tok[tabindex='0']")
    for _ in range(3):
        page.keyboard.press("]")
    wait_for_link(page, "#v=1&run=a&round=4&position=4")
    set_knob(page, "theta", 0.3)
    wait_for_link(page, "#v=1&run=a&round=4&position=4&theta=0.3")
    page.check(".toggle input")
    page.click(".strip .tok >> text=clever")
    wait_for_link(page, "#v=1&run=a&round=2&position=2&theta=0.3&view=refused.pinned")
    assert page.evaluate("history.length") == before


def test_a_link_leads_to_the_same_run_round_and_thresholds(recorded, visit):
    page = visit(recorded + "#v=1&run=b&round=8&position=3&theta=0.1&window=2&view=pinned.table")
    wait_for_place(page, "Round 8 of 18")
    wait_for_knob(page, "theta", "0.1")
    wait_for_knob(page, "window", "2")
    assert page.input_value("#prompt textarea") == "Again."
    assert page.input_value("#recordings input").startswith("Again.")
    assert "θ 0.1 instead of 1" in page.inner_text(".whatif-head")
    assert "W 2 instead of 3" in page.inner_text(".whatif-head")
    assert page.locator(".card.pinned").count() == 1
    assert page.get_attribute(".lane[data-position='2']", "aria-selected") == "true"
    assert page.get_attribute(".rounds", "open") is not None
    wait_for_link(page, "#v=1&run=b&round=8&position=3&theta=0.1&window=2&view=pinned.table")


def test_a_link_pasted_into_an_open_page_is_followed(recorded, visit):
    page = visit(recorded)
    page.evaluate("location.hash = '#v=1&run=b&round=2'")
    wait_for_place(page, "Round 2 of 18")
    page.evaluate("location.hash = '#v=1&run=a&round=5&theta=0.2'")
    wait_for_place(page, "Round 5 of 6")
    wait_for_knob(page, "theta", "0.2")
    page.evaluate("location.hash = '#v=1&run=a&round=1'")
    wait_for_place(page, "Round 1 of 6")
    wait_for_knob(page, "theta", "0.05")
    assert not page.is_visible(".whatif"), "without a threshold of its own the link means the run's"


def test_a_link_of_settings_sets_all_controls(recorded, visit):
    page = visit(
        recorded + "#v=1&pair=scripted&rule=fly&theta=0.2&window=4&draft_length=5&max_new_tokens=40&raw_prompt=true"
    )
    wait_for_knob(page, "draft_length", "5")
    wait_for_knob(page, "max_new_tokens", "40")
    wait_for_knob(page, "theta", "0.2")
    wait_for_knob(page, "window", "4")
    assert page.input_value("#pair input") == "Scripted pair"


def test_a_live_run_is_linked_by_its_settings_only(recorded, visit, run):
    page = visit(recorded)
    set_knob(page, "theta", 0.07)
    run(page, prompt="My secret prompt", budget=12)
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("]")
    page.wait_for_function("location.hash.includes('pair=scripted')")
    link = page.evaluate("location.hash")
    assert "theta=0.07" in link
    assert "max_new_tokens=12" in link
    assert "secret" not in link
    assert "round" not in link
    assert "&run=" not in link


NO_LINKS = {
    "v=1&run=<img src=x onerror=window.hacked=1>": "recorded run that is not here",
    "v=1&run=../../b": "recorded run that is not here",
    "v=1&run=a&theta=NaN": "impossible value for θ",
    "v=1&run=a&window=1e9": "impossible value for W",
    "v=7&run=a": "another version",
    "v=1&run=a&round=7": "does not have",
    "v=1&x=" + "y" * 5000: "too long",
}


def test_a_link_that_makes_no_sense_is_told_and_the_page_goes_on(recorded, visit):
    page = visit(f"{recorded}#{next(iter(NO_LINKS))}")
    page.wait_for_selector(".share-message.wrong")
    assert next(iter(NO_LINKS.values())) in page.inner_text(".share-message")
    for fragment, message in NO_LINKS.items():  # in the open page
        page.evaluate("link => { location.hash = link }", "#v=1&run=a&round=1")
        page.wait_for_selector(".share-message", state="hidden")
        page.evaluate("link => { location.hash = link }", fragment)
        page.wait_for_selector(f".share-message.wrong:has-text('{message}')")
        assert place(page) == "Round 1 of 6"
        page.focus(".strip .tok[tabindex='0']")
        page.keyboard.press("]")
        assert place(page) == "Round 2 of 6"
    assert page.evaluate("window.hacked") is None


def test_the_copied_link_has_no_query(recorded, visit):
    """In a Space the query may hold what signs the visitor in."""
    page = visit(recorded + "/?__sign=token&__theme=light", own=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("]")
    page.click("text=Copy link")
    page.wait_for_selector("text=Link copied")
    assert page.evaluate("navigator.clipboard.readText()") == recorded + "/#v=1&run=a&round=2&position=2"
    assert "__sign=token" in page.url, "the address itself keeps it"


def test_where_the_page_may_not_copy_it_shows_the_link(recorded, visit):
    page = visit(recorded)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.click("text=Copy link")
    assert page.input_value(".share-link") == recorded + "/#v=1&run=a&round=1&position=2"
    assert page.evaluate("document.activeElement.className") == "share-link"


def test_a_run_that_is_going_on_is_not_pushed_aside(tell, visit):
    gate = threading.Semaphore(2)
    page = visit(tell(Script(STORY.rounds, gate)))
    page.fill("#prompt textarea", "go")
    page.click("#run")
    page.wait_for_selector(".strip .tok.correction")  # the run now waits at the gate
    page.evaluate("location.hash = '#v=1&theta=0.5'")
    page.wait_for_selector("text=A run is going on")
    page.click("text=Open a record")
    assert page.input_value("#knob-theta input[type=number]") == "0.05"
    gate.release(100)
    page.wait_for_selector(".run-view[data-phase=done]")


@pytest.mark.parametrize(("host", "told"), [("https://huggingface.co", True), ("https://elsewhere.example", False)])
def test_in_a_frame_the_hub_alone_is_told_the_fragment(recorded, browser, host, told):
    """A Space's page frames the app; here a made-up page of that name does, and never touches the network."""
    frame = f"""<iframe src="{recorded}/#v=1&run=b&round=2" width="1300" height="800"></iframe>
      <script>window.heard = []; addEventListener("message", (event) => heard.push([event.origin, event.data.hash]));</script>"""
    context = browser.new_context(permissions=["local-network-access"])
    context.set_default_timeout(PAGE_PATIENCE)
    page = context.new_page()
    page.route(f"{host}/**", lambda route: route.fulfill(body=frame, content_type="text/html"))
    page.goto(f"{host}/spaces/somebody/explorer")
    app = page.frame_locator("iframe")
    app.locator(".scrub-label", has_text="Round 2 of 18").wait_for()
    app.locator("button", has_text="›").click()
    app.locator(".scrub-label", has_text="Round 3 of 18").wait_for()
    inner = next(one for one in page.frames if one.url.startswith(recorded))
    inner.wait_for_function("location.hash.includes('round=3')")
    heard = [hash_ for origin, hash_ in page.evaluate("window.heard") if isinstance(hash_, str) and origin == recorded]
    context.close()
    assert (heard[-1:] == ["#v=1&run=b&round=3&position=2"]) == told
    assert told or not heard


# Files ---------------------------------------------------------------------------------------------------------------


def test_the_whole_record_of_each_run_on_show(recorded, visit, run):
    page = visit(recorded)
    name, data = saved(page, "Whole record, JSON")
    assert name == "a.json"
    assert Trace.from_json(json.loads(data)).prompt.text == "Tell a story."
    page.evaluate("location.hash = '#v=1&run=b'")
    wait_for_place(page, "Round 1 of 18")
    name, data = saved(page, "Whole record, JSON")
    assert (name, Trace.from_json(json.loads(data)).prompt.text) == ("b.json", "Again.")
    run(page, prompt="live", budget=12)
    name, data = saved(page, "Whole record, JSON")
    assert (name[:15], Trace.from_json(json.loads(data)).prompt.text) == ("trace-scripted-", "live")


def test_the_table_of_rounds_is_the_command_lines(at_start):
    page = at_start
    name, data = saved(page, "Table of rounds, CSV")
    assert name == "a.csv"
    text = data.decode("utf-8-sig")
    expected = exports.rounds_csv(make_trace(blocks=True))
    column = [[row[9] for row in csv.reader(io.StringIO(one, newline=""))] for one in (text, expected)]
    assert column[0] == column[1]
    assert len(column[0]) == 7


@pytest.mark.parametrize("part", ["this round", "all rounds", "the entropies", "the summary"])
def test_pictures_stand_alone(at_start, part):
    page = at_start
    page.evaluate("location.hash = '#v=1&run=a&round=3&theta=0.2'")
    page.wait_for_selector(".whatif")
    name, data = saved(page, f"Picture of {part}, SVG")
    root = ElementTree.fromstring(data)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = "".join(root.itertext())
    width, height = float(root.get("width")), float(root.get("height"))
    assert "Recorded run" in text
    assert "4 Mar 2026" in text
    assert ("replayed" in text) == (part != "the summary"), "the summary is the run's own"
    assert not {"foreignObject", "image", "script", "style", "use"} & {
        tag.tag.rpartition("}")[2] for tag in root.iter()
    }
    assert b"class=" not in data
    assert b"var(" not in data
    name, data = saved(page, f"Picture of {part}, PNG")
    assert name.endswith(".png")
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (2 * width, 2 * height)
    assert len(data) > 4000


def test_the_picture_of_a_round_shows_every_position(recorded, visit):
    page = visit(recorded + "#v=1&run=a&round=1", viewport={"width": 390, "height": 844})
    wide = page.evaluate("document.querySelector('.lane-scroll').scrollWidth")
    _, data = saved(page, "Picture of this round, SVG")
    root = ElementTree.fromstring(data)
    text = "".join(root.itertext())
    assert float(root.get("width")) >= wide, "what scrolls on the page is whole in the picture"
    for shown in ("upon", "there", "all match: held", "θ 0.05", "D", "0.21"):
        assert shown in text
    assert page.evaluate("document.querySelector('.lane-scroll').scrollWidth") == wide, "the page is as it was"


def test_the_menu_works_by_keyboard(at_start):
    page = at_start
    page.focus(".save summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Whole record, JSON"
    page.keyboard.press("Escape")
    assert not page.is_visible(".save-panel")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


# A page without a server ---------------------------------------------------------------------------------------------


def test_the_saved_page_opens_from_a_file_and_judges_again(recorded, visit, alone):
    page = visit(recorded)
    name, data = saved(page, "Page without a server, HTML")
    assert name == "a.html"
    page = alone(data.decode())
    name, record = saved(page, "Whole record, JSON")
    assert (name, Trace.from_json(json.loads(record))) == ("a.json", make_trace(blocks=True))
    assert "Tell a story." in page.inner_text(".alone-prompt")
    assert page.locator(".strip .tok").count() == 31
    assert place(page) == "Round 1 of 6"
    assert not page.is_visible(".whatif")
    theta = page.get_by_label("Theta θ")
    theta.focus()
    page.keyboard.press("End")
    page.wait_for_selector(".whatif")
    assert "θ 1.2 instead of 0.05" in page.inner_text(".whatif-head")
    assert "never" in page.inner_text(".thresholds")
    assert page.locator(".strip .tok.lost").count() > 0
    assert not page.is_visible("text=Re-run with these"), "there is nothing to run it"
    page.click("text=Back to the run's own")
    page.wait_for_selector(".whatif", state="hidden")
    assert theta.input_value() == "0.05"
    page.locator(".threshold select >> nth=1").select_option("top3")
    page.wait_for_selector("text=measure top 3 instead of normalized")
    assert theta.input_value() == "0.3", "another measure brings a threshold made for it"
    page.focus(".cut:visible")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.threshold input[type=range]').value === '0.305'")
    page.keyboard.press("Escape")
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("]")
    assert place(page) == "Round 2 of 6"
    assert page.locator(".lane").count() == 4


def test_both_ways_to_make_the_page_give_the_same(at_start):
    page = at_start
    _, data = saved(page, "Page without a server, HTML")
    ours = exports.page(make_trace(blocks=True), title="A pair from elsewhere")

    def without_nonce(text):
        return text.replace(re.search(r"nonce-(\w+)", text)[1], "N")

    assert without_nonce(data.decode()).replace('\\"here\\":false', '\\"here\\":true').replace("recorded a", "recorded elsewhere") \
        == without_nonce(ours).replace("recorded a", "recorded elsewhere")  # fmt: skip


def test_hostile_text_stays_text_on_the_saved_page(alone):
    trace = make_trace(Script([([Step(text), Step(" x", text, 0.01)], " y") for text in HOSTILE]), prompt=HOSTILE[0])
    page = alone(exports.page(trace))
    text = page.evaluate("document.querySelector('.strip').textContent")
    assert text == "".join(text + text for text in HOSTILE)
    assert page.evaluate("window.hacked") is None
    assert page.locator(".run-view img, .run-view script").count() == 0
    assert page.inner_text(".alone-prompt") == HOSTILE[0]
    for _round in HOSTILE:
        for kind in ("SVG", "PNG"):
            _, data = saved(page, f"Picture of this round, {kind}")
        page.focus(".strip .tok[tabindex='0']")
        page.keyboard.press("]")
        assert data
    _, data = saved(page, "Picture of this round, SVG")
    ElementTree.fromstring(data)
    assert page.evaluate("window.hacked") is None


def test_phrases_and_tokens_ahead_are_told_in_the_lanes(alone, hand):
    """Which committed tokens a phrase gave, what else was tried, and what PEARL's draft made meanwhile."""
    page = alone(exports.page(hand.phrases()))
    given = page.eval_on_selector_all(
        ".lane .of-draft", "cells => cells.map((cell) => cell.textContent.includes('phrase pool'))"
    )
    assert given == [False] * 4 + [True] * 3 + [False]
    told = page.inner_text(".round-line")
    assert "2 phrases of the pool" in told
    assert "efg 2 of 3 agree, ers 1 of 3 agree." in told
    assert "kept tokens from the phrase pool" in page.inner_text(".summary")
    page = alone(exports.page(hand.pearl()), "#v=1&round=2")
    wait_for_place(page, "Round 2 of 5")
    assert "Meanwhile the draft went on with efg; its first token is the target's own" in page.inner_text(".round-line")
    assert "tokens per second, modelled" in page.inner_text(".summary")


def test_a_drafted_tree_is_drawn_told_and_walked(alone, hand):
    """Shape and letter of each fate; arrow keys from node to node; Enter shows a token of the path in the lanes."""
    page = alone(exports.page(hand.tree()))
    nodes = page.eval_on_selector_all(
        "[role=treeitem]",
        "nodes => nodes.map((node) => [node.querySelector('.tree-text').textContent, node.className.split(' ')[1], node.querySelector('.mark')?.textContent ?? ''])",
    )
    assert nodes == [["b", "kept", "E"], ["d", "kept", "E"], ["f", "own", "C"], ["g", "refused", "R"], ["e", "beside", ""], ["a", "beside", ""], ["c", "beside", ""]]  # fmt: skip
    assert "6 tokens that agrees furthest; the 3 beside it" in page.inner_text(".round-line")
    assert "2 kept of 6 verified" in page.inner_text(".summary")
    assert page.inner_text(".tree-told").startswith("g, level 3: the head gives it 88 %, 8.2 % along the path.")
    page.focus("[role=treeitem][tabindex='0']")
    for key, told in (
        ("ArrowLeft", "d, level 2"),
        ("ArrowLeft", "b, level 1"),
        ("End", "c, level 2: the head gives it 50 %, 31 % along the path. The target then says i. Beside the path"),
        ("ArrowRight", "c, level 2"),
        ("Home", "b, level 1"),
        ("ArrowRight", "d, level 2"),
        ("ArrowDown", "f: the target's own token"),
    ):
        page.keyboard.press(key)
        assert page.inner_text(".tree-told").startswith(told)
        assert page.evaluate("document.activeElement.querySelector('.sr-only').textContent") == page.inner_text(
            ".tree-told"
        )
    page.click("[role=treeitem]:has-text('b')")
    assert page.get_attribute(".lane[data-position='0']", "aria-selected") == "true"
    _, data = saved(page, "Picture of this round, SVG")
    assert len(ElementTree.fromstring(data).findall(".//{*}path")) == 7


def test_the_saved_page_keeps_its_own_scripts_only(alone):
    page = alone(exports.page(make_trace()))
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.hacked = 1";
          document.body.append(script);
        }"""
    )
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert len(alone.errors) >= 2
    assert all("Content Security Policy" in error for error in alone.errors)
    alone.errors.clear()


def test_the_saved_page_models_speeds_at_other_costs(alone):
    trace, costs = make_trace(), shipped_profiles()["chinchilla-70b-4b"]
    page = alone(exports.page(trace))
    page.select_option(".summary .costs select", "chinchilla-70b-4b")
    speed = costs.tokens_per_second(len(trace.output_ids), work_of(trace))
    assert page.locator(f".figure-box .big:text-is('{speed:.1f}')").count() == 1
    assert "arXiv 2302.01318" in page.inner_text(".costs-note")


def test_a_link_into_the_saved_page(alone):
    page = alone(exports.page(make_trace()), "#v=1&round=4&position=2&theta=0.3&view=pinned")
    wait_for_place(page, "Round 4 of 6")
    assert "θ 0.3 instead of 0.05" in page.inner_text(".whatif-head")
    page.keyboard.press("Escape")
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("]")
    wait_for_link(page, "#v=1&round=5&position=7&theta=0.3")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_saved_page_follows_the_systems_colours(alone, scheme):
    page = alone(exports.page(make_trace()), color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(251, 251, 250)", "dark": "rgb(18, 21, 26)"}[scheme]


def test_the_saved_page_fits_a_phone(alone):
    page = alone(exports.page(make_trace()), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(".save summary")
    box = page.locator(".save-panel").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


# A visitor's own file ------------------------------------------------------------------------------------------------


def give(page, data, name="mine.json"):
    page.set_input_files(".share input[type=file]", [{"name": name, "mimeType": "application/json", "buffer": data}])


def test_a_visitors_record_is_shown_like_a_recorded_run(recorded, visit):
    page = visit(recorded)
    data = json.dumps(make_trace(repeats=2, prompt="Mine.", theta=0.1).to_json()).encode()
    give(page, data)
    wait_for_place(page, "Round 1 of 12")
    assert page.inner_text(".origin").startswith("Imported run")
    assert page.input_value("#prompt textarea") == "Mine."
    wait_for_knob(page, "theta", "0.1")
    assert "not kept on the server" in page.inner_text(".share-message")
    assert page.input_value("#recordings input") == "From your file"
    page.click("#charts > button")
    page.wait_for_selector("#plot .js-plotly-plot .main-svg")
    assert "Every disagreement by both entropies" in page.text_content("#plot")
    _, kept = saved(page, "Whole record, JSON")
    assert kept == data, "the very file"
    page.focus(".strip .tok[tabindex='0']")
    page.keyboard.press("]")
    page.wait_for_function("location.hash.startsWith('#v=1')")
    assert "&run=" not in page.url
    assert "Mine" not in page.url
    page.click("#recordings input")
    page.locator("[role=option]", has_text="Again.").click()
    wait_for_place(page, "Round 1 of 18")
    name, _ = saved(page, "Whole record, JSON")
    assert name == "b.json"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not a record", "not valid JSON"),
        (b'{"schema": 1}', "provenance is missing"),
        (b'{"schema": 2}', "schema version 2"),
        (b"", "not valid JSON"),
        (b'{"schema": 1, "provenance": "<img src=http://127.0.0.1:9/seen>"}', "must be an object"),
    ],
)
def test_a_file_that_is_no_record_is_refused_with_the_reason(at_start, data, reason):
    page = at_start
    give(page, data, "<img src=x onerror=window.hacked=1>.json")
    page.wait_for_selector(f"text={reason}")
    assert "<img src=x onerror=window.hacked=1>.json is no record of a run" in page.inner_text("body")
    page.wait_for_selector(".share-message", state="hidden")
    assert place(page) == "Round 1 of 6"
    assert page.inner_text(".origin").startswith("Recorded run")
    assert page.evaluate("window.hacked") is None


def test_what_is_too_large_or_no_text_never_leaves_the_browser(at_start, tmp_path):
    page, large = at_start, tmp_path / "large.json"
    large.write_bytes(b" " * (16 * 2**20 + 1))
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.set_input_files(".share input[type=file]", large)
    page.wait_for_selector("text=may have 16.0 MB at most")
    give(page, b"\xff\xfe\x00")
    page.wait_for_selector("text=not UTF-8 text")
    assert not [url for url in sent if "queue" in url]


# Korean --------------------------------------------------------------------------------------------------------------

HANGUL = re.compile("[\uac00-\ud7a3]")


def test_a_korean_browser_gets_a_korean_page(recorded, visit):
    page = visit(recorded, locale="ko-KR")
    page.wait_for_selector("text=추측 디코딩 탐색기")
    assert page.inner_text("#run") == "실행"
    assert page.get_attribute("#prompt textarea", "placeholder").startswith("질문을")
    assert page.inner_text(".origin").startswith("기록된 실행")
    assert "보류" in page.inner_text(".card")
    assert place(page) == "라운드 1/6"
    set_knob(page, "theta", 0.3)
    page.wait_for_selector(".whatif")
    assert "θ: 0.05 대신 0.3" in page.inner_text(".whatif-head")
    page.click(".save summary")
    # Everything a visitor reads is Korean, but for names, figures and what the models wrote.
    labels = page.eval_on_selector_all(
        "button, summary, h1, h3, h4, label > span, [data-testid=block-info], .lane-name, .verdict-name, .means, figcaption",
        "nodes => nodes.filter(n => n.checkVisibility()).map(n => n.innerText.trim()).filter(t => /[A-Za-z]{3}/.test(t))",
    )
    names = (
        "FLy",
        "PACER",
        "AdaEDL",
        "PEARL",
        "AdaEDL",
        "JSON",
        "CSV",
        "HTML",
        "SVG",
        "PNG",
        "Gradio",
        "API",
        "lighthouse",
        "nat",
    )
    assert [text for text in labels if not HANGUL.search(text) and text not in names] == []
    assert "짧은 이야기" in page.inner_text("#examples")
    assert "FLy(느슨한 보류 검증) + 고정 길이" in page.input_value("#recordings input")
    # What the server says too: notes on the settings, refusals, charts.
    set_knob(page, "window", 8)
    page.wait_for_selector("#notes >> text=아무것도 보류할 수 없어")
    page.click("#charts > button")
    page.wait_for_selector("#plot .js-plotly-plot .main-svg >> text=모든 불일치의 두 엔트로피")
    page.fill("#prompt textarea", " ")
    page.click("#run")
    page.wait_for_selector("[data-testid=toast-body] >> text=프롬프트가 비어 있습니다")


def test_a_saved_page_speaks_the_readers_language(alone):
    page = alone(exports.page(make_trace()), locale="ko-KR")
    assert place(page) == "라운드 1/6"
    assert page.inner_text(".threshold-name >> nth=2") == "임계값 θ"
    page = alone(exports.page(make_trace()), locale="fr-FR")
    assert place(page) == "Round 1 of 6"
