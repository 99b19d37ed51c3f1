"""Which settings stand there: the styles made from the table of knobs, and their twin in the scripts."""

from itertools import product

from node import run_script

from explorer.config import DecodeConfig
from explorer.ui import knob_styles
from explorer.ui.page_knobs import page_knobs

KNOBS = {knob.name: knob for knob in page_knobs()}


def hidden_by(name: str) -> list[str]:
    return [rule for rule in knob_styles.styles().splitlines() if rule.endswith(f".knob-{name} {{ display: none; }}")]


def test_a_knob_is_hidden_by_each_of_its_needs():
    for knob in KNOBS.values():
        rules = hidden_by(knob.name)
        assert len(rules) == len(knob.relevant_when)
        for need, rule in zip(knob.relevant_when, rules, strict=True):
            assert rule.count(":not(:has(") == sum(len(choices) or 1 for choices in need.values())


def test_every_line_is_shown_by_its_own_choice():
    shown = [rule for rule in knob_styles.styles().splitlines() if "display: inline" in rule]
    assert len(shown) == sum(len(knob.choice_help) for knob in KNOBS.values())
    assert any("margin" in rule and "knob-rule" in rule and "nth-of-type(6)" in rule for rule in shown)
    assert any("knob-length" in rule and ".knob-threshold" in rule and "survival" in rule for rule in shown)


def test_no_selector_is_a_list():
    """Gradio cuts a list at every comma, also inside brackets."""
    assert all("," not in rule for rule in knob_styles.styles().splitlines())


def test_scripts_know_which_knobs_have_an_effect():
    cases = [
        {**{name: knob.default for name, knob in KNOBS.items()}, "rule": rule, "length": length, "temperature": warm, "phrases": phrases}
        for rule, length, warm, phrases in product(("autoregressive", "exact", "fly", "kl"), ("fixed", "pacer"), (0, 0.5), (0, 2))
    ]  # fmt: skip
    said = run_script(
        "data.map((config) => Object.keys(RELEVANT_WHEN).filter((name) => isRelevant(config, name)))", cases
    )
    for config, names in zip(cases, said, strict=True):
        assert ("theta" in names) == (config["rule"] == "fly")
        assert ("kl_limit" in names) == (config["rule"] == "kl")
        assert ("seed" in names) == (config["temperature"] > 0)
        drafts = config["rule"] != "autoregressive"
        assert [name in names for name in ("drafter", "length", "draft_length", "phrases")] == [drafts] * 4
        assert ("growth" in names) == (drafts and config["length"] == "pacer")
        assert ("phrase_length" in names) == (drafts and config["phrases"] > 0)
    assert DecodeConfig().drafts
