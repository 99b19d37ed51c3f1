"""What the Compare tab does: one prompt under two settings and by the target alone, round by round in turn on one engine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from time import monotonic
from typing import Any

import gradio as gr

from explorer import wire as lines
from explorer.analysis.parting import Parting, near_tie_gap, parting
from explorer.config import ConfigError, DecodeConfig
from explorer.errors import UserError
from explorer.pieces import text_of
from explorer.sweep.pace import Pace
from explorer.trace import Baseline, Prompt, Round, Trace
from explorer.ui.backend import WARM, Backend
from explorer.ui.explore.handlers import UPDATE_SECONDS, failure, long_step, message_of, note, read_form, refusal
from explorer.ui.explore.report import end_event
from explorer.ui.messages import told, words
from explorer.ui.offers import PairOffers
from explorer.ui.paces import Paces
from explorer.ui.scripts import page_knobs
from explorer.wire import line

COMMON = ("max_new_tokens", "raw_prompt")  # what both sides share
GREEDY = ("temperature", "seed")  # drawn texts part by chance: Compare is greedy


def side_knobs() -> tuple[Any, ...]:
    """The knobs in which the two sides may differ."""
    return tuple(knob for knob in page_knobs() if knob.name not in COMMON + GREEDY)


@dataclass
class CompareSession:
    """What the server remembers of one visitor's comparison."""

    run: str = ""
    stopping: bool = False

    def forget(self) -> None:
        """The page is closed: end what runs."""
        self.stopping = True


@dataclass(frozen=True)
class Request:
    """One filled-in form, checked: the settings of the target alone, of A and of B."""

    prompt: str
    pair: str
    configs: tuple[DecodeConfig, DecodeConfig, DecodeConfig]


class Comparing:
    """The Compare tab's event handlers over one backend."""

    def __init__(self, backend: Backend, paces: Paces | None = None):
        self._backend = backend
        self._titles = {pair.name: pair.title for pair in backend.pairs()}
        self._offers = PairOffers(backend.pairs())
        self._paces = paces or Paces()

    def expected(self, pair: Any, budget: Any, raw: Any, *values: Any) -> str:
        """What a comparison asks for and how long it will take, or what is wrong with the settings; our own text, escaped."""
        try:
            request = self._read("any", pair, budget, raw, *values)
        except UserError as error:
            return note(told(str(error)), "note wrong")
        said, known = words().COMPARE_EXPECTED, self._paces.of(request.pair)
        text = said["plan"].format(tokens=budget)
        if known is None:
            return note(f"{text} {said['unknown']}", "quiet")
        pace, source = known
        lengths = [0 if config.rule == "autoregressive" else config.draft_length for config in request.configs]
        seconds = pace.runs_seconds(request.configs[0].max_new_tokens, lengths) + pace.runs_seconds(WARM, lengths[1:])
        if seconds < 100:
            time = said["seconds"].format(seconds=max(5, 5 * round(seconds / 5)))
        else:
            time = said["minutes"].format(minutes=round(seconds / 60))
        return note(f"{text} {said['about'].format(time=time, source=source)}", "quiet")

    def prepare(self, session: CompareSession, *form: Any) -> tuple[Any, ...]:
        """At once: refuse a bad form, else clear the view. Outputs: view, Run, Stop."""
        try:
            request = self._read(*form)
        except UserError as error:
            raise refusal(error) from None
        session.run, session.stopping = secrets.token_hex(4), False
        return self._header(session, request), *_buttons(running=True)

    def run(self, session: CompareSession, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Decode three times, streaming the growing text of the view; outputs as `prepare`."""
        request = self._read(*form)
        text = self._header(session, request)
        skip, sent, sent_at = gr.skip(), len(text), 0.0
        try:
            for event in self._events(session, request):
                text += event
                if len(text) > sent and monotonic() - sent_at >= UPDATE_SECONDS:
                    yield text, skip, skip
                    sent, sent_at = len(text), monotonic()
            yield text, *_buttons(running=False)
        except Exception as error:
            message = message_of(error)
            text += line({"phase": "failed", "message": message})
            yield text, *_buttons(running=False)
            raise failure(message) from None

    def stop(self, session: CompareSession) -> Any:
        """Ask the run to end after the round it is in."""
        session.stopping = True
        return gr.update(interactive=False)

    def _read(self, prompt: Any, pair: Any, budget: Any, raw: Any, *values: Any) -> Request:
        """The form as typed values; raises a UserError that names the side it is about."""
        names = [knob.name for knob in side_knobs()]
        configs = []
        for side, mine in zip("AB", (values[: len(names)], values[len(names) :]), strict=True):
            settings = {knob.name: knob.default for knob in page_knobs()} | dict(zip(names, mine, strict=True))
            settings |= {"max_new_tokens": budget, "raw_prompt": raw}
            try:
                config = read_form(tuple(self._titles), prompt, pair, False, *settings.values()).config
                self._offers.check(config, pair)
                configs.append(config)
            except ConfigError as error:
                raise ConfigError(f"{side}: {error}") from None
        return Request(prompt, pair, (replace(configs[0], rule="autoregressive"), *configs))

    def _header(self, session: CompareSession, request: Request) -> str:
        return line(
            {
                "compare": session.run,
                "title": self._titles[request.pair],
                "prompt": request.prompt,
                "configs": [asdict(config) for config in request.configs],
                "notes": [[told(caution) for caution in config.notes] for config in request.configs],
            }
        )

    def _events(self, session: CompareSession, request: Request) -> Iterator[str]:
        """Lines as lines.py has them for a run, `{"side": n}` before those of each: 0 the target alone, 1 A, 2 B."""
        backend = self._backend
        yield line({"phase": "loading"})
        pair = yield from long_step(session, backend.load(request.pair), "loading")
        if pair is None:
            yield line({"phase": "stopped"})
            return
        prompt = pair.encode(request.prompt, request.configs[0].raw_prompt)
        yield line({"phase": "warming"})
        with closing(backend.warm(pair, prompt, request.configs[1:])) as warming:
            for _ in warming:
                yield ""
                if session.stopping:
                    break
        yield line({"phase": "running"})
        runs = [_Run(backend, pair, prompt, config) for config in request.configs]
        if not session.stopping:
            with closing(backend.decode_in_turn(pair, prompt, request.configs)) as steps:
                yield from _in_turn(session, runs, steps)
        traces: list[Trace] = []
        for side, run in enumerate(runs):
            if not run.recorder.rounds:
                break
            trace = run.recorder.trace(Baseline.of(traces[0].rounds) if traces and not traces[0].partial else None)
            traces.append(trace)
            self._paces.learn(request.pair, Pace.of_run(trace))
            yield line({"side": side}) + run.encoder.tail() + line(end_event(trace))
        whole = len(traces) == len(request.configs) and not any(trace.partial for trace in traces)
        if whole:
            alone, *others = traces
            for side, trace in enumerate(others, 1):
                yield line({"side": side}) + line({"parting": _parting(trace, alone)})
            gap = near_tie_gap(alone.provenance.dtype["target"])
            yield line({"apart": _parting(others[1], others[0]), "gap": gap})
        yield line({"phase": "done" if whole else "stopped"})


class _Run:
    """One of the runs that are compared, while it is made."""

    def __init__(self, backend: Backend, pair: Any, prompt: Prompt, config: DecodeConfig):
        self.recorder = backend.recorder(pair, prompt, config)
        self.encoder = lines.RunEncoder(pair.vocabulary, pair.stop_ids)


def _in_turn(session: CompareSession, runs: list[_Run], steps: Iterator[tuple[int, Round] | None]) -> Iterator[str]:
    """The lines of all runs as their rounds come."""
    shown = None
    for step in steps:
        if step is None:  # still being made
            yield ""
        else:
            side, round_ = step
            runs[side].recorder.add(round_)
            switch = "" if side == shown else line({"side": side})
            shown = side
            yield switch + runs[side].encoder.round(round_)
        if session.stopping:
            return


def _parting(trace: Trace, other: Trace) -> dict[str, Any] | None:
    """Where a run leaves another's text, in words and figures; None where it does not."""
    found: Parting | None = parting(trace, other)
    if found is None:
        return None
    return {
        "index": found.index,
        "kind": found.kind,
        "cause": found.cause,
        "gap": found.gap,
        "tie": found.near_tie,
        "ours": text_of(found.ours, trace.vocabulary),
        "theirs": text_of(found.theirs, other.vocabulary),
    }


def _buttons(running: bool) -> tuple[Any, Any]:
    """Run and Stop."""
    return gr.update(interactive=not running), gr.update(interactive=running)
