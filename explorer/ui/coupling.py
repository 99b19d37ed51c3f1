"""Controls that move others in the browser: a measure brings its theta, a length policy what it starts from, a preset its point."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from explorer.config import POLICY_DEFAULTS, PRESETS, THETA_OF_MEASURE
from explorer.ui.events import SCRIPT

LOOSE_KNOBS = ("entropy", "theta", "window", "window_includes_mismatch")  # what a preset sets

_PRESET = (
    "(name, ...now) => { const preset = %s[name]; return preset ? ['fly', ...%s.map((knob) => preset[knob])] : now; }"
)
_THETA = "(measure, now) => (%s)[measure] ?? now"
_PAIR = "(pair) => { document.dispatchEvent(new CustomEvent('explorer-pair', { detail: { sets: %s, pair } })); }"
_POLICY = "(policy, ...now) => %s.map((knob, index) => (%s)[policy]?.[knob] ?? now[index])"


def tell_pair(pair: Any, sets: str) -> None:
    """Let the browser know which pair some sets of controls are for; sets: as a CSS selector."""
    pair.change(None, [pair], None, js=_PAIR % json.dumps(sets), **SCRIPT)


def couple_controls(controls: Mapping[str, Any], preset: Any = None) -> None:
    """Tie the controls of one set of knobs together; preset: the choice of one, where there is one."""
    if preset is not None:
        rule = [controls["rule"], *(controls[name] for name in LOOSE_KNOBS)]
        settings = json.dumps({name: one.settings for name, one in PRESETS.items()})
        preset.input(None, [preset, *rule], rule, js=_PRESET % (settings, json.dumps(LOOSE_KNOBS)), **SCRIPT)
    measure = [controls["entropy"], controls["theta"]]
    controls["entropy"].input(None, measure, [controls["theta"]], js=_THETA % json.dumps(THETA_OF_MEASURE), **SCRIPT)
    started = sorted({knob for defaults in POLICY_DEFAULTS.values() for knob in defaults})
    starting = [controls[knob] for knob in started]
    policy = _POLICY % (json.dumps(started), json.dumps(POLICY_DEFAULTS))
    controls["length"].input(None, [controls["length"], *starting], starting, js=policy, **SCRIPT)
