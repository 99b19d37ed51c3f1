"""A run as files: its rounds as CSV, and one page that needs no server. Pure; twin of explorer/ui/web/twins/exports.js.

The page holds the same scripts and styles as the app and the text of the run as data. A strict Content-Security-Policy lets
nothing in it but our own script run, and nothing be fetched.
"""

from __future__ import annotations

import html
import json
import re
import secrets
from collections.abc import Iterator

from explorer.analysis.spreadsheet import csv_table
from explorer.pieces import pieces_of
from explorer.trace import Round, Trace
from explorer.ui.catalogue import en
from explorer.ui.run_text import run_text, title_of
from explorer.ui.scripts import function, source, styles
from explorer.wire import PHASES, question, short

CSV_HEAD = (
    "round", "drafted", "verified", "kept", "emitted", "verdicts", "own", "cut", "cut_entropy_normalized", "cut_entropy_top3", "text",
    *(f"{phase}_seconds_measured" for phase in PHASES),
)  # fmt: skip
TITLE_LENGTH = 80  # characters of the prompt in the title of a page

_UNSAFE = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def rounds_csv(trace: Trace) -> str:
    """One row per target pass: what was drafted and accepted, the entropies at the cut, the text, the measured seconds."""
    stops = frozenset(trace.stop_ids)
    tokens = [b"" if token in stops else trace.vocabulary[token] for token in trace.output_ids]
    added = iter([piece.text for piece in pieces_of([*tokens, b""])])
    return csv_table(CSV_HEAD, [_row(number, round_, added) for number, round_ in enumerate(trace.rounds, 1)])


def _row(number: int, round_: Round, added: Iterator[str]) -> list[str | int | float | None]:
    cut = round_.cut
    row = None if cut is None else round_.rows[cut]
    return [
        number,
        len(round_.drafted),
        round_.verified,
        round_.accepted,
        len(round_.emitted),
        " ".join(round_.verdicts),
        round_.last,
        None if cut is None else cut + 1,
        row and row.entropy_normalized,
        row and row.entropy_top3,
        "".join(next(added) for _ in round_.emitted),
        *(short(getattr(round_.seconds, phase)) for phase in PHASES),
    ]


def page(trace: Trace, title: str | None = None, nonce: str | None = None) -> str:
    """The run as one HTML page that opens anywhere, from a file too. `title`: of the model pair; None is its name."""
    pair = trace.provenance.pair
    prompt = " ".join(question(trace.prompt).split())
    values = {
        "language": "en",
        "title": html.escape(f"{prompt[:TITLE_LENGTH]} · {en.page.LABELS['title']}"),
        "nonce": nonce or secrets.token_hex(16),
        "styles": styles(),
        "script": function(),
        "run": json.dumps(
            run_text(f"recorded {pair}", title or title_of(pair, {}), trace, here=True), ensure_ascii=False
        ).translate(_UNSAFE),
        "record": trace.dumps().translate(_UNSAFE),  # in JSON such characters stand in strings only
    }
    # One pass, so that no value is read as a placeholder.
    return re.sub(r"%\{(\w+)\}", lambda match: values[match.group(1)], source("saved/alone.html"))
