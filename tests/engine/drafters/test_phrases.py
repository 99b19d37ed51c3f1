"""The phrase pool by hand: letters are ids."""

from itertools import pairwise

import pytest

from explorer.engine.drafters.phrases import ROOM, PhrasePool, candidates
from explorer.trace import Branch

STOP = ord("!")


def ids(text: str) -> tuple[int, ...]:
    return tuple(map(ord, text))


def branch(phrase: str, argmax: str) -> Branch:
    return Branch(ids(phrase), ids(argmax))


@pytest.fixture
def pool():
    return PhrasePool(3, {STOP})


def words(pool, key: str, count: int = ROOM) -> list[str]:
    return ["".join(map(chr, phrase)) for phrase in pool.after(ord(key), count)]


def test_a_text_gives_every_full_phrase_that_ends_in_its_new_part(pool):
    pool.read(ids("abcd"), 4)
    assert (words(pool, "a"), words(pool, "b")) == (["bcd"], [])
    pool.read(ids("abcdefa"), 3)
    assert {key: words(pool, key) for key in "abcd"} == {"a": ["bcd"], "b": ["cde"], "c": ["def"], "d": ["efa"]}


def test_reading_in_pieces_or_at_once_is_the_same(pool):
    text, pieces = ids("abcabdabeabc"), PhrasePool(3, {STOP})
    pool.read(text, len(text))
    for before, end in pairwise((0, 1, 2, 6, 7, 12)):
        pieces.read(text[:end], end - before)
    assert {key: words(pool, key) for key in "abcde"} == {key: words(pieces, key) for key in "abcde"}


def test_the_newest_phrase_comes_first_and_reuse_makes_it_the_newest(pool):
    for text in ("abcd", "aefg", "abcd"):
        pool.read(ids(text), 4)
    assert words(pool, "a") == ["bcd", "efg"]
    assert words(pool, "a", 1) == ["bcd"]


def test_only_the_newest_are_kept(pool):
    for number in range(ROOM + 5):
        pool.read((0, 1000 + number, 1, 2), 4)
    assert [phrase[0] for phrase in pool.after(0, 99)] == list(range(1000 + ROOM + 4, 1000 + 4, -1))


def test_no_phrase_goes_on_behind_a_stop(pool):
    pool.read(ids("ab!d"), 4)
    assert words(pool, "a") == ["b!"]


def test_tried_phrases_are_overwritten_by_what_the_target_predicted(pool):
    """The worked case: phrases (e f g) and (e x y) of d, the target says e, f, z."""
    for text in ("dexy", "defg"):
        pool.read(ids(text), 4)
    pool.correct(ord("d"), [branch("efg", "efz"), branch("exy", "efq")])
    assert words(pool, "d") == ["efz", "efq"]


def test_a_phrase_that_was_shortened_teaches_nothing(pool):
    pool.read(ids("defg"), 4)
    pool.correct(ord("d"), [branch("ef", "ex")])
    assert words(pool, "d") == ["efg"]


def test_a_tail_behind_the_cut_gives_its_agreeing_pieces(pool):
    #                              a      b     c     d      e     f
    pool.salvage(ids("abcdef"), (False, True, True, False, True, True), 0)
    assert {key: words(pool, key) for key in "abcdef"} == {"a": ["bc"], "b": [], "c": [], "d": ["ef"], "e": [], "f": []}


def test_tokens_before_the_cut_are_no_tail(pool):
    pool.salvage(ids("abcdef"), (True, True, True, False, True, True), 3)
    assert {key: words(pool, key) for key in "abcd"} == {"a": [], "b": [], "c": [], "d": ["ef"]}


def test_candidates_fit_the_room_and_differ(pool):
    for text in ("abcd", "abce", "afgh"):
        pool.read(ids(text), 4)
    stops = frozenset({STOP})
    assert candidates(pool, ord("a"), 3, 9, stops) == [ids("fgh"), ids("bce"), ids("bcd")]
    assert candidates(pool, ord("a"), 3, 2, stops) == [ids("fg"), ids("bc")]
    assert candidates(pool, ord("a"), 3, 0, stops) == []
    assert candidates(pool, STOP, 3, 9, stops) == []
