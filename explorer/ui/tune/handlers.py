"""What the Tune tab does: check its form, sweep, stop, measure a point, choose under another limit. Data in, data out."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import gradio as gr

from explorer.config import ConfigError, DecodeConfig, knobs
from explorer.errors import UserError
from explorer.prompts import CHECKABLE, EXAMPLES, PromptItem, read_prompts, typed_prompts
from explorer.sweep import wire as sweep_lines
from explorer.sweep.pace import Pace
from explorer.sweep.points import Limit, Point, csv_of, points_of
from explorer.sweep.record import PromptRuns, Sweep
from explorer.ui.backend import Backend
from explorer.ui.catalogue import en as texts
from explorer.ui.controls import config_of
from explorer.ui.explore.handlers import PROMPT_LIMIT, failure, file_part, long_step, message_of, note, refusal
from explorer.ui.limits import UPLOAD_LIMIT
from explorer.ui.messages import told, words
from explorer.ui.offers import PairOffers
from explorer.ui.paces import Paces
from explorer.ui.scripts import page_knobs
from explorer.wire import line

PROGRESS_SECONDS = 0.5  # between two lines of progress
MAX_PROMPTS, MAX_POINTS, MAX_LENGTHS, MAX_BUDGET = (
    24,
    60,
    3,
    512,
)  # of a sweep on the page; the command line has no limits
SOURCES = ("checkable", "examples", "own")
DEFAULT_PROMPTS, DEFAULT_BUDGET = 6, 48
DEFAULT_THETAS = {"normalized": "0.02, 0.05, 0.1, 0.2", "top3": "0.1, 0.3, 0.5, 0.7"}
DEFAULT_WINDOWS, DEFAULT_LENGTHS = "1, 3, 6", "8"
SWEPT = ("theta", "window", "draft_length")


@dataclass
class TuneSession:
    """What the server remembers of one visitor's sweep."""

    run: str = ""
    stopping: bool = False
    text: str = ""  # of the view; it only grows within a sweep
    pair: str = ""
    sweep: Sweep | None = None
    points: tuple[Point, ...] = ()
    limit: Limit = field(default_factory=Limit)
    measuring: int = 0  # the point to run again

    def forget(self) -> None:
        """The page is closed: let go of the sweep, and end what runs."""
        self.stopping, self.text, self.sweep, self.points = True, "", None, ()


@dataclass(frozen=True)
class Plan:
    """One filled-in form, checked."""

    pair: str
    items: tuple[PromptItem, ...]
    base: DecodeConfig
    thetas: tuple[float, ...]
    windows: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def cells(self) -> int:
        return len(self.thetas) * len(self.windows) * len(self.lengths)


class Tuning:
    """The Tune tab's event handlers over one backend."""

    def __init__(self, backend: Backend, paces: Paces | None = None):
        self._backend = backend
        self._titles = {pair.name: pair.title for pair in backend.pairs()}
        self._pairs = PairOffers(backend.pairs())
        self._paces = paces or Paces()

    def expected(self, *form: Any) -> str:
        """What the form asks for and how long that will take, or what is wrong with it; our own text, escaped."""
        try:
            plan = read_plan(self._pairs, *form)
        except UserError as error:
            return note(told(str(error)), "note wrong")
        said = words().TUNE_EXPECTED
        text = said["plan"].format(prompts=len(plan.items), points=plan.cells, tokens=plan.base.max_new_tokens)
        known = self._paces.of(plan.pair)
        if known is None:
            return note(f"{text} {said['unknown']}", "quiet")
        pace, source = known
        seconds = pace.sweep_seconds(len(plan.items), plan.base.max_new_tokens, plan.lengths)
        minutes = said["minute"] if seconds < 90 else said["minutes"].format(minutes=round(seconds / 60))
        cautions = [
            told(caution)
            for length in plan.lengths
            for caution in replace(plan.base, window=max(plan.windows), draft_length=length).notes
        ]
        return note(f"{text} {said['about'].format(minutes=minutes, source=source)}", "quiet") + "".join(
            note(caution, "note") for caution in dict.fromkeys(cautions)
        )

    def prepare(self, session: TuneSession, nats: Any, lost: Any, *form: Any) -> tuple[Any, ...]:
        """At once: refuse a bad form, else clear the view. Outputs: view, Run, Cancel, CSV, JSON."""
        try:
            session.limit = read_limit(nats, lost)
            plan = read_plan(self._pairs, *form)
            points = self._points(plan)
        except UserError as error:
            raise refusal(error) from None
        session.run, session.stopping, session.sweep, session.points = secrets.token_hex(4), False, None, ()
        session.pair = plan.pair
        session.text = sweep_lines.header(session.run, self._titles[plan.pair], points, plan.items, session.limit)
        return session.text, *_buttons(running=True), gr.update(visible=False), gr.update(visible=False)

    def run(self, session: TuneSession, nats: Any, lost: Any, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Sweep, streaming the growing text of the view; outputs as `prepare`."""
        plan = read_plan(self._pairs, *form)
        yield from self._stream(session, self._sweep(session, plan, self._points(plan)))

    def prepare_measure(self, session: TuneSession, event: gr.EventData) -> tuple[Any, ...]:
        """Outputs as `prepare`."""
        point = getattr(event, "point", None)
        if session.sweep is None or not isinstance(point, int) or not 0 <= point < len(session.sweep.points):
            raise refusal(UserError(texts.TUNE_NOTHING_SWEPT))
        session.measuring, session.stopping = point, False
        session.text += line({"phase": "measuring"})
        return session.text, *_buttons(running=True), gr.skip(), gr.skip()

    def measure(self, session: TuneSession) -> Iterator[tuple[Any, ...]]:
        """Run the chosen point again for real, in turn with plain greedy; outputs as `prepare`."""
        yield from self._stream(session, self._measure(session))

    def cancel(self, session: TuneSession) -> Any:
        """Ask the sweep to end after the pass it is in; the prompts that are through are kept."""
        session.stopping = True
        return gr.update(interactive=False)

    def choose(self, session: TuneSession, nats: Any, lost: Any) -> Any:
        """Recommend again under another limit; output: view."""
        try:
            session.limit = read_limit(nats, lost)
        except UserError:
            return gr.skip()
        if not session.points:
            return gr.skip()
        session.text += sweep_lines.choice(session.points, session.limit, told)
        return session.text

    def pair_of(self, session: TuneSession) -> Any:
        """The pair of the sweep, for the Explore tab."""
        return session.pair or gr.skip()

    def open_file(self, path: str | None) -> tuple[Any, Any]:
        """The text of a visitor's file of prompts, and the source that uses it."""
        try:
            if path is None or Path(path).stat().st_size > UPLOAD_LIMIT:
                raise UserError(texts.TUNE_FILE_TOO_LARGE.format(limit=UPLOAD_LIMIT // 1000))
            text = Path(path).read_text(encoding="utf-8")
            if not typed_prompts(text):
                raise UserError(texts.TUNE_NO_PROMPTS)
        except UnicodeDecodeError:
            raise refusal(UserError(texts.TUNE_FILE_NOT_TEXT)) from None
        except UserError as error:
            raise refusal(error) from None
        return text, "own"

    def _points(self, plan: Plan) -> tuple[DecodeConfig, ...]:
        return self._backend.points(plan.base, plan.thetas, plan.windows, plan.lengths)

    def _stream(self, session: TuneSession, lines: Iterator[str]) -> Iterator[tuple[Any, ...]]:
        """Send the lines of some work as they come about, then the files of what is swept by then."""
        skip, sent = gr.skip(), len(session.text)
        try:
            for text in lines:
                session.text += text
                if len(session.text) > sent:
                    sent = len(session.text)
                    yield session.text, skip, skip, skip, skip
            with tempfile.TemporaryDirectory() as folder:
                # Gradio has copied the files when it asks for the next value.
                yield session.text, *_buttons(running=False), *self._files(session, Path(folder))
        except Exception as error:
            message = message_of(error)
            session.text += line({"phase": "failed", "message": message})
            yield session.text, *_buttons(running=False), skip, skip
            raise failure(message) from None

    def _files(self, session: TuneSession, folder: Path) -> tuple[Any, Any]:
        sweep = session.sweep
        if sweep is None:
            return gr.skip(), gr.skip()
        table, record = (folder / f"sweep-{file_part(session.pair)}-{session.run}.{kind}" for kind in ("csv", "json"))
        table.write_text(csv_of(sweep, session.points), encoding="utf-8", newline="")
        sweep.save(record)
        return tuple(gr.update(value=str(path), visible=True) for path in (table, record))

    def _sweep(self, session: TuneSession, plan: Plan, points: tuple[DecodeConfig, ...]) -> Iterator[str]:
        """The lines of a sweep as they come about; the session holds what is through."""
        yield line({"phase": "loading"})
        pair = yield from long_step(session, self._backend.load(plan.pair), "loading")
        if pair is None:
            yield line({"phase": "stopped"})
            return
        yield line({"phase": "running"})
        done: list[PromptRuns] = []
        started, told_at, passes = monotonic(), 0.0, 0
        steps = self._backend.sweep(pair, plan.items, points)
        try:
            for step in steps:
                if isinstance(step, PromptRuns):
                    done.append(step)
                    session.sweep = Sweep(
                        self._backend.provenance(pair), points, tuple(done), partial=len(done) < len(plan.items)
                    )
                    session.points = points_of(session.sweep)
                    yield sweep_lines.done(session.sweep, session.points)
                    yield sweep_lines.choice(session.points, session.limit, told)
                elif step is not None:
                    passes = step
                if monotonic() - told_at >= PROGRESS_SECONDS and len(done) < len(plan.items):
                    told_at, seconds = monotonic(), monotonic() - started
                    left = max(seconds / len(done) * len(plan.items) - seconds, 0) if done else None
                    yield sweep_lines.progress(passes, len(done) + 1, seconds, left)
                else:
                    yield ""
                if session.stopping:
                    break
        finally:
            steps.close()
        if session.sweep is None:
            yield line({"phase": "stopped"})
            return
        self._paces.learn(plan.pair, Pace.of_sweep(session.sweep))
        yield sweep_lines.end(session.sweep, "stopped" if session.sweep.partial else "done")

    def _measure(self, session: TuneSession) -> Iterator[str]:
        sweep = session.sweep
        pair = yield from long_step(session, self._backend.load(session.pair), "loading")
        if pair is None:
            yield line({"phase": "stopped"})
            return
        told_at = 0.0
        steps = self._backend.measure(pair, sweep, sorted({0, session.measuring}))
        try:
            for step in steps:
                if isinstance(step, tuple):
                    points = {one.point for one in step}
                    others = tuple(one for one in sweep.measured if one.point not in points)
                    session.sweep = replace(sweep, measured=(*others, *step))
                    yield "".join(sweep_lines.measured(one, step[0], session.points) for one in step)
                    yield sweep_lines.end(session.sweep, "measured")
                    return
                if session.stopping:
                    yield line({"phase": "stopped"})
                    return
                if step is not None and monotonic() - told_at >= PROGRESS_SECONDS:
                    told_at = monotonic()
                    yield line({"phase": "measuring", "message": words().TUNE_MEASURING.format(rounds=step)})
                else:
                    yield ""
        finally:
            steps.close()


# Reading the form -----------------------------------------------------------------------------------------------------


def read_plan(
    pairs: PairOffers,
    pair: Any,
    source: Any,
    count: Any,
    own: Any,
    entropy: Any,
    thetas: Any,
    windows: Any,
    lengths: Any,
    budget: Any,
    *rest: Any,
) -> Plan:
    """The Tune form as typed values; raises a UserError that says what is wrong. rest: drafter, length policy, counting."""
    if not isinstance(pair, str) or pair not in pairs:
        raise UserError(f"unknown pair {pair!r}: choose one of {', '.join(pairs)}")
    drafter, policy, includes = rest
    swept = {name: _numbers(name, value) for name, value in zip(SWEPT, (thetas, windows, lengths))}
    if len(swept["draft_length"]) > MAX_LENGTHS:
        raise UserError(texts.TUNE_TOO_MANY.format(what=texts.TUNE_LENGTHS, limit=MAX_LENGTHS))
    values = {knob.name: knob.default for knob in page_knobs()}
    values |= {"rule": "fly", "entropy": entropy, "drafter": drafter, "length": policy, "max_new_tokens": budget}
    values |= {name: numbers[-1] for name, numbers in swept.items()} | {"window_includes_mismatch": includes}
    base = config_of(values)
    if base.max_new_tokens > MAX_BUDGET:
        raise UserError(texts.TUNE_BUDGET_LIMIT.format(limit=MAX_BUDGET))
    plan = Plan(pair, _items(source, count, own), base, swept["theta"], swept["window"], swept["draft_length"])
    if plan.cells > MAX_POINTS:
        raise UserError(texts.TUNE_TOO_MANY_POINTS.format(points=plan.cells, limit=MAX_POINTS))
    for window in plan.windows:
        pairs.check(replace(base, window=window), pair, "sweep")
    return plan


def read_limit(nats: Any, lost: Any) -> Limit:
    """The fidelity limit of the form; raises a UserError."""
    good = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (nats, lost))
    if not good or not 0 <= nats <= 10 or not 0 <= lost <= MAX_PROMPTS:
        raise UserError(texts.TUNE_BAD_LIMIT)
    return Limit(float(nats), int(lost))


def spread(items: Sequence[PromptItem], count: int) -> tuple[PromptItem, ...]:
    """`count` prompts, as many of each kind as may be, in the order of the set."""
    seen: dict[str, int] = {}
    ranked = []
    for index, item in enumerate(items):
        seen[item.kind] = rank = seen.get(item.kind, -1) + 1
        ranked.append((rank, index))
    return tuple(items[index] for index in sorted(index for _, index in sorted(ranked)[:count]))


def _items(source: Any, count: Any, own: Any) -> tuple[PromptItem, ...]:
    if source == "own":
        if not isinstance(own, str) or not own.strip():
            raise UserError(texts.TUNE_NO_PROMPTS)
        if len(own) > UPLOAD_LIMIT:
            raise UserError(texts.TUNE_FILE_TOO_LARGE.format(limit=UPLOAD_LIMIT // 1000))
        items = typed_prompts(own)
        if len(items) > MAX_PROMPTS:
            raise UserError(texts.TUNE_TOO_MANY.format(what=texts.TUNE_PROMPTS, limit=MAX_PROMPTS))
        longest = max(len(item.prompt) for item in items)
        if longest > PROMPT_LIMIT:
            raise UserError(texts.PROMPT_TOO_LONG.format(size=longest, limit=PROMPT_LIMIT))
        return items
    if source not in SOURCES:
        raise UserError(texts.TUNE_NO_PROMPTS)
    if not isinstance(count, (int, float)) or not 1 <= count <= MAX_PROMPTS:
        raise UserError(texts.TUNE_TOO_MANY.format(what=texts.TUNE_PROMPTS, limit=MAX_PROMPTS))
    return spread(read_prompts(CHECKABLE if source == "checkable" else EXAMPLES / "prompts.jsonl"), int(count))


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    """A list of numbers as typed, each in the range of its knob, sorted and without repetition."""
    knob = next(knob for knob in knobs() if knob.name == name)
    found = set()
    for part in str(value or "").replace(";", ",").split(","):
        if not part.strip():
            continue
        try:
            number = knob.kind(part.strip())
        except ValueError:
            raise ConfigError(f"{knob.label} must be {knob.range_text}, got {part.strip()[:60]!r}") from None
        knob.check(number)
        found.add(number)
    if not found:
        raise ConfigError(f"{knob.label} must be {knob.range_text}, got nothing")
    return tuple(sorted(found))


def _buttons(running: bool) -> tuple[Any, Any]:
    """Run and Cancel."""
    return gr.update(interactive=not running), gr.update(interactive=running)
