"""A run on a terminal: verdicts as colour and mark, rounds as letters, the summary. Plain when not a terminal."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TextIO

from explorer.analysis.loosened import loosened
from explorer.analysis.metrics import Summary
from explorer.pieces import text_of
from explorer.trace import Round, Seconds, Trace
from explorer.verdicts import LETTERS, Verdict

# By kind of token: the attribute that marks it, its word, its colour. Most tokens are exact, so those are left as they are.
MARKS = {
    "exact": ("", "plain", ""),
    "deferred": ("4", "underlined", "33"),
    "relaxed": ("4", "underlined", "33"),
    "correction": ("1", "bold", "35"),
    "bonus": ("3", "italic", "34"),
}
CONTEXT_TOKENS = 6  # of each text shown where two part
SHOWN = 12  # loosened tokens listed in the summary
_CONTROL = {code: None for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\t"}


def styles_for(stream: TextIO, environment: Mapping[str, str]) -> dict[str, str]:
    """What begins each kind of token on this stream: nothing but on a terminal that can show it; with NO_COLOR marks alone."""
    if not stream.isatty() or environment.get("TERM") == "dumb":
        return {}
    colourless = bool(environment.get("NO_COLOR"))
    styles = {kind: mark if colourless else f"{mark};{colour}" for kind, (mark, _, colour) in MARKS.items()}
    return {kind: f"\033[{style}m" for kind, style in styles.items() if style.strip(";")}


class Printer:
    """Prints a run while it is made: one decoder over the whole output, so that split characters come out whole.

    styles: what begins each kind of token. Text that may be the beginning of a stop string is held back until it is clear that
    it is not.
    """

    def __init__(
        self,
        vocabulary: Mapping[int, bytes],
        stop_ids: frozenset[int],
        styles: Mapping[str, str],
        stop_strings: Sequence[str] = (),
    ):
        self._vocabulary, self._stop_ids, self._styles, self._stops = vocabulary, stop_ids, styles, stop_strings
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held: list[tuple[str, str]] = []  # characters not yet printed, with what their token is
        self._kinds: set[str] = set()  # printed so far

    @property
    def key(self) -> str:
        """What the marks that were printed mean; empty where there are none."""
        if not self._styles:
            return ""
        kinds = [kind for kind in MARKS if kind in self._kinds]
        return "key: " + ", ".join(f"{self._styled(kind, kind)} {MARKS[kind][1]}" for kind in kinds)

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
        groups = [
            (kind, "".join(char for char, _ in group)) for kind, group in groupby(released, key=lambda item: item[1])
        ]
        self._kinds.update(kind for kind, _ in groups)
        return "".join(self._styled(kind, text.translate(_CONTROL)) for kind, text in groups)

    def _styled(self, kind: str, text: str) -> str:
        return f"{self._styles[kind]}{text}\033[0m" if kind in self._styles else text


def letters(verdicts: Iterable[Verdict]) -> str:
    """The verdicts of one draft, a letter each; - for no draft."""
    return "".join(LETTERS[verdict] for verdict in verdicts) or "-"


def letter_key(shown: Collection[Verdict]) -> str:
    """What the letters of these verdicts mean."""
    return "letters: " + ", ".join(f"{letter} {verdict}" for verdict, letter in LETTERS.items() if verdict in shown)


def round_lines(trace: Trace) -> list[str]:
    """Every round in letters, with the text that it adds, and the key."""
    lines = [
        f"round {index}: {letters(round_.verdicts)}  {text_of(round_.emitted, trace.vocabulary)!r}"
        for index, round_ in enumerate(trace.rounds, 1)
    ]
    return [*lines, letter_key({verdict for round_ in trace.rounds for verdict in round_.verdicts})]


def summary_text(summary: Summary, trace: Trace) -> str:
    """The figures of a run, for stderr."""
    plural = "" if summary.passes == 1 else "es"
    lines = [
        f"{summary.tokens} tokens in {summary.passes} target pass{plural}, stopped by {trace.stop.reason.replace('_', ' ')}",
        f"tau {_number(summary.tau)} (the target's own token counted), kept per round {_number(summary.kept_per_round)}",
    ]
    if summary.drafted:
        lines.append(f"drafted {summary.drafted} = {counts_text(summary.counts, ' + ')}")
        lines += _loosened_lines(trace)
    if trace.config.phrases:
        lines.append(f"from the phrase pool {summary.from_phrases} kept tokens; {summary.phrases} phrases tried")
    if trace.config.drafts_trees:
        share = "-" if summary.kept_of_verified is None else f"{summary.kept_of_verified:.1%}"
        lines.append(
            f"trees of {summary.verified} nodes verified, {share} of them kept: the drafts are the paths chosen from them"
        )
    seconds = trace.seconds
    lines += [
        f"seconds: {_phases(seconds)}; in model forwards {seconds.forwards:.2f} of {seconds.total:.2f}",
        f"speed {_number(summary.tokens_per_second)} tokens/s after the prefill (measured, {trace.provenance.device})",
    ]
    if summary.overlapped_tokens_per_second:
        lines.append(
            f"speed {_number(summary.overlapped_tokens_per_second)} tokens/s (modelled: draft and target at once, each on a device "
            "of this speed, messages free)"
        )
    if trace.baseline:
        lines += _baseline_lines(summary, trace)
    return "\n".join(lines)


def _loosened_lines(trace: Trace) -> list[str]:
    """The first of the tokens that a loose rule kept, each beside the target's own."""
    tokens, measure = loosened(trace), trace.config.entropy
    deferred = trace.config.rule == "fly"
    lines = [
        f"  {'deferred' if deferred else 'relaxed'} {_quoted(one.kept)} for the target's {_quoted(one.choice)} "
        + (
            f"(entropy {getattr(one, f'entropy_{measure}'):.2f})"
            if deferred
            else f"(probability {one.kept_prob:.2f}, of its own {one.choice_prob:.2f})"
        )
        for one in tokens[:SHOWN]
    ]
    more = len(tokens) - SHOWN
    return lines + ([f"  and {more} more: `deferred` lists those of a record"] if more > 0 else [])


def _baseline_lines(summary: Summary, trace: Trace) -> list[str]:
    """The run beside plain greedy. A drawn text leaves it by chance, which says nothing about the rule."""
    drawn, compared = trace.config.temperature > 0, min(summary.tokens, len(trace.baseline.ids))
    if summary.divergence is None:
        where = f"no divergence from plain greedy in {compared} tokens"
    else:
        here = slice(summary.divergence, summary.divergence + CONTEXT_TOKENS)
        ours, theirs = (_quoted(text_of(ids[here], trace.vocabulary)) for ids in (trace.output_ids, trace.baseline.ids))
        where = (
            f"drawn at temperature {trace.config.temperature:g}: by chance another text than plain greedy"
            if drawn
            else "first divergence from plain greedy"
        )
        where += f" at token {summary.divergence + 1} of {compared}: {ours}, plain greedy {theirs}"
    return [
        f"plain greedy {_number(summary.baseline_tokens_per_second)} tokens/s after the prefill (measured), "
        f"speed-up {_number(summary.speedup)}x",
        where,
        f"mean target log-probability per token {summary.mean_logprob:.3f}, plain greedy {summary.baseline_mean_logprob:.3f} (nats)"
        + (": a drawn text is expected to lie below" if drawn else ""),
    ]


def counts_text(counts: Mapping[Verdict, int], between: str) -> str:
    """Drafted tokens by verdict; the reasons of refusals in brackets, where there are any but the exact rule's."""
    refused = {verdict: counts[verdict] for verdict in Verdict if verdict.is_rejected and counts[verdict]}
    reasons = ", ".join(f"{verdict.removeprefix('rejected:')} {n}" for verdict, n in refused.items())
    parts = [f"exact {counts[Verdict.EXACT]}", f"deferred {counts[Verdict.DEFERRED]}"]
    if counts[Verdict.RELAXED]:
        parts.append(f"relaxed {counts[Verdict.RELAXED]}")
    parts.append(f"rejected {sum(refused.values())}{f' ({reasons})' if refused.keys() - {Verdict.REJECTED} else ''}")
    return between.join([*parts, f"discarded {counts[Verdict.DISCARDED]}"])


def _quoted(text: str) -> str:
    """Text in quotes on one line, without what would move a terminal's cursor."""
    return '"' + text.replace("\n", "\\n").translate(_CONTROL) + '"'


def _phases(seconds: Seconds) -> str:
    phases = {name: getattr(seconds, name) for name in ("prefill", "draft", "preverify", "verify", "other")}
    return ", ".join(f"{name} {value:.2f}" for name, value in phases.items() if value >= 0.005)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
