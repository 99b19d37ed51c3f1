"""Bad input, every row of it through every way in: the page, the endpoint, the command line and a record that is opened.

The rows are those of docs/reliability.md. What a setting may be is read from the table of knobs, so a new knob is tried in every
way without a word here.
"""

import json
import math
from types import SimpleNamespace

import gradio as gr
import pytest
from explore import ExploreHandlers
from scripted import STORY, Script, ScriptedBackend, Step, make_trace

from explorer.config import knobs
from explorer.errors import UserError
from explorer.ui.explore.api import judge
from explorer.ui.explore.session import ExploreSession
from explorer.ui.explore.settings import notes_html
from explorer.ui.explore.typed_pair import typed_pair
from explorer.ui.page_knobs import page_knobs
from explorer.ui.warmup import readiness_html

TRACE = make_trace().to_json()


def form(prompt="go", pair="scripted", baseline=False, **changes):
    defaults = {knob.name: knob.default for knob in page_knobs()} | {"max_new_tokens": 8}
    return [prompt, pair, baseline, *(defaults | changes).values()]


def run(handlers, session, *values):
    """All outputs of a run, after the step that clears the view."""
    handlers.prepare(session, *values)
    return list(handlers.run(session))


@pytest.fixture(scope="module")
def backend():
    return ScriptedBackend(STORY)


@pytest.fixture(scope="module")
def handlers(backend):
    return ExploreHandlers(backend)


class Ways:
    """The four ways in, each as: give it the input, get the message of its refusal."""

    def __init__(self, handlers, refused, folder):
        self._handlers, self._refused, self._folder = handlers, refused, folder

    def page(self, *values) -> str:
        session = ExploreSession()
        with pytest.raises(gr.Error) as error:
            self._handlers.prepare(session, *values)
        assert session.job is None, "nothing runs"
        return str(error.value)

    def endpoint(self, *values) -> str:
        with pytest.raises(gr.Error) as error:
            self._handlers.api_run(*values)
        return str(error.value)

    def terminal(self, *arguments) -> str:
        return self._refused("run", "--prompt", "go", *arguments)

    def importer(self, text: str) -> str:
        with pytest.raises(gr.Error) as error:
            self._handlers.open_file(ExploreSession(), SimpleNamespace(text=text, name="f.json"))
        return str(error.value)

    def reader(self, text: str, *command: str) -> str:
        """The same record given to a command that reads one."""
        path = self._folder / "f.json"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        name, *options = command or ("replay",)
        return self._refused(name, path, *options)


@pytest.fixture
def ways(handlers, refused, tmp_path):
    return Ways(handlers, refused, tmp_path)


def said(knob) -> str:
    """What every refusal of a knob must name: its range."""
    return knob.range_text.removeprefix("one of ")[:40]


def wrong_values(knob):
    """Values outside a knob's range: below, above, none at all, of another type."""
    values = ["x", [], {}] if knob.kind is bool else [None, "x", [], {}]
    if knob.kind in (int, float):
        values += [knob.low - 1, knob.high + 1, math.nan, math.inf, -math.inf, True, 10**30]
        values += [knob.low + 0.5] if knob.kind is int else []
    return values


@pytest.mark.parametrize("knob", page_knobs(), ids=lambda knob: knob.name)
def test_a_setting_out_of_range_is_refused_with_its_range(knob, ways):
    for value in wrong_values(knob):
        values = form(**{knob.name: value})
        for message in (ways.page(*values), ways.endpoint(*values)):
            assert knob.label in message, value
            assert said(knob) in message, value
        told = ways.importer(json.dumps(TRACE | {"config": TRACE["config"] | {knob.name: value}}))
        assert told, "JSON that is none (NaN), a type that is none, or the range itself"
        if (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and math.isfinite(value)
            and abs(value) < 2**53
        ):
            whole = knob.kind is not int or float(value).is_integer()
            assert not whole or knob.label in told, value


NUMBERS = [knob for knob in knobs() if knob.kind in (int, float)]


@pytest.mark.parametrize("knob", NUMBERS, ids=lambda knob: knob.name)
def test_the_command_line_names_the_same_range(knob, ways):
    for value in (knob.low - 1, knob.high + 1, "nan", "inf", "x", "", *(["1.5"] if knob.kind is int else [])):
        line = ways.terminal(f"--{knob.name.replace('_', '-')}={value}")
        assert knob.range_text in line


@pytest.mark.parametrize("knob", [knob for knob in knobs() if knob.choices], ids=lambda knob: knob.name)
def test_the_command_line_names_the_same_choices(knob, ways):
    line = ways.terminal(f"--{knob.name.replace('_', '-')}", "x")
    assert all(choice in line for choice in knob.choices)


@pytest.mark.parametrize("prompt", ["", "  \n\t", None, 3, ["a"]])
def test_an_empty_prompt_is_refused(prompt, ways):
    assert "prompt is empty" in ways.page(*form(prompt=prompt))
    assert "prompt is empty" in ways.endpoint(*form(prompt=prompt))


def test_an_empty_prompt_on_the_command_line_and_in_a_record(refused, saved, ways):
    assert "prompt is empty" in refused("run", "--prompt", " ", "--pair", saved)
    empty = json.dumps(TRACE | {"prompt": TRACE["prompt"] | {"ids": []}})
    assert "prompt is empty" in ways.importer(empty)
    assert "prompt is empty" in ways.reader(empty)


def test_a_prompt_longer_than_the_context_names_the_limit(refused, saved, ways, handlers):
    assert "at most 20,000" in ways.page(*form(prompt="x" * 20_001))
    assert "at most 20,000" in ways.endpoint(*form(prompt="x" * 20_001))
    assert "shorten the prompt" in ways.endpoint(*form(prompt="too long"))
    with pytest.raises(gr.Error, match="shorten the prompt"):
        run(handlers, ExploreSession(), *form(prompt="too long"))
    assert "context of 256: shorten the prompt" in refused("run", "--prompt", "word " * 300, "--pair", saved, "--quiet")


def test_a_window_that_does_not_fit_is_allowed_and_noted(handlers, command, saved):
    words = "nothing can be deferred"
    settings = {"window": 8, "draft_length": 8, "rule": "fly"}
    values = form(**settings)
    assert words in notes_html(handlers.offers, values[1], *values[3:])
    assert words in handlers.api_run(*values)["notes"][0]
    _, _, err = command(
        "run", "--prompt", "go", "--pair", saved, "--window", 8, "--draft-length", 8, "--max-new-tokens", 4
    )
    assert words in err
    opened = json.dumps(make_trace(**settings).to_json())
    _, text, *_ = handlers.open_file(ExploreSession(), SimpleNamespace(text=opened, name="f.json"))
    assert json.loads(text.splitlines()[0])["notes"][0]["code"] == "note.window_too_long"


@pytest.mark.parametrize("pair", ["nope", "../../etc", "", None, ["scripted"], "<b>x</b>"])
def test_an_unknown_pair_is_refused_with_what_there_is(pair, ways, handlers):
    for message in (ways.page(*form(pair=pair)), ways.endpoint(*form(pair=pair))):
        assert "nknown pair" in message
        assert "scripted" in message
    if isinstance(pair, str) and pair:
        assert "unknown pair" in ways.terminal("--pair", pair)
        elsewhere = json.dumps(TRACE | {"provenance": TRACE["provenance"] | {"pair": pair}})
        _, text, _, chosen, *_ = handlers.open_file(ExploreSession(), SimpleNamespace(text=elsewhere, name="f.json"))
        assert json.loads(text.splitlines()[0])["here"] is False, "shown, but it cannot be run here"
        assert chosen == "scripted"


TYPED = [
    "a" * 300 + ",b", "\0,b", "\ud800,b", "../../etc,x", "/etc/passwd,/etc/passwd", "~nobody/x,~root", "a/b," + "c/" * 100, "x/y\n,z/w",
    "http://a/b,c/d", "a/b,c/d,e/f,g", ",,,", "a," * 300,
]  # fmt: skip


@pytest.mark.parametrize("name", TYPED, ids=lambda name: repr(name)[:24])
def test_a_pair_that_is_typed_is_refused_whatever_it_is(name, refused):
    """A name too long for a file, of a user who is not there, with a zero byte: none of them is an error of the program."""
    for local_folders in (True, False):
        with pytest.raises(UserError):
            typed_pair(name, local_folders)
    if "\0" not in name and "\ud800" not in name:  # no program can be given these
        refused("run", "--prompt", "go", "--pair", name)


def test_folders_of_a_machine_are_not_for_its_visitors(saved):
    """On a Space a visitor who types a folder is told what one is told whose folder is not there."""
    there, elsewhere = saved, "/no/such/folder,/no/such/folder"
    assert typed_pair(there, local_folders=True)
    messages = []
    for name in (there, elsewhere):
        with pytest.raises(UserError) as error:
            typed_pair(name, local_folders=False)
        messages.append(str(error.value).replace(name.replace(",", " / "), "X"))
    assert messages[0] == messages[1]


def test_weights_that_are_not_here_are_told_with_how_to_get_them(ways, handlers):
    with pytest.raises(gr.Error, match="not on this machine"):
        run(handlers, ExploreSession(), *form(pair="absent"))
    assert "not on this machine" in ways.endpoint(*form(pair="absent"))
    assert "hf download owner/name" in ways.terminal("--pair", "owner/name,owner/name")


def test_pickle_weights_are_refused(ways, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert "pickle weights only, which are refused" in ways.terminal("--pair", f"{tmp_path},{tmp_path}")


BAD_RECORDS = [
    ("", "not valid JSON"), ("{", "not valid JSON"), ("[" * 50_000, "not valid JSON"), ("null", "schema version"), ("{}", "schema version"),
    (json.dumps(TRACE | {"schema": 2}), "schema version 2, this reader knows 1"),
    (json.dumps(TRACE | {"rounds": {}}), "rounds must be a list"),
    (json.dumps(TRACE).replace('"deferred"', '"exact"'), "the rule gives other verdicts"),
    (json.dumps(TRACE)[:-200], "not valid JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD_RECORDS)
def test_a_record_that_is_none_is_refused_with_the_reason(text, words, ways, tmp_path):
    assert words in ways.importer(text)
    assert words in ways.reader(text)
    assert words in ways.reader(text, "export", "--csv", tmp_path / "f.csv")
    assert words in ways.reader(text, "deferred")
    assert not (tmp_path / "f.csv").exists()


MARKUP = "<img src=x onerror=alert(1)>"


def test_markup_in_a_refusal_is_text(ways, handlers):
    """Gradio shows a message as markup: what a message quotes from a form or a file must not become some."""
    messages = [
        ways.page(*form(pair=MARKUP)), ways.endpoint(*form(pair=MARKUP)), ways.page(*form(theta=MARKUP)),
        ways.endpoint(*form(rule=MARKUP)), ways.importer(json.dumps(TRACE | {"stop": MARKUP})),
    ]  # fmt: skip
    with pytest.raises(gr.Error) as error:
        judge([True], [0.1], rule=MARKUP)
    for message in [*messages, str(error.value)]:
        assert "&lt;img" in message or "img" not in message
        assert "<" not in message
    assert "<" not in readiness_html("page.warm_failed", MARKUP, MARKUP).replace("<p class='readiness'>", "").replace(
        "</p>", ""
    )
    notes = notes_html(handlers.offers, "scripted", *form(theta=MARKUP)[3:])
    assert "<img" not in notes


def test_markup_in_a_failure_is_text_in_both_places():
    """A failed run says why in a toast, which is markup, and in the view, which is not."""

    class Broken(ScriptedBackend):
        def load(self, name):
            yield ""
            raise UserError("file.is_folder", file=MARKUP)

    sent = []

    def collect():
        handlers, session = ExploreHandlers(Broken(STORY)), ExploreSession()
        handlers.prepare(session, *form())
        for text, *_ in handlers.run(session):
            sent.append(text)

    with pytest.raises(gr.Error) as error:
        collect()
    assert "<" not in str(error.value)
    assert json.loads(sent[-1].splitlines()[-1])["message"].startswith(MARKUP), "a script writes it as text"


def test_markup_in_token_text_stays_text(ways, handlers, command, tmp_path):
    trace = make_trace(Script([([Step(MARKUP)], MARKUP)]))
    _, text, *_ = handlers.open_file(ExploreSession(), SimpleNamespace(text=json.dumps(trace.to_json()), name="f.json"))
    assert "<" not in text
    trace.save(tmp_path / "t.json")
    command("export", tmp_path / "t.json", "--html", tmp_path / "t.html", "--csv", tmp_path / "t.csv")
    assert MARKUP not in (tmp_path / "t.html").read_text(encoding="utf-8")


# Out of memory --------------------------------------------------------------------------------------------------------


class Full(ScriptedBackend):
    """A backend that finds no room once, in a step of a run."""

    def __init__(self, error):
        super().__init__(STORY)
        self.error = error

    def decode(self, pair, prompt, config):
        running = super().decode(pair, prompt, config)
        try:
            yield next(running)
            if error := self.error:
                self.error = None
                raise error
            yield from running
        finally:
            running.close()


def out_of_memory():
    import torch

    yield MemoryError()
    yield torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    yield RuntimeError(
        "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to ..."
    )


@pytest.mark.parametrize("error", list(out_of_memory()), ids=lambda error: type(error).__name__)
def test_out_of_memory_says_what_to_lower_and_the_page_goes_on(error):
    backend = Full(error)
    handlers, session = ExploreHandlers(backend), ExploreSession()
    with pytest.raises(gr.Error, match="lower") as told:
        run(handlers, session, *form())
    assert "memory" in str(told.value)
    assert backend.closed == 1, "the run's caches are freed"
    *_, last = run(handlers, session, *form())
    assert json.loads(last[0].splitlines()[-1])["end"] == "budget"
    backend.error = error
    with pytest.raises(gr.Error, match="lower"):
        handlers.api_run(*form())
    assert handlers.api_run(*form())["summary"]["tokens"] == 8


@pytest.mark.parametrize("error", list(out_of_memory()), ids=lambda error: type(error).__name__)
def test_out_of_memory_on_the_command_line_is_one_line(error, command, saved, monkeypatch):
    from explorer.engine.models.packed import PackedContext

    def no_room(*_, **__):
        raise error

    monkeypatch.setattr(PackedContext, "feed", no_room)
    code, _, err = command("run", "--prompt", "go", "--pair", saved, "--quiet")
    assert code == 1
    assert len(err.strip().splitlines()) == 1
    assert "lower --max-new-tokens" in err


def test_no_setting_of_the_endpoint_goes_beyond_the_pages(backend):
    """What the page's own controls cannot say, a program cannot either: both go through one table."""
    from explorer.ui.page import build_page

    page = build_page(backend, recorded=())
    blocks = {block.elem_id: block for block in page.blocks.values()}
    for knob in page_knobs():
        control = blocks[f"knob-{knob.name}"]
        if knob.kind in (int, float):
            assert (control.minimum, control.maximum) == (knob.low, knob.high)
        elif knob.choices:
            assert [value for _, value in control.choices] == list(knob.choices)
