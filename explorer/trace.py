"""The trace: the record of one run, round by round. One schema for live runs, recordings, charts and exports (version 1).

Facts are stored once; what follows from them is a property, so counters cannot drift. Every identity of the format is
checked when a record is built, and a file is read through the same constructors: a Trace that exists is consistent.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from explorer.config import ENTROPY_MAXIMUM, DecodeConfig
from explorer.files import write_whole
from explorer.messages import Message
from explorer.pieces import text_of
from explorer.schema import MAX_FLOAT, MAX_INT, OMIT_EMPTY, OMIT_NONE, SchemaError, parse_json, read, write
from explorer.stops import Stop, StopRule
from explorer.verdicts import LOOSE_RULES, Evidence, Judgement, Verdict, judge_evidence

SCHEMA_VERSION = 1
MAX_FILE_BYTES = 64 * 2**20
MAX_TEXT_BYTES = 2**21  # of the output: one long token repeated makes gigabytes of text from a small file

Source = Literal["model", "lookup", "drafted phrase", "phrase pool", "features"]


ROUNDING = 1e-4  # by which a float32 log-probability or entropy may leave its range


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise SchemaError("record.inconsistent", detail=message)


def _require_range(values: Iterable[float | None], low: float, high: float, name: str) -> None:
    """None is allowed, NaN and infinity never are."""
    for value in values:  # built for every row of every round: the message only where it is needed
        if value is not None and not low <= value <= high:
            raise SchemaError("record.out_of_range", name=name, low=f"{low:g}", high=f"{high:g}", value=value)


@dataclass(frozen=True)
class Row:
    """The target's view of one position, raw: temperature 1, before any processing. Natural logarithms."""

    argmax: int
    argmax_logprob: float
    entropy_normalized: float  # full vocabulary, divided by ln V: 0 to 1
    entropy_top3: float  # partial sum over the three likeliest tokens, nats: 0 to ln 3
    top_ids: tuple[int, ...]  # the eight likeliest, likeliest first
    top_logprobs: tuple[float, ...]
    replacement_logprob: float  # of the token committed if the cut falls here
    drafted_logprob: float | None = None  # of the drafted token; None in the bonus row
    # KL(target || draft) at this position over the full vocabulary, nats; measured under rule kl only
    divergence: float | None = field(default=None, metadata=OMIT_NONE)
    # A judge head's score of the drafted token, 0 (matters) to 1, from the target's state after it; under rule judge only
    harmless: float | None = field(default=None, metadata=OMIT_NONE)

    def __post_init__(self) -> None:
        _require(len(self.top_ids) == len(self.top_logprobs), "top_ids and top_logprobs differ in length")
        own = (self.argmax_logprob, self.replacement_logprob, self.drafted_logprob)
        _require_range((*own, *self.top_logprobs), -MAX_FLOAT, ROUNDING, "a log-probability")
        _require(
            all(
                logprob <= self.argmax_logprob + ROUNDING for logprob in own + self.top_logprobs if logprob is not None
            ),
            "a token is likelier than the argmax",
        )
        _require_range([self.divergence], 0, MAX_FLOAT, "divergence")
        _require_range([self.harmless], 0, 1, "harmless")
        for measure, maximum in ENTROPY_MAXIMUM.items():
            _require_range([self.entropy(measure)], -ROUNDING, maximum + ROUNDING, f"entropy_{measure}")

    def entropy(self, measure: str) -> float:
        """The entropy that theta is compared with, by the measure's name in DecodeConfig."""
        return self.entropy_normalized if measure == "normalized" else self.entropy_top3


def _rank(row: Row) -> int | None:
    """The place of a mismatched drafted token among the target's likeliest: 2 or more; None where it is behind all recorded."""
    likelier = sum(logprob > row.drafted_logprob for logprob in row.top_logprobs)
    return None if likelier == len(row.top_logprobs) else max(likelier + 1, 2)


def _certainty(row: Row, vocab_size: int | None) -> float | None:
    return None if vocab_size is None else math.exp(-row.entropy_normalized * math.log(max(vocab_size, 2)))


# What rules read (verdicts.Evidence), from a row with a drafted token and the size of the vocabulary.
EVIDENCE: dict[str, Callable[[Row, int | None], float | None]] = {
    "prob": lambda row, _: math.exp(row.drafted_logprob),
    "top_prob": lambda row, _: math.exp(row.argmax_logprob),
    "gap": lambda row, _: row.argmax_logprob - row.drafted_logprob,
    "rank": lambda row, _: _rank(row),
    "certainty": _certainty,
    "divergence": lambda row, _: row.divergence,
    "harmless": lambda row, _: row.harmless,
}


def judge_rows(
    match: Sequence[bool],
    rows: Sequence[Row],
    protected: Sequence[bool],
    config: DecodeConfig,
    vocab_size: int | None = None,
) -> Judgement:
    """Judge one draft of K tokens on the target's rows for them [K], under the rule of `config`. Raises MissingEvidence."""
    loose = LOOSE_RULES.get(config.rule)
    lists = {
        name: [row.entropy(config.entropy) if name == "entropy" else EVIDENCE[name](row, vocab_size) for row in rows]
        for name in (loose.reads if loose else ())
    }
    return judge_evidence(Evidence(match, protected, **lists), config)


@dataclass(frozen=True)
class Block:
    """One block of drafted tokens that a length policy scored before going on, and its decision: PACER's, AdaEDL's, survival's."""

    size: int
    scores: tuple[float, ...]
    # What was compared with the threshold: PACER's statistic of the scores, AdaEDL's bound, the survival product of the whole
    # draft so far. None for an unscored remainder at a stop id or at the end of the room.
    mean: float | None
    threshold: float | None
    passed: bool

    def __post_init__(self) -> None:
        _require(self.size > 0, "a block has at least one token")
        _require_range((*self.scores, self.mean), 0, 1, "a block's score")
        _require(len(self.scores) in (0, self.size), "a block needs a score for each of its tokens, or none")


@dataclass(frozen=True)
class Branch:
    """One candidate phrase tried behind the draft in the target's pass, whether it was chosen or not. Greedy only."""

    ids: tuple[int, ...]  # [M]
    argmax: tuple[int, ...]  # [M] the target's choice at each of them, after the draft and the phrase so far

    def __post_init__(self) -> None:
        _require(len(self.ids) > 0, "a phrase has at least one token")
        _require(len(self.ids) == len(self.argmax), "a phrase needs the target's choice at each of its tokens")

    @property
    def agreed(self) -> int:
        """How many of its tokens, from the first on, are the target's choices."""
        return next((i for i, (ours, own) in enumerate(zip(self.ids, self.argmax)) if ours != own), len(self.ids))


def longest(branches: Sequence[Branch]) -> int:
    """Index of the phrase that a round takes: of those that agree furthest the first. No rule has a say in it."""
    return max(range(len(branches)), key=lambda index: branches[index].agreed)


@dataclass(frozen=True)
class Tree:
    """The N nodes of a drafted tree, all verified in the target's pass: lists over the nodes, parents before their children. Greedy only."""

    parents: tuple[int, ...]  # index of the node each stands behind; -1: the committed text
    ids: tuple[int, ...]
    probs: tuple[float, ...]  # of each under the drafter, after its parent
    argmax: tuple[int, ...]  # the target's choice after each

    def __post_init__(self) -> None:
        size = len(self.ids)
        _require(size > 0, "a tree has at least one node")
        for name in ("parents", "probs", "argmax"):
            _require(len(getattr(self, name)) == size, f"a tree of {size} nodes needs as many {name}")
        _require(
            all(-1 <= parent < place for place, parent in enumerate(self.parents)),
            "a node of a tree must stand behind an earlier one",
        )
        _require(
            len(set(zip(self.parents, self.ids))) == size, "two nodes of a tree are one token behind the same node"
        )
        _require_range(self.probs, 0, 1, "a node's probability")

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Of each node, counted from 1."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return tuple(depths)

    def path(self, first: int) -> tuple[int, ...]:
        """The nodes that become the round's draft, first of all; first: the target's choice after the committed text.

        From node to node the target's choice is taken where it is there; from the first place where it is not, always the drafter's
        likeliest (of equals the first), as in a chain. So of all paths it agrees furthest, and no rule has a say in it.
        """
        children: dict[int, list[int]] = {}
        for place, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(place)
        path, place, wanted = [], -1, first
        while place in children:
            agreed = next((child for child in children[place] if self.ids[child] == wanted), None)
            place = max(children[place], key=lambda child: self.probs[child]) if agreed is None else agreed
            path.append(place)
            wanted = None if agreed is None else self.argmax[place]
        return tuple(path)


@dataclass(frozen=True)
class Seconds:
    """Where the time of one round went; wall clock, device synchronised, display excluded. `prefill`: first round only."""

    prefill: float = 0.0
    draft: float = 0.0
    preverify: float = 0.0
    verify: float = 0.0
    other: float = 0.0
    forwards: float = 0.0  # the part of all of the above spent inside model forwards, head included

    def __post_init__(self) -> None:
        _require_range((getattr(self, field.name) for field in fields(self)), 0, MAX_FLOAT, "a time in seconds")

    @property
    def decode(self) -> float:
        """All but the prefill."""
        return self.draft + self.preverify + self.verify + self.other

    @property
    def total(self) -> float:
        return self.prefill + self.decode

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class Round:
    """One target pass over K drafted tokens: K + 1 rows, K verdicts, kept + 1 committed tokens."""

    length_before: int  # committed tokens before this round, prompt included
    requested: int  # draft length asked for
    drafted: tuple[int, ...]  # [K]
    draft_probs: tuple[
        float | None, ...
    ]  # [K] under the draft (at the run's temperature if above 0); None: not a model's
    sources: tuple[Source, ...]  # [K]
    rows: tuple[Row, ...]  # [K + 1]
    match: tuple[bool, ...]  # [K] greedy: drafted == argmax; sampling: the draw accepted it
    replacement: tuple[int, ...]  # [K + 1] committed if the cut falls here; last: the bonus
    protected: tuple[bool, ...]  # [K] a stop id is involved: never loosened
    verdicts: tuple[Verdict, ...]  # [K]
    committed: tuple[int, ...]  # kept drafted tokens and the target's own
    emitted: tuple[int, ...]  # committed, cut at stop or budget
    blocks: tuple[Block, ...] = ()
    seconds: Seconds = Seconds()
    # Phrases tried behind the draft; the chosen one ends `drafted`
    branches: tuple[Branch, ...] = field(default=(), metadata=OMIT_EMPTY)
    # Under schedule pearl: drafted beyond this draft while the target verified it
    ahead: tuple[int, ...] = field(default=(), metadata=OMIT_EMPTY)
    # All that was drafted, where that is a tree; `drafted` is the path through it that agrees furthest
    tree: Tree | None = field(default=None, metadata=OMIT_NONE)
    # Tokens of the vocabulary that the rows are of; records of the first explorers lack it
    vocab_size: int | None = field(default=None, metadata=OMIT_NONE)

    def __post_init__(self) -> None:
        size = len(self.drafted)
        _require_range([self.vocab_size], 1, MAX_INT, "vocab_size")
        for name in ("draft_probs", "sources", "match", "protected", "verdicts"):
            _require(len(getattr(self, name)) == size, f"{name} needs one entry for each of {size} drafted tokens")
        for name in ("rows", "replacement"):
            _require(len(getattr(self, name)) == size + 1, f"{name} needs {size + 1} entries")
        own = size - self.from_pool
        _require(own <= self.requested, "more tokens drafted than requested")
        _require_range(self.draft_probs, 0, 1, "draft_probs")
        _require(all(row.drafted_logprob is not None for row in self.rows[:-1]), "a row lacks drafted_logprob")
        _require(
            not self.blocks or sum(block.size for block in self.blocks) == own, "blocks do not add up to the draft"
        )
        phrase = self.branches[longest(self.branches)].ids if self.branches else ()
        _require(
            self.drafted[own:] == phrase and "phrase pool" not in self.sources[:own],
            "a draft must end with the phrase that agrees furthest, and only with it",
        )
        _require(
            all(branch.argmax[0] == self.rows[own].argmax for branch in self.branches)
            and (
                not phrase
                or self.branches[longest(self.branches)].argmax == tuple(row.argmax for row in self.rows[own:-1])
            ),
            "a phrase and the rows differ in the target's choices",
        )
        if self.tree:
            self._check_tree(self.tree)
        kept = self.accepted
        _require(all(verdict.is_accepted for verdict in self.verdicts[:kept]), "a token is kept behind the cut")
        _require(
            kept == size or (self.verdicts[kept].is_rejected and set(self.verdicts[kept + 1 :]) <= {Verdict.DISCARDED}),
            "the first token not kept must be rejected and all behind it discarded",
        )
        _require(self.committed == (*self.drafted[:kept], self.replacement[kept]), "committed is not kept + 1 tokens")
        _require(
            len(self.emitted) > 0 and self.emitted == self.committed[: len(self.emitted)],
            "emitted is not a prefix of committed",
        )

    def _check_tree(self, tree: Tree) -> None:
        path = tree.path(self.rows[0].argmax)
        _require(
            (self.drafted, self.draft_probs) == tuple(tuple(of[node] for node in path) for of in (tree.ids, tree.probs))
            and set(self.sources) == {"features"},
            "the draft must be the path through its tree that agrees furthest",
        )
        _require(
            tuple(tree.argmax[node] for node in path) == tuple(row.argmax for row in self.rows[1:]),
            "a tree and the rows differ in the target's choices",
        )
        _require(max(tree.depths) <= self.requested, "a tree deeper than the draft length")

    @property
    def accepted(self) -> int:
        """Drafted tokens committed in this round."""
        return Judgement(self.verdicts).accepted

    @property
    def cut(self) -> int | None:
        return Judgement(self.verdicts).cut

    @property
    def from_pool(self) -> int:
        """Drafted tokens that come from a phrase; they stand behind all others."""
        return self.sources.count("phrase pool")

    @property
    def verified(self) -> int:
        """Drafted tokens that the target's pass was fed, those of other branches too: what it costs beside one plain step."""
        if self.tree:
            return len(self.tree.ids)
        return len(self.drafted) - self.from_pool + sum(len(branch.ids) for branch in self.branches)

    @property
    def goes_on(self) -> bool:
        """Whether what was drafted ahead still stands: all of the draft kept, the first token ahead the target's own."""
        return self.cut is None and self.ahead[:1] == self.committed[-1:]

    @property
    def last(self) -> str:
        """`correction` or `bonus`: what the target's own token of this round is."""
        return Judgement(self.verdicts).last

    @property
    def emitted_kinds(self) -> tuple[str, ...]:
        """What each emitted token is: exact, deferred, relaxed, correction or bonus."""
        return tuple([*map(str, self.verdicts[: self.accepted]), self.last][: len(self.emitted)])

    @property
    def emitted_logprobs(self) -> tuple[float, ...]:
        """The target's log-probability of each emitted token."""
        kept = [row.drafted_logprob for row in self.rows[: self.accepted]]
        return tuple([*kept, self.rows[self.accepted].replacement_logprob][: len(self.emitted)])

    def judge(self, config: DecodeConfig) -> Judgement:
        """Judge this round's draft again under other settings of the rule; needs nothing but the record. Raises MissingEvidence."""
        return judge_rows(self.match, self.rows[:-1], self.protected, config, self.vocab_size)


@dataclass(frozen=True)
class ChatTurn:
    """One chat message."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """What was fed: the ids, and the messages they were made from (None for a raw prompt)."""

    ids: tuple[int, ...]
    text: str
    messages: tuple[ChatTurn, ...] | None = None

    def __post_init__(self) -> None:
        _require(len(self.ids) > 0, "the prompt is empty")


@dataclass(frozen=True)
class Baseline:
    """Plain greedy decoding of the same prompt by the same engine."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]  # the target's, of each id
    seconds: Seconds

    def __post_init__(self) -> None:
        _require(len(self.ids) == len(self.logprobs), "baseline ids and logprobs differ in length")

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> Baseline:
        """What a run of the target alone came to."""
        rounds = list(rounds)
        return cls(
            ids=tuple(token for round_ in rounds for token in round_.emitted),
            logprobs=tuple(value for round_ in rounds for value in round_.emitted_logprobs),
            seconds=sum((round_.seconds for round_ in rounds), Seconds()),
        )


@dataclass(frozen=True)
class Provenance:
    """What ran, where and when: everything a reader needs to know how far to trust the figures."""

    pair: str
    target: str
    draft: str | None
    weights: dict[str, str]  # revision or file hash, by `target` and `draft`
    dtype: dict[str, str]  # by `target` and `draft`
    device: str
    threads: int
    versions: dict[str, str]  # of the libraries
    date: str  # ISO 8601, UTC
    head: str | None = None  # the feature-fed head of the target, where the pair has one
    cross_tokenizer: bool = False  # the draft has a vocabulary of its own: its text was tokenised again for the target
    # Generation settings of the target that the run did not follow, each with its value, like `repetition_penalty 1.1`.
    ignored: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)

    def __post_init__(self) -> None:
        _require(self.threads > 0, "threads must be at least 1")

    @property
    def notes(self) -> tuple[Message, ...]:
        """What a reader of the figures may not expect of these weights."""
        return (Message("note.ignored", {"settings": ", ".join(self.ignored)}),) if self.ignored else ()


def mentioned_ids(
    prompt: Prompt, rounds: Sequence[Round], stop_ids: Sequence[int], baseline: Baseline | None
) -> set[int]:
    """Every token id that a trace of these parts speaks of, and whose bytes it must therefore carry."""
    ids = {*prompt.ids, *stop_ids, *(baseline.ids if baseline else ())}
    for round_ in rounds:
        ids.update(round_.drafted, round_.replacement, round_.ahead)
        for branch in round_.branches:
            ids.update(branch.ids, branch.argmax)
        if round_.tree:
            ids.update(round_.tree.ids, round_.tree.argmax)
        for row in round_.rows:
            ids.update(row.top_ids, (row.argmax,))
    return ids


@dataclass(frozen=True)
class Trace:
    """One run. `vocabulary` holds the bytes of every token id the record mentions."""

    provenance: Provenance
    prompt: Prompt
    config: DecodeConfig
    rounds: tuple[Round, ...]
    stop: Stop
    stop_ids: tuple[int, ...]
    vocabulary: dict[int, bytes]
    partial: bool = False  # stopped by the user, or recorded before the end
    baseline: Baseline | None = None
    schema: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        _require(self.schema == SCHEMA_VERSION, f"schema version {self.schema}, this reader knows {SCHEMA_VERSION}")
        missing = next(
            (
                token
                for token in sorted(mentioned_ids(self.prompt, self.rounds, self.stop_ids, self.baseline))
                if token not in self.vocabulary
            ),
            None,
        )
        _require(missing is None, f"token {missing} is not in the vocabulary of the trace")
        length, stops = len(self.prompt.ids), frozenset(self.stop_ids)
        most = 0 if self.config.rule == "autoregressive" else self.config.draft_length
        tentative: tuple[int, ...] = ()
        for index, round_ in enumerate(self.rounds):
            place = f"rounds[{index}]"
            _require(round_.length_before == length, f"{place}.length_before must be {length}")
            _require(round_.requested <= most, f"{place}: more tokens requested than {most}")
            self._check_phrases(round_, place)
            self._check_tree(round_, place)
            if self.config.schedule == "pearl":
                _require(
                    round_.drafted == tentative, f"{place}: the draft is not what stood of the tokens drafted ahead"
                )
                tentative = round_.ahead[1:] if round_.goes_on else ()
            _require(
                len(round_.ahead) <= (most if self.config.schedule == "pearl" else 0),
                f"{place}: too many drafted ahead",
            )
            last = index == len(self.rounds) - 1
            _require(last or round_.emitted == round_.committed, f"{place} is cut but not the last round")
            _require(round_.judge(self.config).verdicts == round_.verdicts, f"{place}: the rule gives other verdicts")
            length += len(round_.emitted)
            if self.config.temperature == 0:
                argmaxes = tuple(row.argmax for row in round_.rows)
                _require(round_.replacement == argmaxes, f"{place}: a greedy replacement is not the argmax")
                agrees = tuple(drafted == argmax for drafted, argmax in zip(round_.drafted, argmaxes))
                _require(round_.match == agrees, f"{place}: match is not drafted == argmax")
            touched = tuple(bool({d, r} & stops) for d, r in zip(round_.drafted, round_.replacement))
            _require(round_.protected == touched, f"{place}: protected is not where a stop id is involved")
        size = sum(len(self.vocabulary[token]) for token in self.output_ids)
        _require(size <= MAX_TEXT_BYTES, f"the text has {size:,} bytes, a run's at most {MAX_TEXT_BYTES:,}")
        _require(self.partial == (self.stop.reason == "user"), "partial must be set where the user stopped, only there")
        emitted, stop = StopRule(self.config, stops, self.vocabulary).cut((), self.output_ids)
        _require(emitted == self.output_ids, "the text goes on behind its end")
        _require(
            stop == (None if self.partial else self.stop),
            f"stop: the text ends {f'at {stop.reason}, text_offset {stop.text_offset}' if stop else 'nowhere by itself'}",
        )
        _require(
            not (self.partial and self.rounds) or self.rounds[-1].emitted == self.rounds[-1].committed,
            "the last round is cut, and nothing ended the text there",
        )

    def _check_phrases(self, round_: Round, place: str) -> None:
        count = 0 if self.config.rule == "autoregressive" else self.config.phrases
        _require(len(round_.branches) <= count, f"{place}: more phrases than {count}")
        most = max((len(branch.ids) for branch in round_.branches), default=0)
        _require(most <= self.config.phrase_length, f"{place}: a phrase longer than {self.config.phrase_length} tokens")

    def _check_tree(self, round_: Round, place: str) -> None:
        tree = round_.tree
        if not self.config.drafts_trees:
            _require(tree is None, f"{place}: a tree in a run that drafts none")
            return
        _require((tree is None) == (not round_.drafted), f"{place}: a draft without its tree")
        if tree is None:
            return
        _require(len(tree.ids) <= self.config.tree, f"{place}: more than {self.config.tree} nodes")
        widest = max(Counter(tree.parents).values())
        _require(widest <= self.config.tree_width, f"{place}: more than {self.config.tree_width} nodes behind one")
        stops = set(self.stop_ids)
        _require(
            not any(parent >= 0 and tree.ids[parent] in stops for parent in tree.parents),
            f"{place}: a node of the tree stands behind a stop id",
        )

    @cached_property
    def output_ids(self) -> tuple[int, ...]:
        """All emitted ids, a stop id included."""
        return tuple(token for round_ in self.rounds for token in round_.emitted)

    @property
    def text(self) -> str:
        """The generated text a reader should see: without the stop id, cut where a stop string begins."""
        ids = self.output_ids[:-1] if self.stop.reason == "stop_id" else self.output_ids
        return text_of(ids, self.vocabulary)[: self.stop.text_offset]

    @cached_property
    def seconds(self) -> Seconds:
        return sum((round_.seconds for round_ in self.rounds), Seconds())

    @cached_property
    def verdict_counts(self) -> Counter[Verdict]:
        """Verdicts over all rounds; their sum is the number of drafted tokens."""
        return Counter(verdict for round_ in self.rounds for verdict in round_.verdicts)

    @classmethod
    def from_json(cls, data: Any) -> Trace:
        """Build a trace from parsed JSON; raises SchemaError with the place and reason."""
        version = data.get("schema") if isinstance(data, dict) else None
        named = version if version is None or isinstance(version, (int, float)) else f"of type {type(version).__name__}"
        _require(version == SCHEMA_VERSION, f"schema version {named}, this reader knows {SCHEMA_VERSION}")
        return read(cls, data)

    def to_json(self) -> dict[str, Any]:
        return write(self)

    def save(self, path: str | Path) -> None:
        """Write one JSON file, complete or not at all; every float reads back bit-equal."""
        write_whole(path, self.dumps())

    def dumps(self) -> str:
        """The text of such a file."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace file as hostile input: size first, then syntax, types and identities. Raises SchemaError, OSError."""
        _require(Path(path).is_file() or not Path(path).exists(), "not a regular file")
        size = Path(path).stat().st_size
        _require(size <= MAX_FILE_BYTES, f"the file has {size:,} bytes, a trace at most {MAX_FILE_BYTES:,}")
        return cls.from_json(parse_json(Path(path).read_bytes()))
