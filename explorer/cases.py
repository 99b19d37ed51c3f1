"""Judging cases as JSON lines: one draft in, its verdicts out. The form of the golden cases and of `python -m explorer judge`."""

from __future__ import annotations

import json
from dataclasses import dataclass, make_dataclass
from typing import Any

from explorer.config import knobs
from explorer.errors import UserError
from explorer.schema import SchemaError, parse_json, read
from explorer.verdicts import LOOSE_RULES, RULES, Evidence, Judgement, judge, judge_evidence

# What `judge --help` says of a line; docs/contracts/rule.md has the same as a table.
FIELDS = (
    'One line holds one draft as a JSON object. Always: "rule", and "match" (true where the target agrees), a list like all others with '
    'one entry per drafted token. fly and exact also need "entropy", "theta" and "window"; "includes_mismatch" and "protected" (true where '
    "a stop id is involved) are optional. "
    + " ".join(
        f"{name} needs {', '.join(map(repr, (*rule.reads, *rule.knobs)))}.".replace("'", '"')
        for name, rule in LOOSE_RULES.items()
        if name != "fly"
    )
    + " Knobs have the ranges that `run --help` names. The answer of a line: verdicts, kept, cut (null: the whole draft is kept) and last."
)


# The knobs of all rules but FLy as fields, None where a case does not give them.
_Knobs = make_dataclass(
    "_Knobs",
    [
        (knob.name, knob.kind | None, None)
        for name, rule in LOOSE_RULES.items()
        if name != "fly"
        for knob in rule.settings
    ],
    frozen=True,
    kw_only=True,
    slots=True,
)


@dataclass(frozen=True, slots=True)
class Case(_Knobs):
    """The input of one judging case; lists have one entry per drafted token.

    Rules fly and exact need entropy, theta and window; the others their own lists and knobs (verdicts.LOOSE_RULES), by name.
    """

    match: tuple[bool, ...]
    rule: str
    entropy: tuple[float, ...] | None = None
    theta: float | None = None
    window: int | None = None
    includes_mismatch: bool = False
    protected: tuple[bool, ...] | None = None
    prob: tuple[float, ...] | None = None
    top_prob: tuple[float, ...] | None = None
    gap: tuple[float, ...] | None = None
    rank: tuple[int | None, ...] | None = None
    certainty: tuple[float | None, ...] | None = None
    divergence: tuple[float | None, ...] | None = None
    harmless: tuple[float | None, ...] | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise SchemaError("draft.rule", rules=", ".join(RULES), value=repr(self.rule[:60]))
        for knob in knobs():
            value = getattr(self, knob.name, None)
            if value is not None and knob.kind in (int, float) and not knob.low <= value <= knob.high:
                raise SchemaError("knob.out_of_range", label=knob.name, range=knob.range_message, value=value)
        needed = (*LOOSE_RULES[self.rule].reads, *LOOSE_RULES[self.rule].knobs) if self._is_relaxed else _PLAIN
        for name in needed:
            if getattr(self, name) is None:
                raise SchemaError("record.missing", place=name)

    @property
    def _is_relaxed(self) -> bool:
        return self.rule in LOOSE_RULES and self.rule != "fly"

    def judge(self) -> Judgement:
        """Raises ValueError where the lists differ in length, the window is impossible or a list lacks what the rule reads."""
        if self._is_relaxed:
            protected = (False,) * len(self.match) if self.protected is None else self.protected
            lists = {name: getattr(self, name) for name in LOOSE_RULES[self.rule].reads}
            return judge_evidence(Evidence(self.match, protected, **lists), self)
        return judge(
            self.match,
            self.entropy,
            rule=self.rule,
            theta=self.theta,
            window=self.window,
            includes_mismatch=self.includes_mismatch,
            protected=self.protected,
        )

    def answer(self) -> dict[str, Any]:
        """The judgement as plain data; raises SchemaError where the case cannot be judged."""
        try:
            judgement = self.judge()
        except UserError as error:
            raise SchemaError(error.message.code, **error.message.values) from None
        return {
            "verdicts": list(judgement.verdicts),
            "kept": judgement.accepted,
            "cut": judgement.cut,
            "last": judgement.last,
        }


_PLAIN = ("entropy", "theta", "window")


def judge_line(line: str | bytes) -> str:
    """One JSON line in, one JSON line out; raises SchemaError for anything that is not a case."""
    return json.dumps(read(Case, parse_json(line)).answer())
