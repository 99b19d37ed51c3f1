"""The figures of one run, all derived from its trace.

Words: *tau* counts the target's own token of each round, *kept per round* does not. Both are counted after cutting at a
stop or the budget. A speed is *measured* only where it was timed while the run was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.trace import Round, Seconds, Trace
from explorer.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Summary:
    """One run in figures; times in seconds, speeds in tokens per second of decoding (prefill apart)."""

    tokens: int
    passes: int  # target passes = rounds
    drafted: int
    counts: dict[Verdict, int]  # of drafted tokens, every verdict listed
    kept: int  # drafted tokens in the output
    loosened: int  # kept mismatches in the output
    tokens_per_second: float | None
    baseline_tokens_per_second: float | None
    mean_logprob: float | None  # of the target, per token of the output
    baseline_mean_logprob: float | None
    divergence: int | None  # index of the first token that differs from the target's own greedy text
    verified: int  # drafted tokens that passes were fed, those of other branches of a tree or pool too
    phrases: int  # candidate phrases tried behind drafts
    from_phrases: int  # kept tokens in the output that a phrase gave
    overlapped_tokens_per_second: float | None  # *modelled*, of PEARL's schedule alone: overlapped_seconds

    @property
    def tau(self) -> float | None:
        return self.tokens / self.passes if self.passes else None

    @property
    def kept_per_round(self) -> float | None:
        return self.kept / self.passes if self.passes else None

    @property
    def kept_of_verified(self) -> float | None:
        """The share of what was verified that is in the output."""
        return self.kept / self.verified if self.verified else None

    @property
    def speedup(self) -> float | None:
        """Against plain greedy decoding of the same prompt by the same engine."""
        if not self.tokens_per_second or not self.baseline_tokens_per_second:
            return None
        return self.tokens_per_second / self.baseline_tokens_per_second


def summarize(trace: Trace) -> Summary:
    """All figures of one trace."""
    rounds, baseline = trace.rounds, trace.baseline
    tokens = len(trace.output_ids)
    logprobs = [value for round_ in rounds for value in round_.emitted_logprobs]
    return Summary(
        tokens=tokens,
        passes=len(rounds),
        drafted=sum(len(round_.drafted) for round_ in rounds),
        counts={verdict: trace.verdict_counts[verdict] for verdict in Verdict},
        kept=sum(kept_emitted(round_) for round_ in rounds),
        loosened=sum(verdict.is_loosened for round_ in rounds for verdict in round_.verdicts[: kept_emitted(round_)]),
        tokens_per_second=_ratio(tokens, trace.seconds.decode),
        baseline_tokens_per_second=_ratio(len(baseline.ids), baseline.seconds.decode) if baseline else None,
        mean_logprob=_ratio(sum(logprobs), len(logprobs)),
        baseline_mean_logprob=_ratio(sum(baseline.logprobs), len(baseline.logprobs)) if baseline else None,
        divergence=first_divergence(trace.output_ids, baseline.ids) if baseline else None,
        verified=sum(round_.verified for round_ in rounds),
        phrases=sum(len(round_.branches) for round_ in rounds),
        from_phrases=sum(round_.sources[: kept_emitted(round_)].count("phrase pool") for round_ in rounds),
        overlapped_tokens_per_second=(
            _ratio(tokens, overlapped_seconds(round_.seconds for round_ in rounds))
            if trace.config.schedule == "pearl" and trace.config.rule != "autoregressive"
            else None
        ),
    )


def overlapped_seconds(rounds: Iterable[Seconds]) -> float:
    """Modelled time of decoding if drafting and verifying of a round ran at once: the longer of the two, and the rest.

    From seconds measured one after the other. Assumes a device for each model, each as fast as it was here alone, and
    messages between them that cost nothing.
    """
    return sum(max(one.draft, one.verify) + one.preverify + one.other for one in rounds)


def kept_emitted(round_: Round) -> int:
    """Kept drafted tokens of a round that are in the output; a stop or the budget may cut some off."""
    return min(round_.accepted, len(round_.emitted))


def first_divergence(ids: Sequence[int], reference: Sequence[int]) -> int | None:
    """Index of the first differing id, None where one is a prefix of the other."""
    return next((index for index, (ours, theirs) in enumerate(zip(ids, reference)) if ours != theirs), None)


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None
