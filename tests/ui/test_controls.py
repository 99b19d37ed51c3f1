"""The controls are the table of knobs: a knob added there appears, and its range guards the input."""

import inspect

import pytest

from explorer.config import ConfigError, DecodeConfig, knobs
from explorer.ui.controls import control
from explorer.ui.forms import config_of
from explorer.ui.languages import I18N
from explorer.ui.page_knobs import page_knobs

DEFAULTS = {knob.name: knob.default for knob in page_knobs()}


def test_every_knob_with_a_choice_has_a_control():
    left_out = [knob for knob in knobs() if knob.name not in DEFAULTS]
    assert all(len(knob.choices) == 1 or knob.kind is tuple for knob in left_out)
    assert {"rule", "theta", "window", "entropy", "draft_length", "max_new_tokens", "seed"} <= set(DEFAULTS)


@pytest.mark.parametrize("knob", page_knobs(), ids=lambda knob: knob.name)
def test_a_control_says_what_the_table_says(knob):
    component, english = control(knob), I18N.translations_dict["en"]
    title, info = english[component.label.key], english[component.info.key]
    assert title.startswith(knob.label.removesuffix(" rho"))
    assert title.endswith(f"({knob.unit})") == bool(knob.unit)
    assert info.split("**")[1::2] == list(knob.choice_help.values()) or info == knob.help
    assert component.value == knob.default
    if knob.choices:
        assert tuple(value for _, value in component.choices) == knob.choices
    elif knob.kind is not bool:
        assert (component.minimum, component.maximum, component.step) == (knob.low, knob.high, knob.step)


def test_untouched_controls_are_the_default_run():
    assert config_of(DEFAULTS) == DecodeConfig()


def test_whole_numbers_may_arrive_as_floats():
    assert config_of({**DEFAULTS, "window": 4.0}).window == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [("theta", -0.1), ("theta", 3), ("theta", None), ("theta", float("nan")), ("window", 2.5), ("window", 33), ("draft_length", 0),
     ("max_new_tokens", 5000), ("temperature", "hot"), ("seed", -1), ("rule", "loose"), ("entropy", None), ("raw_prompt", None)],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_by_name(name, value):
    label = next(knob.label for knob in knobs() if knob.name == name)
    with pytest.raises(ConfigError, match=label):
        config_of({**DEFAULTS, name: value})


def test_the_endpoint_has_the_knobs_of_the_page():
    from scripted import STORY, ScriptedBackend

    from explorer.ui.page import build_page

    page = build_page(ScriptedBackend(STORY))
    run = next(fn.fn for fn in page.fns.values() if fn.api_name == "run")
    parameters = inspect.signature(run).parameters
    assert list(parameters) == ["prompt", "pair", "baseline", *DEFAULTS]
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
