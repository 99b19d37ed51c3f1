"""Cost profiles as files: those that ship (assets/costs, one a file, named like it) and anybody's own."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from explorer.analysis.costs import CostProfile
from explorer.errors import UserError
from explorer.files import write_whole
from explorer.schema import SchemaError, parse_json, read, write
from explorer.trace import MAX_FILE_BYTES, Trace

SHIPPED = Path(__file__).parents[2] / "assets" / "costs"
KEY = "costs"  # of the profile in a file that `bench --out` wrote


@cache
def shipped_profiles() -> dict[str, CostProfile]:
    """The profiles that ship, by name; raises SchemaError for a file that holds none or another."""
    found = {}
    for path in sorted(SHIPPED.glob("*.json")):
        profile = profile_in(parse_json(path.read_bytes()))
        if profile.name != path.stem:
            raise SchemaError("costs.name", file=path.name, name=profile.name)
        found[profile.name] = profile
    return found


def profile_in(data: Any) -> CostProfile:
    """The profile that parsed JSON holds: its own, that of a file of `bench --out`, or what a recorded run took. Raises SchemaError."""
    if isinstance(data, dict) and "rounds" in data:
        trace = Trace.from_json(data)
        if not trace.rounds:
            raise SchemaError("costs.none")
        return CostProfile.of_trace(trace)
    if isinstance(data, dict) and KEY in data:
        return read(CostProfile, data[KEY], KEY)
    if not isinstance(data, dict) or "passes" not in data:
        raise SchemaError("costs.none")
    return read(CostProfile, data)


def find_profile(name: str) -> CostProfile:
    """A profile that ships, by its name, or one in a file; raises UserError."""
    if name in shipped_profiles():
        return shipped_profiles()[name]
    path = Path(name)
    if not path.is_file():
        raise UserError("costs.unknown", name=name, known=", ".join(shipped_profiles()))
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise UserError("costs.too_large", file=path, size=f"{size:,}", limit=f"{MAX_FILE_BYTES:,}")
    try:
        return profile_in(parse_json(path.read_bytes()))
    except UserError as error:
        raise UserError("file.wrong", file=path, reason=error) from None


def save_profile(profile: CostProfile, path: str | Path) -> None:
    """Write one JSON file, complete or not at all."""
    write_whole(path, json.dumps(write(profile), ensure_ascii=False, allow_nan=False, indent=1) + "\n")
