"""A sweep as a growing text of JSON lines, as explorer/wire.py has it for a run: what explorer/ui/web/tune/tune.js reads. Pure: knows no page.

header   sweep (an id), pair's title, tokens (budget), measure, thetas, windows, lengths, limit [nats, lost],
         points [{name, settings (DecodeConfig by name)}], prompts [{prompt, kind, checkable}]
phase    phase, and optionally a message
passes   passes so far, prompt (1-based, in work), seconds so far, left (seconds, modelled; null: not known)
done     prompts that are through; runs of the last one [{points, text, right, tokens, parts, loosened}]; figures of every point
         over all of them, by column name, with its work [draft steps, scored blocks, [[rows, passes], ..]]; costs: the profile of this
         sweep (analysis/costs.py); sizes of the swept points' rounds [[rows, draft steps of such a round, scored blocks, rounds]]; cost
choice   the recommended point, reasons, refused [[point, reasons]], outside (points beyond the limit), limit [nats, lost]
measured point, speed, times (plain greedy, measured with it), modelled (times plain), same (prompts with the sweep's ids), prompts
end      end (done or stopped), prompts through, device, dtype, date, and ignored where there is any
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from explorer.analysis.loosened import Loosened
from explorer.analysis.metrics import first_divergence
from explorer.config import DecodeConfig
from explorer.prompts import PromptItem
from explorer.schema import write
from explorer.sweep.points import FIGURES, Limit, Point, costs_of, name_of, recommend
from explorer.sweep.record import MeasuredPoint, PromptRuns, Sweep
from explorer.wire import line


def header(sweep: str, title: str, points: Sequence[DecodeConfig], items: Sequence[PromptItem], limit: Limit) -> str:
    """The first line: a new one clears the view."""
    grid = [point for point in points if point.rule == "fly"]
    return line(
        {
            "sweep": sweep,
            "title": title,
            "tokens": points[0].max_new_tokens,
            "measure": grid[0].entropy,
            **{
                name: sorted({getattr(point, knob) for point in grid})
                for name, knob in (("thetas", "theta"), ("windows", "window"), ("lengths", "draft_length"))
            },
            "limit": [limit.nats, limit.lost],
            "points": [{"name": name_of(point), "settings": asdict(point)} for point in points],
            "prompts": [
                {"prompt": item.prompt, "kind": item.kind, "checkable": item.answer is not None} for item in items
            ],
        }
    )


def progress(passes: int, prompt: int, seconds: float, left: float | None) -> str:
    """How far a sweep is, within one prompt."""
    return line({"passes": passes, "prompt": prompt, "seconds": round(seconds, 1), "left": left and round(left, 1)})


def done(sweep: Sweep, points: Sequence[Point]) -> str:
    """What one more prompt adds: its texts, and the figures of all points over the prompts so far."""
    newest = sweep.prompts[-1]
    cost = sweep.cost
    return line(
        {
            "done": len(sweep.prompts),
            "runs": _runs(newest),
            "figures": [
                {figure.name: figure.value(point) for figure in FIGURES}
                | {name: getattr(point, name) for name in ("tokens", "prompts", "checkable", "loosened")}
                | {"work": [point.work.steps, point.work.blocks, list(map(list, point.work.passes.items()))]}
                for point in points
            ],
            "costs": write(costs_of(sweep)),
            "sizes": _sizes(sweep),
            "cost": cost and asdict(cost) | {"ratio": cost.ratio},
        }
    )


def choice(points: Sequence[Point], limit: Limit, language: str = "en") -> str:
    """The recommended point under a limit, why, and what the limit refused, in the reader's language."""
    found = recommend(points, limit)
    return line(
        {
            "choice": found.point.index,
            "reasons": [reason.text(language) for reason in found.reasons],
            "refused": [
                [point.index, [reason.text(language) for reason in reasons]] for point, reasons in found.refused
            ],
            "outside": [point.index for point in points if point.config.rule == "fly" and limit.reasons(point)],
            "limit": [limit.nats, limit.lost],
        }
    )


def measured(one: MeasuredPoint, plain: MeasuredPoint, points: Sequence[Point]) -> str:
    """A point run again for real, beside plain greedy measured with it and what the sweep modelled."""
    return line(
        {
            "measured": {
                "point": one.point,
                "speed": one.tokens_per_second,
                "times": one.tokens_per_second / plain.tokens_per_second,
                "modelled": points[one.point].times_plain,
                "same": one.same_ids,
                "prompts": one.prompts,
            }
        }
    )


def end(sweep: Sweep, reason: str) -> str:
    """The end of a sweep: done, or stopped."""
    where = sweep.provenance
    return line(
        {"end": reason, "through": len(sweep.prompts), "device": where.device, "dtype": where.dtype, "date": where.date}
        | ({"ignored": where.ignored} if where.ignored else {})
    )


def _sizes(sweep: Sweep) -> list[list[float]]:
    """The rounds that were computed for swept points by their rows: what such a round drafts and scores in the mean, and how many there are."""
    swept, by_rows = set(sweep.swept), defaultdict(list)
    for one in (one for prompt in sweep.prompts for one in prompt.passes if swept.intersection(one.points)):
        (rows,) = one.work.passes
        by_rows[rows].append(one.work)
    return [
        [rows, fmean(work.steps for work in works), fmean(work.blocks for work in works), len(works)]
        for rows, works in sorted(by_rows.items())
    ]


def _runs(prompt: PromptRuns) -> list[dict[str, Any]]:
    reference = prompt.run(0).ids
    return [
        {
            "points": run.points,
            "text": run.text,
            "right": run.right,
            "tokens": len(run.ids),
            "parts": first_divergence(run.ids, reference),
            "loosened": [_loosened(one) for one in run.loosened],
        }
        for run in prompt.runs
    ]


def _loosened(one: Loosened) -> list[Any]:
    numbers = (one.kept_prob, one.choice_prob, one.entropy_normalized, one.entropy_top3)
    return [one.before, one.kept, one.choice, one.after, *(float(f"{value:.4g}") for value in numbers)]
