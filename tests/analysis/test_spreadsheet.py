"""CSV that no spreadsheet program runs."""

import csv
import io

import pytest

from explorer.analysis.spreadsheet import csv_table


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|'/c calc'!A0"])
def test_a_text_is_never_a_formula(cell):
    assert rows(csv_table(["a"], [[cell]])) == [["a"], ["'" + cell]]
    assert rows(csv_table([cell], [])) == [["'" + cell]]


def test_numbers_stay_numbers_and_texts_stay_in_their_cell():
    text = csv_table(["a", "b"], [[-0.5, None], ['say "x",\ny', 3]])
    assert rows(text) == [["a", "b"], ["-0.5", ""], ['say "x",\ny', "3"]]
