"""The table of a target's forms: what each costs in fidelity, and what it takes. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.analysis.markdown import markdown_table

ROWS = (1, 2, 3, 5, 9, 17)  # of the timed passes: the last committed token and drafts of 0 to 16


@dataclass(frozen=True, slots=True)
class FormLine:
    """One form of a target. Measured along float32's own greedy text, token by token, but for speed and ids, which are of the
    form's own greedy text."""

    form: str
    stored: str  # how weights are kept: some may be in more bits than the form says
    fidelity: float  # mean log-probability per token above float32's, nats
    divergence: float  # mean KL(float32 || form) per token, nats
    agreement: float  # share of tokens that are the form's choice as well
    same_ids: int  # prompts whose greedy text is float32's
    prompts: int
    tokens_per_second: float  # plain greedy, prefill included; median over passes
    pass_milliseconds: dict[str, float]  # of a target pass, by its rows
    draft_milliseconds: float  # of a draft step
    weight_bytes: int  # of the target
    peak_bytes: int  # of a process that loads the pair in this form and does all this; 0 where the system does not say


def form_table(lines: Sequence[FormLine]) -> str:
    """The lines as a Markdown table."""
    passes = f"ms of a pass over {' / '.join(map(str, ROWS))} rows"
    head = ["target", "tokens/s", "nats/token", "KL, nats", "agreement", "same ids", passes, "weights", "peak memory"]
    body = [
        [
            f"{one.form} ({one.stored})" if one.form != one.stored else one.form,
            f"{one.tokens_per_second:.1f}",
            f"{one.fidelity:+.4f}",
            f"{one.divergence:.4f}",
            f"{one.agreement:.1%}",
            f"{one.same_ids}/{one.prompts}",
            " / ".join(f"{one.pass_milliseconds[str(rows)]:.1f}" for rows in ROWS),
            f"{one.weight_bytes / 1e6:.0f} MB",
            f"{one.peak_bytes / 1e6:.0f} MB" if one.peak_bytes else "-",
        ]
        for one in lines
    ]
    return markdown_table(head, body)


def form_origin(record: dict) -> str:
    """On what a table of forms was measured."""
    what = record["provenance"]
    return (
        f"Measured: {what['pair']}, {record['forms'][0]['prompts']} prompts, {record['config']['max_new_tokens']} tokens each, "
        f"{what['device']}, {what['date'][:10]}, one process for each form. nats/token, KL and agreement: along float32's own greedy "
        "text. Memory: target, draft and libraries."
    )
