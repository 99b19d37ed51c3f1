"""Writing files so that they are complete or not there: a full disk or a killed process leaves no half of one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
