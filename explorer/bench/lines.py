"""The benchmark's table: measurements pooled into lines, and what the table has no column for in words.

Speeds are pooled over the prompts of a pass, and the median over passes is shown.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.analysis.costs import Work, total
from explorer.analysis.markdown import markdown_table
from explorer.analysis.metrics import kept_emitted, overlapped_seconds
from explorer.bench.measured import (
    EXACT,
    EXACT_WITH_LOOKUP,
    PLAIN,
    TREE_NODES,
    WARM,
    Measured,
    is_exact,
    is_plain,
    row_name,
)
from explorer.messages import Message
from explorer.trace import Round, Seconds
from explorer.verdicts import Verdict

LOOSENED = [verdict for verdict in Verdict if verdict.is_loosened]
PHASES = ("prefill", "draft", "preverify", "verify", "other")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table. Speeds in tokens per second, measured, pooled over prompts; median over passes."""

    row: str
    tokens_per_second: float
    slowest_pass: float
    fastest_pass: float
    times_plain: float  # median over passes of the ratio within a pass
    times_fastest: (
        float | None
    )  # likewise, against the fastest plain row of the target in the table; None in older files
    tau: float | None  # None where no target is in the loop
    same_ids: int  # prompts whose ids equal plain greedy's
    prompts: int
    limit: float | None  # tokens per second if only model forwards took time
    overhead: float | None  # share of wall outside model forwards
    loosened: float | None  # share of emitted tokens that are kept mismatches
    fidelity: float | None  # mean target log-probability per token above that of plain greedy's own text, nats
    times_plain_by_kind: dict[str, float]  # kind of prompt -> as times_plain
    from_phrases: float | None  # share of emitted tokens that a phrase gave; None without phrases
    kept_of_nodes: float | None  # share of a tree's verified nodes that are in the output; None without trees
    overlapped: (
        float | None
    )  # tokens per second *modelled* for PEARL's schedule on two devices, prefill apart (metrics.py)
    seconds: Seconds | None  # summed over the last pass, as are the next two
    tokens: int  # emitted
    work: Work | None


def pooled(passes: list[dict[str, list[Measured]]], kinds: list[str]) -> list[Line]:
    """The lines of all rows; passes: what each row gave for each prompt, a pass each; kinds: of the prompts."""
    by_row = {row: [one[row] for one in passes] for row in passes[0]}
    fastest = max((row for row in by_row if is_plain(row)), key=lambda row: _median_speed(by_row[row]))
    return [line(row, measured, by_row[PLAIN], kinds, by_row[fastest]) for row, measured in by_row.items()]


def line(
    row: str,
    passes: list[list[Measured]],
    plain: list[list[Measured]],
    kinds: list[str],
    fastest: list[list[Measured]] | None = None,
) -> Line:
    """Pool one row's measurements, one list a pass, one entry a prompt; `plain` holds the same of plain greedy, `fastest` that
    of the fastest plain row of the target (None: plain greedy)."""

    def times(references: list[list[Measured]], chosen: list[int]) -> float:
        return statistics.median(
            _speed([one[i] for i in chosen]) / _speed([reference[i] for i in chosen])
            for one, reference in zip(passes, references)
        )

    everything = list(range(len(kinds)))
    speeds = [_speed(one) for one in passes]
    last = passes[-1]
    tokens, wall = sum(len(m.ids) for m in last), sum(m.wall for m in last)
    ours, target_passes = all(m.rounds for m in last), sum(m.passes for m in last)
    seconds = sum((m.seconds for m in last), Seconds()) if ours else None
    rounds = [round_ for m in last for round_ in m.rounds]
    kinds_emitted = [kind for round_ in rounds for kind in round_.emitted_kinds]
    return Line(
        row=row,
        tokens_per_second=_median_speed(passes),
        slowest_pass=min(speeds),
        fastest_pass=max(speeds),
        times_plain=times(plain, everything),
        times_fastest=times(fastest or plain, everything),
        from_phrases=_from_phrases(rounds) / tokens if any(round_.branches for round_ in rounds) else None,
        kept_of_nodes=_kept_of_nodes(rounds) if any(round_.tree for round_ in rounds) else None,
        overlapped=(
            tokens / overlapped_seconds(round_.seconds for round_ in rounds)
            if any(round_.ahead for round_ in rounds)
            else None
        ),
        times_plain_by_kind={
            kind: times(plain, [i for i in everything if kinds[i] == kind]) for kind in dict.fromkeys(kinds)
        },
        tau=tokens / target_passes if target_passes else None,
        same_ids=sum(m.ids == reference.ids for m, reference in zip(last, plain[-1])),
        prompts=len(last),
        limit=tokens / seconds.forwards if seconds else None,
        overhead=1 - seconds.forwards / wall if seconds else None,
        loosened=sum(map(kinds_emitted.count, LOOSENED)) / tokens if ours else None,
        fidelity=_mean_logprob(last) - _mean_logprob(plain[-1]) if all(m.logprobs for m in last) else None,
        seconds=seconds,
        tokens=tokens,
        work=total(work for m in last for work in m.works) if all(m.works for m in last) else None,
    )


# The columns of a table of lines, by their heads.
COLUMNS: dict[str, Callable[[Line], str]] = {
    "row": lambda one: one.row,
    "tokens/s": lambda one: f"{one.tokens_per_second:.1f}",
    "tokens/s (min-max)": lambda one: f"{one.tokens_per_second:.1f} ({one.slowest_pass:.1f}-{one.fastest_pass:.1f})",
    "x plain": lambda one: f"{one.times_plain:.2f}",
    "x fastest": lambda one: _cell(one.times_fastest, ".2f"),
    "tau": lambda one: _cell(one.tau, ".2f"),
    "same ids": lambda one: f"{one.same_ids}/{one.prompts}",
    "loosened": lambda one: _cell(one.loosened, ".1%"),
    "nats/token": lambda one: _cell(one.fidelity, "+.3f"),
    "prefill / draft / pre-verify / verify / other, s": lambda one: _phases(one.seconds),
    "limit": lambda one: _cell(one.limit, ".1f"),
    "overhead": lambda one: _cell(one.overhead, ".1%"),
}


def table(lines: Sequence[Line], columns: Sequence[str] = tuple(name for name in COLUMNS if name != "tokens/s")) -> str:
    """The lines as a Markdown table; columns: their heads, of COLUMNS, as far as they tell anything."""
    columns = telling(columns, lines)
    return markdown_table(columns, [[COLUMNS[column](one) for column in columns] for one in lines])


def telling(columns: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """These columns without `x fastest` where it says what `x plain` does: plain greedy is the fastest plain row."""
    repeats = all(one.times_fastest in (None, one.times_plain) for one in lines)
    return [column for column in columns if not (repeats and column == "x fastest")]


def _phases(seconds: Seconds | None) -> str:
    return " / ".join(f"{getattr(seconds, name):.1f}" for name in PHASES) if seconds else "-"


def kind_table(lines: list[Line]) -> str:
    """Times plain greedy by kind of prompt, as a Markdown table."""
    kinds = list(lines[0].times_plain_by_kind)
    body = [[one.row, *(f"{one.times_plain_by_kind[kind]:.2f}" for kind in kinds)] for one in lines]
    return markdown_table(["x plain", *kinds], body)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def payoff(lines: Sequence[Line]) -> Message | None:
    """Whether the fastest exact row beats the fastest plain row of the target; None where either was not run, and in files
    from before targets had forms."""
    exact = [one for one in lines if is_exact(one.row) and one.times_fastest is not None]
    plains = [one for one in lines if is_plain(one.row)]
    if not exact or not plains:
        return None
    best, plain = (max(rows, key=lambda one: one.tokens_per_second) for rows in (exact, plains))
    pays = best.tokens_per_second > plain.tokens_per_second
    values = {
        "exact": best.row,
        "speed": f"{best.tokens_per_second:.1f}",
        "plain": plain.row,
        "plain_speed": f"{plain.tokens_per_second:.1f}",
    }
    return Message("bench.pays" if pays else "bench.does_not_pay", values)


def notes(lines: list[Line]) -> list[str]:
    """What the table has no column for: what `x fastest` is against and whether speculation pays, shares of phrases and what
    they may hide, of trees, PEARL's modelled speed."""
    told = [
        f"x fastest is against {one.row}, the fastest plain row of the target here."
        for one in lines
        if is_plain(one.row) and one.times_fastest == 1 != one.times_plain
    ]
    told += [str(message) for message in [payoff(lines)] if message]
    told += [
        f"{one.row}: {one.from_phrases:.1%} of the emitted tokens come from the phrase pool."
        for one in lines
        if one.from_phrases is not None
    ]
    told += [
        f"{one.row}: trees of at most {TREE_NODES} nodes, of which {one.kept_of_nodes:.1%} were kept."
        for one in lines
        if one.kept_of_nodes is not None
    ]
    if any(one.row.startswith(WARM) for one in lines):
        told.append(
            "A warm pool goes on from prompt to prompt within a pass, so what answers have in common leaks into the next; a cold "
            "pool begins empty."
        )
    return told + [
        f"{one.row}: {one.overlapped:.1f} tokens/s modelled (prefill apart) if draft and target ran at once, each on a device of this "
        "speed, messages free."
        for one in lines
        if one.overlapped is not None
    ]


def _kept_of_nodes(rounds: list[Round]) -> float:
    return sum(map(kept_emitted, rounds)) / sum(round_.verified for round_ in rounds)


def _from_phrases(rounds: list[Round]) -> int:
    return sum(round_.sources[: kept_emitted(round_)].count("phrase pool") for round_ in rounds)


def drafts_that_differ(one_pass: dict[str, list[Measured]], length: int) -> tuple[int, int]:
    """How often lookup inside the draft model changes what is drafted after the same text: (differing, compared).

    Never in float32; a quantized draft rounds a forward over several tokens differently from one over one.
    """
    alone, accelerated = (one_pass.get(row_name(name, length), []) for name in (EXACT, EXACT_WITH_LOOKUP))
    both = [
        (a.drafts[place], b.drafts[place])
        for a, b in zip(alone, accelerated)
        for place in a.drafts.keys() & b.drafts.keys()
    ]
    return sum(a != b for a, b in both), len(both)


def _mean_logprob(measured: list[Measured]) -> float:
    return statistics.fmean(value for m in measured for value in m.logprobs)


def _median_speed(passes: list[list[Measured]]) -> float:
    return statistics.median(map(_speed, passes))


def _speed(measured: list[Measured]) -> float:
    return sum(len(m.ids) for m in measured) / sum(m.wall for m in measured)
