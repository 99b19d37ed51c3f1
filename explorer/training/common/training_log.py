"""The log of a training on disk: one JSON object a line, which its report is drawn from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from explorer.files import write_whole
from explorer.training.common.progress import LogLine

LOG = "log.jsonl"


def begin_log(folder: Path, step: int) -> None:
    """Drop the lines that do not belong to the training that begins or goes on after `step` steps: those of an earlier one, and
    those that were written after the checkpoint and will be written again."""
    lines = [line for line in read_log(folder) if line.get("step", 0) <= step] if step else []
    if lines or (folder / LOG).exists():
        write_whole(folder / LOG, "".join(f"{LogLine(line)}\n" for line in lines))


def append_log(folder: Path, line: LogLine) -> None:
    """Add a line to the log of a training."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a training's log, oldest first, without one cut short; none where there is no log."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]
