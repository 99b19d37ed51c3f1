"""A bounded load on the page, over loopback: `python tests/tools/load.py` (or `make load`) prints its figures as Markdown.

A server in a process of its own, real engine, a tiny random pair (or --pair NAME); visitors who speak Gradio's own protocol.
Many press Run at once; a few stop halfway, some close their page halfway; then one visitor runs again and again while the
server's memory is read from /proc. Ends by itself, with exit code 1 where a visitor saw another's text or an answer is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
API = "/gradio_api"
PATIENCE = 120.0  # seconds without a word from the server before the load gives up


@dataclass
class Outcome:
    """What one press of Run came to, as this visitor's browser would see it."""

    event: str = ""
    text: str = ""  # of the view
    ranks: list[int] = field(default_factory=list)  # places in the queue that were told
    first: float | None = None  # seconds to the first round
    seconds: float = 0.0
    error: str = ""
    received: str = ""  # everything the server sent

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def end(self) -> str:
        """Why the run ended; empty where it did not."""
        return next((event["end"] for event in reversed(self.events) if "end" in event), "")

    @property
    def tokens(self) -> int:
        return sum(event.get("e", 0) for event in self.events)


class Visitor:
    """One open page: its session, its connection, and what pressing its buttons sends."""

    def __init__(self, url: str, config: dict[str, Any], client: httpx.AsyncClient):
        self.session = secrets.token_hex(6)
        self._url, self._client = url.rstrip("/"), client
        self._by_name = {one["api_name"]: one for one in config["dependencies"] if one["api_name"]}
        self._heartbeat: asyncio.Task | None = None
        self.now = Outcome()  # of the event that was sent last

    async def arrive(self) -> None:
        """What a browser does when the page opens, as far as the server holds something for it."""
        self._heartbeat = asyncio.create_task(self._beat())
        await self.call("arrive")

    async def leave(self) -> None:
        """Close the page."""
        self._heartbeat.cancel()
        with suppress(asyncio.CancelledError, httpx.HTTPError):
            await self._heartbeat

    async def call(self, name: str, *data: Any, event: dict[str, Any] | None = None) -> Any:
        """An event that does not wait for a run."""
        response = await self._client.post(f"{self._url}{API}/run/predict", json=self._body(name, data, event))
        return response.json()

    async def run(self, form: list[Any], stop_after: int | None = None, leave_after: int | None = None) -> Outcome:
        """Press Run, and Stop (or close the page) after so many rounds."""
        refused = await self._event("prepare", form)
        if refused.error:
            return refused
        return await self._event("page_run", [None], stop_after, leave_after)

    async def _event(
        self, name: str, form: list[Any], stop_after: int | None = None, leave_after: int | None = None
    ) -> Outcome:
        outcome = self.now = Outcome(name)
        begin, stopped = time.monotonic(), False
        joined = await self._client.post(f"{self._url}{API}/queue/join", json=self._body(name, form, None))
        if joined.status_code != 200:
            outcome.error = joined.text
            return outcome
        state: list[Any] = []
        async for message in self._messages(outcome):
            kind, output = message["msg"], message.get("output") or {}
            if kind == "estimation" and message["rank"] is not None:
                outcome.ranks.append(message["rank"])
            if kind not in ("process_generating", "process_completed"):
                continue
            if not message["success"]:
                outcome.error = output.get("error") or "failed"
                continue  # the server ends the stream itself; hanging up first would cancel what this page does next
            changes = output.get("data") or []
            state = _patched(state, changes) if kind == "process_generating" else changes or state
            if state and isinstance(state[0], str):
                outcome.text = state[0]
            rounds = outcome.text.count('"d":')
            if rounds and outcome.first is None:
                outcome.first = time.monotonic() - begin
            if stop_after is not None and rounds >= stop_after and not stopped:
                stopped = True
                await self.call("stop", None)
            if leave_after is not None and rounds >= leave_after:
                await self.leave()
                break
        outcome.seconds = time.monotonic() - begin
        return outcome

    async def _messages(self, outcome: Outcome) -> AsyncIterator[dict[str, Any]]:
        address = f"{self._url}{API}/queue/data?session_hash={self.session}"
        async with self._client.stream("GET", address, timeout=PATIENCE) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    outcome.received += line
                    yield json.loads(line.removeprefix("data:"))

    async def _beat(self) -> None:
        async with self._client.stream("GET", f"{self._url}{API}/heartbeat/{self.session}", timeout=None) as stream:
            async for _ in stream.aiter_raw():
                pass

    def _body(self, name: str, data: Any, event: dict[str, Any] | None) -> dict[str, Any]:
        one = self._by_name[name]
        data = [*data, *[None] * (len(one["inputs"]) - len(data))]
        return {"data": data, "fn_index": one["id"], "session_hash": self.session, "event_data": event}


def _patched(state: list[Any], data: list[Any]) -> list[Any]:
    """The outputs after one message: the first holds them whole, each later one what has changed in them."""
    if not state:
        return list(data)
    return [_applied(old, changes) for old, changes in zip(state, data)]


def _applied(old: Any, changes: Any) -> Any:
    if not isinstance(changes, list):
        return changes
    for action, path, value in changes:
        if not path:
            old = old + value if action == "append" else value
    return old


@asynccontextmanager
async def visitors(url: str, count: int) -> AsyncIterator[list[Visitor]]:
    """Open so many pages; close those that are still open at the end."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=PATIENCE, limits=limits) as client:
        config = (await client.get(f"{url.rstrip('/')}/config")).json()
        pages = [Visitor(url, config, client) for _ in range(count)]
        for page in pages:
            await page.arrive()
        yield pages
        for page in pages:
            await page.leave()


def form_of(prompt: str, pair: str, **changes: Any) -> list[Any]:
    """The data of a press of Run: the session's place, prompt, pair, no baseline, and every knob of the page."""
    from explorer.ui.page_knobs import page_knobs

    knobs = {knob.name: knob.default for knob in page_knobs()} | changes
    return [None, prompt, pair, False, *knobs.values()]


# The server ----------------------------------------------------------------------------------------------------------


def shared() -> Any:
    """The tests' conftest.py as a module: pytest has several of that name."""
    spec = importlib.util.spec_from_file_location("shared_pieces", ROOT / "tests" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tiny_backend():
    """The page's own backend over the tiny random pair of the tests, loaded already."""
    from scripted import ScriptedKnownPair

    from explorer.ui.backend import Backend

    tiny_pair = shared().tiny_pair

    class TinyBackend(Backend):
        def pairs(self):
            return (ScriptedKnownPair(name="tiny", title="Tiny random pair"),)

        def _load(self, name, progress):
            return tiny_pair("packed-llama")

    return TinyBackend()


def serve(pair: str) -> None:
    """Serve until stdin closes; prints the address, and the name of the pair a run takes."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    for folder in (ROOT, ROOT / "tests" / "support"):
        sys.path.insert(0, str(folder))
    from serving import served

    from explorer.ui.backend import Backend

    with served(tiny_backend() if pair == "tiny" else Backend()) as (_, url):
        print(json.dumps({"url": url}), flush=True)
        sys.stdin.read()


def resident(pid: int) -> float:
    """Memory that a process holds, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} says nothing of its memory")


# The load ------------------------------------------------------------------------------------------------------------


def row(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


async def load(url: str, pid: int, pair: str, count: int, runs: int, tokens: int) -> None:
    """All parts one after another; prints what was done, and the figure."""
    row("what", "figure")
    row("---", "---")

    def form(prompt: str, **changes: Any) -> list[Any]:
        return form_of(prompt, pair, max_new_tokens=tokens, **changes)

    async with visitors(url, 1) as (one,):
        for _ in range(3):  # what the first runs of a process set up is no growth
            await one.run(form("warm"))
        settled = resident(pid)
        row("server at rest, a pair loaded", f"{settled:.0f} MB")

    async with visitors(url, count) as pages:
        prompts = [f"secret{n:03}of{secrets.token_hex(4)}" for n in range(count)]
        begin = time.monotonic()
        outcomes = await asyncio.gather(*(page.run(form(secret)) for page, secret in zip(pages, prompts)))
        wall, held = time.monotonic() - begin, resident(pid)
        check(outcomes, prompts)
        waits = sorted(outcome.first for outcome in outcomes)
        generated = sum(outcome.tokens for outcome in outcomes)
        row(f"{count} visitors press Run at once", f"{count} answers of their own, {generated} tokens in {wall:.1f} s")
        row("first round shown: median, last", f"{waits[len(waits) // 2]:.1f} s, {waits[-1]:.1f} s")
        ranks = [rank for outcome in outcomes for rank in outcome.ranks]
        row("most that were told to be before one in the queue", str(max(ranks)))
        row(f"server while {count} pages are open", f"{held:.0f} MB")
        stopped = await asyncio.gather(*(page.run(form("stop me"), stop_after=1) for page in pages[:3]))
        assert {outcome.end for outcome in stopped} <= {"user", "budget", "stop_id"}, "a stopped run has an end"
        row("stopped after a round", f"{sum(outcome.end == 'user' for outcome in stopped)} of 3 kept as partial")
        await asyncio.gather(*(page.run(form("leave me"), leave_after=1) for page in pages[3:6]))
        after = await pages[0].run(form("and on"))
        assert after.end, after.error
        row("3 pages closed in the middle of a run", "the next run of another page ends as it should")
    await asyncio.sleep(1)
    closed = resident(pid)
    row("server after all pages are closed", f"{closed:.0f} MB")
    for _ in range(5):
        async with visitors(url, 20):
            pass
    row("100 more pages opened and closed", f"{(resident(pid) - closed) * 10:.0f} kB each")

    marks: list[float] = []
    async with visitors(url, 1) as (one,):
        for number in range(runs + 1):
            if number % max(runs // 4, 1) == 0:
                marks.append(resident(pid))
            if number < runs:
                outcome = await one.run(form(f"run {number}"))
                assert outcome.end, outcome.error
    row(f"{runs} runs in a row, memory at each quarter", ", ".join(f"{mark:.0f}" for mark in marks) + " MB")


def check(outcomes: list[Outcome], prompts: list[str]) -> None:
    """Everybody has an answer, and nobody was sent a word of another's prompt."""
    for mine, (outcome, prompt) in enumerate(zip(outcomes, prompts, strict=True)):
        assert outcome.end, f"visitor {mine} has no answer: {outcome.error}"
        assert outcome.events[0]["prompt"] == prompt
        for other, foreign in enumerate(prompts):
            assert other == mine or foreign not in outcome.received, f"visitor {mine} was sent the prompt of {other}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Load the page over loopback and print what it held.")
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=24, help="of each run")
    parser.add_argument("--pair", default="tiny", help="tiny (random weights), or a name of `explorer pairs`")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.pair)
        return 0
    sys.path.insert(0, str(ROOT))
    command = [sys.executable, __file__, "--serve", "--pair", args.pair]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        try:
            url = json.loads(server.stdout.readline())["url"]
            asyncio.run(load(url, server.pid, args.pair, args.visitors, args.runs, args.tokens))
        finally:
            said, _ = server.communicate()  # closes its stdin, which ends it
        log.seek(0)
        leaks = (said + log.read()).count(b"secret")
    row("prompts of visitors in the server's log", str(leaks))
    return int(leaks > 0)


if __name__ == "__main__":
    sys.exit(main())
