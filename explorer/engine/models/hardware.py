"""What this machine computes on, found without importing torch: the page opens, and chooses a pair, before that."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

DRIVERS = (
    Path("/dev/nvidia0"),
    Path("/dev/dxg"),
    Path(r"C:\Windows\System32\nvcuda.dll"),
)  # Linux, its Windows kin, Windows


@cache
def has_cuda() -> bool:
    """Whether models run on an NVIDIA GPU unless a device is named. Before torch is imported a guess, from what is installed."""
    if torch := sys.modules.get("torch"):
        return torch.cuda.is_available()
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return False
    return any(driver.exists() for driver in DRIVERS) and _torch_knows_cuda()


def _torch_knows_cuda() -> bool:
    """Whether the installed torch is a CUDA build."""
    found = find_spec("torch")
    if found is None or not found.origin:
        return False
    version = Path(found.origin).with_name("version.py")
    return version.exists() and bool(
        re.search(r"^cuda\b.*=\s*['\"]", version.read_text(encoding="utf-8"), re.MULTILINE)
    )
