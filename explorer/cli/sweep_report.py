"""A sweep in Markdown: its points, what it cost, the point to choose and what that loosens. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.costs import CostProfile
from explorer.analysis.loosened import loosened_table
from explorer.sweep.points import Limit, Point, markdown, recommend
from explorer.sweep.record import Sweep

SHOWN = 30  # loosened tokens printed; the file holds all


def report(sweep: Sweep, points: Sequence[Point], limit: Limit, costs: CostProfile | None = None) -> str:
    """The sweep in Markdown: all points, what the sweep cost, the choice and the tokens it loosens. costs: as of points_of."""
    choice, cost = recommend(points, limit), sweep.cost
    where = sweep.provenance
    parts = [
        markdown(points),
        f"{where.pair}, {len(sweep.prompts)} prompt{'s' if len(sweep.prompts) > 1 else ''}{' (stopped early)' if sweep.partial else ''}, at most "
        f"{sweep.points[0].max_new_tokens} tokens each, target {where.dtype['target']}, draft {where.dtype['draft']}, "
        f"{where.device}, {where.date[:10]}. Ids, log-probabilities and answers: measured. Speeds: modelled "
        f"{'at the costs of ' + costs.name if costs else 'from the rounds of this sweep'}, prefill apart.",
        f"Cost: {cost.passes} target passes and {cost.drafted} drafted tokens for {cost.points} points; separate runs make "
        f"{cost.separate_passes} and {cost.separate_drafted}. {cost.seconds:.1f} s (measured) against {cost.separate_seconds:.1f} s "
        f"(modelled: every pass as often as separate runs make it): {cost.ratio:.2f}.",
        "**Chosen: " + choice.point.name + "**\n" + "\n".join(f"- {reason}" for reason in choice.reasons),
    ]
    if sweep.measured and not costs:  # what was measured here tells nothing of another machine
        parts.append(_run_again_text(sweep, points))
    if choice.refused:
        parts.append(
            "Faster, but outside the limit:\n"
            + "\n".join(f"- {point.name}: {'; '.join(map(str, reasons))}" for point, reasons in choice.refused)
        )
    loosened = [token for prompt in sweep.prompts for token in prompt.run(choice.point.index).loosened]
    if loosened:
        shown = f", the first {SHOWN}" if len(loosened) > SHOWN else ""
        parts.append(f"Tokens it loosens ({len(loosened)}{shown}):\n\n" + loosened_table(loosened[:SHOWN]))
    return "\n\n".join(parts)


def _run_again_text(sweep: Sweep, points: Sequence[Point]) -> str:
    """The measured speeds beside the modelled ones."""
    plain = next(one for one in sweep.measured if one.point == 0)
    lines = []
    for one in sweep.measured:
        point, times = points[one.point], one.tokens_per_second / plain.tokens_per_second
        lines.append(
            f"- {point.name}: {one.tokens_per_second:.1f} tokens/s, {times:.2f} times plain greedy (measured); modelled "
            f"{point.tokens_per_second:.1f} ({one.tokens_per_second / point.tokens_per_second - 1:+.1%}) and "
            f"{point.times_plain:.2f} ({times / point.times_plain - 1:+.1%}); the sweep's ids on {one.same_ids} of "
            f"{one.prompts} prompts"
        )
    return "Run again, prompt by prompt in turn:\n" + "\n".join(lines)
