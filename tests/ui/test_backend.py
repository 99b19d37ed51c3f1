"""The page's view of the engine on a tiny pair, with heartbeats between the rounds as a slow machine has them."""

import weakref

import pytest

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.models import registry
from explorer.engine.pair import Pair
from explorer.errors import UserError
from explorer.prompts import PromptItem
from explorer.sweep.record import PromptRuns, Sweep
from explorer.ui import backend as module
from explorer.ui.backend import Backend
from explorer.ui.explore.request import RequestReader

CONFIG = DecodeConfig(max_new_tokens=12, draft_length=4)


@pytest.fixture
def slow(monkeypatch):
    """Every round takes longer than the wait for it: chances to stop come between the rounds."""
    monkeypatch.setattr(module, "HEARTBEAT", 0.0)
    return Backend()


def result_of(step):
    """Go through a step that reports now and then: how often it did, and its result."""
    reports = 0
    while True:
        try:
            next(step)
            reports += 1
        except StopIteration as end:
            return reports, end.value


def test_rounds_come_in_order_with_heartbeats_between(slow, pair):
    prompt = pair.encode("hello there")
    rounds = list(slow.decode(pair, prompt, CONFIG))
    assert None in rounds
    emitted = [round_.emitted for round_ in rounds if round_ is not None]
    assert emitted == [round_.emitted for round_ in decode(pair, list(prompt.ids), CONFIG)]


def test_the_baseline_survives_heartbeats(slow, pair, plain_greedy_ids):
    """A heartbeat was taken for a round: every run with a baseline failed on machines slower than the test's."""
    prompt = pair.encode("hello there")
    reports, baseline = result_of(slow.baseline(pair, prompt, CONFIG))
    assert reports > len(baseline.ids)
    assert list(baseline.ids) == plain_greedy_ids(pair, prompt.ids, CONFIG.max_new_tokens)


def test_a_baseline_nobody_waits_for_ends(slow, pair):
    step = slow.baseline(pair, pair.encode("hello there"), CONFIG)
    next(step)
    step.close()
    assert len(list(slow.decode(pair, pair.encode("again"), CONFIG))) > 0, "the models' thread is free again"


def test_a_sweep_comes_prompt_by_prompt_and_a_point_is_measured(slow, pair):
    """The page called the sweep by a signature it no longer had: only a scripted backend was tested."""
    items = [PromptItem("hello there"), PromptItem("one two")]
    points = slow.points(CONFIG, [0.0, 0.4], [1], [4])
    steps = list(slow.sweep(pair, items, points))
    done = [step for step in steps if isinstance(step, PromptRuns)]
    assert [one.item for one in done] == items
    passes = [step for step in steps if isinstance(step, int)]
    assert passes == list(range(1, sum(len(one.passes) for one in done) + 1))
    sweep = Sweep(pair.provenance(), points, tuple(done))
    measured = [step for step in slow.measure(pair, sweep, [0, 3]) if step is not None][-1]
    assert [one.point for one in measured] == [0, 3]
    assert all(one.same_ids == one.prompts == 2 for one in measured)


def test_a_sweep_nobody_waits_for_ends(slow, pair):
    running = slow.sweep(pair, [PromptItem("hello there")], slow.points(CONFIG, [0.1], [1], [4]))
    next(running)
    running.close()
    again = slow.sweep(pair, [PromptItem("hello there")], slow.points(CONFIG, [0.1], [1], [4]))
    assert any(isinstance(step, PromptRuns) for step in again), "the models' thread is free again"


def test_a_prompt_that_cannot_run_is_refused(slow, pair):
    with pytest.raises(UserError, match="prompt 1"):
        list(slow.sweep(pair, [PromptItem("word " * 300)], slow.points(CONFIG, [0.1], [1], [4])))


def test_a_pair_is_let_go_before_the_next_one_is_loaded(make_model, tokenizer, monkeypatch):
    """Two may not fit into memory. Recorded steps, their buffers and the weights refer to each other in a circle."""
    held, alive = [], []

    def load_pair(name, progress):
        alive.append([found() is not None for found in held])
        model = make_model("llama", 0)
        pair = Pair.of(name, model, model, tokenizer, fixed_draft=True)
        held.append(weakref.ref(pair.draft.model))
        return pair

    monkeypatch.setattr("explorer.engine.load_pair.load_pair", load_pair)
    backend = Backend()
    for name in ("one", "two", "two"):
        _, pair = result_of(backend.load(name))
        list(backend.decode(pair, pair.encode("hello"), CONFIG))
        del pair
    assert alive == [[], [False]], "the second is loaded once, when the first is gone"


def test_on_a_gpu_the_page_is_never_set_to_a_pair_that_drafts_for_itself(monkeypatch):
    """A recorded run of it still opens; a run of one's own starts from the default there."""
    assert RequestReader(Backend()).runnable_pair("smollm2-135m") == "smollm2-135m"
    monkeypatch.setattr(registry, "has_cuda", lambda: True)
    assert RequestReader(Backend()).runnable_pair("smollm2-135m") == "smollm2-135m-distilled"
