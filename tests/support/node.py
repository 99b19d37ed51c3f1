"""The page's modules under node, without a browser: the very files of explorer/ui/web/, beside what Python gives them."""

import json
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from explorer.ui.scripts import VIEW_TEXTS, WEB, given_modules

# Know no page: expressions see all that these export.
PURE = (
    "twins/verdicts.js",
    "twins/config.js",
    "twins/conflicts.js",
    "twins/wire.js",
    "twins/replay.js",
    "twins/costs.js",
    "twins/recommend.js",
    "twins/spreadsheet.js",
    "twins/exports.js",
    "saved/fragment.js",
    "core/dom.js",
    "core/charts.js",
    "explore/figures.js",
    "explore/tree_layout.js",
    "learn/lesson_steps.js",
    "given/constants.js",
)
PROGRAM = """
import { readFileSync } from "node:fs";
const modules = await Promise.all(%s.map((path) => import(path)));
const names = Object.assign({}, ...modules);
const data = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(new Function(...Object.keys(names), "data", "return " + %s)(...Object.values(names), data)));
"""


def given():
    """What Python gives the modules of the run view, by path."""
    return given_modules(VIEW_TEXTS)


@cache
def _folder():
    """The modules as a folder that node imports from; the test session's end removes it."""
    folder = tempfile.TemporaryDirectory(prefix="modules-")
    root = Path(folder.name)
    shutil.copytree(WEB, root, dirs_exist_ok=True)
    (root / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    for path, text in given().items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return folder


def run_node(program: str, data):
    """What a module that stands among those of the page writes as JSON, given data as JSON."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    # A file, because one argument of a command may have 128 kB at most.
    with tempfile.NamedTemporaryFile("w", suffix=".js", dir=_folder().name, encoding="utf-8") as file:
        file.write(program)
        file.flush()
        done = subprocess.run([node, file.name], input=json.dumps(data), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_script(expression: str, data, *more: str):
    """The value of a JavaScript expression over `data`, which sees all that PURE modules export, and more of them by path."""
    paths = [f"./{path}" for path in (*PURE, *more)]
    return run_node(PROGRAM % (json.dumps(paths), json.dumps(expression)), data)
