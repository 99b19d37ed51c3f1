"""The page over the embedded pair: type a prompt, press Run, see real verdicts."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.real]


def test_a_prompt_becomes_coloured_tokens_and_a_summary(serve, visit, run, real_pair):
    from explorer.ui.backend import Backend

    backend = Backend()
    backend._pair = real_pair  # in memory already: loaded once for all tests
    page = visit(serve(backend))
    run(page, "Explain in simple words why the sky is blue.", budget=40)
    kinds = set(page.eval_on_selector_all(".strip .tok", "nodes => nodes.map(n => n.className.split(' ')[1])"))
    assert len(kinds) >= 2
    tokens = page.locator(".strip .tok").count()
    assert 1 < tokens <= 40
    assert f"{tokens} committed tokens" in page.inner_text(".summary")
    assert "measured" in page.inner_text(".summary")
    page.focus(".strip .tok >> nth=0")
    assert "target gave it" in page.inner_text(".card")
