"""The tokens that a loose rule kept against the target's choice, in context, for a person to judge: harmless, doubtful or wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from explorer.analysis.markdown import markdown_table
from explorer.analysis.metrics import kept_emitted
from explorer.pieces import piece_of, text_of
from explorer.trace import Trace

AROUND = 6  # tokens of context on either side


@dataclass(frozen=True, slots=True)
class Loosened:
    """One kept mismatch in the output. Probabilities are the target's; entropies as in the trace's rows."""

    round: int  # 0-based
    position: int  # 0-based, in the draft
    before: str
    kept: str
    choice: str  # what the target would have written
    after: str  # what followed the kept token in the output
    kept_prob: float
    choice_prob: float
    entropy_normalized: float
    entropy_top3: float


def loosened(trace: Trace) -> list[Loosened]:
    """Every kept mismatch of the output, in reading order, with six tokens of text on either side."""
    found, output = [], list(trace.output_ids)
    start = 0
    for index, round_ in enumerate(trace.rounds):
        for position, verdict in enumerate(round_.verdicts[: kept_emitted(round_)]):
            if verdict.is_loosened:
                row, place = round_.rows[position], start + position
                found.append(
                    Loosened(
                        round=index,
                        position=position,
                        before=text_of(output[max(place - AROUND, 0) : place], trace.vocabulary),
                        kept=piece_of(trace.vocabulary[output[place]]).label,
                        choice=piece_of(trace.vocabulary[round_.replacement[position]]).label,
                        after=text_of(output[place + 1 : place + 1 + AROUND], trace.vocabulary),
                        kept_prob=math.exp(row.drafted_logprob),
                        choice_prob=math.exp(row.replacement_logprob),
                        entropy_normalized=row.entropy_normalized,
                        entropy_top3=row.entropy_top3,
                    )
                )
        start += len(round_.emitted)
    return found


def loosened_table(tokens: Iterable[Loosened]) -> str:
    """The tokens as a Markdown table: text with the kept token in bold, the target's own choice, probabilities, entropy."""
    head = ["in context", "the target's choice", "p(kept)", "p(choice)", "entropy"]
    body = [
        [
            f"{_quoted(one.before)}**{_quoted(one.kept)}**{_quoted(one.after)}",
            _quoted(one.choice),
            f"{one.kept_prob:.2f}",
            f"{one.choice_prob:.2f}",
            f"{one.entropy_normalized:.3f}",
        ]
        for one in tokens
    ]
    return markdown_table(head, body)


def _quoted(text: str) -> str:
    """Text as it was written, in a cell: spaces kept, nothing in it read as markup."""
    shown = text.replace("\n", "⏎").replace("`", "'")
    return f"`{shown}`" if shown else ""
