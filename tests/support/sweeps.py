"""Sweeps written by hand: runs, passes and prompts of four points."""

import dataclasses

from explorer.analysis.costs import Work, total
from explorer.analysis.loosened import Loosened
from explorer.config import DecodeConfig
from explorer.prompts import PromptItem
from explorer.sweep.record import Pass, PromptRuns, Run, Sweep
from explorer.trace import Provenance, Seconds

PLAIN = DecodeConfig(rule="autoregressive")
EXACT = DecodeConfig(rule="exact", draft_length=4)
LOOSE = DecodeConfig(rule="fly", theta=0.1, window=2, draft_length=4)
LOOSER = DecodeConfig(rule="fly", theta=0.0, window=1, draft_length=4)
WHERE = Provenance(
    "=hand", "t", "d", {"target": "t", "draft": "d"}, {"target": "float32", "draft": "float32"}, "CPU", 1, {"torch": "2"},
    "2026-01-01T00:00:00+00:00",
)  # fmt: skip
TOKEN = Loosened(0, 1, "a", "b", "c", "d", 0.4, 0.5, 0.3, 0.6)


def run(points, ids, drafted, kept, logprob, loosened=0, right=None, steps=True) -> Run:
    """drafted: tokens of each round; steps: whether a model drafts them, one by one."""
    work = total(Work(drafts * steps, 0, {drafts + 1: 1}) for drafts in drafted)
    loose = (TOKEN,) * loosened
    return Run(tuple(points), tuple(ids), "text", "budget", sum(drafted), work, kept, logprob, loose, right)


def pass_(points, drafted, draft=0.0, verify=1.0, prefill=0.0) -> Pass:
    """One that took no time to draft took no step."""
    seconds = Seconds(prefill=prefill, draft=draft, verify=verify, forwards=draft + verify)
    return Pass(tuple(points), drafted, Work(drafted if draft else 0, 0, {drafted + 1: 1}), seconds)


def prompt(index=0, right=(True, True, True), logprobs=(-4.0, -4.4, -8.0)) -> PromptRuns:
    """Eight tokens: plain greedy takes 8 passes, exact 4, theta 0.1 two (one token differs), theta 0 one (all differ)."""
    runs = (
        run([0], range(8), [0] * 8, 0, logprobs[0], right=right[0]),
        run([1], range(8), [4, 4, 4, 2], 4, logprobs[0], right=right[0]),
        run([2], [*range(5), 50, 6, 7], [4, 4], 6, logprobs[1], 1, right[1]),
        run([3], range(50, 58), [4], 4, logprobs[2], 3, right[2]),
    )
    passes = (
        *[pass_([0], 0)] * 8,
        pass_([1, 2, 3], 4, 1.0, 1.0, prefill=5.0),
        *[pass_([1], 4, 1.0, 1.0)] * 2,
        pass_([1], 2, 0.5, 1.0),
        pass_([2], 4, 1.0, 1.0),
    )
    return PromptRuns(index, PromptItem("Say it.", answer="text"), 3, runs, passes)


def with_rounds(one, *drafted) -> Run:
    """The same text in other rounds."""
    return dataclasses.replace(one, drafted=sum(drafted), work=total(map(Work.of_round, drafted)))


def sweep(*prompts, points=(PLAIN, EXACT, LOOSE, LOOSER), **changes) -> Sweep:
    return Sweep(WHERE, tuple(points), prompts or (prompt(),), **changes)
