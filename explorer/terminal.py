"""A run on a terminal: verdicts as colour and mark, the summary. Plain when not a terminal."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from itertools import groupby

from explorer.analysis.metrics import Summary
from explorer.trace import Round, Seconds, Trace
from explorer.verdicts import Verdict

# One visual language with the page: a letter for each kind of token, colours that differ in brightness too.
LETTERS = {
    Verdict.EXACT: "E",
    Verdict.DEFERRED: "D",
    Verdict.RELAXED: "L",
    Verdict.STOP: "S",
    Verdict.GATE: "G",
    Verdict.WINDOW: "W",
    Verdict.EDGE: "F",
    Verdict.LIMIT: "T",
    Verdict.REJECTED: "R",
    Verdict.DISCARDED: "·",
}
_STYLES = {"exact": "36", "deferred": "1;33;4", "relaxed": "1;33;4", "correction": "35", "bonus": "2"}
_CONTROL = {code: None for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\t"}


class Printer:
    """Prints a run while it is made: one decoder over the whole output, so that split characters come out whole.

    Text that may be the beginning of a stop string is held back until it is clear that it is not.
    """

    def __init__(
        self, vocabulary: Mapping[int, bytes], stop_ids: frozenset[int], colour: bool, stop_strings: Sequence[str] = ()
    ):
        self._vocabulary, self._stop_ids, self._colour, self._stops = vocabulary, stop_ids, colour, stop_strings
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held: list[tuple[str, str]] = []  # characters not yet printed, with what their token is

    def text(self, round_: Round) -> str:
        """What can be printed after one round, with control characters of the model's own making taken out."""
        for token, kind in zip(round_.emitted, round_.emitted_kinds):
            if token not in self._stop_ids:
                self._held += [(char, kind) for char in self._decoder.decode(self._vocabulary[token])]
        text = "".join(char for char, _ in self._held)
        begun = [text.find(stop) for stop in self._stops if stop in text]
        begun += [at for stop in self._stops for at in range(len(text)) if stop.startswith(text[at:])]
        return self._release(min(begun, default=len(text)))

    def rest(self, stopped_by_string: bool) -> str:
        """What is left when the run is over; after a stop string nothing is."""
        if stopped_by_string:
            return ""
        self._held += [(char, "bonus") for char in self._decoder.decode(b"", final=True)]
        return self._release(len(self._held))

    def _release(self, count: int) -> str:
        released, self._held = self._held[:count], self._held[count:]
        groups = (
            (kind, "".join(char for char, _ in group).translate(_CONTROL))
            for kind, group in groupby(released, key=lambda item: item[1])
        )
        return "".join(f"\033[{_STYLES[kind]}m{text}\033[0m" if self._colour else text for kind, text in groups)


def summary_text(summary: Summary, trace: Trace) -> str:
    """The figures of a run, for stderr."""
    counts, seconds = summary.counts, trace.seconds
    refused = ", ".join(
        f"{verdict.removeprefix('rejected:')} {counts[verdict]}"
        for verdict in Verdict
        if verdict.is_rejected and counts[verdict]
    )
    lines = [
        f"{summary.tokens} tokens in {summary.passes} target passes, stopped by {trace.stop.reason.replace('_', ' ')}",
        f"tau {_number(summary.tau)} (the target's own token counted), kept per round {_number(summary.kept_per_round)}",
        f"drafted {summary.drafted} = exact {counts[Verdict.EXACT]} + {loosened_words(counts)} + rejected "
        f"{sum(n for verdict, n in counts.items() if verdict.is_rejected)}{f' ({refused})' if refused else ''} + discarded {counts[Verdict.DISCARDED]}",
        f"seconds: {_phases(seconds)}; in model forwards {seconds.forwards:.2f} of {seconds.total:.2f}",
        f"speed {_number(summary.tokens_per_second)} tokens/s (measured, {trace.provenance.device})",
    ]
    if trace.config.phrases:
        lines.insert(3, f"from the phrase pool {summary.from_phrases} kept tokens; {summary.phrases} phrases tried")
    if trace.config.drafts_trees:
        share = "-" if summary.kept_of_verified is None else f"{summary.kept_of_verified:.1%}"
        lines.insert(
            3,
            f"trees of {summary.verified} nodes verified, {share} of them kept: the drafts are the paths chosen from them",
        )
    if summary.overlapped_tokens_per_second:
        lines.append(
            f"speed {_number(summary.overlapped_tokens_per_second)} tokens/s (modelled: draft and target at once, each on a device "
            "of this speed, messages free)"
        )
    if trace.baseline:
        lines.append(
            f"plain greedy {_number(summary.baseline_tokens_per_second)} tokens/s (measured), speed-up {_number(summary.speedup)}x"
        )
        where = summary.divergence
        lines.append(
            f"no divergence from plain greedy in {min(summary.tokens, len(trace.baseline.ids))} tokens"
            if where is None
            else f"first divergence from plain greedy at token {where}"
        )
        lines.append(
            f"mean target log-probability per token {summary.mean_logprob:.3f}, plain greedy {summary.baseline_mean_logprob:.3f} (nats)"
        )
    return "\n".join(lines)


def loosened_words(counts: Mapping[Verdict, int]) -> str:
    """How many mismatches were kept: FLy's, and those of other rules where there are any."""
    relaxed = f" + relaxed {counts[Verdict.RELAXED]}" if counts[Verdict.RELAXED] else ""
    return f"deferred {counts[Verdict.DEFERRED]}{relaxed}"


def _phases(seconds: Seconds) -> str:
    return ", ".join(
        f"{name} {getattr(seconds, name):.2f}" for name in ("prefill", "draft", "preverify", "verify", "other")
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
