"""Visitors over the page's own protocol, as browsers speak it (tests/tools/load.py): state of their own, a queue, nothing left behind."""

import asyncio
import gc
import logging
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest
from explore import ExploreHandlers
from load import check, form_of, tiny_backend, visitors
from scripted import STORY, Script, ScriptedBackend, make_trace
from serving import PATIENCE, served

from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.trace import Round, Trace
from explorer.ui import streams
from explorer.ui.compare.request import CompareSession
from explorer.ui.explore.session import ExploreSession, OwnRun
from explorer.ui.jobs import Job
from explorer.ui.limits import BODY_LIMIT, UPLOAD_LIMIT
from explorer.ui.tune.session import TuneSession


@pytest.fixture(scope="module")
def serve():
    """Serve the page over a backend; returns the page and its address."""
    with ExitStack() as servers:
        yield lambda backend: servers.enter_context(served(backend))


@pytest.fixture(scope="module")
def scripted_page(serve):
    """One page for all: (its blocks, address, backend)."""
    backend = ScriptedBackend(Script(STORY.rounds))
    return (*serve(backend), backend)


@pytest.fixture(scope="module")
def address(scripted_page):
    return scripted_page[1]


@pytest.fixture
def gated(scripted_page):
    """The same, its runs waiting for the gate: (its blocks, address, backend, gate)."""
    page, url, backend = scripted_page
    gate = backend.script.gate = threading.Semaphore(0)
    backend.closed = 0
    yield page, url, backend, gate
    gate.release(10_000)
    backend.script.gate = None


def at_once(scene):
    """Play a scene in a thread of its own: the browser tests of the same process keep a loop on this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, scene).result()


async def until(holds, patience=PATIENCE):
    """Wait for something to become true on the server."""
    for _ in range(int(patience / 0.02)):
        if holds():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it never came")


def waiting(page) -> int:
    queue = page._queue.event_queue_per_concurrency_id.get("model")  # there from the first run on
    return len(queue.queue) if queue else 0


def form(prompt="go", **changes):
    return form_of(prompt, "scripted", **({"max_new_tokens": 14} | changes))


@pytest.mark.parametrize("count", [2, 20])
def test_visitors_at_once_have_their_own_state_and_a_place_in_the_queue(count, gated):
    page, url, backend, gate = gated
    prompts = [f"secret {number} of {count}" for number in range(count)]

    async def scene():
        async with visitors(url, count) as pages:
            runs = [
                asyncio.create_task(one.run(form(prompt, max_new_tokens=5 + n)))
                for n, (one, prompt) in enumerate(zip(pages, prompts))
            ]
            await until(lambda: waiting(page) == count - 1)
            gate.release(10_000)
            return await asyncio.gather(*runs)

    outcomes = at_once(scene())
    check(outcomes, prompts)
    assert [outcome.tokens for outcome in outcomes] == [5 + n for n in range(count)]
    assert len({outcome.events[0]["run"] for outcome in outcomes}) == count
    places = sorted({max(outcome.ranks) for outcome in outcomes if outcome.ranks})
    assert len([outcome for outcome in outcomes if outcome.ranks]) >= count - 1
    assert places[-1] >= count - 2, "the last one in was told how many are before it"
    assert backend.closed == count


def test_more_than_the_queue_holds_are_told_so(gated, monkeypatch):
    page, url, _, gate = gated
    assert page._queue.max_size == 32
    monkeypatch.setattr(page._queue, "max_size", 2)

    async def scene():
        async with visitors(url, 6) as pages:
            runs = [asyncio.create_task(one.run(form())) for one in pages]
            await until(lambda: sum(run.done() for run in runs) >= 3)
            gate.release(10_000)
            return await asyncio.gather(*runs)

    outcomes = at_once(scene())
    refused = [outcome for outcome in outcomes if outcome.error]
    assert len(refused) in (3, 4), "one runs, two wait"
    assert all("full" in outcome.error.lower() for outcome in refused)
    assert all(outcome.end == "budget" for outcome in outcomes if not outcome.error)


def test_a_closed_page_ends_its_run_and_the_next_one_begins(gated):
    page, url, backend, gate = gated

    async def scene():
        async with visitors(url, 2) as (first, second):
            leaving = asyncio.create_task(first.run(form(), leave_after=1))
            gate.release(1)
            await leaving
            after = asyncio.create_task(second.run(form("next")))
            gate.release(10_000)
            return await after

    outcome = at_once(scene())
    assert (outcome.end, outcome.events[0]["prompt"]) == ("budget", "next")
    assert backend.closed == 2


def test_a_page_that_waits_and_is_closed_never_runs(gated):
    page, url, backend, gate = gated

    async def scene():
        async with visitors(url, 2) as (first, second):
            running = asyncio.create_task(first.run(form()))
            await until(lambda: first.now.event == "page_run" and first.now.text)
            leaving = asyncio.create_task(second.run(form("never")))
            await until(lambda: second.now.event == "page_run" and second.now.ranks)
            assert waiting(page) == 1
            leaving.cancel()
            await asyncio.wait([leaving])
            await until(lambda: waiting(page) == 0)
            gate.release(10_000)
            return await running

    assert at_once(scene()).end == "budget"
    assert backend.closed == 1


def test_what_a_closed_page_had_is_let_go(address, monkeypatch):
    """Gradio keeps the state of closed pages, and with it every run that ended in one."""
    traces = []
    kept = ExploreSession.__setattr__

    def watch(self, name, value):
        if isinstance(value, OwnRun):
            traces.append(weakref.ref(value.trace))
        kept(self, name, value)

    monkeypatch.setattr(ExploreSession, "__setattr__", watch)

    def alive():
        gc.collect()
        return sum(trace() is not None for trace in traces)

    async def scene():
        async with visitors(address, 2) as pages:
            for one in pages:
                await one.run(form())
            held = alive()
            await pages[0].leave()
            await until(lambda: alive() == held - 1)
            return held

    assert at_once(scene()) == 2

    async def all_gone():
        await until(lambda: alive() == 0)

    at_once(all_gone())


def test_every_session_forgets_what_it_holds(tmp_path):
    for session in (ExploreSession(), CompareSession(), TuneSession()):
        session.begin(job := Job(request=None))
        session.forget()
        assert job.is_cancelled
        assert session.job is None
        assert session.take() is None, "what waited in the queue never runs"
    own = OwnRun("r", make_trace(), "", "scripted")
    record = own.record(tmp_path)
    session = ExploreSession(own=own, shown="a")
    session.forget()
    assert not record.exists()
    assert (session.own, session.shown) == (None, "")
    assert own.record(tmp_path) is None, "an event that comes late leaves no file"


@pytest.fixture(scope="module")
def tiny(serve):
    """The address of a page over a tiny pair on the real engine."""
    return serve(tiny_backend())[1]


@pytest.mark.parametrize("end", ["stop", "leave"])
def test_stop_and_a_closed_page_free_the_caches(end, tiny, monkeypatch):
    opened = []
    for kind in (Context, PackedContext):
        made = kind.__init__

        def record(self, *arguments, made=made, **options):
            made(self, *arguments, **options)
            opened.append(self)

        monkeypatch.setattr(kind, "__init__", record)
    long = form_of("go", "tiny", max_new_tokens=200, draft_length=2)

    async def scene():
        async with visitors(tiny, 1) as (one,):
            outcome = await one.run(long, **{f"{end}_after": 1})
            await until(lambda: opened and not any(context.length for context in opened))
            return outcome

    outcome = at_once(scene())
    assert outcome.tokens < 200
    assert (outcome.end == "user") == (end == "stop")
    assert len(opened) == 2, "one for each model"


@pytest.mark.slow
def test_two_hundred_runs_hold_no_more_than_one(monkeypatch):
    """Live objects after a run and after 200: contexts, rounds, traces. (Memory itself is measured by tests/tools/load.py.)"""
    monkeypatch.setattr(streams, "UPDATE_SECONDS", 0.0)
    handlers, session = ExploreHandlers(tiny_backend()), ExploreSession()
    values = form_of("go", "tiny", max_new_tokens=3, draft_length=2)[1:]

    def held() -> list[int]:
        gc.collect()
        everything = gc.get_objects()
        return [sum(type(one) is kind for one in everything) for kind in (Context, PackedContext, Round, Trace)]

    def run(count):
        for _ in range(count):
            handlers.prepare(session, *values)
            for _ in handlers.run(session):
                pass
        return held()

    first = run(1)
    assert first[3] >= 1, "the last run is kept for its charts"
    assert run(200) == first


def test_a_prompt_is_in_nobodys_log(serve, capfd, caplog, monkeypatch):
    """Neither of a run that goes well nor of one that fails in a way nobody foresaw, whose error quotes it."""
    secret = "secret-7f3a"
    caplog.set_level(logging.DEBUG)

    class Fragile(ScriptedBackend):
        def recorder(self, pair, prompt, config):
            if "break" in prompt.text:
                raise KeyError(prompt.text)
            return super().recorder(pair, prompt, config)

    _, url = serve(Fragile(STORY))

    async def scene():
        async with visitors(url, 2) as (first, second):
            return await first.run(form(secret)), await second.run(form(f"{secret} break"))

    well, broken = at_once(scene())
    assert well.end == "budget"
    assert "KeyError" in broken.error
    assert secret not in broken.error
    assert "a run failed: KeyError" in caplog.text
    out, err = capfd.readouterr()
    # httpx, which this test itself sends with, logs addresses at this level: they too must not hold it.
    assert secret not in caplog.text + out + err


# What may be sent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_refused_before_it_is_parsed(address, chunked):
    piece = b" " * 2**20
    count = BODY_LIMIT // len(piece) + 1

    def pieces():
        for _ in range(count):
            yield piece

    body = {"content": pieces()} if chunked else {"content": piece * count}
    try:
        answer = httpx.post(
            f"{address}/gradio_api/queue/join", headers={"content-type": "application/json"}, timeout=PATIENCE, **body
        )
    except (httpx.WriteError, httpx.ReadError):  # the server hangs up before all of it is sent
        return
    assert answer.status_code in (400, 413)


def test_a_file_beyond_the_limit_is_refused_while_it_comes_in(address):
    small, large = (b"x" * UPLOAD_LIMIT, b"x" * (UPLOAD_LIMIT + 1))
    answers = [
        httpx.post(f"{address}/gradio_api/upload", files={"files": ("f.txt", data)}, timeout=PATIENCE)
        for data in (small, large)
    ]
    assert [answer.status_code for answer in answers] == [200, 413]
    assert "size" in answers[1].text


def test_a_record_of_the_largest_size_gets_through(address):
    """The limit of a body leaves room for what the importer itself allows, as JSON writes it."""
    from explorer.ui.scripts import IMPORT_LIMIT

    text = '"' * IMPORT_LIMIT

    async def scene():
        async with visitors(address, 1) as (one,):
            name = next(dep for dep in one._by_name if dep.startswith("open_file"))
            body = one._body(name, [None], {"text": text, "name": "f.json"})
            return await one._client.post(f"{address}/gradio_api/queue/join", json=body)

    assert at_once(scene()).status_code == 200
