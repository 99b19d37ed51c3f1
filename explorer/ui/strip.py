"""The run view's data: rounds in, one growing text of JSON lines out. Pure: knows records and bytes, no page.

Line 1 says which run it is and under which settings; each further line is an *event*: a round, a change of phase, the
end. Within a run the text only grows, so the page is sent and parses just its tail. Fields are short because all of them
travel again with the last update:

header  run, and the settings that judge: rule, theta, entropy, window, includes, never, k, budget, temperature, pair
round   k drafted, kept, w verdict letters, sec, tokens [..]
token   v kind, t text it adds, x bytes where it is not whole characters, o label of a stop token (adds no text),
        f where it was drafted if not by the draft model, q draft's probability, p target's, n normalized entropy,
        s top-3 entropy, a [text, probability, ...] the target's likeliest, i index of this token in `a`;
        deferred: c the target's own choice; correction: d {t, f, q, p, i, why, m} the refused draft token
phase   phase, and optionally a message
tail    a last piece of text: bytes that never became a character
end     end (stop reason), summary
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from explorer.config import DecodeConfig
from explorer.pieces import piece_of, pieces_of
from explorer.terminal import LETTERS
from explorer.trace import Round, Row

ALTERNATIVES = 5  # shown in the card; the trace has eight


def line(event: dict[str, Any]) -> str:
    """One event as one line: JSON escapes line breaks, so model text cannot end it, and `<` is escaped beyond need."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c") + "\n"


def header(run: str, pair: str, config: DecodeConfig) -> str:
    """The first line of a run: a new one clears the view."""
    return line(
        {
            "run": run,
            "pair": pair,
            "rule": config.rule,
            "theta": config.theta,
            "never": config.theta_is_never,
            "entropy": config.entropy,
            "window": config.window,
            "includes": config.window_includes_mismatch,
            "k": config.draft_length,
            "budget": config.max_new_tokens,
            "temperature": config.temperature,
            "notes": list(config.notes),
        }
    )


class StripEncoder:
    """Encodes the rounds of one run in order, remembering only the bytes of a character still incomplete."""

    def __init__(self, vocabulary: Mapping[int, bytes], stop_ids: frozenset[int] = frozenset()):
        self._vocabulary, self._stop_ids = vocabulary, stop_ids
        self._open: list[bytes] = []  # tokens since text and bytes last ended together

    def round(self, round_: Round) -> str:
        """The line of one round: its emitted tokens with what the strip and the card need."""
        tokens = [
            {"v": kind, **text, **_numbers(round_, position), **self._alternatives(round_, position)}
            for position, (kind, text) in enumerate(zip(round_.emitted_kinds, self._texts(round_.emitted)))
        ]
        for position, token in enumerate(tokens):
            if position < round_.kept:
                token |= _source(round_, position)
            if token["v"] == "deferred":
                token["c"] = self._label(round_.replacement[position])
            elif token["v"] == "correction":
                token["d"] = self._refused(round_, position)
        return line(
            {
                "k": len(round_.drafted),
                "kept": round_.kept,
                "w": "".join(LETTERS[verdict] for verdict in round_.verdicts),
                "sec": _short(round_.seconds.total),
                "tokens": tokens,
            }
        )

    def tail(self) -> str:
        """What is left at the end of the run: a line for bytes that never became a character, or nothing."""
        rest = b"".join(self._open) if self._open else b""
        text = pieces_of([*self._open, b""])[-1].text if rest else ""
        self._open = []
        return line({"tail": text}) if text else ""

    def _texts(self, ids: tuple[int, ...]) -> list[dict[str, str]]:
        """The text each id adds. A stop id adds none: it is shown, but it is not part of the text."""
        texts = []
        for token in ids:
            if token in self._stop_ids:
                texts.append({"t": "", "o": self._label(token)})
                continue
            # The empty token behind keeps an incomplete character open, where a real end would flush it.
            piece = pieces_of([*self._open, self._vocabulary[token], b""])[-2]
            self._open = [] if piece.hex is None else [*self._open, self._vocabulary[token]]
            texts.append({"t": piece.text} if piece.hex is None else {"t": piece.text, "x": piece.hex})
        return texts

    def _alternatives(self, round_: Round, position: int) -> dict[str, Any]:
        row = round_.rows[position]
        ids = row.top_ids[:ALTERNATIVES]
        flat: list[Any] = []
        for token, logprob in zip(ids, row.top_logprobs):
            flat += [self._label(token), _short(math.exp(logprob))]
        found = {"i": ids.index(round_.emitted[position])} if round_.emitted[position] in ids else {}
        return {"a": flat, **found}

    def _refused(self, round_: Round, position: int) -> dict[str, Any]:
        verdict = round_.verdicts[position]
        refused = {"t": self._label(round_.drafted[position]), "why": str(verdict)} | _source(round_, position)
        refused |= _probabilities(round_.draft_probs[position], round_.rows[position].drafted_logprob)
        ids = round_.rows[position].top_ids[:ALTERNATIVES]
        if round_.drafted[position] in ids:
            refused["i"] = ids.index(round_.drafted[position])
        if False in round_.match[position + 1 :]:
            refused["m"] = 1 + round_.match[position + 1 :].index(False)
        return refused

    def _label(self, token: int) -> str:
        return piece_of(self._vocabulary[token]).label


def _source(round_: Round, position: int) -> dict[str, str]:
    source = round_.sources[position]
    return {} if source == "model" else {"f": source}


def _numbers(round_: Round, position: int) -> dict[str, Any]:
    """Entropies and probabilities of the token emitted at a position, in the shortest form that still reads right."""
    row: Row = round_.rows[position]
    kept = position < round_.kept
    return {
        "n": _short(row.entropy_normalized),
        "s": _short(row.entropy_top3),
        **_probabilities(
            round_.draft_probs[position] if kept else None, row.drafted_logprob if kept else row.replacement_logprob
        ),
    }


def _probabilities(draft: float | None, target_logprob: float | None) -> dict[str, float]:
    found = {"q": draft, "p": None if target_logprob is None else math.exp(target_logprob)}
    return {name: _short(value) for name, value in found.items() if value is not None}


def _short(value: float) -> float:
    """Four significant digits; whole numbers without a point."""
    short = float(f"{value:.4g}")
    return int(short) if short == int(short) else short
