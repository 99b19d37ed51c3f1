"""Dependencies point one way and never in a circle, functions fit on a screen, and a recorded run opens without torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

EXPLORER = Path(__file__).parents[1] / "explorer"
# The rooms from the bottom up: each may import those before it. The modules beside them (config, trace, verdicts, ...) are below all.
ROOMS = ("analysis", "engine", "sweep", "training", "bench", "ui", "cli", "__main__")

# Inside the engine, likewise: tools, then its three nouns, then what puts them together.
ENGINE_TOOLS, ENGINE_ROOMS = ("ranking", "sampling", "timing"), ("models", "drafters", "verification")
LONGEST_FUNCTION = 80  # lines


def imports(path: Path):
    """Every module a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(EXPLORER.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sorted(EXPLORER.rglob("*.py"))}


def own_imports(module: str) -> set[str]:
    """The modules of this project that one imports, also inside functions and for type checkers."""
    return {name for name in imports(MODULES[module]) if name in MODULES and name != module and not _is_package(name)}


def _is_package(module: str) -> bool:
    """Whether it is an empty room: naming it on the way to a module inside is no dependency."""
    return MODULES[module].name == "__init__.py" and not ast.parse(MODULES[module].read_text(encoding="utf-8")).body[1:]


def height(room: str) -> int:
    """Where a room stands: -1 for the modules below all of them."""
    return ROOMS.index(room) if room in ROOMS else -1


def part_of(path: Path) -> str:
    return path.relative_to(EXPLORER).parts[0].removesuffix(".py")


def wrong_import(path: Path, module: str) -> str:
    """Why a file must not import a module; empty where it may."""
    mine, (root, *rest) = part_of(path), module.split(".")
    if mine != "ui" and root in ("gradio", "plotly", "pandas"):
        return "of the page alone"
    if root == "explorer" and rest and mine != rest[0] and height(rest[0]) > height(mine):
        return "above its own room"
    if mine == "analysis" and (root in ("torch", "transformers") or module.startswith("explorer.engine")):
        return "analysis works on traces, not on models"
    return ""


def test_dependencies_point_one_way():
    """Nothing below explorer/ui imports gradio or plotly; nothing imports a layer above its own."""
    checked = [(path, module) for path in MODULES.values() for module in imports(path)]
    assert len(checked) > 1000
    wrong = [
        f"{path.relative_to(EXPLORER)} imports {module}: {why}"
        for path, module in checked
        if (why := wrong_import(path, module))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("place", "module"),
    [
        ("sweep/runner.py", "gradio"),
        ("engine/decode.py", "explorer.sweep.runner"),
        ("config.py", "explorer.engine.decode"),
        ("analysis/replay.py", "torch"),
        ("analysis/replay.py", "explorer.engine.decode"),
    ],
)
def test_an_arrow_that_points_up_is_found(place, module):
    assert wrong_import(EXPLORER / place, module)


TABS = ("explore", "compare", "tune", "learn")


def test_tabs_do_not_know_each_other():
    """What two tabs share stands beside their folders; only the page knows them all."""
    for tab in TABS:
        others = tuple(f"explorer.ui.{other}." for other in TABS if other != tab)
        for module in MODULES:
            if module.startswith(f"explorer.ui.{tab}."):
                assert not [name for name in own_imports(module) if name.startswith(others)], module
    shared = {module for module in MODULES if module.startswith("explorer.ui.") and module.count(".") == 2}
    inside = tuple(f"explorer.ui.{tab}." for tab in TABS)
    for module in shared - {"explorer.ui.page"}:
        assert not [name for name in own_imports(module) if name.startswith(inside)], module


def test_no_module_imports_itself_in_a_circle():
    """Neither through functions nor for type checkers: two modules that need each other are one, or lack a third."""
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in finished:
            for name in sorted(own_imports(module)):
                visit(name, (*path, module))
            finished.add(module)

    for module in MODULES:
        visit(module, ())


def test_the_engine_stands_on_its_models():
    """models, drafters, verification: each may use those before it; the modules beside them put them together."""
    ranks = {name: rank for rank, name in enumerate(ENGINE_ROOMS, 1)} | dict.fromkeys(ENGINE_TOOLS, 0)

    def rank(module: str) -> int:
        return ranks.get(module.split(".")[2], len(ranks))

    inside = [module for module in MODULES if module.startswith("explorer.engine.")]
    for module in inside:
        for name in own_imports(module).intersection(inside):
            assert rank(name) <= rank(module), f"{module} imports {name}"


def test_trainings_share_what_is_common_and_nothing_else():
    """pacer, distill and judge each use training/common, which uses none of them: whoever reads one need not read another."""
    for module in MODULES:
        if module.startswith("explorer.training.") and module.count(".") > 2:
            room = ".".join(module.split(".")[:3])
            others = {name for name in own_imports(module) if name.startswith("explorer.training.")}
            beyond = {name for name in others if not name.startswith((f"{room}.", "explorer.training.common."))}
            assert not beyond, f"{module} imports {beyond}"


def functions(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def test_functions_fit_on_a_screen():
    paths = [*MODULES.values(), EXPLORER.parent / "app.py"]
    long = [(str(path), *function) for path in paths for function in functions(path) if function[1] > LONGEST_FUNCTION]
    assert not long


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
