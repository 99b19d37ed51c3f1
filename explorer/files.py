"""Writing files so that they are complete or not there: a full disk or a killed process leaves no half of one."""

from __future__ import annotations

import os
import re
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
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def name_part(pair: str) -> str:
    """The name of a pair as a part of a file's name: TARGET,DRAFT may be hub ids, with slashes."""
    return re.sub(r"[^\w.-]+", "-", pair).strip("-.")[-100:]
