"""What the Train tab does: check its form, collect and train, stop, hand the layer to the visitor's own runs. Data in, data out."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import gradio as gr

from explorer.config import POLICY_DEFAULTS, DecodeConfig
from explorer.errors import UserError
from explorer.training.pacer.progress import Choosing, Epoch, Shard, Step, Trained
from explorer.ui.backend import Backend
from explorer.ui.catalogue import en as texts
from explorer.ui.controls import config_of
from explorer.ui.explore.handlers import OwnLayer, Session, failure, long_step, message_of, note, refusal
from explorer.ui.messages import told, words
from explorer.ui.scripts import page_knobs
from explorer.wire import line, short

ROWS = 16  # texts of a shard; the first shard is held out
# Lowest, highest and first value of what a visitor may ask for; the command line has no limits.
LIMITS = {"shards": (2 * ROWS, 8 * ROWS, 4 * ROWS), "tokens": (16, 96, 48), "epochs": (1, 24, 12)}
LOWEST_THETA, HIGHEST_THETA = 0.02, 1.0  # below, the target is not asked what follows (explorer/training/pacer/data.py)
RATE, BATCH = 3e-4, 8  # little data makes few steps: larger and more of them than the command makes
PROGRESS_SECONDS = 0.25  # between two messages to the browser
# What "use it now" sets in Explore: these from the rule it was trained for, these from the choice of the replay.
FLY_KNOBS = ("rule", "entropy", "theta", "window", "window_includes_mismatch")
CHOICE_KNOBS = ("threshold", "growth", "block_size", "draft_length", "least_draft")
ADOPTED = (*FLY_KNOBS, "drafter", "length", "statistic", *CHOICE_KNOBS)


@dataclass(frozen=True)
class Pace:
    """Seconds of a training on some device."""

    collecting: float  # per answer token
    training: float  # per answer token and epoch
    device: str = ""  # "": this one

    def seconds(self, missing: int, rows: int, epochs: int) -> float:
        return missing * self.collecting + rows * epochs * self.training


# Measured once, for estimates before the first training on a machine: by pair and rule.
REFERENCES: dict[tuple[str, str], Pace] = {}


@dataclass
class TrainSession:
    """What the server remembers of one visitor's training; `folder` holds what was collected, and the layers."""

    run: str = ""
    stopping: bool = False
    text: str = ""  # of the view; it only grows within a training
    folder: Path | None = None
    layer: OwnLayer | None = None  # the last one trained

    def forget(self) -> None:
        """The page is closed: let go of what was collected and trained, and end what runs."""
        self.stopping, self.text, self.layer = True, "", None
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None


@dataclass(frozen=True)
class Form:
    """One filled-in form, checked."""

    pair: str
    rule: str
    theta: float
    window: int
    shards: int
    tokens: int
    epochs: int

    @property
    def data(self) -> str:
        """The name of the folder of what is collected: trainings that may share it have the same."""
        return f"{self.pair}-{self.rule}-{self.tokens}"


class Training:
    """The Train tab's event handlers over one backend."""

    def __init__(self, backend: Backend, references: Mapping[tuple[str, str], Pace] | None = None):
        """references: paces measured elsewhere, by pair and rule, for estimates before the first training here."""
        self._backend = backend
        self._titles = {pair.name: pair.title for pair in backend.pairs()}
        self._references = references or {}
        self._paces: dict[tuple[str, str], Pace] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="explorer-train-")  # of all visitors; goes with the program

    def expected(self, session: TrainSession, *form: Any) -> str:
        """What the form asks for and how long that will take, or what is wrong with it; our own text, escaped."""
        try:
            asked = read_form(self._titles, *form)
        except UserError as error:
            return note(told(str(error)), "note wrong")
        said = words().TRAIN_EXPECTED
        text = said["plan"].format(texts=asked.shards * ROWS, tokens=asked.tokens, epochs=asked.epochs)
        kept = min(len(self._collected(session, asked)), asked.shards)
        if kept:
            text += " " + said["kept"].format(texts=kept * ROWS)
        key = (asked.pair, asked.rule)
        pace = self._paces.get(key) or self._references.get(key)
        if pace is None:
            return note(f"{text} {said['unknown']}", "quiet")
        rows = ROWS * asked.tokens
        seconds = pace.seconds((asked.shards - kept) * rows, (asked.shards - 1) * rows, asked.epochs)
        time = said["minute"] if seconds < 90 else said["minutes"].format(minutes=round(seconds / 60))
        source = said["reference"].format(device=pace.device) if pace.device else said["here"]
        return note(f"{text} {said['about'].format(time=time, source=source)}", "quiet")

    def prepare(self, session: TrainSession, *form: Any) -> tuple[Any, ...]:
        """At once: refuse a bad form, else clear the view. Outputs: view, Run, Cancel, file."""
        try:
            asked = read_form(self._titles, *form)
        except UserError as error:
            raise refusal(error) from None
        session.run, session.stopping = secrets.token_hex(4), False
        session.folder = session.folder or Path(tempfile.mkdtemp(dir=self._folder.name))
        session.text = line(
            {"train": session.run, "title": self._titles[asked.pair], **asdict(asked), "texts": asked.shards * ROWS}
        )
        return session.text, *_buttons(running=True), gr.update(visible=False)

    def run(self, session: TrainSession, *form: Any) -> Iterator[tuple[Any, ...]]:
        """Collect and train, streaming the growing text of the view; outputs as `prepare`."""
        asked = read_form(self._titles, *form)
        skip, sent, sent_at = gr.skip(), len(session.text), 0.0
        try:
            for text in self._events(session, asked):
                session.text += text
                if len(session.text) > sent and monotonic() - sent_at >= PROGRESS_SECONDS:
                    sent, sent_at = len(session.text), monotonic()
                    yield session.text, skip, skip, skip
            mine = session.layer
            if mine and mine.folder.name.endswith(session.run):
                archive = shutil.make_archive(str(mine.folder), "zip", mine.folder)
                yield session.text, *_buttons(running=False), gr.update(value=archive, visible=True)
            else:
                yield session.text, *_buttons(running=False), skip
        except Exception as error:
            message = message_of(error)
            session.text += line({"phase": "failed", "message": message})
            yield session.text, *_buttons(running=False), skip
            raise failure(message) from None

    def cancel(self, session: TrainSession) -> Any:
        """Ask the training to end after the step it is in; whole shards of texts are kept."""
        session.stopping = True
        return gr.update(interactive=False)

    def use(self, session: TrainSession, explore: Session) -> list[Any]:
        """Let the visitor's runs be steered by their layer, and set Explore to its settings: view, pair, ADOPTED knobs."""
        if session.layer is None:
            raise refusal(UserError(texts.TRAIN_NOTHING))
        explore.layer = session.layer
        session.text += line({"used": True})
        return [session.text, session.layer.pair, *(session.layer.knobs[name] for name in ADOPTED)]

    def drop(self, session: TrainSession, explore: Session) -> Any:
        """Stop using it; output: view."""
        explore.layer = None
        session.text += line({"used": False})
        return session.text

    def _collected(self, session: TrainSession, asked: Form) -> list[Path]:
        return sorted((session.folder / asked.data).glob("shard-*")) if session.folder else []

    def _events(self, session: TrainSession, asked: Form) -> Iterator[str]:
        """The lines of a training as they come about. The keys are read by explorer/ui/web/train/train.js."""
        folder = session.folder
        yield line({"phase": "loading"})
        pair = yield from long_step(session, self._backend.load(asked.pair), "loading")
        if pair is None:
            yield line({"phase": "stopped"})
            return
        rule = {"rule": asked.rule, "theta": asked.theta, "window": asked.window}
        plan = self._backend.plan(asked.shards, ROWS, asked.tokens, epochs=asked.epochs, rate=RATE, batch=BATCH, **rule)
        layer = folder / f"layer-{session.run}"
        story = _Story(asked, kept=len(self._collected(session, asked)))
        steps = self._backend.course(pair, plan, folder / asked.data, layer)
        try:
            for step in steps:
                if isinstance(step, Trained):
                    session.layer = OwnLayer(asked.pair, asked.rule, layer, _knobs(asked, step))
                    self._paces[asked.pair, asked.rule] = story.pace(step, self._paces.get((asked.pair, asked.rule)))
                yield "" if step is None else story.tell(step)
                if session.stopping:
                    yield line({"phase": "stopped"})
                    return
        finally:
            steps.close()


class _Story:
    """Turns the steps of one training into lines, with the time that is left."""

    def __init__(self, asked: Form, kept: int):
        self._asked, self._begin = asked, monotonic()
        self._shards, self._kept = kept, kept
        self._rows = self._branches = 0
        self._collected = self._trained = 0.0  # seconds

    def tell(self, step: float | Shard | Epoch | Step | Choosing | Trained) -> str:
        if isinstance(step, Shard):
            self._shards += 1
            self._rows += step.rows
            self._branches += step.branches
            self._collected = monotonic() - self._begin
            share = 1 - self._branches / self._rows
            return line(
                {"phase": "collecting", "collected": self._shards * ROWS, "rows": self._rows, "agree": short(share)}
                | self._left_collecting(0.0)
            )
        if isinstance(step, Step):
            done = step.epoch / self._asked.epochs
            left = step.seconds / done - step.seconds if step.step > 2 else None
            self._trained = step.seconds
            told_ = {"phase": "training", "step": step.step, "epoch": short(step.epoch), "loss": short(step.loss)}
            return line(told_ | {"done": short(done), "left": left and round(left, 1)})
        if isinstance(step, Epoch):
            event = {"after": step.epoch, "figures": {name: short(value) for name, value in step.figures.items()}}
            return line(event | {"layer": _bins(step.calibration), "own": _bins(step.own)})
        if isinstance(step, Trained):
            event = {"trained": {name: short(value) for name, value in step.metrics.items()}, "choice": step.choice}
            replayed = [
                {name: value if isinstance(value, str) else short(value) for name, value in one.items()}
                for one in step.replayed
            ]
            return line(event | {"replayed": replayed, "costs": step.costs}) + line({"phase": "done"})
        if isinstance(step, Choosing):
            return line({"phase": "choosing"})
        return line({"phase": "collecting", "share": short(step)} | self._left_collecting(step))

    def pace(self, trained: Trained, before: Pace | None) -> Pace:
        """What this training took; what it did not do is as before."""
        rows = trained.data["rows"] * self._asked.epochs
        collecting = self._collected / self._rows if self._rows else before.collecting if before else 0.0
        return Pace(collecting, self._trained / rows)

    def _left_collecting(self, share: float) -> dict[str, Any]:
        """How much of the collecting is done, and the seconds left of it, once that can be told."""
        missing, made = self._asked.shards - self._kept, self._shards - self._kept + share
        done = (self._kept + made) / self._asked.shards
        seconds = monotonic() - self._begin
        left = seconds / made * (missing - made) if made > 0.25 else None
        return {"done": short(done), "left": left and round(left, 1)}


def read_form(
    titles: Mapping[str, str], pair: Any, rule: Any, theta: Any, window: Any, count: Any, tokens: Any, epochs: Any
) -> Form:
    """The Train form as typed values; raises a UserError that says what is wrong."""
    if pair not in titles:
        raise UserError(f"unknown pair {pair!r}: choose one of {', '.join(titles)}")
    if rule not in texts.TRAIN_RULES:
        raise UserError(f"Rule must be one of {', '.join(texts.TRAIN_RULES)}, got {str(rule)[:60]!r}")
    values = {knob.name: knob.default for knob in page_knobs()} | {"rule": rule, "theta": theta, "window": window}
    config = config_of(values)
    if not LOWEST_THETA <= config.theta <= HIGHEST_THETA:
        raise UserError(texts.TRAIN_TOO_MANY.format(label="Theta", low=LOWEST_THETA, high=HIGHEST_THETA))
    wholes = []
    labels = {"shards": texts.TRAIN_SHARDS, "tokens": texts.TRAIN_TOKENS, "epochs": texts.TRAIN_EPOCHS}
    for value, (name, (low, high, _)) in zip((count, tokens, epochs), LIMITS.items(), strict=True):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high or value != int(value):
            raise UserError(texts.TRAIN_TOO_MANY.format(label=labels[name], low=low, high=high))
        wholes.append(int(value))
    shards = -(-wholes[0] // ROWS)
    return Form(pair, rule, config.theta, config.window, shards, *wholes[1:])


def _knobs(asked: Form, trained: Trained) -> dict[str, Any]:
    """What a run steered by the layer starts from."""
    config = DecodeConfig(rule=asked.rule, theta=asked.theta, window=asked.window, length="pacer")
    started = {name: getattr(config, name) for name in (*FLY_KNOBS, "drafter", "length", "statistic")}
    return started | POLICY_DEFAULTS["pacer"] | {name: trained.choice[name] for name in CHOICE_KNOBS}


def _bins(bins: tuple[Any, ...]) -> list[list[float]]:
    return [[one.low, one.high, one.count, short(one.predicted), short(one.kept)] for one in bins]


def _buttons(running: bool) -> tuple[Any, Any]:
    """Run and Cancel."""
    return gr.update(interactive=not running), gr.update(interactive=running)
