"""What cannot go together, in the browser as in Python: the same rows, the same answer over the whole product."""

import dataclasses
from itertools import product

from node import run_script

from explorer.config import DecodeConfig, knobs
from explorer.conflicts import Offers, conflicts

KNOBS = {knob.name: knob for knob in knobs()}
NOTHING = Offers(*(False for _ in dataclasses.fields(Offers)))
NAMES = ("drafter", "rule", "length", "schedule")


class Settings(dict):
    __getattr__ = dict.__getitem__


def test_both_sides_find_the_same_rows():
    plain = dataclasses.asdict(DecodeConfig())
    cases = [
        Settings(plain | dict(zip(NAMES, values)) | {"phrases": phrases, "tree": tree, "temperature": temperature, "window": 0, "window_includes_mismatch": True})
        for values in product(*(KNOBS[name].choices for name in NAMES))
        for phrases, tree, temperature in ((0, 0, 0.0), (2, 0, 0.8), (0, 4, 0.8), (2, 4, 0.0))
    ]  # fmt: skip
    for offers in (Offers(), NOTHING):
        for use in ("run", "sweep"):
            data = {"cases": cases, "offers": dataclasses.asdict(offers), "use": use}
            found = run_script(
                "data.cases.map((one) => conflicts(one, data.offers, data.use).map((row) => row.code))", data
            )
            assert found == [[row.code for row in conflicts(case, offers, use)] for case in cases]


def test_a_value_is_ruled_out_by_rows_that_it_has_a_part_in():
    settings = dataclasses.asdict(DecodeConfig(rule="exact", drafter="lookup"))
    ask = "data.map(([settings, knob, value, offers]) => ruledOut(settings, knob, value, offers)?.code ?? null)"
    cases = [
        [settings, "rule", "kl", {}],
        [settings, "rule", "topk", {}],
        [settings, "length", "pacer", {}],
        [settings | {"drafter": "model"}, "length", "pacer", {"pacer_layer": False}],
        [settings | {"length": "pacer"}, "rule", "topk", {}],  # wrong already, but not for the rule
        [settings | {"phrases": 2}, "temperature", 1, {}],
    ]
    assert run_script(ask, cases) == [
        "lookup_divergence", None, "lookup_length", "no_pacer_layer", None, "phrases_temperature",
    ]  # fmt: skip


def test_a_link_to_what_cannot_be_is_refused():
    known = {"runs": [], "pairs": ["small"], "offers": {"small": {"head": False}}}
    fragments = [
        "v=1&window=0&window_includes_mismatch=true",
        "v=1&rule=exact&window=0&window_includes_mismatch=true",
        "v=1&rule=kl&drafter=lookup",
        "v=1&pair=small&drafter=features",
        "v=1&drafter=features",
    ]
    found = run_script(
        "data.fragments.map((text) => readLink(text, data.known))", {"fragments": fragments, "known": known}
    )
    assert [one.get("code") for one in found] == ["empty_window", None, "lookup_divergence", "no_head", None]
    assert found[0]["refused"] == "conflict"
