"""Reading untrusted JSON: whatever it holds, the answer is a value of the promised type or one SchemaError."""

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.schema import MAX_BYTES, MAX_INT, MAX_ITEMS, SchemaError, parse_json, read, write


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    number: float
    count: int = 0


@dataclass(frozen=True)
class Outer:
    inner: Inner
    many: tuple[Inner, ...] = ()
    maybe: float | None = None
    word: Literal["a", "b"] = "a"
    colour: Colour = Colour.RED
    flag: bool = False
    text: str = ""
    table: dict[int, bytes] | None = None

    def __post_init__(self):
        if self.text == "bad":
            raise ValueError("text is bad")


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(finite, st.lists(finite, max_size=4), st.none() | finite, st.binary(max_size=8), st.integers(-MAX_INT, MAX_INT))
def test_what_is_written_reads_back_equal_to_the_last_bit(number, numbers, maybe, raw, count):
    """A threshold compared with a rounded entropy gives another verdict."""
    value = Outer(Inner(number, count), tuple(map(Inner, numbers)), maybe, "b", Colour.RED, True, "<b>", {7: raw})
    again = read(Outer, parse_json(json.dumps(write(value), allow_nan=False)))
    assert again == value
    assert math.copysign(1, again.inner.number) == math.copysign(1, number)
    assert again.inner.number.hex() == number.hex()
    assert again.table == {7: raw}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (None, "the file"),
        ([], "the file"),
        ({}, "inner is missing"),
        ({"inner": {}}, "inner.number is missing"),
        ({"inner": []}, "inner must be an object"),
        ({"inner": {"number": "1"}}, "inner.number must be a finite number"),
        ({"inner": {"number": True}}, "inner.number"),
        ({"inner": {"number": 1e301}}, "inner.number"),
        ({"inner": {"number": -(10**400)}}, "inner.number"),
        ({"inner": {"number": 1, "count": 1.0}}, "inner.count must be a whole number"),
        ({"inner": {"number": 1, "count": True}}, "inner.count"),
        ({"inner": {"number": 1, "count": 2**53 + 1}}, "inner.count"),
        ({"inner": {"number": 1}, "many": {}}, "many must be a list"),
        ({"inner": {"number": 1}, "many": "ab"}, "many must be a list"),
        ({"inner": {"number": 1}, "many": [{"number": 1}, 3]}, "many[1] must be an object"),
        ({"inner": {"number": 1}, "maybe": "x"}, "maybe"),
        ({"inner": {"number": 1}, "word": "c"}, "word must be one of a, b"),
        ({"inner": {"number": 1}, "word": ["a"]}, "word"),
        ({"inner": {"number": 1}, "colour": "blue"}, "colour must be one of red"),
        ({"inner": {"number": 1}, "colour": {}}, "colour"),
        ({"inner": {"number": 1}, "flag": 1}, "flag must be true or false"),
        ({"inner": {"number": 1}, "text": None}, "text must be a text"),
        ({"inner": {"number": 1}, "text": "bad"}, "text is bad"),
        ({"inner": {"number": 1}, "table": []}, "table must be an object"),
        ({"inner": {"number": 1}, "table": {"-1": ""}}, "table.-1"),
        ({"inner": {"number": 1}, "table": {"١": ""}}, "table"),
        ({"inner": {"number": 1}, "table": {"9" * 16: ""}}, "table.9999"),
        ({"inner": {"number": 1}, "table": {"1": 3}}, "table.1"),
        ({"inner": {"number": 1}, "table": {"1": {"hex": "zz"}}}, "table.1"),
        ({"inner": {"number": 1}, "table": {"1": {"hex": 5}}}, "table.1"),
        ({"inner": {"number": 1}, "table": {"1": ["hex"]}}, "table.1"),
        ({"inner": {"number": 1}, "table": {"1": "\ud800"}}, "table.1"),
        ({"inner": {"number": 1}, "table": {"1": "x" * (MAX_BYTES + 1)}}, "table.1 has more than"),
        ({"inner": {"number": 1}, "many": [0] * (MAX_ITEMS + 1)}, "many has 1000001 entries"),
    ],
)
def test_wrong_shapes_are_refused_and_the_place_is_named(data, place):
    with pytest.raises(SchemaError) as error:
        read(Outer, data)
    assert place in str(error.value)
    assert len(str(error.value)) < 300, "a hostile value must not fill the screen"


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_numbers_that_are_none_are_refused(text):
    with pytest.raises(SchemaError, match="not a number this format allows"):
        parse_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        "'a'",
        "[" * 100_000,
        '{"a":' * 100_000,
        "1" * 5000,
        b"\xff\xfe",
        b"\xc3",
        b"{}\x00",
        "{} {}",
    ],
    ids=range(11),
)
def test_what_is_not_json_is_refused(text):
    """Deep nesting, digit floods and broken encodings as SchemaError, never RecursionError or UnicodeDecodeError."""
    with pytest.raises(SchemaError):
        parse_json(text)


def test_infinity_spelt_in_digits_is_refused():
    with pytest.raises(SchemaError):
        read(float, parse_json("1e999"))


def test_any_depth_of_nesting_is_refused_calmly():
    """Nesting just shallow enough to parse, whose repr for the error message then overflows."""
    for depth in (10, 500, *range(700, 1000)):
        with pytest.raises(SchemaError):
            read(Outer, {"inner": {"number": parse_json("[" * depth + "]" * depth)}})


def test_unknown_fields_are_ignored():
    """Later versions may add fields."""
    assert read(Inner, {"number": 1, "later": {"x": [None]}}) == Inner(1.0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just("a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["inner", "number", "count", "many", "maybe", "word", "table", "hex", "1"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_any_json_is_a_value_or_a_schema_error(data):
    try:
        value = read(Outer, data)
    except SchemaError:
        return
    assert isinstance(value, Outer)


def test_a_text_that_is_not_unicode_is_refused():
    r"""JSON may spell a lone surrogate, \ud800; it then breaks the next write and the page."""
    with pytest.raises(SchemaError):
        read(str, parse_json('"\\ud800"'))


@pytest.mark.parametrize("text", ["\ufeff{}", "\ufeff{}".encode(), "{}".encode("utf-16")])
def test_a_mark_of_an_editor_is_no_part_of_the_json(text):
    assert parse_json(text) == {}
