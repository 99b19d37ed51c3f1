"""The one data form of the page: a run as a growing text of JSON lines. Pure: knows records and bytes, no page.

Live runs stream it, recorded runs are it, and a page that needs no server carries it; explorer/ui/web/twins/wire.js reads all three. Line 1
says which run it is and under which settings; each further line is an *event*. Within a run the text only grows, so the
browser is sent and parses just its tail. Keys are short, because the whole text travels once more with the last update.
This table and explorer/ui/web/twins/wire.js are the two places that know them:

header  run (an id), recorded (true for a recorded run), imported (true for a visitor's file), pair and its title, prompt,
        config (DecodeConfig by name), notes, crossed (only where the draft has a vocabulary of its own), and of a recorded or
        imported run provenance {pair, target, draft, dtype, device, date}, and here: whether this machine can run its pair
round   v new vocabulary: pieces of text, numbered on from 0 over the whole run; a stop token's piece is a list of one
        d [K] drafted tokens, as numbers of the vocabulary; c [K + 1] the target's choices: what is committed if the cut falls here
        m match, a text of K digits 0 and 1 (left out: d equals c); g protected positions (left out: none)
        w verdict letters (explorer/cli/terminal.py), e number of emitted tokens
        n, h [K + 1] normalized and top-3 entropy, all digits: thresholds are compared with them
        l for each mismatch what rules read of it (trace.EVIDENCE, in that order), all digits, null where it was not recorded
          (left out: no mismatch)
        q [K] the draft's probability or null, p [K] the target's of the drafted token, r [K + 1] of its choice
        a [K + 1] the target's likeliest tokens: [token, probability, token, probability, ..]
        f [K] where each token was drafted (left out: all by the draft model)
        b the length policy's decided blocks [[size, mean, threshold, passed, score, ..], ..] (left out: none)
        k phrases tried behind the draft [[tokens that agree, token, token, ..], ..] (left out: none)
        t the tree whose path the draft is [[parent of each node or -1], [its token], [the drafter's probability], [the target's choice after it]]
          (left out: none)
        o tokens drafted ahead under PEARL's schedule (left out: none)
        x {position: [text added, bytes as hex]} where an emitted token adds another text than its piece (a split character)
        s seconds [prefill, draft, preverify, verify, other]
phase   phase, and optionally a message
tail    a last piece of text: bytes that never became a character
end     end (the reason), partial, provenance, summary
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from explorer.config import DecodeConfig
from explorer.pieces import next_piece, piece_of
from explorer.trace import EVIDENCE, Block, Prompt, Provenance, Round, Seconds
from explorer.verdicts import LETTERS

ALTERNATIVES = 5  # shown in the card; the trace has eight
PHASES = ("prefill", "draft", "preverify", "verify", "other")  # of the seconds of a round


def line(event: dict[str, Any]) -> str:
    """One event as one line: JSON escapes line breaks, so model text cannot end it, and `<` is escaped beyond need."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c") + "\n"


def header(
    run: str,
    pair: str,
    title: str,
    prompt: str,
    config: DecodeConfig,
    provenance: Provenance | None = None,
    here: bool = True,
    imported: bool = False,
    crossed: bool = False,
) -> str:
    """The first line of a run: a new one clears the view.

    provenance: of a run made before; here: whether its pair is at hand; imported: from a visitor's file; crossed: the draft has
    a vocabulary of its own (for a run made before its provenance says so).
    """
    event = {
        "run": run,
        "recorded": provenance is not None,
        "imported": imported,
        "pair": pair,
        "title": title,
        "prompt": prompt,
        "config": asdict(config),
        "notes": [{"code": note.code, "values": dict(note.values)} for note in config.notes],
    }
    if crossed or (provenance and provenance.cross_tokenizer):
        event["crossed"] = True
    return line(event | ({"provenance": origin(provenance), "here": here} if provenance else {}))


def origin(provenance: Provenance) -> dict[str, Any]:
    """What a reader must know to trust a figure: who ran, in which number format, where and when."""
    told = ("pair", "target", "draft", "dtype", "device", "date", *(("ignored",) if provenance.ignored else ()))
    return {name: getattr(provenance, name) for name in told}


def question(prompt: Prompt) -> str:
    """What the user asked: the last message, or all of a raw prompt."""
    return prompt.messages[-1].content if prompt.messages else prompt.text


class RunEncoder:
    """Encodes the rounds of one run in order; remembers which tokens were sent, and the bytes of an incomplete character."""

    def __init__(self, vocabulary: Mapping[int, bytes], stop_ids: frozenset[int] = frozenset()):
        self._vocabulary, self._stop_ids = vocabulary, stop_ids
        self._numbers: dict[int, int] = {}  # of the ids sent so far
        self._new: list[str | list[str]] = []
        # One for the whole run: tokens that never end a character must not be read again with each that follows.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def round(self, round_: Round) -> str:
        """The line of one round: all K + 1 rows, also behind the cut, because a moved threshold may move the cut."""
        rows, drafted = round_.rows, round_.drafted
        event: dict[str, Any] = {
            "d": [self._number(token) for token in drafted],
            "c": [self._number(token) for token in round_.replacement],
            "w": "".join(LETTERS[verdict] for verdict in round_.verdicts),
            "e": len(round_.emitted),
            "n": [row.entropy_normalized for row in rows],
            "h": [row.entropy_top3 for row in rows],
            "q": [None if value is None else short(value) for value in round_.draft_probs],
            "p": [short(math.exp(row.drafted_logprob)) for row in rows[:-1]],
            "r": [short(math.exp(row.replacement_logprob)) for row in rows],
            "a": [self._alternatives(row.top_ids, row.top_logprobs) for row in rows],
            "s": _seconds(round_.seconds),
        }
        if round_.match != tuple(token == own for token, own in zip(drafted, round_.replacement)):
            event["m"] = "".join("01"[match] for match in round_.match)
        if mismatches := [row for row, match in zip(rows, round_.match) if not match]:
            event["l"] = [[read(row, round_.vocab_size) for read in EVIDENCE.values()] for row in mismatches]
        if any(round_.protected):
            event["g"] = [position for position, protected in enumerate(round_.protected) if protected]
        if set(round_.sources) - {"model"}:
            event["f"] = list(round_.sources)
        if round_.blocks:
            event["b"] = [_block(block) for block in round_.blocks]
        if round_.branches:
            event["k"] = [[branch.agreed, *map(self._number, branch.ids)] for branch in round_.branches]
        if tree := round_.tree:
            tokens, choices = (list(map(self._number, ids)) for ids in (tree.ids, tree.argmax))
            event["t"] = [list(tree.parents), tokens, list(map(short, tree.probs)), choices]
        if round_.ahead:
            event["o"] = [self._number(token) for token in round_.ahead]
        if texts := self._texts(round_.emitted):
            event["x"] = texts
        new, self._new = self._new, []
        return line(({"v": new} if new else {}) | event)

    def tail(self) -> str:
        """What is left at the end of the run: a line for bytes that never became a character, or nothing."""
        text = self._decoder.decode(b"", final=True)
        return line({"tail": text}) if text else ""

    def _number(self, token: int) -> int:
        if token not in self._numbers:
            self._numbers[token] = len(self._numbers)
            label = piece_of(self._vocabulary[token]).label
            self._new.append([label] if token in self._stop_ids else label)
        return self._numbers[token]

    def _alternatives(self, ids: tuple[int, ...], logprobs: tuple[float, ...]) -> list[float]:
        flat: list[float] = []
        for token, logprob in zip(ids[:ALTERNATIVES], logprobs):
            flat += [self._number(token), short(math.exp(logprob))]
        return flat

    def _texts(self, ids: tuple[int, ...]) -> dict[str, list[str]]:
        """The text of each id that adds another one than its own piece. A stop id adds none, and the reader knows it."""
        texts = {}
        for position, token in enumerate(ids):
            if token in self._stop_ids:
                continue
            piece = next_piece(self._decoder, self._vocabulary[token])
            if piece.hex is not None:
                texts[str(position)] = [piece.text, piece.hex]
        return texts


def _block(block: Block) -> list[Any]:
    numbers = [None if value is None else short(value) for value in (block.mean, block.threshold)]
    return [block.size, *numbers, block.passed, *map(short, block.scores)]


def _seconds(seconds: Seconds) -> list[float]:
    return [short(getattr(seconds, name)) for name in PHASES]


def short(value: float) -> float:
    """Four significant digits; whole numbers without a point."""
    short = float(f"{value:.4g}")
    return int(short) if short == int(short) else short
