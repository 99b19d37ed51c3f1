"""Runs on a GPU that is lent for one call: the lent functions really run in a forked process, and everything is pickled both ways,
as ZeroGPU's decorator does it. The pair is a tiny one on the CPU."""

import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from explore import ExploreHandlers

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.errors import UserError
from explorer.prompts import PromptError, PromptItem
from explorer.sweep.record import PromptRuns, Sweep
from explorer.ui import zerogpu
from explorer.ui.explore.session import ExploreSession
from explorer.ui.notices import message_of
from explorer.ui.page import build_page
from explorer.ui.page_knobs import page_knobs
from explorer.ui.zerogpu import GpuTimeOver, ZeroGpuBackend

ROOT = Path(__file__).parents[2]
FORK = multiprocessing.get_context("fork")
CONFIG = DecodeConfig(max_new_tokens=12, draft_length=4)
ITEMS = [PromptItem("hello there"), PromptItem("one two")]
END = "the end of the other process"


class Lender:
    """Stands in for spaces.GPU: a call forks, the arguments and every step are pickled, a closed call ends after its step."""

    def __init__(self):
        self.asked: list[int] = []  # seconds
        self.finished = 0  # processes that came to their end

    def __call__(self, task, seconds):
        @wraps(task)
        def lent(*arguments):
            self.asked.append(seconds(*arguments))
            packet, steps, stop = pickle.dumps(arguments), FORK.SimpleQueue(), FORK.Event()

            def work():
                try:
                    running = task(*pickle.loads(packet))
                    for step in running:
                        if stop.is_set():
                            running.close()
                            break
                        steps.put(step)
                except Exception as error:  # ZeroGPU tells no more than this of an error that is not Gradio's
                    steps.put(f"worker error: {type(error).__name__}")
                steps.put(END)

            process = FORK.Process(target=work, daemon=True)
            process.start()
            ended = False

            def get():
                assert steps._reader.poll(60), "the other process hangs"
                return steps.get()

            try:
                while (step := get()) != END:
                    assert not isinstance(step, str), step
                    yield step
                ended = True
            finally:
                stop.set()
                while not ended and get() != END:
                    pass
                process.join(60)
                self.finished += process.exitcode == 0

        return lent


@pytest.fixture(scope="module")
def folders(pair, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(folder / side)
        pair.tokenizer.save_pretrained(folder / side)
    return f"{folder / 'target'},{folder / 'draft'}"


@pytest.fixture
def lender():
    return Lender()


@pytest.fixture
def backend(folders, lender):
    return ZeroGpuBackend(lender, [folders])


@pytest.fixture
def held(backend):
    loading = backend.load(backend.pairs()[0].name)
    while True:
        try:
            next(loading)
        except StopIteration as end:
            return end.value


def local(pair, prompt, config):
    return [round_.emitted for round_ in decode(pair, list(prompt.ids), config)]


@pytest.mark.parametrize(
    "config",
    [CONFIG, DecodeConfig(max_new_tokens=16, draft_length=5, temperature=0.7, seed=3)],
    ids=["greedy", "drawn"],
)
def test_a_run_comes_back_as_it_would_be_here(backend, held, lender, config):
    prompt = held.encode("hello there")
    rounds = list(backend.decode(held, prompt, config))
    assert [round_.emitted for round_ in rounds] == local(held, prompt, config)
    assert backend._warm == set(), "what the other process remembers stays there"
    assert (lender.finished, len(lender.asked)) == (1, 1)


def test_the_record_names_the_device_of_the_other_process(backend, held, monkeypatch):
    monkeypatch.setattr("explorer.engine.pair.device_name", lambda device: f"process {os.getpid()}")
    prompt = held.encode("hello there")
    recorder = backend.recorder(held, prompt, CONFIG)
    for round_ in backend.decode(held, prompt, CONFIG):
        recorder.add(round_)
    device = recorder.trace().provenance.device
    assert device.startswith("process ")
    assert device != f"process {os.getpid()}"


def test_a_run_that_nobody_reads_on_ends_in_the_other_process(backend, held, lender):
    rounds = backend.decode(held, held.encode("hello there"), DecodeConfig(max_new_tokens=200, draft_length=2))
    next(rounds)
    rounds.close()
    assert lender.finished == 1


def test_runs_in_turn_are_one_loan(backend, held, lender):
    prompt, configs = held.encode("hello there"), [DecodeConfig(rule="autoregressive", max_new_tokens=12), CONFIG]
    assert list(backend.warm_up(held, prompt, configs)) == []
    steps = list(backend.decode_in_turn(held, prompt, configs))
    for index, config in enumerate(configs):
        assert [round_.emitted for side, round_ in steps if side == index] == local(held, prompt, config)
    assert len(lender.asked) == 1


def test_what_a_user_did_wrong_comes_back_as_such(backend, held):
    """ZeroGPU turns any other error than Gradio's into its name: the sentence would be lost."""
    with pytest.raises(PromptError, match="shorten the prompt or lower the budget"):
        list(backend.decode(held, held.encode("word " * 300), CONFIG))


def test_memory_that_ran_out_there_is_told_here(backend, held, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("explorer.engine.decode.decode", full)
    with pytest.raises(UserError, match="Out of memory"):
        list(backend.decode(held, held.encode("hello there"), CONFIG))


def test_the_seconds_asked_for_follow_the_budget(lender):
    short, long = (zerogpu.run_seconds("", [], [DecodeConfig(max_new_tokens=tokens)]) for tokens in (32, 512))
    assert zerogpu.START_SECONDS < short < long
    assert zerogpu.run_seconds("", [], [DecodeConfig(max_new_tokens=4096)]) == zerogpu.MAX_SECONDS
    assert zerogpu.sweep_seconds("", [], []) == zerogpu.SWEEP_SECONDS <= zerogpu.MAX_SECONDS / 2, (
        "a day's quota holds more than one"
    )


def test_a_run_that_outlasts_its_loan_says_so(backend, held, monkeypatch):
    monkeypatch.setattr(zerogpu, "MARGIN_SECONDS", 1000)
    with pytest.raises(GpuTimeOver, match="lent for .* seconds"):
        list(backend.decode(held, held.encode("hello there"), CONFIG))


def test_a_sweep_comes_back_and_a_point_is_measured(backend, held):
    points = backend.points(CONFIG, [0.0, 0.4], [1], [4])
    done = [step for step in backend.sweep(held, ITEMS, points) if isinstance(step, PromptRuns)]
    assert [one.item for one in done] == ITEMS
    sweep = Sweep(held.provenance(), points, tuple(done))
    *_, measured = backend.measure(held, sweep, [0, 3])
    assert all(one.same_ids == one.prompts == 2 for one in measured)


def test_a_sweep_that_outlasts_its_loan_keeps_what_is_through(backend, held, monkeypatch):
    monkeypatch.setattr(zerogpu, "MARGIN_SECONDS", 1000)
    points = backend.points(CONFIG, [0.1], [1], [4])
    assert len(list(backend.sweep(held, ITEMS, points))) == 1


def test_the_page_runs_on_a_loan(backend, lender):
    """From the form to the record, with the baseline as a second loan; the Tune tab says what does not fit."""
    handlers, session, name = ExploreHandlers(backend), ExploreSession(), backend.pairs()[0].name
    form = ["hello there", name, True, *(getattr(CONFIG, knob.name) for knob in page_knobs())]
    handlers.prepare(session, *form)
    list(handlers.run(session))
    assert session.own.trace.baseline is not None
    assert not session.own.trace.partial
    assert len(lender.asked) == 2
    page = build_page(backend, recorded=())
    shown = {block.elem_id for block in page.blocks.values()}
    assert "tune-loan" in shown
    assert backend.sweep_gpu_seconds == 60, "the text says one minute"


def test_a_spent_quota_is_told_in_the_platforms_words():
    assert message_of(gr.Error("You have exceeded your GPU quota")) == "You have exceeded your GPU quota"


def test_spaces_is_imported_before_anything_that_could_import_torch(tmp_path):
    """It refuses a process where CUDA was touched before it."""
    (tmp_path / "spaces.py").write_text(
        "import sys\nprint([name for name in ('torch', 'gradio', 'explorer') if name in sys.modules])\nsys.exit()\n"
    )
    environment = {**os.environ, "SPACES_ZERO_GPU": "true", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_on_zerogpu_the_app_loads_and_lends_while_it_is_read(folders, lender, monkeypatch):
    """The platform packs the weights, and counts what is lent, when the page is launched."""
    made = []

    def gpu(duration):
        return lambda task: made.append(task.__name__) or lender(task, duration)

    monkeypatch.setitem(sys.modules, "spaces", SimpleNamespace(GPU=gpu))
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setenv("EXPLORER_PAIRS", folders)
    spec = importlib.util.spec_from_file_location("app_on_zerogpu", ROOT / "app.py")
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    assert made == ["_runs", "_sweep", "_measure"]
    pairs = [block for block in app.demo.blocks.values() if block.elem_id == "pair"]
    assert [value for _, value in pairs[0].choices] == [folders], "only what is loaded can be chosen"
