"""The page under a prefix of a reverse proxy."""

from __future__ import annotations

import pytest
from proxy import proxied
from scripted import STORY, ScriptedBackend, make_trace
from serving import served

from explorer.ui.recordings import recordings

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("named", ["path", "address"])
def test_a_run_arrives_through_a_proxy(named, visit, run, tmp_path):
    """The browser asked for answers at the root of the proxy, and Run said that it could not parse what came."""
    make_trace(blocks=True).save(tmp_path / "a.json")
    runs = recordings({"elsewhere": "A pair from elsewhere"}, folder=tmp_path)
    server: list[str] = []
    with proxied(server, "/tools/explorer", tells_host=named == "path") as url:
        root = "/tools/explorer" if named == "path" else url
        with served(ScriptedBackend(STORY), runs, root_path=root) as (_, address):
            server.append(address)
            page = visit(f"{url}/", own=True)
            run(page, budget=30)
            assert page.locator(".strip .tok").count() == 30
            assert page.inner_text(".origin").startswith("Live run")
            page.close()
