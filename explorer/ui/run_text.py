"""A trace as the text of a finished run, its last line with the figures. Pure: a trace in, plain data out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from explorer import wire
from explorer.analysis.metrics import Summary, summarize
from explorer.pieces import text_of
from explorer.trace import Trace

CONTEXT_TOKENS = 6  # of each text shown at a divergence


def title_of(pair: str, titles: Mapping[str, str]) -> str:
    """What a pair is called: its title, or its name where it has none; a pair without a name is TARGET,DRAFT."""
    return titles.get(pair, pair.replace(",", " / "))


def run_text(run: str, title: str, trace: Trace, here: bool, imported: bool = False) -> str:
    """A whole trace as the text of a finished run. here: whether this machine can run its pair."""
    encoder = wire.RunEncoder(trace.vocabulary, frozenset(trace.stop_ids))
    pair, prompt = trace.provenance.pair, wire.question(trace.prompt)
    head = wire.header(run, pair, title, prompt, trace.config, trace.provenance, here, imported)
    return "".join([head, *map(encoder.round, trace.rounds), encoder.tail(), wire.line(end_event(trace))])


def end_event(trace: Trace) -> dict[str, Any]:
    """The `end` event of the run view."""
    summary = summarize(trace)
    return {
        "end": trace.stop.reason,
        "partial": trace.partial,
        "provenance": wire.origin(trace.provenance),
        "summary": {
            "tokens": summary.tokens,
            "passes": summary.passes,
            "tau": summary.tau,
            "kept": summary.kept,
            "kept_per_round": summary.kept_per_round,
            "drafted": summary.drafted,
            "counts": {str(verdict): count for verdict, count in summary.counts.items() if count},
            "speed": summary.tokens_per_second,
            "device": trace.provenance.device,
            "seconds": asdict(trace.seconds),
            **_of_drafting(trace, summary),
            **_against_baseline(trace, summary),
        },
    }


def _of_drafting(trace: Trace, summary: Summary) -> dict[str, Any]:
    """What only runs with candidate phrases, with trees, or with PEARL's schedule have."""
    found: dict[str, Any] = {}
    if summary.phrases:
        found |= {"phrases": summary.phrases, "from_phrases": summary.from_phrases}
    if trace.config.drafts_trees and summary.verified:
        found |= {"nodes": summary.verified, "kept_of_nodes": summary.kept_of_verified}
    if summary.overlapped_tokens_per_second is not None:
        found["overlapped_speed"] = summary.overlapped_tokens_per_second
    return found


def _against_baseline(trace: Trace, summary: Summary) -> dict[str, Any]:
    if trace.baseline is None:
        return {}
    fidelity: dict[str, Any] = {"compared": min(summary.tokens, len(trace.baseline.ids))}
    if summary.divergence is not None:
        here = slice(summary.divergence, summary.divergence + CONTEXT_TOKENS)
        fidelity |= {
            "index": summary.divergence + 1,  # counted from 1, for a person
            "ours": text_of(trace.output_ids[here], trace.vocabulary),
            "theirs": text_of(trace.baseline.ids[here], trace.vocabulary),
        }
    return {
        "speedup": summary.speedup,
        "baseline_speed": summary.baseline_tokens_per_second,
        "baseline_tokens": len(trace.baseline.ids),
        "logprob": summary.mean_logprob,
        "baseline_logprob": summary.baseline_mean_logprob,
        "fidelity": fidelity,
    }
