"""Texts of people read whatever marks their editor put first, and files written so that they are complete or not there: a full disk
or a killed process leaves no half of one.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Marks at the start of a file that name its encoding; Windows programs write them. The longer one first: it begins with another.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip


def read_text(path: str | Path) -> str:
    """The text of a file in UTF-8, or in the encoding that a mark at its start names, without the mark; raises UnicodeDecodeError."""
    with open(path, "rb") as file:
        start = file.read(4)
    encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
    return Path(path).read_text(encoding=encoding)


def write_whole(path: str | Path, text: str, encoding: str = "utf-8") -> None:
    """Write a text with its line ends as they are; what stood there before stays until all of it is on disk.

    A device or a pipe is written to as it is. Raises OSError, and then leaves nothing new behind.
    """
    target = Path(path).resolve()  # the file a link points to, not the link
    data = text.encode(encoding)
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    try:
        with replacing(target) as part:
            part.write_bytes(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write beside `path`, which takes its name when the block ends; where the block fails nothing new is left."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def name_part(pair: str) -> str:
    """The name of a pair as a part of a file's name: TARGET,DRAFT may be hub ids, with slashes."""
    return re.sub(r"[^\w.-]+", "-", pair).strip("-.")[-100:]
