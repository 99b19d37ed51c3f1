"""Knob: what one setting of a run is (its range, default, unit and help), and conditions over settings as data.

The command line, the page, links and scripts all read these; config.py and verdicts.py fill them in. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from explorer.errors import UserError
from explorer.messages import Message, Term

# A condition on settings as data, so that the browser reads the same one: values by knob. ABOVE_ZERO stands for any value but 0.
Condition = Mapping[str, tuple[Any, ...]]
ABOVE_ZERO: tuple[Any, ...] = ()


class ConfigError(UserError):
    """A setting out of its range, or settings that cannot go together, in words for a person."""


def has_value(settings: Any, knob: str, values: tuple[Any, ...]) -> bool:
    """Whether a knob of `settings` has one of these values; for ABOVE_ZERO any but 0."""
    value = getattr(settings, knob)
    return value in values if values else bool(value)


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
    unit: str = ""
    # What it means under each choice of the knob `choice_help_of`: of itself where none is named.
    choice_help: Mapping[str, str] = field(default_factory=dict)
    choice_help_of: str = ""
    # When it has an effect at all: in every condition here at least one of the named knobs has one of its values.
    relevant_when: tuple[Condition, ...] = ()
    looser: Literal["higher", "lower", ""] = ""  # the values at which a loose rule accepts more mismatches

    @property
    def loosest(self) -> Any:
        """The value at which a loose rule accepts most; of a knob that does not say, its default."""
        return {"higher": self.high, "lower": self.low}.get(self.looser, self.default)

    @property
    def label_message(self) -> Term:
        """The label, in any language."""
        return Term(f"knob.{self.name}", self.label)

    @property
    def range_message(self) -> Message:
        """What values it takes, in any language."""
        if self.choices:
            return Message("range.choices", {"choices": ", ".join(self.choices)})
        if self.kind is bool:
            return Message("range.bool")
        if self.kind is tuple:
            return Message("range.texts")
        if self.kind is int:
            return Message("range.whole", {"low": self.low, "high": self.high})
        return Message("range.number", {"low": f"{self.low:g}", "high": f"{self.high:g}"})

    @property
    def range_text(self) -> str:
        """What values it takes, in English."""
        return str(self.range_message)

    def unmet(self, settings: Any) -> Condition | None:
        """The first condition of `relevant_when` that does not hold under these settings; None where the knob has an effect."""
        return next(
            (
                condition
                for condition in self.relevant_when
                if not any(has_value(settings, *one) for one in condition.items())
            ),
            None,
        )

    def check(self, value: Any) -> None:
        """Raise ConfigError unless value has this knob's type and lies in its range (NaN never does)."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        good = {
            bool: lambda: isinstance(value, bool),
            str: lambda: value in self.choices,
            int: lambda: number and isinstance(value, int) and self.low <= value <= self.high,
            float: lambda: number and self.low <= value <= self.high,
            tuple: lambda: isinstance(value, tuple) and all(isinstance(item, str) and is_text(item) for item in value),
        }[self.kind]()
        if not good:
            raise ConfigError(
                "knob.out_of_range", label=self.label_message, range=self.range_message, value=repr(value)[:60]
            )


def is_text(value: str) -> bool:
    """Whether there is any text, and it can be written as UTF-8: bytes of a command line may come in as half characters."""
    return bool(value) and not any("\ud800" <= character <= "\udfff" for character in value)
