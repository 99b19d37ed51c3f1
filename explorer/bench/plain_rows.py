"""What a user would run instead of speculation: the draft alone, and the target in whichever form is fastest here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from explorer.bench.forms import Model, logprobs_along, pass_seconds
from explorer.bench.measured import PLAIN, Measured
from explorer.bench.rows import Runner, ours
from explorer.config import DecodeConfig
from explorer.engine.models.linears import Form
from explorer.engine.models.packed import PackedModel
from explorer.engine.models.registry import FORMS
from explorer.engine.pair import Pair
from explorer.messages import Message

CLEARLY = 0.95  # of the time of the target's own form: what another has to stay below to count as faster
BITS = {"float32": 32, "int8": 8, "int4": 4}


@dataclass(frozen=True, slots=True)
class FastestForm:
    """The target in the form that takes least time for one row, among those that were timed."""

    model: Model
    milliseconds: dict[str, float]  # of a pass over one row, by form; empty where the target has one form only
    said: tuple[Message, ...]


def draft_alone(pair: Pair, base: DecodeConfig) -> Runner:
    """The draft of a pair with one vocabulary, without a target."""
    plain = other_target(pair, pair.draft, base)

    def run(prompt: list[int]) -> Measured:
        return replace(plain(prompt), passes=0, rounds=())

    return run


def other_target(pair: Pair, model: Model, base: DecodeConfig) -> Runner:
    """Plain greedy decoding by another model in the target's place; fidelity is under the pair's target."""
    return scored(pair.target, ours(replace(pair, target=model), replace(base, rule="autoregressive")))


def fastest_form(pair: Pair, load: Callable[[Form], Model]) -> FastestForm:
    """Time one row of the target in every form; load: the target in a form, held one at a time beside the fastest so far.

    A form that comes out as another did (a file without 4-bit weights has no int4) counts once. One that memory has no
    room for is not tried.
    """
    own = pair.target
    if not isinstance(own, PackedModel):
        return FastestForm(own, {}, (Message("bench.not_packed"),))
    best, seconds, known, said = own, {own.form: pass_seconds(own, 1)}, {own.dtype_name}, []
    for form in (form for form in FORMS if form != own.form):
        needed, free = own.weight_bytes * BITS[form] // BITS[own.form], free_bytes()
        if needed > free:
            said.append(Message("bench.no_room", {"form": form, "needed": _gb(needed), "free": _gb(free)}))
            continue
        model = load(form)
        if isinstance(model, PackedModel) and model.dtype_name not in known:
            known.add(model.dtype_name)
            seconds[form] = pass_seconds(model, 1)
            if seconds[form] < min(seconds[best.form], CLEARLY * seconds[own.form]):
                best = model
        del model
    listed = ", ".join(f"{form} {1e3 * seconds[form]:.1f}" for form in sorted(seconds, key=seconds.get))
    if best is own:
        said.append(Message("bench.own_form_fastest", {"row": PLAIN, "form": own.form, "listed": listed}))
    else:
        said.append(Message("bench.forms_timed", {"listed": listed}))
    return FastestForm(best, {form: 1e3 * one for form, one in seconds.items()}, tuple(said))


def scores(target: Model, prompt: Sequence[int], ids: Sequence[int]) -> tuple[float, ...]:
    """The target's log-probability of each of the `ids` after the prompt, nats."""
    along = logprobs_along(target, prompt, ids)
    return tuple(along.gather(1, torch.tensor(ids, device=along.device)[:, None])[:, 0].tolist())


def scored(target: Model, run: Runner) -> Runner:
    """A runner of another model, whose texts the target is asked about, once each and outside the measured time."""
    known: dict[tuple[int, ...], tuple[float, ...]] = {}

    def run_and_score(prompt: list[int]) -> Measured:
        one = run(prompt)
        text = (*prompt, *one.ids)
        if text not in known:
            known[text] = scores(target, prompt, one.ids)
        return replace(one, scores=known[text], works=())

    return run_and_score


def free_bytes() -> float:
    """Memory that new weights may take; infinite where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f}"
