"""The fused measurement of a target pass against plain float64 sums."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from explorer.engine.verification.measure import TOP, measure


def rows_of(logits: torch.Tensor, drafted=None, replacement=None):
    count = len(logits)
    drafted = torch.zeros(count - 1, dtype=torch.long) if drafted is None else torch.tensor(drafted)
    argmax = logits.argmax(-1)
    replacement = argmax if replacement is None else torch.tensor(replacement)
    rows, match, replaced = measure(logits.clone(), argmax, drafted, drafted == argmax[:-1], replacement)
    assert match == tuple((drafted == argmax[:-1]).tolist())
    assert replaced == tuple(replacement.tolist())
    return rows


# Sizes around the two-step top-k: below it, at its start, whole groups, and a remainder behind the last group.
@pytest.mark.parametrize("size", [2, 3, 5, 8, 9, 267, 2047, 2048, 2049, 4096, 5000, 49_152])
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_equals_a_naive_computation(size, scale):
    logits = torch.randn(4, size, generator=torch.Generator().manual_seed(size)) * scale
    drafted = [size - 1, 0, size // 2]
    replacement = [0, size - 1, 1, size // 3]
    for place, row in enumerate(rows_of(logits, drafted, replacement)):
        values = logits[place].double().tolist()
        peak = max(values)
        total = math.fsum(math.exp(v - peak) for v in values)
        logprobs = [v - peak - math.log(total) for v in values]
        best = sorted(range(size), key=lambda i: -logprobs[i])[:TOP]
        assert row.argmax == best[0]
        assert list(row.top_ids) == best
        assert list(row.top_logprobs) == pytest.approx([logprobs[i] for i in best], abs=1e-4)
        assert row.argmax_logprob == pytest.approx(logprobs[best[0]], abs=1e-4)
        full = -math.fsum(math.exp(x) * x for x in logprobs) / math.log(size)
        assert row.entropy_normalized == pytest.approx(full, abs=1e-5)
        assert row.entropy_top3 == pytest.approx(-sum(math.exp(logprobs[i]) * logprobs[i] for i in best[:3]), abs=1e-5)
        assert row.replacement_logprob == pytest.approx(logprobs[replacement[place]], abs=1e-4)
        if place < 3:
            assert row.drafted_logprob == pytest.approx(logprobs[drafted[place]], abs=1e-4)
        else:
            assert row.drafted_logprob is None


@given(st.integers(0, 2**32), st.sampled_from([2048, 2111, 3000]))
def test_the_largest_are_found_wherever_they_lie(seed, size):
    """A two-step top-k that misses the tail behind the last whole group, or several in one group."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, size, generator=generator)
    cluster = int(torch.randint(0, size - 12, (1,), generator=generator))
    logits[0, cluster : cluster + 12] += 8
    (row,) = rows_of(logits)
    assert list(row.top_ids) == logits[0].topk(TOP).indices.tolist()


def test_worked_examples_of_the_two_entropies():
    """spec: the top-3 statistic is not monotone; 50 equal tokens look surer to it than a 0.91 / 0.09 split."""
    size = 128_256

    def row(*probs):
        logits = torch.full((1, size), -60.0)
        logits[0, : len(probs)] = torch.tensor(probs).log()
        return rows_of(logits)[0]

    for probs, top3, normalized in (
        ((0.60, 0.40), 0.673, 0.057),
        ((1 / 50,) * 50, 0.235, 0.333),
        ((0.93, 0.07), 0.254, None),
        ((0.91, 0.09), 0.3025, None),
        ((1 / 35,) * 35, 0.3047, None),
        ((1 / 36,) * 36, 0.2986, 0.3047),
        ((1.0,), 0.0, 0.0),
    ):
        assert row(*probs).entropy_top3 == pytest.approx(top3, abs=5e-4)
        if normalized is not None:
            assert row(*probs).entropy_normalized == pytest.approx(normalized, abs=5e-4)
    uniform = rows_of(torch.zeros(1, size))[0]
    assert 0.9999 < uniform.entropy_normalized <= 1.0


def test_no_drafted_token_is_one_row():
    (row,) = rows_of(torch.tensor([[0.0, 5.0, 1.0]]))
    assert (row.argmax, row.drafted_logprob, len(row.top_ids)) == (1, None, 3)


def test_an_impossible_token_is_no_trouble():
    """A head that rules tokens out with minus infinity: 0 x -inf is NaN, and NaN is not an entropy."""
    logits = torch.zeros(1, 300)
    logits[0, 20:] = -math.inf
    (row,) = rows_of(logits)
    assert row.entropy_normalized == pytest.approx(math.log(20) / math.log(300), abs=1e-5)
    assert row.argmax_logprob == pytest.approx(-math.log(20), abs=1e-5)


def test_ids_travel_exactly():
    """Ids above 2**24 would lose digits in float32; a vocabulary of 262,144 must come through unharmed."""
    logits = torch.zeros(1, 262_144)
    logits[0, 262_143] = 9.0
    assert rows_of(logits)[0].argmax == rows_of(logits)[0].top_ids[0] == 262_143


@pytest.mark.parametrize("size", [300, 5000])
def test_one_tie_rule_everywhere(size):
    """The argmax and the first alternative name one token (vllm#7627); in bfloat16 exact ties are common."""
    logits = torch.zeros(1, size)
    logits[0, [5, 77, 200, size - 1]] = 10.0
    (row,) = rows_of(logits)
    assert row.argmax == row.top_ids[0]


def test_top3_entropy_stays_within_its_maximum():
    logits = torch.full((1, 300), -60.0)
    logits[0, :3] = 10.0
    assert rows_of(logits)[0].entropy_top3 <= math.log(3)
