"""Another program on the same prompts: llama.cpp on the target's GGUF file, by node-llama-cpp where that is installed.

It is no dependency: where it is missing, the row is left out with a sentence. It works in a process of its own, prompt by prompt
in turn with the other rows, on as many threads.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from explorer.bench.measured import Measured
from explorer.errors import UserError

PACKAGE = "node-llama-cpp"
SCRIPT = Path(__file__).with_name("llama_cpp.mjs")


class PeerMissing(UserError):
    """The peer, or what it needs, is not on this machine; the message says how to get it."""


class PeerFailed(UserError):
    """The peer's program ended by itself; the message has its last words."""


def find_package(folder: Path) -> Path:
    """The installed package, in node_modules of the folder or of one above it; raises PeerMissing."""
    folder = folder.resolve()
    for place in (folder, *folder.parents):
        package = place / "node_modules" / PACKAGE
        if (package / "package.json").is_file():
            return package
    raise PeerMissing("bench.peer_missing", package=PACKAGE, folder=folder)


class Peer:
    """llama.cpp at work on one file; leaving the `with` block ends it."""

    def __init__(self, gguf: Path, threads: int, folder: Path):
        """Start it and load the file; folder: where node_modules is, there or above. Raises PeerMissing and PeerFailed."""
        package, node = find_package(folder), shutil.which("node")
        if node is None:
            raise PeerMissing("bench.peer_no_node", package=PACKAGE)
        told = json.loads((package / "package.json").read_text(encoding="utf-8"))
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (closed in __exit__)
        self._process = subprocess.Popen(
            [node, str(SCRIPT), str(package / told["main"]), str(gguf), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            encoding="utf-8",
        )
        try:
            release = self._answer()["release"]
        except PeerFailed:
            self.__exit__()
            raise
        # What a record says of it.
        self.about = {
            "program": f"llama.cpp {release}",
            "package": f"{PACKAGE} {told['version']}",
            "gguf": gguf.name,
            "threads": threads,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def decode(self, ids: Sequence[int], stop: Sequence[int], budget: int) -> Measured:
        """Its greedy text after these ids, up to a stop id or the budget; seconds are its own. Raises PeerFailed."""
        try:
            self._process.stdin.write(json.dumps({"ids": list(ids), "stop": list(stop), "budget": budget}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer that does not come says why
        answer = self._answer()
        return Measured(tuple(answer["ids"]), answer["seconds"], len(answer["ids"]))

    def _answer(self) -> dict[str, Any]:
        for line in self._process.stdout:
            if line.startswith("{"):  # what else comes was printed by a library
                return json.loads(line)
        self._process.wait()
        self._said.seek(0)
        words = [line.strip() for line in self._said if line.strip()]
        reason = next((line for line in words if "Error" in line), words[-1] if words else "it gave no reason")
        raise PeerFailed("bench.peer_failed", reason=reason)
