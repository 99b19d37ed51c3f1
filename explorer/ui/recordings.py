"""Recorded runs: the traces under examples/runs as the page shows them. No models, no torch."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.trace import Trace
from explorer.ui.run_text import run_text, title_of
from explorer.wire import question

log = logging.getLogger(__name__)

RUNS = Path(__file__).parents[2] / "examples" / "runs"
LABEL_LENGTH = 64  # characters of the prompt in a list of runs


@dataclass(frozen=True)
class Recording:
    """One recorded run, ready to be shown: `text` is the whole run as explorer/wire.py writes it."""

    name: str
    short: str  # the beginning of the prompt
    title: str  # of the pair
    pair: str
    prompt: str
    config: DecodeConfig
    text: str
    path: Path

    def trace(self) -> Trace:
        """The whole record, read again; raises what Trace.load raises."""
        return Trace.load(self.path)


def recordings(titles: Mapping[str, str], ready: Collection[str] = (), folder: Path = RUNS) -> tuple[Recording, ...]:
    """All runs of the folder in the order of their file names; a file that is no trace is left out, with a warning.

    titles: of the known pairs, by name; another pair goes by its name. ready: names of the pairs this machine can run.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(_recording(path, Trace.load(path), titles, ready))
        except UserError as error:
            log.warning("%s is left out: %s", path.name, error)
    return tuple(found)


def _recording(path: Path, trace: Trace, titles: Mapping[str, str], ready: Collection[str]) -> Recording:
    pair = trace.provenance.pair
    title = title_of(pair, titles)
    prompt = question(trace.prompt)
    short = " ".join(prompt.split())
    short = short if len(short) <= LABEL_LENGTH else short[: LABEL_LENGTH - 1].rstrip() + "…"
    return Recording(
        name=path.stem,
        short=short,
        title=title,
        pair=pair,
        prompt=prompt,
        config=trace.config,
        text=run_text(f"recorded {path.stem}", title, trace, pair in ready),
        path=path,
    )
