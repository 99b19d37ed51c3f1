"""Dependencies point one way, and a recorded run opens without torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

EXPLORER = Path(__file__).parents[1] / "explorer"
# The rooms from the bottom up: each may import those before it. The modules beside them (config, trace, verdicts, ...) are below all.
ROOMS = ("analysis", "engine", "sweep", "training", "bench", "ui", "cli", "__main__")


def imports(path: Path):
    """Every module a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def height(room: str) -> int:
    """Where a room stands: -1 for the modules below all of them."""
    return ROOMS.index(room) if room in ROOMS else -1


def part_of(path: Path) -> str:
    return path.relative_to(EXPLORER).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(EXPLORER.rglob("*.py")), ids=lambda path: str(path.relative_to(EXPLORER)))
def test_dependencies_point_one_way(path):
    """Nothing below explorer/ui imports gradio or plotly; nothing imports a layer above its own."""
    mine = part_of(path)
    for module in imports(path):
        root, *rest = module.split(".")
        if mine != "ui":
            assert root not in ("gradio", "plotly", "pandas"), f"{path.name} imports {module}"
        if root == "explorer" and rest and mine != rest[0]:
            assert height(rest[0]) <= height(mine), f"{path.name} imports {module}"
        if mine == "analysis":
            assert root not in ("torch", "transformers"), f"{path.name} imports {module}"
            assert not module.startswith("explorer.engine"), "analysis works on traces, not on models"


@pytest.mark.parametrize(
    "modules",
    [
        "verdicts, trace, config, analysis.replay, analysis.metrics, sweep.points, cases, pieces, schema, cli.terminal",
        "__main__, cli.commands",
    ],
)
def test_a_recorded_run_opens_without_torch(modules):
    """The page opens on a recording in well under a second: one careless import at the top of a module undoes it."""
    code = "import sys\n" + "".join(f"import explorer.{module.strip()}\n" for module in modules.split(","))
    code += "print([name for name in ('torch', 'transformers', 'gradio', 'numpy', 'pandas') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=EXPLORER.parent)
    assert result.stderr == ""
    assert result.stdout.strip() == "[]"
