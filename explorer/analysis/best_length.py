"""How long drafts should be at given costs, estimated from one recorded run; twin: explorer/ui/web/twins/costs.js."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.analysis.costs import CostProfile, Work, total
from explorer.trace import Round, Trace, judge_rows


@dataclass(frozen=True, slots=True)
class LengthEstimate:
    """Drafts of at most this many tokens: what a round would commit, and how fast that is. 0 is plain greedy."""

    length: int
    tokens_per_round: float
    times_plain: float  # modelled


def length_estimates(trace: Trace, profile: CostProfile) -> list[LengthEstimate]:
    """Every draft length up to the longest of the run, each round's draft cut to it and judged again on its own recorded text.

    An estimate: a run with shorter drafts would begin its rounds elsewhere. Empty for a run without drafts, and for trees, candidate
    phrases and PEARL's schedule, whose rounds a cut would change.
    """
    rounds = trace.rounds
    longest = max((len(round_.drafted) for round_ in rounds), default=0)
    if not longest or any(round_.tree or round_.branches or round_.ahead for round_ in rounds):
        return []
    found = []
    for length in range(longest + 1):
        tokens = len(rounds) + sum(_accepted(trace, round_, length) for round_ in rounds)
        work = total(_work(round_, length) for round_ in rounds)
        found.append(LengthEstimate(length, tokens / len(rounds), profile.times_plain(tokens, work)))
    return found


def best_length(estimates: Sequence[LengthEstimate]) -> LengthEstimate | None:
    """The fastest, of equals the shortest."""
    return max(estimates, key=lambda one: (one.times_plain, -one.length), default=None)


def _accepted(trace: Trace, round_: Round, length: int) -> int:
    cut = slice(0, length)
    rows = round_.rows[:-1][cut]
    return judge_rows(round_.match[cut], rows, round_.protected[cut], trace.config, round_.vocab_size).accepted


def _work(round_: Round, length: int) -> Work:
    sources = round_.sources[:length]
    return Work(sum(source in ("model", "features") for source in sources), 0, {len(sources) + 1: 1})
