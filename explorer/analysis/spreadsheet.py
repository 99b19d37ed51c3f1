"""Tables for spreadsheets: CSV whose texts are never formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

# A cell that begins with one of these is run by spreadsheet programs; the wide forms in East Asian ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def csv_table(head: Sequence[str], body: Sequence[Sequence[str | float | int | None]]) -> str:
    """Rows of texts and numbers; None is an empty cell, and a text that would be a formula gets an apostrophe in front."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)  # lines end as RFC 4180 has it
    for row in [head, *body]:
        writer.writerow([_text(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def _text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
