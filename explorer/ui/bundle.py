"""Links ES modules into one script: a small strict subset of the language, and an error for everything else.

Node, eslint and a browser read the very same files as native modules; a Space has no Node, so this runs when the app starts.
Each module becomes a function that is called once and returns what it exports, in the order in which a native module
graph is evaluated. What is allowed, each at the beginning of a line:

    import { one, two } from "../folder/module.js";
    export function name(   export async function name(   export const name =

Exported names are therefore never assigned again, and an import can be a constant. Circles are refused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

_IMPORT = re.compile(r'^import \{([\w\s,]*)\} from "(\.{1,2}/[\w./]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const) (\w+)(?=[ (])", re.MULTILINE)
_MODULE_SYNTAX = re.compile(r"^\s*(?:import|export)\b.*|\bimport\s*[.(].*", re.MULTILINE)


class BundleError(ValueError):
    """A module that cannot be linked: the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Module:
    """One module: what it imports as (path, names), the names it exports, and its text without either word."""

    path: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    exports: tuple[str, ...]
    body: str


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """An expression whose value has all exports of `entry`. read: the text of a module by its path, such as `core/dom.js`.

    Raises BundleError for what is outside the subset, for a circle, and for a name that its module does not export.
    """
    modules = graph(entry, read)
    numbers = {module.path: number for number, module in enumerate(modules)}
    parts = [_linked(module, numbers) for module in modules]
    return "\n".join(["(() => {", '"use strict";', *parts, f"return module_{numbers[entry]};", "})()"])


def graph(entry: str, read: Callable[[str], str]) -> list[Module]:
    """All modules that `entry` needs, each after those that it imports, as a browser evaluates them; itself last."""
    found: dict[str, Module] = {}
    open_paths: list[str] = []

    def visit(path: str) -> None:
        if path in open_paths:
            raise BundleError(f"a circle of imports: {' -> '.join([*open_paths[open_paths.index(path) :], path])}")
        if path in found:
            return
        open_paths.append(path)
        module = parse(path, read(path))
        for imported, names in module.imports:
            visit(imported)
            if missing := sorted(set(names) - set(found[imported].exports)):
                raise BundleError(f"{path} imports what {imported} does not export: {', '.join(missing)}")
        found[open_paths.pop()] = module

    visit(entry)
    return list(found.values())


def parse(path: str, text: str) -> Module:
    """One module by its text."""
    folder = posixpath.dirname(path)
    imports = tuple(
        (posixpath.normpath(posixpath.join(folder, target)), tuple(names.replace(",", " ").split()))
        for names, target in _IMPORT.findall(text)
    )
    exports = tuple(name for _, name in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub("", text))
    if odd := _MODULE_SYNTAX.search(body):
        raise BundleError(f"{path} has an import or export outside the subset: {odd.group().strip()[:80]}")
    if doubles := sorted({name for name in exports if exports.count(name) > 1}):
        raise BundleError(f"{path} exports a name twice: {', '.join(doubles)}")
    return Module(path, imports, exports, body.strip())


def _linked(module: Module, numbers: dict[str, int]) -> str:
    """The module as a constant: a function that is called once."""
    imports = [f"const {{ {', '.join(names)} }} = module_{numbers[path]};" for path, names in module.imports if names]
    head = f"const module_{numbers[module.path]} = (() => {{ // {module.path}"
    return "\n".join([head, *imports, module.body, f"return {{ {', '.join(module.exports)} }};", "})();"])
