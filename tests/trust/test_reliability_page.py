"""docs/reliability.md and docs/bugs-of-others.md name tests: each of them must exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES, BUGS = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("reliability.md", "bugs-of-others.md")
)
NAMED = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", PROMISES + BUGS)


def rows(page: str, first: str) -> list[str]:
    """The rows of the table whose head begins with this cell."""
    return page.split(f"| {first} |")[1].split("\n\n")[0].splitlines()[2:]


@cache
def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_row_of_the_bug_reports_has_a_guard():
    reports = rows(BUGS, "report")
    assert len(reports) == 33
    for row in reports:
        assert "::test_" in row or "cannot occur" in row


def test_every_promise_has_a_test():
    promises = rows(PROMISES, "promise")
    assert len(promises) > 15
    for row in promises:
        assert re.search(r"`test_\w+`|`tests/[\w/]+\.py(::test_\w+)?`", row), row


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED)))
def test_a_named_test_exists(path, name):
    assert f"\ndef {name}(" in text(path or "tests/trust/test_bad_input.py")


def test_no_figure_is_left_out():
    assert not re.findall(r"^[A-Z]{4,}$", PROMISES, flags=re.M)
