"""Files that the command line reads and writes: what is wrong with one is said in a line, before minutes of work."""

from __future__ import annotations

import os
from pathlib import Path

from explorer import files
from explorer.errors import UserError
from explorer.trace import Trace


def load_trace(path: Path) -> Trace:
    """A recorded run; raises UserError with the name of the file."""
    try:
        return Trace.load(path)
    except UserError as error:
        raise UserError("file.wrong", file=path, reason=error) from None


def read_text(path: Path) -> str:
    """The text of a file; raises UserError where it is not UTF-8."""
    try:
        return files.read_text(path)
    except UnicodeDecodeError:
        raise UserError("file.not_text", file=path) from None


def check_writable(path: Path | None) -> None:
    """Raise UserError where a file cannot be written: before minutes of work, not after them."""
    if not path:
        return
    if not path.parent.is_dir():
        raise UserError("file.no_folder", folder=path.parent, file=path.name)
    if path.is_dir():
        raise UserError("file.is_folder", file=path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError("file.not_writable", file=path)
