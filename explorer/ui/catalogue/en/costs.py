"""Whose costs speeds are modelled with, in English: said by the run view and by the Tune tab."""

from __future__ import annotations

from typing import Any

CHOICE: dict[str, Any] = {
    "label": "Costs of",
    "sources": {"measured": "Measured elsewhere", "published": "Published", "entered": "Entered"},
    "yours": "Yours",
    "own": "your own numbers",
    "file": "a file",
    "numbers": {"step": "Draft step, ms", "pass": "Target pass over one token, ms", "row": "Each further token in it, ms"},
    "numbers_needed": "Three numbers from 0, that of a pass above 0. Until then this run's own costs hold.",
    "open": "Open a file",
    "file_hint": "A cost profile, or what python -m explorer bench --out wrote on your machine. It stays in this browser.",
    "not_a_profile": "{name} holds no cost profile.",
    "ratio": "Only a ratio is published: a draft step takes {ratio} of a target pass, so no tokens per second follow.",
    "figures": "A draft step takes {step} ms, a target pass over one token {pass} ms.",
    "flat": "A pass over a draft is taken to cost what one over a single token does.",
}  # fmt: skip
