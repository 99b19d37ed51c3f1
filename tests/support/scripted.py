"""A pair without models: rounds written down as texts, judged by the real rules, served through the page's backend."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from explorer.analysis.costs import works_of
from explorer.config import DecodeConfig
from explorer.conflicts import EVERYTHING, Offers
from explorer.engine.turns import in_turn
from explorer.errors import UserError
from explorer.messages import Message
from explorer.sweep.record import MeasuredPoint, Pass, PromptRuns, run_of
from explorer.sweep.runner import sweep_points
from explorer.trace import (
    Baseline,
    Block,
    Prompt,
    Provenance,
    Round,
    Row,
    Seconds,
    Stop,
    Trace,
    judge_rows,
    mentioned_ids,
)
from explorer.ui.backend import Backend


@dataclass(frozen=True)
class Step:
    """One drafted position as written: the draft's token, the target's (None: the same), the normalized entropy."""

    draft: str | bytes
    target: str | bytes | None = None
    entropy: float = 0.01


class Words(dict[int, bytes]):
    """A vocabulary that grows as tokens are mentioned."""

    def id(self, token: str | bytes) -> int:
        data = token.encode() if isinstance(token, str) else token
        found = next((number for number, known in self.items() if known == data), None)
        if found is None:
            found = len(self)
            self[found] = data
        return found


def row(words: Words, step: Step, bonus: bool = False) -> Row:
    """The target's view of a position: its own token at 60 %, the draft's (if another) at 20 %, some others."""
    own = words.id(step.draft if step.target is None else step.target)
    drafted = words.id(step.draft)
    others = [words.id(text) for text in (" the", " a", " one")]
    chances = {own: 0.6}
    if drafted != own:
        chances[drafted] = 0.2
    for token in others:
        chances.setdefault(token, 0.05)
    ids = sorted(chances, key=lambda token: -chances[token])
    return Row(
        argmax=own,
        argmax_logprob=math.log(0.6),
        entropy_normalized=step.entropy,
        entropy_top3=min(step.entropy * 3, math.log(3)),
        top_ids=tuple(ids),
        top_logprobs=tuple(math.log(chances[token]) for token in ids),
        replacement_logprob=math.log(0.6),
        drafted_logprob=None if bonus else math.log(chances[drafted]),
    )


def make_round(
    words: Words, steps: list[Step], bonus: str | bytes, length_before: int, config: DecodeConfig, room: int = 10**9
) -> Round:
    """One round of a draft of len(steps) tokens, cut to `room` emitted tokens."""
    rows = (*(row(words, step) for step in steps), row(words, Step(bonus), bonus=True))
    drafted = tuple(words.id(step.draft) for step in steps)
    replacement = tuple(r.argmax for r in rows)
    match = tuple(d == t for d, t in zip(drafted, replacement))
    protected = (False,) * len(steps)
    judgement = judge_rows(match, rows[:-1], protected, config)
    committed = (*drafted[: judgement.accepted], replacement[judgement.accepted])
    return Round(
        length_before=length_before,
        requested=config.draft_length if steps else 0,
        drafted=drafted,
        draft_probs=(0.5,) * len(steps),
        sources=("model",) * len(steps),
        rows=rows,
        match=match,
        replacement=replacement,
        protected=protected,
        verdicts=judgement.verdicts,
        committed=committed,
        emitted=committed[:room],
        seconds=Seconds(draft=0.02, verify=0.03, other=0.001, forwards=0.048),
    )


@dataclass
class Script:
    """What the scripted pair says, whatever it is asked."""

    rounds: list[tuple[list[Step], str | bytes]]
    gate: threading.Semaphore | None = None  # released once per round by a test that wants to stop in between


@dataclass
class ScriptedPair:
    name: str
    script: Script
    vocabulary: Words = field(default_factory=Words)
    stop_ids: frozenset[int] = frozenset()

    def provenance(self) -> Provenance:
        return Provenance(
            self.name, "script", "script", {}, {"target": "none"}, "no device", 1, {}, "2026-01-01T00:00:00+00:00"
        )

    def encode(self, text: str, raw: bool = False) -> Prompt:
        if text == "too long":
            raise UserError("prompt.too_long", tokens=9000, budget=128, limit=2048, side="the target")
        return Prompt((self.vocabulary.id(text),), text)


@dataclass(frozen=True)
class ScriptedKnownPair:
    name: str = "scripted"
    title: str = "Scripted pair"
    is_here: bool = True
    is_embedded: bool = True
    offers: Offers = EVERYTHING
    cross_tokenizer: bool = False
    download_gb: float | None = 0.1
    suits: str = "any CPU"

    @property
    def is_ready(self) -> bool:
        return self.is_here or self.is_embedded


class ScriptedRecorder:
    """As the engine's recorder, for a scripted pair."""

    def __init__(self, pair: ScriptedPair, prompt: Prompt, config: DecodeConfig):
        self._pair, self._prompt, self._config = pair, prompt, config
        self.rounds: list[Round] = []

    def add(self, round_: Round) -> None:
        self.rounds.append(round_)

    @property
    def ended(self) -> bool:
        return sum(len(round_.emitted) for round_ in self.rounds) >= self._config.max_new_tokens

    def trace(self, baseline: Baseline | None = None) -> Trace:
        ids = mentioned_ids(self._prompt, self.rounds, (), baseline)
        return Trace(
            provenance=self._pair.provenance(),
            prompt=self._prompt,
            config=self._config,
            rounds=tuple(self.rounds),
            stop=Stop("budget" if self.ended else "user"),
            stop_ids=(),
            vocabulary={token: self._pair.vocabulary[token] for token in ids},
            partial=not self.ended,
            baseline=baseline,
        )


class ScriptedBackend:
    """Has the interface of explorer.ui.backend.Backend."""

    sweep_gpu_seconds = None
    takes_typed_pairs = True
    warm_up = Backend.warm_up
    provenance = Backend.provenance

    def __init__(self, script: Script, missing: str = "", offers: Offers = EVERYTHING):
        """offers: what its pair has."""
        self.script, self.missing, self.offers = script, missing, offers
        self.closed = 0  # runs whose iterator was closed

    def pairs(self):
        mine = ScriptedKnownPair(offers=self.offers)
        return (mine, ScriptedKnownPair("absent", "Absent pair", is_here=False, is_embedded=False))

    def load(self, name: str):
        yield Message("progress.downloading", {"repository": "the script"})
        if name == "absent":
            raise UserError("weights.not_here", repository="absent/pair")
        return ScriptedPair(name, self.script)

    def recorder(self, pair, prompt, config):
        return ScriptedRecorder(pair, prompt, config)

    def decode(self, pair: ScriptedPair, prompt: Prompt, config: DecodeConfig) -> Iterator[Round | None]:
        length, left = len(prompt.ids), config.max_new_tokens
        try:
            while left > 0:
                for steps, bonus in pair.script.rounds:
                    if left <= 0:
                        return
                    while pair.script.gate and not pair.script.gate.acquire(timeout=0.02):
                        yield None
                    steps = [] if config.rule == "autoregressive" else steps
                    round_ = make_round(pair.vocabulary, steps, bonus, length, config, left)
                    length, left = length + len(round_.emitted), left - len(round_.emitted)
                    yield round_
        finally:
            self.closed += 1

    def decode_in_turn(self, pair: ScriptedPair, prompt: Prompt, configs):
        return in_turn([self.decode(pair, prompt, config) for config in configs])

    def points(self, base, thetas, windows, draft_lengths):
        return sweep_points(base, thetas, windows, draft_lengths)

    def sweep(self, pair: ScriptedPair, items, points) -> Iterator[PromptRuns | int | None]:
        for index, item in enumerate(items):
            while pair.script.gate and not pair.script.gate.acquire(timeout=0.02):
                yield None
            prompt, together = pair.encode(item.prompt), {}
            for point, config in enumerate(points):
                trace = self._trace(pair, prompt, config)
                key = (trace.output_ids, tuple(round_.drafted for round_ in trace.rounds))
                together.setdefault(key, (trace, []))[1].append(point)
            yield 10 * (index + 1)
            yield PromptRuns(
                index,
                item,
                len(prompt.ids),
                tuple(run_of(trace, members, item) for trace, members in together.values()),
                tuple(
                    Pass(tuple(members), len(round_.drafted), work, round_.seconds)
                    for trace, members in together.values()
                    for round_, work in zip(trace.rounds, works_of(trace.rounds, trace.config))
                ),
            )

    def measure(self, pair: ScriptedPair, sweep, points) -> Iterator[tuple[MeasuredPoint, ...] | int | None]:
        measured = []
        for point in points:
            traces = [self._trace(pair, pair.encode(one.item.prompt), sweep.points[point]) for one in sweep.prompts]
            yield sum(len(trace.rounds) for trace in traces)
            seconds = sum((trace.seconds for trace in traces), Seconds())
            tokens = sum(len(trace.output_ids) for trace in traces)
            measured.append(MeasuredPoint(point, tokens, len(traces), len(traces), seconds))
        yield tuple(measured)

    def _trace(self, pair: ScriptedPair, prompt: Prompt, config: DecodeConfig) -> Trace:
        recorder = ScriptedRecorder(pair, prompt, config)
        written = itertools.cycle(pair.script.rounds)
        while room := config.max_new_tokens - sum(len(round_.emitted) for round_ in recorder.rounds):
            steps, bonus = next(written)
            steps = [] if config.rule == "autoregressive" else steps
            length = len(prompt.ids) + config.max_new_tokens - room
            recorder.add(make_round(pair.vocabulary, steps, bonus, length, config, room))
        return recorder.trace()

    def baseline(self, pair: ScriptedPair, prompt: Prompt, config: DecodeConfig):
        yield ""
        ids = [pair.vocabulary.id(text) for text in (" Once", " there", " stood", " a", " tower")][
            : config.max_new_tokens
        ]
        return Baseline(tuple(ids), (-0.2,) * len(ids), Seconds(verify=0.03 * len(ids), forwards=0.03 * len(ids)))


# A run with every kind of token and every reason to refuse, under the page's default settings (normalized 0.05, W 3, K 8).
STORY = Script(
    [
        ([Step(" Once"), Step(" upon", " there", 0.21), Step(" a"), Step(" time"), Step(" there"), Step(" was")], " a"),
        ([Step(" small"), Step(" red", " clever", 0.02), Step(" fox")], " fox"),
        ([Step(","), Step(" who", " that", 0.12), Step(" lived"), Step(" in", " near", 0.3), Step(" the"), Step(" woods")], "."),
        ([Step(" lived"), Step(" by"), Step(" the"), Step(" old", " tall", 0.4), Step(" lighthouse")], "."),
        ([Step(" lighthouse"), Step("."), Step("\n"), Step("\n"), Step("Every"), Step(" night")], " it"),
        ([Step(" watched"), Step(" the"), Step(" ships", " stars", 0.09), Step(" go"), Step(" by"), Step(" and"), Step(" far"), Step(" away")], " "),
    ]
)  # fmt: skip


def make_trace(script=STORY, repeats=1, prompt="Tell a story.", blocks=False, **settings) -> Trace:
    """A finished run of the script, told `repeats` times; blocks: its first round carries PACER's record."""
    words, rounds, length = Words(), [], 1
    config = DecodeConfig(**settings)
    asked = Prompt((words.id(prompt),), prompt)
    for steps, bonus in script.rounds * repeats:
        rounds.append(make_round(words, steps, bonus, length, config))
        length += len(rounds[-1].emitted)
    if blocks:
        scored = (Block(3, (0.9, 0.8, 0.7), 0.8, 0.5, True), Block(3, (0.5, 0.3, 0.1), 0.3, 0.6, False))
        rounds[0] = replace(rounds[0], blocks=scored)
    vocabulary = {token: words[token] for token in mentioned_ids(asked, rounds, (), None)}
    provenance = Provenance(
        "elsewhere", "t", "d", {}, {"target": "float32", "draft": "int8"}, "CPU, 2 threads", 2, {}, "2026-03-04T05:06:07+00:00"
    )  # fmt: skip
    config = replace(config, max_new_tokens=length - 1)
    return Trace(provenance, asked, config, tuple(rounds), Stop("budget"), (), vocabulary)
