"""Links: what is written reads back the same, fields of later versions are ignored, and what makes no sense is refused."""

import pytest
from node import run_script

from explorer.config import DecodeConfig
from explorer.ui.page_knobs import page_knobs

KNOWN = {"runs": ["01-story", "a b&c=d#e"], "pairs": ["small+pair", "a,b"]}
EMPTY = {"run": None, "pair": None, "round": None, "position": None, "knobs": {}, "view": []}
READ = "data.fragments.map((text) => readLink(text, data.known))"


def read(*fragments):
    return run_script(READ, {"fragments": list(fragments), "known": KNOWN})


@pytest.mark.parametrize(
    "state",
    [
        EMPTY,
        {**EMPTY, "run": "01-story", "round": 3, "position": 2, "view": ["refused", "pinned", "table"]},
        {**EMPTY, "run": "a b&c=d#e", "knobs": {"theta": 0.1 + 0.2, "window": 0, "window_includes_mismatch": False}},
        {**EMPTY, "pair": "small+pair", "knobs": {knob.name: getattr(DecodeConfig(), knob.name) for knob in page_knobs()}},
        {**EMPTY, "knobs": {"theta": 1e-7, "entropy": "top3", "rule": "exact", "seed": 2**31 - 1}},
    ],
)  # fmt: skip
def test_a_link_reads_back_what_was_written(state):
    written = run_script("writeLink(data)", state)
    assert written.startswith("v=1")
    assert read(written) == [state]


def test_a_link_holds_nothing_but_its_fields():
    """Whatever else a state may carry, a prompt or a text above all, stays out."""
    state = {**EMPTY, "run": "01-story", "prompt": "secret", "text": "secret", "knobs": {"theta": 0.5, "prompt": "secret", "stop_strings": ["secret"]}}  # fmt: skip
    assert run_script("writeLink(data)", state) == "v=1&run=01-story&theta=0.5"


@pytest.mark.parametrize("fragment", ["", "main", "theta=0.5", "/v=1", "%76=1"])
def test_a_fragment_that_is_not_ours_is_left_alone(fragment):
    assert read(fragment) == [None]


def test_unknown_fields_and_words_are_ignored():
    later = "v=1&run=01-story&colour=red&__proto__=1&constructor=x&view=refused.later.pinned"
    assert read(later) == [{**EMPTY, "run": "01-story", "view": ["refused", "pinned"]}]


HOSTILE = {
    "v=2": "v", "v=": "v", "v=1%00": "v", "v=1&run=": "run", "v=1&run=nobody": "run", "v=1&run=constructor": "run",
    "v=1&run=../../etc/passwd": "run", "v=1&run=<img src=x onerror=hacked=1>": "run", "v=1&pair=/etc": "pair",
    "v=1&round=0": "round", "v=1&round=-1": "round", "v=1&round=1e3": "round", "v=1&round=99999999999": "round",
    "v=1&round=1.5": "round", "v=1&position=NaN": "position", "v=1&theta=NaN": "theta", "v=1&theta=Infinity": "theta",
    "v=1&theta=-0.1": "theta", "v=1&theta=1.3": "theta", "v=1&theta=0x1": "theta", "v=1&theta=": "theta", "v=1&theta= 1": "theta",
    "v=1&theta=1,2": "theta", "v=1&window=33": "window", "v=1&window=2.0": "window", "v=1&rule=loose": "rule",
    "v=1&rule=toString": "rule", "v=1&entropy=__proto__": "entropy", "v=1&window_includes_mismatch=1": "window_includes_mismatch",
    "v=1&window_includes_mismatch=constructor": "window_includes_mismatch",     "v=1&max_new_tokens=100000": "max_new_tokens", "v=1&seed=2147483648": "seed", "v=1&x=" + "y" * 3000: "length",
}  # fmt: skip


def test_what_makes_no_sense_is_refused_by_name():
    assert dict(zip(HOSTILE, read(*HOSTILE))) == {fragment: {"refused": name} for fragment, name in HOSTILE.items()}
