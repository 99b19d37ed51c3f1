"""Judging cases as JSON lines: one draft in, its verdicts out. The form of the golden cases and of `explorer judge`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, get_args

from explorer.schema import SchemaError, parse_json, read
from explorer.verdicts import Judgement, Rule, judge


@dataclass(frozen=True, slots=True)
class Case:
    """The input of one judging case; lists have one entry per drafted token."""

    match: tuple[bool, ...]
    entropy: tuple[float, ...]
    theta: float
    window: int
    rule: str
    includes_mismatch: bool = False
    protected: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise SchemaError(f"rule must be one of {', '.join(get_args(Rule))}, got {self.rule[:60]!r}")

    def judge(self) -> Judgement:
        """Raises ValueError where the lists differ in length or the window is impossible."""
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
        except ValueError as error:
            raise SchemaError(str(error)) from None
        return {
            "verdicts": list(judgement.verdicts),
            "kept": judgement.kept,
            "cut": judgement.cut,
            "last": judgement.last,
        }


def judge_line(line: str | bytes) -> str:
    """One JSON line in, one JSON line out; raises SchemaError for anything that is not a case."""
    return json.dumps(read(Case, parse_json(line)).answer())
