"""The draft on fixed buffers against the one that grows its cache: the same ids, whatever is asked of it. No graphs here:
recording needs CUDA (`python -m explorer gpu-check` compares those)."""

import dataclasses
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer import scorers
from explorer.engine.drafters.pacer.layer import PreVerificationLayer
from explorer.engine.drafters.pacer.scorers import FixedScorer, ModuleScorer
from explorer.engine.models import fixed, graph
from explorer.engine.models.fixed import FixedModel
from explorer.engine.models.graph import Graph
from explorer.engine.models.model import LanguageModel
from explorer.engine.pair import Pair

PROMPT = [39, 68, 75, 75, 78, 258, 82]
SHAPES = ("llama", "qwen2")


@pytest.fixture(params=SHAPES)
def two(request, make_pair):
    """The same weights twice: a growing draft, and one on fixed buffers; no stop ids."""
    oracle = make_pair(request.param)

    def build(fixed_draft):
        pair = Pair.of("tiny", oracle.oracle, oracle.oracle_draft, oracle.tokenizer, fixed_draft=fixed_draft)
        layer = PreVerificationLayer.beside(oracle.oracle_draft)
        scorer = FixedScorer if fixed_draft else ModuleScorer
        scorers = {"exact": scorer(layer, pair.draft.device, torch.float32)}
        return dataclasses.replace(pair, stop_ids=frozenset(), scorers=scorers)

    growing, steady = build(False), build(True)
    assert type(growing.draft) is LanguageModel
    assert type(steady.draft) is FixedModel
    return growing, steady


def told(rounds):
    """What a run drafts and emits, and its numbers: probabilities and PACER's scores."""
    ids = [(round_.drafted, round_.emitted) for round_ in rounds]
    scores = [score for round_ in rounds for block in round_.blocks for score in block.scores]
    return ids, scores + [prob for round_ in rounds for prob in round_.draft_probs]


@pytest.mark.parametrize(
    "config",
    [
        DecodeConfig(rule="exact", draft_length=5, max_new_tokens=40),
        DecodeConfig(draft_length=6, drafter="model+lookup", max_new_tokens=40),
        DecodeConfig(length="pacer", draft_length=12, block_size=3, threshold=0.4, max_new_tokens=40),
        DecodeConfig(length="entropy", draft_length=8, threshold=0.4, temperature=0.8, max_new_tokens=30),
    ],
    ids=lambda config: f"{config.rule}-{config.drafter}-{config.length}",
)
def test_runs_are_those_of_a_growing_cache(config, two):
    (growing, expected), (steady, numbers) = (told(list(decode(pair, PROMPT, config))) for pair in two)
    assert steady == growing
    assert numbers == pytest.approx(expected, abs=1e-4)  # a call over all places sums in another order
    assert len({len(emitted) - len(drafted) for drafted, emitted in growing}) > 1, "some drafts are cut, some kept"


@torch.inference_mode()
def test_a_text_that_outgrows_its_buffers_keeps_what_they_held(two, monkeypatch):
    monkeypatch.setattr(fixed, "SMALLEST", 8)
    growing, steady = (pair.draft.open(states=True) for pair in two)
    ids = torch.arange(40) % 200
    for context in (growing, steady):
        context.prefill(ids[:5])
    for start, stop in ((5, 6), (6, 8), (8, 25), (25, 26)):
        expected, found = (context.feed(ids[start:stop], rows=1) for context in (growing, steady))
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(steady.states, growing.states, atol=1e-4, rtol=1e-4)
        assert steady.length == growing.length == stop


@torch.inference_mode()
def test_buffers_are_lent_to_one_sequence_at_a_time_and_kept_for_the_next(two):
    model = two[1].draft
    first, second = model.open(), model.open()
    ids = torch.tensor([7, 8, 9])
    alone = first.feed(ids, rows=1).clone()
    second.prefill(torch.tensor([1, 2, 3, 4, 5]))
    first.crop(2)
    torch.testing.assert_close(first.feed(ids[2:], rows=1), alone, atol=1e-5, rtol=1e-5)
    first.close()
    second.close()
    assert len(model._idle) == 2
    again = model.open()
    again.prefill(torch.tensor([11, 12, 13, 14]))  # over what the last sequence left behind
    again.crop(0)
    torch.testing.assert_close(again.feed(ids, rows=1), alone, atol=1e-5, rtol=1e-5)
    assert len(model._idle) == 1


@torch.inference_mode()
def test_a_block_leaves_the_device_alone(two, monkeypatch):
    """One host transfer per block on fixed buffers too, and the step is the same work every time."""
    from explorer.engine.drafters.draft import Draft, ModelDrafter
    from explorer.engine.sampling import Sampler

    pair, waits, steps = two[1], [], []
    drafter = ModelDrafter(pair.draft.open(True), Sampler(0.0, 0, pair.draft.device), frozenset())
    drafter.prefill(PROMPT[:-1])
    scorer = pair.scorers["exact"].open()
    for name in ("tolist", "item", "__bool__", "__int__", "__index__", "cpu"):
        original = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor, name, lambda self, original=original, name=name: waits.append(name) or original(self)
        )
    call = Graph.__call__
    monkeypatch.setattr(Graph, "__call__", lambda self: steps.append(self) or call(self))
    draft = Draft()
    drafter.extend(draft, PROMPT, 4, scorer.score)
    assert len(draft.scores) == 4
    assert waits == ["tolist"]
    assert len(steps) == 5, "four tokens and the layer"
    assert len(set(steps)) == 2


def test_only_shapes_whose_steps_are_alike_are_fixed(make_model, tokenizer):
    windowed = make_model("mistral", 0)
    assert type(Pair.of("tiny", windowed, windowed, tokenizer, fixed_draft=True).draft) is LanguageModel
    assert not fixed.supports(make_model("qwen2", 0, use_sliding_window=True, sliding_window=8))


class FakeCuda:
    """Stands in for torch.cuda: what is called in which order, and that all of it is on one device."""

    def __init__(self, device):
        self.calls, self._device, self._current = [], torch.device(device), torch.device("cuda:0")
        self.main = self.Stream(self._device)

    def Stream(self, device=None):  # noqa: N802
        assert torch.device(device or self._current) == self._device
        return SimpleNamespace(wait_stream=lambda other: self.calls.append("wait"))

    def CUDAGraph(self):  # noqa: N802
        return SimpleNamespace(replay=lambda: self.called("replay"))

    def current_stream(self, device=None):
        assert torch.device(device or self._current) == self._device
        return self.main

    def called(self, name):
        assert self._current == self._device, f"{name} on {self._current}"
        self.calls.append(name)

    @contextmanager
    def device(self, device):
        before, self._current = self._current, torch.device(device)
        yield
        self._current = before

    @contextmanager
    def stream(self, stream):
        self.called("in side stream")
        yield
        self.called("out")

    @contextmanager
    def graph(self, graph, stream=None):
        assert stream is not None, "torch's own stream for captures lies on the device of the first one"
        self.called("in capture")
        yield
        self.called("out")


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_recorded_work_is_replayed_into_the_same_memory(device, monkeypatch):
    """The order of calls that torch asks for, on the device of the work whichever is the current one. Against a stand-in: whether
    the graph computes the same only a GPU can tell."""
    fake = FakeCuda(device)
    monkeypatch.setattr(graph.torch, "cuda", fake)
    step = Graph(lambda: fake.called("work") or (torch.ones(1),), torch.device(device))
    first, second = step(), step()
    assert fake.calls == [
        "wait", "in side stream", "work", "work", "out", "wait", "in capture", "work", "out", "replay", "replay",
    ]  # fmt: skip
    assert first[0] is second[0]


@torch.inference_mode()
def test_steps_are_recorded_on_the_device_of_their_buffers(two, monkeypatch):
    """Drafts and PACER's layer alike; ids and states may come from elsewhere."""
    devices = []

    class Recorded(Graph):
        def __init__(self, work, device):
            devices.append(device)
            super().__init__(work, device)

    monkeypatch.setattr(fixed, "Graph", Recorded)
    monkeypatch.setattr(scorers, "Graph", Recorded)
    draft, scorer = two[1].draft, two[1].scorers["exact"]
    buffers = fixed.Buffers(draft, 8)
    buffers.feed(torch.tensor([7]), 0, rows=1)
    scorer.score(torch.zeros(2, draft.width), torch.ones(2), 0)
    assert devices == [buffers.entries.device, scorer._states.device]
    assert all(device.index is None or device.type == "cuda" for device in devices)


@torch.inference_mode()
def test_buffers_have_the_size_of_their_text_whoever_ran_before(two, monkeypatch):
    """A step reads the whole buffer: a short text in the buffers of a long one would be slow."""
    monkeypatch.setattr(fixed, "SMALLEST", 8)
    model = two[1].draft
    long, short = model.open(), model.open()
    long.prefill(torch.arange(40))
    long.close()
    short.prefill(torch.arange(5))
    assert short._buffers.capacity == 8
    assert [buffers.capacity for buffers in model._idle] == [64]
    first = short._buffers
    short.feed(torch.arange(30), rows=1)
    assert short._buffers.capacity == 64, "the idle ones of that size"
    assert model._idle == [first], "what was outgrown serves the next short text"


@torch.inference_mode()
def test_idle_buffers_are_bounded_and_freed(two):
    model = two[1].draft
    contexts = [model.open() for _ in range(fixed.SPARE + 2)]
    for context in contexts:
        context.feed(torch.tensor([7]), rows=1)
    held = [context._buffers for context in contexts]
    for context in contexts:
        context.close()
    assert model._idle == held[: fixed.SPARE]
    assert [buffers.entries.nbytes for buffers in held[fixed.SPARE :]] == [0, 0]
    assert not any(buffers._steps for buffers in held[fixed.SPARE :])


def test_recording_that_fails_leaves_the_eager_path(monkeypatch, caplog):
    """Forced: this machine says it has CUDA, and cannot record."""

    def refuse(*_, **__):
        raise RuntimeError("no graphs here")

    fake = FakeCuda("cuda:0")
    fake.Stream = refuse
    monkeypatch.setattr(graph.torch, "cuda", fake)
    step = Graph(lambda: (torch.ones(1),), torch.device("cuda:0"))
    assert step()[0].item() == step()[0].item() == 1
    assert caplog.text.count("no graphs here") == 1
