"""docs/reliability.md names tests: each of them must exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", PAGE)


@cache
def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_row_of_the_bug_reports_has_a_guard():
    rows = [
        line
        for line in PAGE.split("## Bugs of others")[1].split("From the source")[0].splitlines()
        if line.startswith("| ")
    ]
    assert len(rows) - 2 == 33
    for row in rows[2:]:
        assert "::test_" in row or "cannot occur" in row


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED)))
def test_a_named_test_exists(path, name):
    assert f"\ndef {name}(" in text(path or "tests/trust/test_bad_input.py")


def test_no_figure_is_left_out():
    assert not re.findall(r"^[A-Z]{4,}$", PAGE, flags=re.M)
