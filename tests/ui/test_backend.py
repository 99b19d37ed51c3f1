"""The page's view of the engine on a tiny pair, with heartbeats between the rounds as a slow machine has them."""

import pytest

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.ui import backend as module
from explorer.ui.backend import Backend

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
