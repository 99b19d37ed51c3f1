"""axe-core over a page: the violations of WCAG 2.1 A and AA that it finds."""

import os
from pathlib import Path

import pytest

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def violations(page) -> list:
    """Each as (its rule, the first places); empty where there are none. Skips where axe-core is not installed, but never in CI."""
    if not AXE.is_file():
        assert not os.environ.get("CI"), f"{AXE} is missing: run npm ci"
        pytest.skip("needs axe-core: run npm ci")
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    found = page.evaluate("tags => axe.run({ runOnly: tags })", STANDARD)
    return [(one["id"], [node["target"] for node in one["nodes"]][:4]) for one in found["violations"]]
