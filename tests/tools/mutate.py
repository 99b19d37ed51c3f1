"""Changes one expression of the code at a time and runs the tests concerned: what no test notices, no test holds.

    python tests/tools/mutate.py [--count 30] [--seed 0] [--only PART_OF_A_PATH] [--list]

Or `make mutate`. Each change is made in a scratch copy of the repository: a comparison, a junction, a number, a truth value or what
is returned. Prints what became of each; exit code 1 where one survived. A survivor is a missing test, or a change that changes
nothing: read the line. Takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The files whose lines are changed, with the tests that must notice, the most direct first.
TARGETS = {
    "explorer/verdicts.py": ["tests/test_verdicts.py", "tests/engine/verification", "tests/ui/test_twins.py"],
    "explorer/engine/decode.py": ["tests/engine/test_decode.py", "tests/engine/test_stops.py", "tests/engine/drafters"],
    "explorer/engine/verification/verifier.py": ["tests/engine/test_decode.py", "tests/engine/verification"],
    "explorer/engine/verification/verify.py": ["tests/engine/test_decode.py", "tests/engine/verification"],
    "explorer/engine/drafters/lengths.py": ["tests/engine/drafters/test_lengths.py", "tests/engine/test_decode.py"],
    "explorer/analysis/replay.py": ["tests/analysis", "tests/ui/test_twins.py", "tests/cli"],
    "explorer/ui/jobs.py": ["tests/ui/test_jobs.py", "tests/trust/test_visitors.py"],
    "explorer/ui/streams.py": ["tests/ui/test_jobs.py", "tests/ui/test_explore_handlers.py", "tests/trust"],
    "explorer/ui/explore/handlers.py": ["tests/ui/test_explore_handlers.py", "tests/trust"],
    "explorer/ui/explore/opening.py": ["tests/ui/test_explore_handlers.py", "tests/ui/test_charts.py", "tests/trust"],
    "explorer/ui/web/twins/verdicts.js": ["tests/ui/test_twins.py"],
    "explorer/ui/web/twins/replay.js": ["tests/ui/test_twins.py"],
}
SHARED = ("assets", "node_modules", ".venv")  # large and never changed: the copy has links to them
MARKS = "not slow and not real and not browser"


@dataclass(frozen=True)
class Change:
    """One place of a file and what stands there instead."""

    path: str
    start: int  # of the text of the file
    end: int
    instead: str
    line: int

    def apply(self, text: str) -> str:
        return text[: self.start] + self.instead + text[self.end :]

    def describe(self, text: str) -> str:
        return f"{self.path}:{self.line}: {' '.join(text[self.start : self.end].split())} -> {self.instead}"


# Python --------------------------------------------------------------------------------------------------------------

OPPOSITE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


def changed(node: ast.AST) -> Iterator[ast.expr]:
    """What an expression could be instead."""
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                other = copy.deepcopy(node)
                other.ops[index] = OPPOSITE[type(op)]()
                yield other
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in OPPOSITE:
            other = copy.deepcopy(node)
            other.op = OPPOSITE[type(op)]()
            yield other
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """What runs in a function: no annotations, imports or text in quotation marks, and no tables."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
                yield child
                yield from inside(child)


def python_changes(path: str, text: str) -> Iterator[Change]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()

    def place(line: int, column: int) -> int:
        return len(data[: starts[line - 1] + column].decode())

    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    nested = {inner for function in functions for inner in ast.walk(function) if inner is not function}
    for node in (node for function in functions if function not in nested for node in inside(function)):
        if isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
            node, others = node.value, [ast.Constant(None)]
        elif isinstance(node, ast.expr):
            others = list(changed(node))
        else:
            continue
        for other in others:
            span = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
            yield Change(path, *span, f"({ast.unparse(other)})", node.lineno)


# JavaScript ----------------------------------------------------------------------------------------------------------

TOKENS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " === ": " !== ", " !== ": " === ", " && ": " || ", " || ": " && ",
    " + 1": " + 2", " - 1": " - 2", "true": "false", "false": "true",
}  # fmt: skip
TOKEN = re.compile("|".join(rf"\b{one}\b" if one.isalpha() else re.escape(one) for one in TOKENS))


def script_changes(path: str, text: str) -> Iterator[Change]:
    code = re.sub(r"//[^\n]*|/\*[\s\S]*?\*/", lambda comment: " " * len(comment[0]), text)
    for found in TOKEN.finditer(code):
        yield Change(path, found.start(), found.end(), TOKENS[found[0]], text.count("\n", 0, found.start()) + 1)


# Running -------------------------------------------------------------------------------------------------------------


def chosen(count: int, seed: int, only: str) -> list[Change]:
    """So many changes, shared evenly between the files; a seed gives the same ones of the same code."""
    targets = [path for path in TARGETS if only in path]
    changes = []
    for number, path in enumerate(targets):
        text = (ROOT / path).read_text(encoding="utf-8")
        found = list((python_changes if path.endswith(".py") else script_changes)(path, text))
        share = count * (number + 1) // len(targets) - count * number // len(targets)
        picked = random.Random(f"{seed} {path}").sample(found, min(share, len(found)))
        changes += sorted(picked, key=lambda change: change.start)
    return changes


def scratch_copy(folder: Path) -> None:
    """The tracked files, and those not yet tracked; what is large by links."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file() and not name.startswith(SHARED):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name in SHARED:
        if (ROOT / name).exists():
            (folder / name).symlink_to((ROOT / name).resolve())


def tests_pass(folder: Path, tests: list[str], limit: float) -> bool:
    """False too where they do not end: a change may make a loop that never does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", MARKS, *tests]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the code line by line and see which changes the tests notice.")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files with this in their path")
    parser.add_argument("--list", action="store_true", help="say the changes, and run nothing")
    args = parser.parse_args()
    changes, survivors, limits = chosen(args.count, args.seed, args.only), [], {}
    texts = {change.path: (ROOT / change.path).read_text(encoding="utf-8") for change in changes}
    if args.list:
        print(*(change.describe(texts[change.path]) for change in changes), sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scratch_copy(folder)
        for change in changes:
            file, text, tests = folder / change.path, texts[change.path], TARGETS[change.path]
            if change.path not in limits:
                begin = time.monotonic()
                assert tests_pass(folder, tests, 3600), f"the tests of {change.path} fail without any change"
                limits[change.path] = 60 + 5 * (time.monotonic() - begin)
            file.write_text(change.apply(text), encoding="utf-8")
            survived = tests_pass(folder, tests, limits[change.path])
            file.write_text(text, encoding="utf-8")
            print("SURVIVED" if survived else "caught  ", change.describe(text), flush=True)
            survivors += [change] if survived else []
    print(f"{len(changes) - len(survivors)} of {len(changes)} changes were noticed")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
