"""A collection on disk: numbered shards beside a settings.json that pins what a resumed run must agree with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from explorer.errors import UserError
from explorer.files import replacing, write_whole
from explorer.schema import parse_json

SETTINGS = "settings.json"


def shard_path(folder: Path, index: int) -> Path:
    """Where shard `index` lies, whether it is there or not."""
    return folder / f"shard-{index:05}.safetensors"


def shard_paths(folder: Path) -> list[Path]:
    """The shards that are there, by number."""
    return sorted(folder.glob("shard-*.safetensors"))


def shard_number(path: Path) -> int:
    """The number in a shard's name."""
    return int(path.stem.rpartition("-")[2])


def save_shard(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write one file, complete or not there."""
    with replacing(path) as part:
        save_file(tensors, part, metadata=metadata)


def pin_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Begin a collection, or go on with one; raises UserError where it was begun with other settings or weights."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SETTINGS
    if path.exists() and read_settings(folder) != settings:
        raise UserError("training.other_settings", folder=folder, file=path)
    write_whole(path, json.dumps(settings, indent=1))


def read_settings(folder: Path) -> dict[str, Any]:
    """What a collection was begun with; raises UserError where the file is missing or damaged."""
    path = folder / SETTINGS
    try:
        settings = parse_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError("training.no_collection", folder=folder) from None
    except UserError as error:
        raise UserError("training.settings_damaged", file=path, reason=error) from None
    if not isinstance(settings, dict):
        raise UserError("training.settings_damaged", file=path, reason="not an object")
    return settings


def damaged(path: Path, error: Exception) -> UserError:
    """What to raise for a shard that cannot be read."""
    return UserError("training.shard_damaged", file=path, reason=error)
