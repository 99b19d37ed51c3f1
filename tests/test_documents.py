"""What the documents say, against the program and the files: every command can be typed, and figures are those of their files."""

import json
import re
import shlex
from pathlib import Path

import pytest

from explorer.cli.commands import command_line

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_can_be_typed(page):
    for arguments in commands_of(page):
        command_line().parse_args(arguments)


def test_commands_are_found():
    assert sum(len(commands_of(page)) for page in PAGES) > 30
    assert all(
        commands_of(ROOT / "assets" / "weights" / "pacer" / name / "README.md")
        for name in ("smollm2-135m", "smollm2-135m-fly")
    )


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


PACER = (ROOT / "docs" / "pacer.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("layer", "before"), [("qwen2_5-coder-1_5b", ""), ("smollm2-135m", "exact: "), ("smollm2-135m-fly", "fly: ")]
)
def test_the_figures_of_layers_are_those_of_their_cards(layer, before):
    metrics = read(f"assets/weights/pacer/{layer}/card.json")["metrics"]
    readme = (ROOT / "assets" / "weights" / "pacer" / layer / "README.md").read_text(encoding="utf-8")
    rows = {
        "the layer": "",
        "the draft's own probability": "_probs",
        "the product of its probabilities so far": "_survival",
    }
    for row, suffix in rows.items():
        values = [metrics[name + suffix] for name in ("auc", "auc_within_offset", "brier")]
        cells = " | ".join(f"{value:.3f}" for value in values)
        assert f"| {before}{row} | {cells} |" in PACER
        assert f"| {cells} |" in readme


def share(line: dict) -> float:
    """Of the layer's calls in all measured time, in per cent."""
    phases = {name: value for name, value in line["seconds"].items() if name != "forwards"}
    return 100 * phases["preverify"] / sum(phases.values())


def test_the_layers_share_of_the_time_is_that_of_the_files():
    qwen, own = (
        {line["row"]: share(line) for line in read(f"docs/bench-{name}.json")["lines"] if line["seconds"]}
        for name in ("qwen-pacer", "comparators")
    )
    assert f"takes {qwen['exact length=pacer']:.1f} % of the time" in PACER
    assert f"and {qwen['fly length=pacer']:.1f} % under FLy" in PACER
    calls = [value for row, value in own.items() if "pacer" in row]
    assert f"between {min(calls):.1f} and {max(calls):.1f} % of the time" in PACER.replace("\n", " ")
    assert f"after every token, {own['exact, survival']:.1f} %" in PACER


def test_every_file_of_figures_is_named_by_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for path in (ROOT / "docs").glob("*.json"):
        assert path.name in text
