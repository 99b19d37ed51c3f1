"""Choices that cannot go with the others, or that the pair lacks something for: disabled, with the reason."""

import pytest
from scripted import STORY, ScriptedBackend

from explorer.conflicts import Offers

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def bare(serve):
    """A page over a pair that ships nothing."""
    return serve(ScriptedBackend(STORY, offers=Offers(pacer_layer=False, head=False, judge_head=False)))


def choice(name, value):
    return f"#knob-{name} label:has(input[value='{value}'])"


def wait_until_disabled(page, name, value, disabled=True):
    page.wait_for_selector(f"#knob-{name} input[value='{value}']:{'disabled' if disabled else 'enabled'}")


def test_a_choice_that_cannot_be_is_disabled_with_its_reason(bare, visit):
    page = visit(bare)
    wait_until_disabled(page, "length", "pacer")
    assert "needs a PACER layer trained for this pair" in page.get_attribute(choice("length", "pacer"), "title")
    assert "judge head" in page.get_attribute(choice("rule", "judge"), "title")
    assert "EAGLE-3 head" in page.get_attribute(choice("drafter", "features"), "title")
    assert page.is_enabled("#knob-drafter input[value=lookup]")

    page.click(choice("rule", "kl"))
    wait_until_disabled(page, "drafter", "lookup")
    assert page.get_attribute(choice("drafter", "lookup"), "title") == (
        "Rule kl compares the draft model's distribution with the target's, and prompt lookup alone has none: "
        "choose the drafter model or model+lookup"
    )
    page.click(choice("rule", "exact"))
    wait_until_disabled(page, "drafter", "lookup", disabled=False)
    page.click(choice("drafter", "lookup"))
    wait_until_disabled(page, "rule", "kl")
    assert not page.get_attribute(choice("rule", "exact"), "title")


def test_a_link_to_what_cannot_be_is_refused_with_the_reason(bare, visit):
    page = visit(f"{bare}/#v=1&rule=kl&drafter=lookup")
    page.wait_for_selector("text=This link asks for settings that cannot go together")
    assert page.is_checked("#knob-rule input[value=fly]")


def test_a_sweep_disables_what_cannot_share_rounds(bare, visit):
    page = visit(bare)
    page.click("button[role=tab]:has-text('Tune')")
    page.click(".sweep-knobs > button")
    page.wait_for_selector("#tune-drafter input[value='model+phrases']:disabled")
    title = page.get_attribute("#tune-drafter label:has(input[value='model+phrases'])", "title")
    assert "share rounds" in title
