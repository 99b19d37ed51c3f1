"""What the controls do: check the input, run, stop, presets. Data in, data out; decoding happens behind `Backend`."""

from __future__ import annotations

import html
import logging
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import ENOSPC
from pathlib import Path
from time import monotonic
from traceback import format_tb
from typing import Any

import gradio as gr

from explorer import wire as lines
from explorer.cases import Case
from explorer.config import PRESETS, DecodeConfig, knobs
from explorer.errors import UserError, is_out_of_memory
from explorer.schema import parse_json, read
from explorer.trace import Trace
from explorer.ui.backend import Backend
from explorer.ui.catalogue import en as texts
from explorer.ui.controls import config_of, page_knobs
from explorer.ui.explore import charts
from explorer.ui.explore.report import end_event
from explorer.ui.explore.typed import title_of_typed, typed_pair
from explorer.ui.languages import say
from explorer.ui.links import LOOSE_KNOBS
from explorer.ui.messages import told, words
from explorer.ui.offers import PairOffers
from explorer.ui.recordings import Recording, run_text, title_of
from explorer.ui.scripts import IMPORT_LIMIT

log = logging.getLogger(__name__)

FREE = gr.update(interactive=True)
UPDATE_SECONDS = 0.04  # 25 a second: the browser keeps up, but never skips one, so more would queue up there
PROMPT_LIMIT = 20_000  # characters: far above any context here, far below what stalls a tokenizer
KNOBS = {knob.name: knob for knob in knobs()}
OWN = "own"  # the choice of the visitor's own run among the recorded ones


@dataclass
class Own:
    """A visitor's own run, to come back to: its record, and its text for the view."""

    trace: Trace
    text: str
    pair: str
    file: Path | None = None  # of the record, once the run was opened again

    def forget(self) -> None:
        if self.file:
            self.file.unlink(missing_ok=True)


@dataclass
class Session:
    """What the server remembers of one visitor between two events."""

    run: str = ""
    stopping: bool = False
    own: Own | None = None  # the last run that ended
    shown: str = ""  # the recorded run on show; OWN: the visitor's own; "": none, or one that is being made

    def forget(self) -> None:
        """The page is closed: let go of the run, and end what runs."""
        self.let_go()
        self.stopping, self.shown = True, ""

    def let_go(self) -> None:
        """Forget the visitor's own run."""
        if self.own:
            self.own.forget()
        self.own = None


@dataclass(frozen=True)
class Request:
    """One filled-in form, checked."""

    prompt: str
    pair: str
    baseline: bool
    config: DecodeConfig
    title: str = ""  # of the pair
    crossed: bool = False  # its draft has a vocabulary of its own


def ready_pairs(backend: Backend) -> tuple[str, ...]:
    """Names of the pairs that a run can use at once, or after a download it makes by itself."""
    return tuple(pair.name for pair in backend.pairs() if pair.is_ready)


def read_form(pairs: tuple[str, ...], prompt: Any, pair: Any, baseline: Any, *values: Any) -> Request:
    """The form as typed values; raises a UserError that says what is wrong. `values`: one per page knob, in order."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise UserError("the prompt is empty: type at least one word")
    if len(prompt) > PROMPT_LIMIT:
        raise UserError(texts.PROMPT_TOO_LONG.format(size=len(prompt), limit=PROMPT_LIMIT))
    if pair not in pairs:
        raise UserError(f"unknown pair {pair!r}: choose one of {', '.join(pairs)}")
    config = config_of({knob.name: value for knob, value in zip(page_knobs(), values, strict=True)})
    return Request(prompt, pair, bool(baseline), config)


class Callbacks:
    """The page's event handlers over one backend and the recorded runs."""

    def __init__(self, backend: Backend, recorded: tuple[Recording, ...] = (), local_folders: bool = False):
        """local_folders: whether visitors may type folders of this machine as a pair."""
        self._backend = backend
        self._local_folders = local_folders
        self._files = tempfile.TemporaryDirectory(prefix="explorer-runs-")  # goes with the program
        self._titles = {pair.name: pair.title for pair in backend.pairs()}
        self.recorded = {recording.name: recording for recording in recorded}
        self.pairs = tuple(self._titles)
        self._ready = ready_pairs(backend)
        self.offers = PairOffers(backend.pairs())
        self._crossed = [pair.name for pair in backend.pairs() if pair.cross_tokenizer]

    def prepare(self, session: Session, *form: Any) -> tuple[Any, ...]:
        """At once, not waiting for anybody: refuse a bad form, else clear the view and turn Run into Stop.

        Outputs: view, Run, Stop, recorded runs, download, charts.
        """
        try:
            request = self._request(session, *form)
        except UserError as error:
            raise refusal(error) from None
        session.let_go()
        session.run, session.stopping, session.shown = secrets.token_hex(4), False, ""
        return (
            self._header(session, request),
            *_buttons(running=True),
            self._choices("OWN_RUN", interactive=False),
            gr.update(value=None),
            gr.update(open=False),
        )

    def run(self, session: Session, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Decode, streaming the growing text of the view; outputs as `prepare`, the state of the models for the charts."""
        request = self._request(session, *form)
        text = self._header(session, request)
        skip = gr.skip()

        sent, sent_at = len(text), 0.0
        try:
            for event in self._events(session, request):
                if isinstance(event, Trace):
                    session.own, session.shown = Own(event, text, request.pair), OWN
                    with _file(event, session.run) as path:
                        # Gradio has copied the file when it asks for the next value.
                        yield (
                            text,
                            *_buttons(running=False),
                            FREE,
                            gr.update(value=path),
                            self._in_memory(request.title),
                        )
                    return
                text += event
                if len(text) > sent and monotonic() - sent_at >= UPDATE_SECONDS:
                    yield text, skip, skip, skip, skip, skip
                    sent, sent_at = len(text), monotonic()
            yield text, *_buttons(running=False), FREE, skip, skip  # stopped before there was anything to record
        except Exception as error:
            message = message_of(error)
            text += lines.line({"phase": "failed", "message": message})
            yield text, *_buttons(running=False), FREE, skip, skip
            raise failure(message) from None

    def stop(self, session: Session) -> Any:
        """Ask the run to end after the round it is in; what there is by then is kept."""
        session.stopping = True
        return gr.update(interactive=False)

    def api_run(self, prompt: str, pair: str, baseline: bool, *values: Any) -> dict[str, Any]:
        """One run for a program: the text, the figures and the trace."""
        session = Session()
        try:
            request = self._request(session, prompt, pair, baseline, *values)
            trace = next(event for event in self._events(session, request) if isinstance(event, Trace))
        except Exception as error:
            raise failure(message_of(error)) from None
        notes = list(request.config.notes)
        return {"text": trace.text, "notes": notes, "summary": end_event(trace)["summary"], "trace": trace.to_json()}

    def open_recording(self, session: Session, name: str) -> list[Any]:
        """Show a recorded run or the visitor's own, and set the page to what it was made with.

        Outputs: recorded runs, view, prompt, pair, knobs, download, charts.
        """
        if name == OWN and session.own:
            session.shown, own = OWN, session.own
            own.file = own.file or self._kept(own.trace, session.run)
            question = lines.question(own.trace.prompt)
            return self._opened(session, own.text, question, own.pair, own.trace.config, str(own.file))
        if isinstance(name, str) and name in self.recorded:
            session.shown, mine = name, self.recorded[name]
            return self._opened(session, mine.text, mine.prompt, self._pair(mine.pair), mine.config, str(mine.path))
        return [gr.skip()] * (6 + len(page_knobs()))

    def pick_recording(self, session: Session, name: str) -> list[Any]:
        """As `open_recording`, but for the run on show: a list that was opened and left says its choice again."""
        return self.open_recording(session, "" if name == session.shown else name)

    def open_linked(self, session: Session, event: gr.EventData) -> list[Any]:
        """Show the recorded run that a link names; outputs as `open_recording`."""
        name = str(getattr(event, "run", ""))
        return self.open_recording(session, name if name in self.recorded else "")

    def open_file(self, session: Session, event: gr.EventData) -> list[Any]:
        """Show a trace that a visitor's browser sends; outputs as `open_linked`. Nothing of it is kept here.

        The record comes as hostile input: its size is checked before it is parsed, and everything else as it is built.
        """
        text, name = getattr(event, "text", None), str(getattr(event, "name", ""))[:80]
        try:
            trace = _read_trace(text)
        except UserError as error:
            message = words().IMPORT_REFUSED.format(name=name, reason=told(str(error)))
            raise _error(message, words().IMPORT_TITLE, duration=20) from None
        session.let_go()
        session.shown = ""
        pair, title = trace.provenance.pair, title_of(trace.provenance.pair, self._titles)
        text = run_text(f"imported {secrets.token_hex(4)}", title, trace, pair in self._ready, imported=True)
        opened = self._opened(session, text, lines.question(trace.prompt), self._pair(pair), trace.config, None)
        return [self._choices("OWN_FILE"), *opened[1:]]

    def charts(self, session: Session, event: gr.EventData) -> Any:
        """The charts of the run on show; a run that has not ended has none. A visitor's own record comes with the event."""
        given = getattr(event, "text", None)
        if given is not None:
            try:
                trace = _read_trace(given)
            except UserError as error:
                raise refusal(error) from None
        elif session.shown == OWN:
            trace = session.own and session.own.trace
        else:
            recording = self.recorded.get(session.shown)
            trace = recording.trace() if recording else None
        return gr.skip() if trace is None else charts.figure(trace)

    def notes(self, pair: Any, *values: Any) -> str:
        """What is unusual or wrong about the settings as they stand, for this pair; empty where nothing is. HTML, escaped."""
        try:
            config = config_of({knob.name: value for knob, value in zip(page_knobs(), values)})
            self.offers.check(config, pair)
        except UserError as error:
            return note(told(str(error)), "note wrong")
        return "".join(note(told(one), "note") for one in config.notes)

    def same_prompt(self, event: gr.EventData) -> list[Any]:
        """The prompt and the pair of the run in the view, for a run of its own beside it."""
        prompt, pair = getattr(event, "prompt", None), getattr(event, "pair", None)
        return [prompt if isinstance(prompt, str) else gr.skip(), self._pair(pair)]

    def _request(self, session: Session, *form: Any) -> Request:
        """The form, checked; a setting that this pair cannot follow is refused before anything is loaded or cleared."""
        name = form[1]
        typed = (
            typed_pair(name, self._local_folders)
            if self._backend.takes_typed_pairs and isinstance(name, str) and "," in name and name not in self.pairs
            else None
        )
        request = read_form((*self.pairs, name) if typed else self.pairs, *form)
        if typed:
            request = replace(request, title=title_of_typed(typed), crossed=typed.cross_tokenizer)
        else:
            request = replace(request, title=self._titles[request.pair], crossed=request.pair in self._crossed)
        if typed:
            request.config.check_with(typed.offers)
        else:
            self.offers.check(request.config, request.pair)
        return request

    def _pair(self, name: Any) -> str:
        """The choice of a pair that a run can use at once; for any other pair the default."""
        if name in self._ready:
            return name
        if name in self.pairs or not self._backend.takes_typed_pairs:
            return self.pairs[0]
        try:
            typed_pair(str(name), self._local_folders)
        except UserError:
            return self.pairs[0]
        return str(name)

    def _kept(self, trace: Trace, run: str) -> Path:
        """The whole record as a file that stays while its run may be opened again."""
        path = Path(self._files.name) / f"trace-{file_part(trace.provenance.pair)}-{run}.json"
        trace.save(path)
        return path

    def _opened(
        self, session: Session, text: str, prompt: str, pair: str, config: DecodeConfig, file: str | None
    ) -> list[Any]:
        """The outputs of showing a run that has ended."""
        knobs = [getattr(config, knob.name) for knob in page_knobs()]
        picker = self._choices("OWN_RUN" if session.own else None, session.shown)
        return [picker, text, prompt, pair, *knobs, gr.update(value=file), gr.update(open=False)]

    def _choices(self, own: str | None, value: str = OWN, interactive: bool = True) -> Any:
        """The recorded runs to choose from, before them the visitor's own where there is one: `own` names its text."""
        choices = [(recorded_label(one), one.name) for one in self.recorded.values()]
        if own:
            choices.insert(0, (say(own), OWN))
        return gr.update(choices=choices, value=value, interactive=interactive, visible=bool(choices))

    def _header(self, session: Session, request: Request) -> str:
        return lines.header(
            session.run,
            request.pair,
            request.title,
            request.prompt,
            request.config,
            crossed=request.crossed,
        )

    def _in_memory(self, title: str) -> str:
        return readiness_html("WARM_READY", title)

    def _events(self, session: Session, request: Request) -> Iterator[str | Trace]:
        """The lines of a run as they come about, and its trace at the end (none where it was stopped too early)."""
        backend, config = self._backend, request.config
        yield lines.line({"phase": "loading"})
        loading = backend.load(request.pair)
        pair = yield from long_step(session, loading, "loading")
        if pair is None:
            yield lines.line({"phase": "stopped"})
            return
        prompt = pair.encode(request.prompt, config.raw_prompt)
        recorder = backend.recorder(pair, prompt, config)
        encoder = lines.RunEncoder(pair.vocabulary, pair.stop_ids)
        yield lines.line({"phase": "running"})
        rounds = backend.decode(pair, prompt, config)
        try:
            for round_ in rounds:
                if round_ is None:
                    yield ""
                    continue
                recorder.add(round_)
                yield encoder.round(round_)
                if session.stopping:
                    break
        finally:
            rounds.close()
        if tail := encoder.tail():
            yield tail
        baseline = None
        if request.baseline and recorder.ended and not session.stopping:
            yield lines.line({"phase": "baseline"})
            baseline = yield from long_step(session, backend.baseline(pair, prompt, config), "baseline")
        trace = recorder.trace(baseline)
        yield lines.line(end_event(trace))
        yield trace


def api_judge(
    match: list[bool],
    entropy: list[float],
    rule: str = "fly",
    theta: float = KNOBS["theta"].default,
    window: int = KNOBS["window"].default,
    includes_mismatch: bool = False,
    protected: list[bool] | None = None,
) -> dict[str, Any]:
    """The verdicts of one draft; refuses what the page's own controls could not say."""
    try:
        for name, value in (("rule", rule), ("theta", theta), ("window", window)):
            KNOBS[name].check(value)
        values = {
            "match": match,
            "entropy": entropy,
            "rule": rule,
            "theta": theta,
            "window": window,
            "includes_mismatch": includes_mismatch,
            "protected": protected,
        }
        case = read(Case, values)
        KNOBS["draft_length"].check(len(case.match))
        return case.answer()
    except UserError as error:
        raise _error(told(str(error)), words().ERROR_TITLE) from None


def _read_trace(text: Any) -> Trace:
    """A trace from the text of a visitor's file; raises a UserError with the reason."""
    if not isinstance(text, str):
        raise UserError("not a text")
    size = len(text) if len(text) > IMPORT_LIMIT else len(text.encode("utf-8", "surrogatepass"))
    if size > IMPORT_LIMIT:
        raise UserError(f"it has more than {IMPORT_LIMIT:,} bytes")
    return Trace.from_json(parse_json(text))


def preset_of(*values: Any) -> str:
    """The preset that the loose knobs stand on, or "" for none."""
    settings = dict(zip(LOOSE_KNOBS, values))
    return next((name for name, preset in PRESETS.items() if preset.settings == settings), "")


def note(text: str, tone: str) -> str:
    """A line of text as HTML, escaped."""
    return f"<p class='{tone}'>{html.escape(text)}</p>"


def readiness_html(key: str, pair: str = "", detail: str = "") -> str:
    """The line that says whether models are in memory. key: of the text in texts.py; pair: the title of one, before it."""
    before, behind = (html.escape(text) for text in (f"{pair}: " if pair else "", f" ({detail})" if detail else ""))
    return f"<p class='readiness'>{before}{say(key)}{behind}</p>"


def recorded_label(recording: Recording) -> str:
    """A recorded run as a choice: its prompt, rule and length policy, pair."""
    kind = say(f"run.{recording.config.rule}.{recording.config.length}")
    return f"{recording.short} · {kind} · {recording.title}"


def _buttons(running: bool) -> tuple[Any, Any]:
    """Run and Stop."""
    return gr.update(interactive=not running), gr.update(interactive=running)


@contextmanager
def _file(trace: Trace, run: str) -> Iterator[str]:
    """The whole record as a file, for as long as Gradio needs to copy it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"trace-{file_part(trace.provenance.pair)}-{run}.json"
        trace.save(path)
        yield str(path)


def long_step(session: Any, step: Any, phase: str) -> Any:
    """Go through a step that reports now and then; returns its result, or None where the visitor stopped it.

    session: that of any tab; it says whether its visitor is `stopping`.
    """
    while True:
        try:
            message = next(step)
        except StopIteration as end:
            return end.value
        if session.stopping:
            step.close()
            return None
        # An empty event sends nothing new, but what waits for its turn goes out.
        yield lines.line({"phase": phase, "message": told(message)}) if message else ""


def refusal(error: UserError) -> gr.Error:
    """What a visitor or a program is told about input that cannot be used."""
    return _error(_sentence(told(str(error))), words().ERROR_TITLE, duration=12)


def failure(message: str) -> gr.Error:
    """What is told about a run that has failed."""
    return _error(message, words().FAILED_TITLE)


def _error(message: str, title: str, **options: Any) -> gr.Error:
    """Gradio shows a message as markup, and a message may quote what somebody typed or a file holds."""
    return gr.Error(html.escape(message, quote=False), title=title, print_exception=False, **options)


def file_part(pair: str) -> str:
    """The name of a pair in that of a file: TARGET,DRAFT may be hub ids, with slashes."""
    return re.sub(r"[^\w.-]+", "-", pair).strip("-.")[-100:]


def message_of(error: Exception) -> str:
    """A failure in words for a person; of what nobody foresaw the log gets the place, not the words: they may quote a prompt."""
    if isinstance(error, UserError):
        return _sentence(told(str(error)))
    if isinstance(error, gr.Error):  # of the machine that lends a GPU: a quota is spent, no GPU is free
        return str(error.message)
    if is_out_of_memory(error):
        return words().OUT_OF_MEMORY
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return words().DISK_FULL
    log.error("a run failed: %s\n%s", type(error).__name__, "".join(format_tb(error.__traceback__)))
    return words().UNEXPECTED.format(error=type(error).__name__)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
