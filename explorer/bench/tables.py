"""The tables in the documents, made from the files of figures, so that no figure is copied by hand.

A document holds a table between two comments, and what stands between them is written by `python -m explorer tables`:

    <!-- table: speeds bench-smollm2 -->
    <!-- /table -->

The first word names one of TABLES, the others are what it is made from.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from explorer.analysis.differences import table as differences_table
from explorer.analysis.loosened import loosened, loosened_table
from explorer.analysis.markdown import markdown_table
from explorer.bench.form_lines import FormLine, form_origin, form_table
from explorer.bench.lines import COLUMNS, Line, notes, table, telling
from explorer.bench.measured import DRAFT_ALONE, is_plain
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.trace import Seconds, Trace

ROOT = Path(__file__).parents[2]
FIGURES, LAYERS, RUNS = ROOT / "docs" / "figures", ROOT / "assets" / "weights" / "pacer", ROOT / "examples" / "runs"
BLOCK = re.compile(r"(<!-- table: (?P<name>[^\n]+?) -->\n).*?(<!-- /table -->)", re.DOTALL)

SPEEDS = ("x plain", "x fastest", "tau", "same ids", "loosened", "nats/token")
PREDICTORS = {
    "the layer": "",
    "the draft's own probability": "_probs",
    "the product of its probabilities so far": "_survival",
}
# The rows of the README, by pair: file, row, and what it is called there, after all plain rows of its first file, which a user
# would otherwise run.
HEADLINES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "SmolLM2-135M, drafting for itself": (
        ("bench-smollm2", "exact, K = 8", "exact, K = 8"),
        ("bench-smollm2", "exact, model + lookup, K = 8", "exact, model + lookup, K = 8"),
        ("bench-smollm2", "fly, model + lookup, K = 8", "fly, model + lookup, K = 8"),
        ("bench-comparators", "fly, pacer, model + lookup", "**fly, PACER, model + lookup**"),
    ),
    "Qwen2.5-Coder 1.5B / 0.5B": (
        ("bench-qwen", "exact, throughput, model + lookup", "exact, throughput policy, model + lookup"),
        ("bench-qwen", "fly, throughput, model + lookup", "**fly, throughput policy, model + lookup**"),
    ),
}
HEADLINE_COLUMNS = ("row", "tokens/s", "x fastest", "x plain", "tau", "same ids", "nats/token")
ROOMS = ("messages", "analysis", "engine", "sweep", "training", "bench", "ui", "cli")  # from the bottom up
POLICIES = ("plain", "fixed", "confidence", "heuristic", "pacer", "oracle")


def documents() -> list[Path]:
    """The pages that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def write_tables(pages: Iterable[Path]) -> list[Path]:
    """Make every table of these pages anew; returns the pages that changed. Raises UserError for a table nobody knows."""
    pages = stale(pages)
    for page in pages:
        write_whole(page, with_tables(page.read_text(encoding="utf-8")))
    return pages


def stale(pages: Iterable[Path]) -> list[Path]:
    """The pages whose tables are not those of the files."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    return [page for page, text in texts.items() if with_tables(text) != text]


def with_tables(text: str) -> str:
    """The text of a page with every table made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{_made(found['name'])}\n\n{found[3]}", text)


def _made(name: str) -> str:
    kind, *arguments = name.split()
    if kind not in TABLES:
        raise UserError("table.unknown", name=kind, known=", ".join(TABLES))
    try:
        return TABLES[kind](*arguments)
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise UserError("table.not_made", name=name, error=error) from error


# A run of `bench` --------------------------------------------------------------------------------------------------------


def speeds(name: str) -> str:
    """Every row with its speed, tau and fidelity."""
    lines = _lines(name)
    return table(lines, ("row", _speed_column(lines), *SPEEDS))


def headlines() -> str:
    """The rows that the README shows, of two pairs."""
    lines, pairs = [], []
    for pair, chosen in HEADLINES.items():
        rows = [one for one in _lines(chosen[0][0]) if is_plain(one.row) or one.row == DRAFT_ALONE]
        for name, row, called in chosen:
            (one,) = (one for one in _lines(name) if one.row == row)
            rows.append(replace(one, row=called))
        lines += rows
        pairs += [pair, *[""] * (len(rows) - 1)]
    columns = telling(HEADLINE_COLUMNS, lines)
    body = [[pair, *(COLUMNS[column](one) for column in columns)] for pair, one in zip(pairs, lines)]
    return markdown_table(["pair", *columns], body)


def remarks(name: str) -> str:
    """What the table of speeds has no column for."""
    return "\n".join(f"- {note}" for note in notes(_lines(name)))


def origin(name: str) -> str:
    """On what a run was measured, and when."""
    record = _figures(name)
    what, config = record["provenance"], record["config"]
    return (
        f"Measured: `{what['pair']}`, {record['lines'][0]['prompts']} prompts, {config['max_new_tokens']} tokens each, {what['device']}, "
        f"{what['date'][:10]}; the process held {record['memory']['resident'] / 1e6:.0f} MB. "
        f"[All figures](figures/{name}.json)."
    )


def forms(name: str) -> str:
    """What each form of a target costs in fidelity, and what it takes, with where it was measured."""
    record = _figures(name)
    return f"{form_table([FormLine(**one) for one in record['forms']])}\n\n{form_origin(record)} [All figures](figures/{name}.json)."


def _lines(name: str) -> list[Line]:
    return [_line(line) for line in _figures(name)["lines"]]


def _line(figures: dict[str, Any]) -> Line:
    """A line as it was written; a figure that older files lack is not known."""
    seconds = Seconds(**figures["seconds"]) if figures["seconds"] else None
    return Line(**{field.name: figures.get(field.name) for field in fields(Line)} | {"seconds": seconds})


def _speed_column(lines: Sequence[Line]) -> str:
    """With its range, where there was more than one pass."""
    return "tokens/s (min-max)" if any(line.slowest_pass < line.fastest_pass for line in lines) else "tokens/s"


def _figures(name: str) -> Any:
    return json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))


# PACER's layers ----------------------------------------------------------------------------------------------------------


def predictors(*layers: str) -> str:
    """How well each layer tells which tokens are accepted, beside the draft's own probabilities."""
    body = []
    for layer in layers:
        card = json.loads((LAYERS / layer / "card.json").read_text(encoding="utf-8"))
        for who, suffix in PREDICTORS.items():
            values = [card["metrics"][name + suffix] for name in ("auc", "auc_within_offset", "brier")]
            body.append([card["rule"]["rule"], who, *(f"{value:.3f}" for value in values)])
    return markdown_table(["rule", "predictor", "AUC", "AUC within offset", "Brier"], body)


def replayed(source: str) -> str:
    """The policies of a replay: of a layer, as its README has them, or of a file of what the command printed."""
    folder = LAYERS / source
    rows = _rows((folder / "README.md").read_text(encoding="utf-8"), "policy") if folder.is_dir() else _printed(source)
    return _policies(rows)


def _policies(rows: Sequence[Sequence[str]]) -> str:
    """Without the ablations and without what only a length of its own explains."""
    head, *body = rows
    chosen = [row for row in body if row[0].partition(" (")[0] in POLICIES]
    return markdown_table(head[:5], [row[:5] for row in chosen])


def _rows(text: str, first: str) -> list[list[str]]:
    """The first table whose head begins with this cell, in cells."""
    lines = text[text.index(f"| {first} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if "---" not in line]


# The map of the repository ----------------------------------------------------------------------------------------------


def rooms() -> str:
    """What `ls explorer` shows, from the bottom up: each room may import those above it in the table."""
    package = ROOT / "explorer"
    found = sorted((path.parent for path in package.glob("*/__init__.py")), key=lambda path: ROOMS.index(path.name))
    modules = sorted(path.name for path in package.glob("*.py") if not path.name.startswith("__"))
    beside = f"The words all rooms share, each in a module: {', '.join(f'`{name}`' for name in modules)}"
    body = [["`explorer/*.py`", beside], *([f"`explorer/{path.name}/`", _room(path)] for path in found)]
    return markdown_table(["room", "what is in it"], body)


def _room(path: Path) -> str:
    """The first paragraph of its docstring, and the rooms inside."""
    text = ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8"))) or ""
    inside = sorted(folder.name for folder in path.iterdir() if any(folder.glob("*.py")))
    about = " ".join(text.partition("\n\n")[0].split())
    return f"{about} Inside: {', '.join(f'`{name}/`' for name in inside)}." if inside else about


# What a command printed, where it wrote no file ----------------------------------------------------------------------------


def printed(name: str) -> str:
    """The whole table."""
    head, *body = _printed(name)
    return markdown_table(head, body)


def sweep(name: str) -> str:
    """The points of a sweep at the thetas and windows that tell most, without the columns that say the same twice."""
    head, *body = _printed(name)
    places = [
        place for place, column in enumerate(head) if column not in ("accepted per round", "first divergence (median)")
    ]
    chosen = [row for row in body if not row[0].startswith("theta 0;") and "W = 1" not in row[0]]
    return markdown_table([head[place] for place in places], [[row[place] for place in places] for row in chosen])


def _printed(name: str) -> list[list[str]]:
    with (FIGURES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


# Recorded runs -----------------------------------------------------------------------------------------------------------


def differences() -> str:
    """What sets FLy's paper and its code apart, counted in the runs of good drafts."""
    return differences_table([Trace.load(path) for path in sorted(RUNS.glob("0[1-8]*.json"))])


def judged() -> str:
    """Every token that FLy accepted against the target's choice in the runs of good drafts, with our judgement."""
    runs = sorted(RUNS.glob("0[1234578]*.json"))
    head, line, *body = loosened_table(token for path in runs for token in loosened(Trace.load(path))).splitlines()
    judgements = _figures("judged")
    if len(judgements) != len(body):
        raise UserError("table.judgements", count=len(body), known=len(judgements))
    return "\n".join(
        [f"{head} judged |", f"{line} --- |", *(f"{row} {judgement} |" for row, judgement in zip(body, judgements))]
    )


TABLES: dict[str, Callable[..., str]] = {
    make.__name__: make
    for make in (
        headlines,
        speeds,
        remarks,
        origin,
        forms,
        predictors,
        replayed,
        printed,
        sweep,
        differences,
        judged,
        rooms,
    )
}
