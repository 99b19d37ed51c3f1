"""The page's pure scripts under node: the twins of Python's rule and replay, without a browser."""

import json
import shutil
import subprocess
import tempfile
from functools import cache

import pytest

from explorer.ui.scripts import PURE, constants, source


@cache
def _scripts() -> str:
    return "\n".join([constants(), *(source(name) for name in PURE)])


def run_script(expression: str, data, *more: str):
    """The value of a JavaScript expression over `data`, with the page's pure scripts around it, and more of them by name."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    program = "\n".join([_scripts(), *(source(name) for name in more)])
    program += "\nconst data = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n"
    program += f"process.stdout.write(JSON.stringify({expression}));"
    # A file, because one argument of a command may have 128 kB at most.
    with tempfile.NamedTemporaryFile("w", suffix=".js", encoding="utf-8") as file:
        file.write(program)
        file.flush()
        done = subprocess.run([node, file.name], input=json.dumps(data), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
