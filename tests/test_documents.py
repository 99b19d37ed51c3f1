"""What the documents say, against the program and the files: every command can be typed, and figures are those of their files."""

import json
import re
import shlex
from pathlib import Path

import pytest

from explorer.bench import tables
from explorer.bench.tables import documents, stale, with_tables
from explorer.cli.commands import command_line
from explorer.cli.main import main
from explorer.errors import UserError

ROOT = Path(__file__).parents[1]
PAGES = [
    *documents(),
    *sorted((ROOT / "assets").glob("weights/*/*/README.md")),
    ROOT / "examples" / "runs" / "README.md",
]
WRITERS = sorted((ROOT / "explorer").rglob("*.py"))


def commands_of(page: Path) -> list[list[str]]:
    """The commands in code blocks, as lists of arguments; lines that end in \\ go on, ... stands for what is left out."""
    blocks = re.findall(r"^ *```\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = [re.search(r"-m explorer (.*)", line) for line in lines]
    return [shlex.split(line[1], comments=True) for line in found if line and "..." not in line[1]]


COMMANDS = [
    pytest.param(arguments, id=f"{page.relative_to(ROOT)} {number}")
    for page in PAGES
    for number, arguments in enumerate(commands_of(page), 1)
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_every_command_can_be_typed(arguments):
    command_line().parse_args(arguments)


def test_a_command_that_cannot_be_typed_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```\npython -m explorer run --promt x\n```\n", encoding="utf-8")
    (arguments,) = commands_of(page)
    with pytest.raises(SystemExit):
        command_line().parse_args(arguments)


def test_every_command_is_found():
    """A line that looks like one stands in a block that commands_of reads."""
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        shown = [
            line for line in lines if re.match(r" *([A-Z_]+=\S+ )?python -m explorer ", line) and "..." not in line
        ]
        assert len(commands_of(page)) >= len(shown), page
    assert len(COMMANDS) > 30


def test_no_command_is_named_that_does_not_exist():
    """There is no program `explorer`, and a step of a command is not one either."""
    names = "|".join(command_line()._subparsers._group_actions[0].choices)
    wrong = re.compile(
        rf"(?<!-m )\bexplorer ({names})\b|`(pacer|distill|judge-head) (collect|ask|train|evaluate|generate|features)\b"
    )
    for page in (*PAGES, *WRITERS):
        assert not wrong.search(page.read_text(encoding="utf-8")), page


# Figures --------------------------------------------------------------------------------------------------------------


def read(name: str):
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_tables_are_those_of_their_files():
    """Written by `python -m explorer tables`."""
    assert not stale(documents())


def test_a_stale_table_is_found_and_written(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "Before.\n\n<!-- table: speeds bench-cross -->\n| old |\n<!-- /table -->\n\nAfter.\n", encoding="utf-8"
    )
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(tables, "documents", lambda: [page])
    assert main(["tables", "--check"]) == 1
    assert "page.md: stale" in capsys.readouterr().err
    assert main(["tables"]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.\n")
    assert text.endswith("\nAfter.\n")
    assert "old" not in text
    cells = [
        f"{read('docs/figures/bench-cross.json')['lines'][1][name]:.{digits}f}"
        for name, digits in (("tokens_per_second", 1), ("tau", 2))
    ]
    assert all(f"| {cell} |" in text for cell in cells)
    assert main(["tables", "--check"]) == 0


@pytest.mark.parametrize("name", ["nothing", "speeds no-such-file", "speeds", "origin judged"])
def test_a_table_that_cannot_be_made_is_named(name):
    with pytest.raises(UserError, match=name.split()[0]):
        with_tables(f"<!-- table: {name} -->\n<!-- /table -->\n")


def test_every_kind_of_table_is_used():
    text = "".join(page.read_text(encoding="utf-8") for page in documents())
    assert {found["name"].split()[0] for found in tables.BLOCK.finditer(text)} == set(tables.TABLES)


def test_every_mark_of_a_table_is_read():
    for page in documents():
        text = page.read_text(encoding="utf-8")
        assert text.count("<!-- table:") == text.count("<!-- /table -->") == len(tables.BLOCK.findall(text)), page


PACER, BENCH = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("pacer.md", "bench.md"))


@pytest.mark.parametrize("layer", ["qwen2_5-coder-1_5b", "smollm2-135m", "smollm2-135m-fly"])
def test_the_figures_of_layers_are_those_of_their_cards(layer):
    metrics = read(f"assets/weights/pacer/{layer}/card.json")["metrics"]
    readme = (ROOT / "assets" / "weights" / "pacer" / layer / "README.md").read_text(encoding="utf-8")
    for suffix in ("", "_probs", "_survival"):
        cells = " | ".join(f"{metrics[name + suffix]:.3f}" for name in ("auc", "auc_within_offset", "brier"))
        assert f"| {cells} |" in PACER
        assert f"| {cells} |" in readme


def lines_of(name: str) -> dict[str, dict]:
    return {line["row"]: line for line in read(f"docs/figures/bench-{name}.json")["lines"]}


def share(line: dict) -> float:
    """Of the layer's calls in all measured time, in per cent."""
    phases = {name: value for name, value in line["seconds"].items() if name != "forwards"}
    return 100 * phases["preverify"] / sum(phases.values())


def test_the_layers_share_of_the_time_is_that_of_the_files():
    qwen, own = lines_of("qwen-pacer"), lines_of("comparators")
    page = " ".join(PACER.split())
    assert f"takes {share(qwen['exact length=pacer']):.1f} % of the time" in page
    assert f"and {share(qwen['fly length=pacer']):.1f} % under FLy" in page
    calls = [share(line) for row, line in own.items() if "pacer" in row]
    assert f"between {min(calls):.1f} and {max(calls):.1f} % of the time" in page
    assert f"after every token, {share(own['exact, survival']):.1f} %" in page


def test_speeds_in_sentences_are_those_of_the_files():
    qwen, own, head, cross = (lines_of(name) for name in ("qwen-pacer", "comparators", "head", "cross"))
    default = lines_of("smollm2")

    def times(line: dict) -> str:
        return f"{line['times_plain']:.2f}"

    exact, fly = qwen["exact length=pacer"], qwen["fly length=pacer"]
    fixed = [
        max((line["times_plain"] for row, line in qwen.items() if row.startswith(f"{rule} draft_length")))
        for rule in ("exact", "fly")
    ]
    bench, pacer = (" ".join(page.split()) for page in (BENCH, PACER))
    fastest, best = own["fly, pacer, model + lookup"], own["exact, pacer, model + lookup"]
    quantized = lines_of("qwen")
    rows = [quantized[f"{rule}, throughput, model + lookup"] for rule in ("exact", "fly")]
    assert (
        "makes {} times its own plain greedy decoding under the exact rule, to the same ids, and {} times under FLy".format(
            *map(times, rows)
        )
        in bench
    )
    assert "({:.2f} and {:.2f} times)".format(*(row["times_fastest"] for row in rows)) in bench
    assert rows[0]["same_ids"] == rows[0]["prompts"]
    assert (
        f"on float32 targets FLy with PACER makes {times(fastest)} times plain greedy on the default pair and {times(fly)} times"
        in bench
    )
    assert f"The exact rule with PACER makes {times(best)} (with lookup) and {times(exact)} times" in bench
    lookups = (default[f"{rule}, model + lookup, K = 8"] for rule in ("fly", "exact"))
    assert "FLy makes {} times plain greedy, the exact rule {}".format(*map(times, lookups)) in bench
    assert f"makes {times(head['exact, EAGLE-3 chain, K = 4'])} times plain greedy as a chain of 4" in bench
    assert (
        f"{times(cross['exact, K = 5'])} times plain greedy with the exact rule, {times(cross['fly, K = 5'])} with FLy"
        in bench
    )
    gains = [f"{line['times_plain'] / reference:.2f}" for line, reference in zip((exact, fly), fixed)]
    assert "{} times the best fixed length under the exact rule and {} times under FLy".format(*gains) in pacer
    speeds = [own[row]["tokens_per_second"] for row in ("exact, pacer", "exact, K = 8", "fly, pacer", "fly, K = 8")]
    told = "exact PACER {:.1f} tokens/s beside {:.1f} at K = 8; FLy with PACER {:.1f} beside {:.1f}".format(*speeds)
    assert f"{told}, with lookup {fastest['tokens_per_second']:.1f}" in pacer


def test_every_file_of_figures_is_named_by_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in documents())
    for path in (ROOT / "docs" / "figures").iterdir():
        assert path.name == "README.md" or path.stem in text, path


# The map of the repository ------------------------------------------------------------------------------------------------


def test_the_map_shows_what_ls_shows():
    """Every room and every module beside them, once, in README and architecture.md; all documents are linked from the README."""
    folder = ROOT / "explorer"
    there = {f"explorer/{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    for page in ("README.md", "docs/architecture.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        table = text.split("<!-- table: rooms -->")[1].split("<!-- /table -->")[0]
        assert sorted(re.findall(r"^\| `(explorer/\w+/)`", table, re.MULTILINE)) == sorted(there)
        assert {path.name for path in folder.glob("*.py")} - {"__init__.py", "__main__.py"} <= set(
            re.findall(r"`(\w+\.py)`", table)
        )
        assert all(len(line) > 40 for line in table.strip().splitlines()[2:]), "a room without a word on it"


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for name, heading in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / name
        assert target.exists(), name
        if heading:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings], (
                f"{name}#{heading}"
            )


TO_BE_WRITTEN = {"explorer/engine/drafters/echo.py"}  # by who follows the recipe


def test_files_that_documents_name_exist():
    """A path in backticks, from the root or from a room; what a command writes is none of them."""
    roots = [
        ROOT,
        *(ROOT / "explorer" / place for place in ("", "engine", "engine/drafters", "ui/web", "engine/models")),
    ]
    missing = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name in re.findall(
            r"`((?:\w[\w.-]*/)+\w[\w.-]*\.(?:py|js|toml|jsonl|json|md|css))`", page.read_text(encoding="utf-8")
        ):
            if name not in TO_BE_WRITTEN and not any((root / name).exists() for root in roots):
                missing.append(f"{page.name}: {name}")
    assert not missing, "\n".join(missing)
