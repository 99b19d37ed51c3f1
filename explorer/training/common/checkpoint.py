"""Checkpoints of training: written whole, and read back as what they may be after a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from explorer.errors import UserError
from explorer.files import replacing


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The tensors and plain values of a checkpoint; raises UserError where the file is damaged. Runs nothing it holds."""
    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except OSError:
        raise
    except Exception as error:  # the reader raises all kinds for a file it cannot make sense of
        raise UserError("training.checkpoint_damaged", file=path, reason=type(error).__name__) from error


def resume(path: Path, at: Mapping[str, Any], same: Sequence[str]) -> dict[str, Any] | None:
    """The checkpoint to go on from, None where none was written; its "at" agrees with `at` in the entries `same`.

    Raises UserError where it does not, or where the file is damaged.
    """
    if not path.exists():
        return None
    saved = read_checkpoint(path)
    if any(saved["at"][key] != at[key] for key in same):
        raise UserError("training.other_recipe", file=path)
    return saved


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write a checkpoint; what stood there before stays until all of it is on disk."""
    with replacing(path) as part:
        torch.save(dict(state), part)
