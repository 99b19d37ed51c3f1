"""Checkpoints of training, read back as what they may be after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from explorer.errors import UserError


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The tensors and plain values of a checkpoint; raises UserError where the file is damaged. Runs nothing it holds."""
    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except OSError:
        raise
    except Exception as error:  # the reader raises all kinds for a file it cannot make sense of
        raise UserError(f"{path} is damaged ({type(error).__name__}): delete it to begin anew") from error
