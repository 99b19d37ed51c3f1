"""Made prompts: repeatable, distinct, of every kind, answerable, and none close to a shipped one."""

import random
from collections import Counter
from itertools import islice

from explorer.prompts import CHECKABLE, EXAMPLES, HELD_OUT
from explorer.training.common.prompts import Exclusion
from explorer.training.judge.prompts import KINDS, checkable_prompts


def test_the_same_seed_makes_the_same_distinct_prompts():
    first, again, other = (list(islice(checkable_prompts(random.Random(seed)), 200)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len({item.prompt for item in first}) == 200
    counts = Counter(item.kind for item in first)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 20, "a kind with few words soon repeats itself, and is passed over then"


def test_an_answer_is_right_by_its_own_check_and_not_given_by_nothing():
    for item in islice(checkable_prompts(random.Random(3)), 300):
        assert item.is_right(item.answer), item
        assert not item.is_right("I do not know."), item


def test_hardly_a_template_comes_close_to_a_shipped_prompt():
    """Those that do are dropped; were it many, a kind would be missing from the labels."""
    excluded = Exclusion([CHECKABLE, HELD_OUT, EXAMPLES / "prompts.jsonl"])
    items = list(islice(checkable_prompts(random.Random(4)), 300))
    close = [item for item in items if item.prompt in excluded]
    assert len(close) < 6
    assert {item.prompt for item in items}.isdisjoint(CHECKABLE.read_text(encoding="utf-8").split('"'))
