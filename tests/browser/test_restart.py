"""The server is started anew while a page is open: what was typed, and the run that nobody saved, come back with the page."""

from __future__ import annotations

import pytest
from scripted import STORY, ScriptedBackend, make_trace
from serving import served

from explorer.ui.recordings import recordings

pytestmark = pytest.mark.browser
TYPED = "#prompt textarea"


@pytest.fixture
def runs(tmp_path):
    make_trace(blocks=True).save(tmp_path / "a.json")
    return recordings({"elsewhere": "A pair from elsewhere"}, folder=tmp_path)


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def loaded_anew(page, url: str) -> None:
    """The page under its address in the same tab, as its visitor loads it again."""
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector("#run:not([disabled])")


def test_prompt_and_run_outlive_a_restart_of_the_server(runs, visit, run):
    with served(ScriptedBackend(STORY), runs) as (_, url):
        page = visit(url, own=True)
        run(page, budget=30)
        text = page.inner_text(".strip")
        page.wait_for_function("sessionStorage.getItem('explorer-record') !== null")
        page.fill(TYPED, "And then, <b>what</b>?")
        page.goto("about:blank")  # before the server goes: its page would tell of the lost connection
    with served(ScriptedBackend(STORY), runs, server_port=port_of(url)) as _:
        loaded_anew(page, url)
        page.wait_for_selector(".share-message >> text=before the page was loaded anew")
        assert page.inner_text(".strip") == text
        page.wait_for_function(f"document.querySelector('{TYPED}').value === 'And then, <b>what</b>?'")
        loaded_anew(page, url)  # once more: it is still kept
        page.wait_for_selector(".share-message >> text=before the page was loaded anew")
        assert page.inner_text(".strip") == text
        run(page, budget=8)  # another run takes its place
        page.wait_for_function("sessionStorage.getItem('explorer-record') !== null")
        loaded_anew(page, url)
        page.wait_for_selector(".share-message >> text=before the page was loaded anew")
        assert page.locator(".strip .tok").count() == 8
        page.close()


def test_a_prompt_alone_comes_back_and_a_new_tab_knows_nothing(runs, visit):
    with served(ScriptedBackend(STORY), runs) as (_, url):
        page = visit(url, own=True)
        page.fill(TYPED, "Only typed.")
        loaded_anew(page, url)
        page.wait_for_function(f"document.querySelector('{TYPED}').value === 'Only typed.'")
        assert page.inner_text(".origin").startswith("Recorded run")
        other = page.context.new_page()
        other.goto(url)
        other.wait_for_selector("#run:not([disabled])")
        assert other.input_value(TYPED) != "Only typed."
        other.close()
        page.close()


def test_a_link_to_a_recorded_run_goes_before_what_is_kept(runs, visit, run):
    with served(ScriptedBackend(STORY), runs) as (_, url):
        page = visit(url, own=True)
        run(page, budget=8)
        page.wait_for_function("sessionStorage.getItem('explorer-record') !== null")
        loaded_anew(page, f"{url}/#v=1&run=a&round=2")
        page.wait_for_selector(".origin >> text=Recorded run")
        page.wait_for_function("document.querySelectorAll('.strip .tok').length > 8")
        page.close()
