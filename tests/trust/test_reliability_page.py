"""docs/reliability.md and docs/bugs-of-others.md name tests: each of them must exist."""

import re
from functools import cache
from pathlib import Path

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


def test_every_named_test_exists():
    assert len(set(NAMED)) > 50
    missing = [
        (path, name)
        for path, name in sorted(set(NAMED))
        if f"\ndef {name}(" not in text(path or "tests/trust/test_bad_input.py")
    ]
    assert missing == []


def test_no_figure_is_left_out():
    assert not re.findall(r"^[A-Z]{4,}$", PROMISES, flags=re.M)
