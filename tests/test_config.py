"""Every knob: its range, its default, its place in the one table that drives all front ends."""

import dataclasses
import math

import pytest

from explorer.config import (
    ENTROPY_MAXIMUM,
    PRESETS,
    RULE_KNOBS,
    THETA_OF_MEASURE,
    ConfigError,
    DecodeConfig,
    full_help,
    knobs,
)
from explorer.verdicts import ENTROPY_MEASURES, LOOSE_RULES, RULES

NUMBERS = [knob for knob in knobs() if knob.kind in (int, float)]


def test_the_table_covers_every_field():
    """A knob that the config has and the page or the command line lacks."""
    assert [knob.name for knob in knobs()] == [field.name for field in dataclasses.fields(DecodeConfig)]
    for knob in knobs():
        assert knob.label
        assert knob.help
        assert knob.range_text
        knob.check(knob.default)
        assert getattr(DecodeConfig(), knob.name) == knob.default
    assert all(knob.low <= knob.default <= knob.high and knob.step for knob in NUMBERS)


def test_every_choice_is_explained_and_every_need_is_a_choice_of_another_knob():
    table = {knob.name: knob for knob in knobs()}
    for knob in knobs():
        of = table[knob.choice_help_of or knob.name]
        assert set(knob.choice_help) <= set(of.choices)
        assert all(line in full_help(knob) for line in knob.choice_help.values())
        for need in knob.relevant_when:
            assert all(set(choices) <= set(table[name].choices) and name != knob.name for name, choices in need.items())
    for name in ("rule", "entropy", "drafter", "length", "schedule"):
        assert tuple(table[name].choice_help) == table[name].choices
    # Its lines are of the policies under which it has an effect.
    assert {"length": tuple(table["threshold"].choice_help)} in table["threshold"].relevant_when
    assert {name for name, knob in table.items() if {"rule": ("fly",)} in knob.relevant_when} == set(
        LOOSE_RULES["fly"].knobs
    )
    assert full_help(table["kl_limit"]).endswith("In nats. Only with rule kl.")
    assert full_help(table["phrase_length"]).endswith("Only with phrases above 0 or drafter model+phrases.")


def test_what_has_no_effect_is_never_refused():
    """The page hides it, so that a visitor could not mend it."""
    alone = DecodeConfig(
        rule="autoregressive", drafter="lookup", length="pacer", window=0, window_includes_mismatch=True
    )
    assert not alone.needs_layer
    assert DecodeConfig(rule="exact", window=0, window_includes_mismatch=True)
    with pytest.raises(ConfigError, match="W must be at least 1"):
        dataclasses.replace(alone, rule="fly", length="fixed")


@pytest.mark.parametrize("knob", NUMBERS, ids=lambda knob: knob.name)
def test_numbers_are_held_to_their_range(knob):
    inside = [knob.low, knob.high]
    outside = [
        knob.low - knob.step,
        knob.high + knob.step,
        math.nan,
        math.inf,
        -math.inf,
        True,
        False,
        None,
        "1",
        [1],
        1j,
    ]
    if knob.kind is int:
        outside += [1.5, 2.0]
    for value in inside:
        knob.check(knob.kind(value))
    for value in outside:
        with pytest.raises(ConfigError) as error:
            knob.check(value)
        assert knob.label in str(error.value)
        high = f"{knob.high}" if knob.kind is int else f"{knob.high:g}"  # never 2.14748e+09
        assert f"from {knob.low:g} to {high}" in str(error.value)
        with pytest.raises(ConfigError):
            DecodeConfig(**{knob.name: value})


@pytest.mark.parametrize("value", ["greedy", "", None, 1, ("fly",), "FLY"])
def test_choices_are_held_to_their_list(value):
    for knob in knobs():
        if knob.choices:
            with pytest.raises(ConfigError, match="one of"):
                DecodeConfig(**{knob.name: value})


def test_truth_values_and_texts_have_their_types():
    for value in (1, 0, "true", None):
        with pytest.raises(ConfigError, match="true or false"):
            DecodeConfig(raw_prompt=value)
    for value in (["a"], "a", ("",), (1,), None, ("\udcff",)):  # the last: a byte of a command line that is no text
        with pytest.raises(ConfigError, match="list of texts"):
            DecodeConfig(stop_strings=value)
    assert DecodeConfig(stop_strings=("a", "\n")).stop_strings == ("a", "\n")


def test_a_window_of_nothing_cannot_include_the_mismatch():
    with pytest.raises(ConfigError, match="at least 1"):
        DecodeConfig(window=0, window_includes_mismatch=True)
    assert DecodeConfig(window=0).window == 0


def test_presets_are_the_published_points():
    """theta of one measure used with the other, or the released counting lost."""
    points = {
        name: tuple(preset.settings[key] for key in ("entropy", "theta", "window", "window_includes_mismatch"))
        for name, preset in PRESETS.items()
    }
    assert points["paper"] == ("normalized", 0.3, 6, False)
    assert points["released"] == ("top3", 0.3, 6, True)
    assert points["vllm"] == ("top3", 0.3, 6, False)
    for name, preset in PRESETS.items():
        config = DecodeConfig(rule="exact", draft_length=15, seed=7).with_preset(name)
        assert (config.rule, config.draft_length, config.seed) == ("fly", 15, 7)
        assert {key: getattr(config, key) for key in preset.settings} == preset.settings
        assert preset.label
        assert preset.source
    assert DecodeConfig() == DecodeConfig().with_preset("explorer")


def test_each_measure_has_its_own_theta():
    assert set(THETA_OF_MEASURE) == set(ENTROPY_MEASURES) == set(ENTROPY_MAXIMUM)
    assert {"normalized": 1.0, "top3": math.log(3)} == ENTROPY_MAXIMUM


def test_settings_that_defer_nothing_are_noted():
    """W >= K and theta above the maximum are allowed, and said."""
    assert DecodeConfig().notes == ()
    assert "nothing can be deferred" in str(DecodeConfig(window=8, draft_length=8).notes[0])
    assert DecodeConfig(window=7, draft_length=8).notes == ()
    assert "never deferred" in str(DecodeConfig(theta=1.01).notes[0]) or "ever deferred" in str(
        DecodeConfig(theta=1.01).notes[0]
    )
    assert DecodeConfig(theta=1.0).notes == ()
    assert DecodeConfig(theta=1.09, entropy="top3").notes == ()
    assert len(DecodeConfig(theta=1.1, entropy="top3", window=32).notes) == 2
    assert DecodeConfig(rule="exact", theta=1.2, window=32).notes == ()
    assert DecodeConfig(window=8, draft_length=8, phrases=3).notes == (), "a phrase makes the draft longer"


def test_drafters_that_a_policy_silences_are_noted():
    """Lookup and phrases fill the tokens between two decisions: none where every token is decided on."""
    for drafter in ("model+lookup", "model+phrases"):
        for length in ("confidence", "entropy", "adaedl"):
            assert "after every token" in str(DecodeConfig(drafter=drafter, length=length).notes[0])
        assert "after every token" in str(DecodeConfig(drafter=drafter, length="pacer", block_size=1).notes[0])
        assert DecodeConfig(drafter=drafter, length="pacer").notes == ()
        assert DecodeConfig(drafter=drafter, length="heuristic").notes == ()
    assert DecodeConfig(length="confidence").notes == ()


@pytest.mark.parametrize("rule", [name for name, rule in LOOSE_RULES.items() if rule.greedy_only])
def test_rules_of_greedy_decoding_refuse_a_temperature(rule):
    with pytest.raises(ConfigError, match=f"Rule {rule} is defined for greedy decoding only: set the temperature to 0"):
        DecodeConfig(rule=rule, temperature=0.05)
    assert DecodeConfig(rule=rule).notes == ()


def test_a_rule_that_compares_distributions_needs_a_draft_model():
    with pytest.raises(ConfigError, match="prompt lookup alone has none"):
        DecodeConfig(rule="kl", drafter="lookup")
    assert DecodeConfig(rule="topk", drafter="lookup")
    assert "equals the exact rule" in str(DecodeConfig(rule="topk", top_k=1).notes[0])
    assert "equals the exact rule" in str(DecodeConfig(rule="judge", judge_run=0).notes[0])


def test_every_loose_rule_has_its_knobs_here():
    names = {knob.name for knob in knobs()}
    assert set(LOOSE_RULES) == set(RULES) - {"autoregressive", "exact"}
    assert names >= set(RULE_KNOBS)
    assert len(RULE_KNOBS) == 1 + sum(len(rule.knobs) for rule in LOOSE_RULES.values()), "no knob serves two rules"


def test_a_config_cannot_be_changed_after_its_check():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DecodeConfig().theta = 5.0
