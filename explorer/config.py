"""DecodeConfig: every knob of a run once, with its range, default, unit and help text.

The command line, the page and the link all read this one table, so a knob added here appears in each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from explorer.errors import UserError
from explorer.verdicts import Rule

ENTROPY_MEASURES = ("normalized", "top3")
ENTROPY_MAXIMUM = {"normalized": 1.0, "top3": math.log(3)}


class ConfigError(UserError):
    """A knob out of its range: the message names the knob and the range, in words for a person."""


@dataclass(frozen=True, slots=True)
class Knob:
    """What one field of DecodeConfig is: how to ask for it, check it and explain it."""

    name: str
    kind: type
    default: Any
    label: str
    help: str
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def range_text(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind is tuple:
            return "a list of texts"
        return f"{'a whole number' if self.kind is int else 'a number'} from {self.low:g} to {self.high:g}"

    def check(self, value: Any) -> None:
        """Raise ConfigError unless value has this knob's type and lies in its range (NaN never does)."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        good = {
            bool: lambda: isinstance(value, bool),
            str: lambda: value in self.choices,
            int: lambda: number and isinstance(value, int) and self.low <= value <= self.high,
            float: lambda: number and self.low <= value <= self.high,
            tuple: lambda: isinstance(value, tuple) and all(isinstance(item, str) and item for item in value),
        }[self.kind]()
        if not good:
            raise ConfigError(f"{self.label} must be {self.range_text}, got {repr(value)[:60]}")


def _knob(kind: type, default: Any, label: str, help: str, **limits: Any) -> Any:
    return field(default=default, metadata={"kind": kind, "label": label, "help": help, **limits})


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """The settings of one run. Frozen and checked: a DecodeConfig that exists is valid."""

    rule: str = _knob(
        str, "fly", "Rule", "How the target verifies: alone, exact match, or FLy's loose rule.", choices=get_args(Rule)
    )
    theta: float = _knob(
        float, 0.05, "Theta", "A mismatch may be deferred where the target's entropy is at least this.",
        low=0.0, high=1.2, step=0.005,
    )  # fmt: skip
    window: int = _knob(
        int, 3, "Window W", "How many draft tokens after a deferred mismatch must all match.", low=0, high=32, step=1
    )
    entropy: str = _knob(
        str, "normalized", "Entropy measure",
        "normalized: full vocabulary, divided by ln V (0 to 1). top3: partial sum over the three likeliest tokens, in nats (0 to 1.099).",
        choices=ENTROPY_MEASURES,
    )  # fmt: skip
    window_includes_mismatch: bool = _knob(
        bool, False, "Window includes the mismatch", "The released code's counting: W - 1 tokens must follow, not W."
    )
    drafter: str = _knob(
        str,
        "model",
        "Drafter",
        "Where drafted tokens come from: the draft model, prompt lookup alone, or the draft model accelerated by lookup.",
        choices=("model", "lookup", "model+lookup"),
    )
    length: str = _knob(str, "fixed", "Length policy", "When drafting stops.", choices=("fixed",))
    draft_length: int = _knob(int, 8, "Draft length K", "Tokens drafted per round, at most.", low=1, high=64, step=1)
    max_new_tokens: int = _knob(
        int, 128, "Budget", "Most tokens to generate; the text ends there.", low=1, high=4096, step=1
    )
    temperature: float = _knob(
        float, 0.0, "Temperature", "0 is greedy. Above 0 both models sample.", low=0.0, high=2.0, step=0.05
    )
    seed: int = _knob(int, 0, "Seed", "Random seed; used only above temperature 0.", low=0, high=2**31 - 1, step=1)
    raw_prompt: bool = _knob(bool, False, "Raw prompt", "Feed the text as it is, without the target's chat template.")
    stop_strings: tuple[str, ...] = _knob(tuple, (), "Stop strings", "The text ends before the first of these.")

    def __post_init__(self) -> None:
        for knob in knobs():
            knob.check(getattr(self, knob.name))
        if self.window == 0 and self.window_includes_mismatch:
            raise ConfigError("Window W must be at least 1 when the window includes the mismatch")

    @property
    def theta_is_never(self) -> bool:
        """True where no entropy can reach theta, so that FLy keeps what the exact rule keeps."""
        return self.theta > ENTROPY_MAXIMUM[self.entropy]

    @property
    def notes(self) -> tuple[str, ...]:
        """Allowed settings that do not do what one may expect, in words for a person."""
        notes = []
        if self.rule == "fly" and self.window >= self.draft_length:
            notes.append(
                f"W = {self.window} does not fit in a draft of {self.draft_length}: nothing can be deferred, FLy equals the exact rule."
            )
        if self.rule == "fly" and self.theta_is_never:
            notes.append("Theta is above the largest possible entropy: no mismatch is ever deferred.")
        return tuple(notes)

    def with_preset(self, name: str) -> DecodeConfig:
        """The same run under the named preset of the loose rule (PRESETS)."""
        return replace(self, rule="fly", **PRESETS[name].settings)


def knobs() -> tuple[Knob, ...]:
    """The table of all knobs, in the order of the fields."""
    return _KNOBS


_KNOBS = tuple(Knob(name=f.name, default=f.default, **f.metadata) for f in fields(DecodeConfig))


@dataclass(frozen=True, slots=True)
class Preset:
    """A named point of the loose rule, with where it comes from."""

    label: str
    source: str
    settings: dict[str, Any]


def _preset(label: str, source: str, entropy: str, theta: float, window: int, includes: bool) -> Preset:
    settings = {"entropy": entropy, "theta": theta, "window": window, "window_includes_mismatch": includes}
    return Preset(label, source, settings)


PRESETS = {
    "explorer": _preset(
        "Explorer", "our default for small pairs, until the sweep decides", "normalized", 0.05, 3, False
    ),
    "paper": _preset("Paper text", "arXiv 2511.22972, section 3: full entropy over ln V", "normalized", 0.3, 6, False),
    "released": _preset(
        "Released code", "AMD-AGI/FLy: top-3 entropy in nats, W counts the mismatch", "top3", 0.3, 6, True
    ),
    "vllm": _preset(
        "vLLM port", "the authors' vLLM port: top-3 entropy in nats, W following tokens", "top3", 0.3, 6, False
    ),
}

# The two measures are not interchangeable, so switching the measure switches theta to a value made for it.
THETA_OF_MEASURE = {"normalized": PRESETS["explorer"].settings["theta"], "top3": PRESETS["released"].settings["theta"]}
