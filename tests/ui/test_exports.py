"""What is kept of a run: the table and the page, written alike by Python and by the page's own scripts."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from node import run_script
from scripted import STORY, Script, Step, make_trace

from explorer.__main__ import main
from explorer.trace import Trace
from explorer.ui import exports
from explorer.ui.catalogue import en
from explorer.ui.run_text import run_text
from explorer.ui.scripts import function, styles

RUNS = sorted((Path(__file__).parents[2] / "examples" / "runs").glob("*.json"))
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|'/c calc'!A0", "＝1+1", "＠x", '="a","b"\n=1']
HOSTILE = [
    "</script><script>window.hacked=1</script>", "<!--<script>", "]]>", "%{styles}", "%{run}", "$&", "$1", "\u2028", "\u2029",
    "\\u003c/script>", '"+alert(1)+"', "\u202eleft", "\x00", "&lt;b&gt;", "\ud7ff\U0001f98a",
]  # fmt: skip

CSV = """(() => {
  const run = newRun(JSON.parse(data[0]));
  data.slice(1).forEach((line) => readEvent(run, JSON.parse(line)));
  return roundsCsv(run);
})()"""


def table(text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def figures(rows):
    """Cells as values: the two sides may write one number differently."""
    texts_ = ("text", "verdicts", "own")
    return [{key: value if key in texts_ or not value else float(value) for key, value in row.items()} for row in rows]


def lines_of(trace):
    return run_text("r", "P", trace, here=True).splitlines()


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_both_sides_write_the_same_table_of_a_recorded_run(path):
    trace = Trace.load(path)
    rows = table(exports.rounds_csv(trace))
    assert figures(rows) == figures(table(run_script(CSV, lines_of(trace))))
    assert len(rows) == len(trace.rounds)
    assert sum(int(row["emitted"]) for row in rows) == len(trace.output_ids)


def test_the_table_says_what_the_rounds_say():
    rows = table(exports.rounds_csv(make_trace()))
    assert [row["cut"] for row in rows] == ["", "2", "2", "4", "", ""]
    assert rows[1] | {"own": "correction", "text": " small clever"} == rows[1]
    assert float(rows[1]["cut_entropy_normalized"]) == 0.02
    assert rows[0]["verdicts"] == "exact deferred exact exact exact exact"
    assert not rows[0]["cut_entropy_normalized"]


@pytest.mark.parametrize("make", ["tree", "phrases"])
def test_the_table_counts_what_was_verified(make, hand):
    """Of a tree all nodes, of phrases all that were tried: 6 of 6, and 4 drafted with 2 phrases of 3."""
    trace = getattr(hand, make)()
    rows = table(exports.rounds_csv(trace))
    assert figures(rows) == figures(table(run_script(CSV, lines_of(trace))))
    assert rows[0]["verified"] == {"tree": "6", "phrases": "10"}[make]


def test_no_cell_of_the_table_is_a_formula():
    trace = make_trace(Script([([Step(text)], "!") for text in FORMULAS]))
    ours, theirs = table(exports.rounds_csv(trace)), table(run_script(CSV, lines_of(trace)))
    assert [row["text"] for row in ours] == [f"'{text}!" for text in FORMULAS]
    assert [row["text"] for row in theirs] == [row["text"] for row in ours]


def test_the_head_of_the_table_is_the_same_on_both_sides():
    assert run_script("CSV_HEAD", None) == list(exports.CSV_HEAD)


@pytest.fixture(scope="module")
def hostile():
    return make_trace(
        Script([([Step(text), Step(" x", text, 0.01)], " y") for text in HOSTILE]), prompt="<b>&\"' %{run}</b>"
    )


def test_both_sides_make_the_same_page(hostile):
    text = run_text("recorded elsewhere", "elsewhere", hostile, here=True)
    values = {
        "language": "en", "title": f"<b>&\"' %{{run}}</b> · {en.page.LABELS['title']}", "nonce": "n" * 32, "styles": styles(),
        "script": function(), "run": text, "record": hostile.dumps(),
    }  # fmt: skip
    # json.dumps and html.escape write two quotes differently, and mean the same.
    made = run_script("page(data)", values).replace("&#60;", "&lt;").replace("&#62;", "&gt;").replace("&#38;", "&amp;")
    assert made.replace("&#34;", "&quot;").replace("&#39;", "&#x27;") == exports.page(hostile, nonce="n" * 32)


def test_the_page_holds_the_run_as_data_that_nothing_can_leave(hostile):
    page = exports.page(hostile)
    (data,) = re.findall(r'<script id="run-text" type="application/json">(.*?)</script>', page, flags=re.S)
    assert json.loads(data) == run_text("recorded elsewhere", "elsewhere", hostile, here=True)
    assert not set(data) & {"<", "\u2028", "\u2029"}
    (record,) = re.findall(r'<script id="run-record" type="application/json">(.*?)</script>', page, flags=re.S)
    assert Trace.from_json(json.loads(record)) == hostile, "the whole record, to be saved again"
    assert not set(record) & {"<", "\u2028", "\u2029"}
    assert len(re.findall("<script", page)) == 3
    assert len(re.findall("</script", page)) == 3
    assert "<!--" not in page


def test_the_page_lets_nothing_in_but_its_own_script():
    first, second = exports.page(make_trace()), exports.page(make_trace())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', first)
    (nonce,) = set(re.findall(r"nonce-(\w+)", policy))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert first.count(f'nonce="{nonce}"') == 2
    assert nonce not in second, "each page has its own"


def test_an_export_from_the_command_line(tmp_path, capsys):
    page, rounds = tmp_path / "f.html", tmp_path / "f.csv"
    assert main(["export", str(RUNS[0]), "--html", str(page), "--csv", str(rounds)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    trace = Trace.load(RUNS[0])
    assert rounds.read_bytes().decode("utf-8-sig") == exports.rounds_csv(trace)
    assert rounds.read_bytes().startswith(b"\xef\xbb\xbf"), "marked as UTF-8 for spreadsheet programs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([str(RUNS[0])], "name a file to write"),
        ([str(RUNS[0]), "--html", "/nowhere/f.html"], "no folder"),
        (["/nowhere/t.json", "--csv", "f.csv"], "No such file"),
    ],
)
def test_a_bad_export_is_one_line(arguments, message, capsys):
    assert main(["export", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_run_told_in_pieces_has_its_text_in_order():
    rows = table(exports.rounds_csv(make_trace(STORY)))
    assert "".join(row["text"] for row in rows) == make_trace(STORY).text


def test_a_character_split_over_rounds_stands_where_it_is_whole():
    fox = "🦊".encode()
    trace = make_trace(
        Script([([Step(" a"), Step(fox[:1])], fox[1:3]), ([Step(fox[3:])], "!"), ([Step(fox[:2])], fox[2:3])])
    )
    ours = [row["text"] for row in table(exports.rounds_csv(trace))]
    assert ours == [row["text"] for row in table(run_script(CSV, lines_of(trace)))] == [" a", "🦊!", ""]
