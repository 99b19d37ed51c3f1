"""What a user would run instead of speculation: the draft alone, and the target in whichever form is fastest here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from explorer.bench.forms import FORMS, Model, logprobs_along, pass_seconds
from explorer.bench.measured import DRAFT_ALONE, PLAIN, Measured, fastest_name
from explorer.bench.rows import Runner, ours
from explorer.config import DecodeConfig
from explorer.engine.models.linears import Form
from explorer.engine.models.packed import PackedModel
from explorer.engine.pair import Pair
from explorer.messages import Message

CLEARLY = 0.95  # of the time of the target's own form: what another has to stay below to count as faster
BITS = {"float32": 32, "int8": 8, "int4": 4}


@dataclass(frozen=True, slots=True)
class FastestForm:
    """The form of the target that takes least time for one row, among those that were timed."""

    rows: dict[str, Runner] = field(default_factory=dict)  # none where it is the pair's own form
    said: tuple[Message, ...] = ()
    milliseconds: dict[str, float] = field(default_factory=dict)  # of a pass over one row, by form
    weights: dict[str, int] = field(default_factory=dict)  # bytes, by what a record calls the form


def draft_alone(pair: Pair, base: DecodeConfig) -> tuple[dict[str, Runner], tuple[Message, ...]]:
    """The row of the draft without a target; none, and the reason, where its tokens are not the target's."""
    if pair.draft_side:
        return {}, (Message("bench.draft_vocabulary", {"row": DRAFT_ALONE}),)
    plain = _plain(pair, pair.draft, base)

    def run(prompt: list[int]) -> Measured:
        return replace(plain(prompt), passes=0, rounds=())

    return {DRAFT_ALONE: run}, ()


def fastest_form(pair: Pair, base: DecodeConfig, load: Callable[[Form], Model]) -> FastestForm:
    """Time one row of the target in every form; load: the target in a form, held one at a time beside the pair's own.

    A form that comes out as another did (a file without 4-bit weights has no int4) counts once. One that memory has no
    room for is not tried.
    """
    own = pair.target
    if not isinstance(own, PackedModel):
        return FastestForm(said=(Message("bench.not_packed"),))
    times, said = {own.form: pass_seconds(own, 1)}, []
    names, best = {own.dtype_name}, own
    for form in (form for form in FORMS if form != own.form):
        needed, free = own.weight_bytes * BITS[form] // BITS[own.form], free_bytes()
        if needed > free:
            said.append(Message("bench.no_room", {"form": form, "needed": _gb(needed), "free": _gb(free)}))
            continue
        model = load(form)
        if isinstance(model, PackedModel) and model.dtype_name not in names:
            names.add(model.dtype_name)
            times[form] = pass_seconds(model, 1)
            if times[form] < CLEARLY * times[own.form] and times[form] == min(times.values()):
                best = model
        del model
    milliseconds = {form: 1e3 * seconds for form, seconds in times.items()}
    listed = ", ".join(f"{form} {ms:.1f}" for form, ms in sorted(milliseconds.items(), key=lambda one: one[1]))
    if best is own:
        said.append(Message("bench.own_form_fastest", {"row": PLAIN, "form": own.form, "listed": listed}))
        return FastestForm(said=tuple(said), milliseconds=milliseconds)
    said.append(Message("bench.forms_timed", {"listed": listed}))
    weights = {f"target {best.dtype_name}": best.weight_bytes}
    return FastestForm({fastest_name(best.form): _plain(pair, best, base)}, tuple(said), milliseconds, weights)


def scores(target: Model, prompt: Sequence[int], ids: Sequence[int]) -> tuple[float, ...]:
    """The target's log-probability of each of the `ids` after the prompt, nats."""
    along = logprobs_along(target, prompt, ids)
    return tuple(along.gather(1, torch.tensor(ids, device=along.device)[:, None])[:, 0].tolist())


def scored(target: Model, run: Runner) -> Runner:
    """A runner whose texts the target is asked about, once each and outside the measured time."""
    known: dict[tuple[int, ...], tuple[float, ...]] = {}

    def run_and_score(prompt: list[int]) -> Measured:
        one = run(prompt)
        text = (*prompt, *one.ids)
        if text not in known:
            known[text] = scores(target, prompt, one.ids)
        return replace(one, scores=known[text])

    return run_and_score


def _plain(pair: Pair, model: Model, base: DecodeConfig) -> Runner:
    """Plain greedy decoding by another model in the target's place; fidelity is under the pair's target."""
    return scored(pair.target, ours(replace(pair, target=model), replace(base, rule="autoregressive")))


def free_bytes() -> float:
    """Memory that new weights may take; infinite where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f}"
