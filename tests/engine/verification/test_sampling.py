"""Sampling is lossless: what is emitted under the exact rule follows the target's distribution, whatever the draft's is."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pairs import OraclePair

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.sampling import Sampler

CPU = torch.device("cpu")
P = torch.tensor([0.40, 0.30, 0.15, 0.10, 0.05])
Q = torch.tensor([0.10, 0.20, 0.30, 0.00, 0.40])


def assert_follows(counts: torch.Tensor, probabilities: torch.Tensor):
    """Pearson's test at 0.1 %, cells that expect fewer than five pooled; with fixed seeds a pass stays a pass."""
    counts, expected = counts.double().flatten(), (probabilities.double() * counts.sum()).flatten()
    rare = expected < 5
    if rare.any():
        counts, expected = (torch.cat([x[~rare], x[rare].sum()[None]]) for x in (counts, expected))
    statistic = ((counts - expected) ** 2 / expected.clamp(min=1e-9)).sum()
    chance = torch.special.gammaincc(torch.tensor((len(counts) - 1) / 2).double(), statistic / 2).item()
    assert chance > 1e-3, f"chi-square {statistic:.1f} over {len(counts)} cells"


def verify(sampler: Sampler, logits: torch.Tensor, drafted: torch.Tensor, q: torch.Tensor | None):
    return sampler.verify(logits, logits.argmax(-1), drafted, q)


def rows(*distributions) -> torch.Tensor:
    return torch.stack(distributions).log()


def test_accept_and_residual_give_the_target_in_closed_form():
    """q min(1, p / q) + (rejected mass) x normalised max(p - q, 0) = p: softmax of the residual instead of its
    normalisation, or the residual of another row (transformers PR#28508, PR#28166)."""
    accepted = torch.minimum(P, Q)
    residual = (P - Q).clamp(min=0)
    torch.testing.assert_close(accepted + (1 - accepted.sum()) * residual / residual.sum(), P)

    class Recorder(Sampler):
        def _draw(self, weights):
            self.weights = weights
            return super()._draw(weights)

    sampler = Recorder(1.0, 0, CPU)
    other = torch.tensor([0.2] * 5)
    verify(sampler, rows(P, other, P), torch.tensor([4, 1]), torch.stack([Q, P]))
    torch.testing.assert_close(sampler.weights[0], residual, atol=1e-6, rtol=0)
    torch.testing.assert_close(sampler.weights[1], (other - P).clamp(min=0), atol=1e-6, rtol=0)
    torch.testing.assert_close(sampler.weights[2], P, atol=1e-6, rtol=0)


def test_the_emitted_token_follows_the_target():
    count = 20_000
    sampler = Sampler(1.0, 11, CPU)
    drafted = torch.multinomial(Q, count, replacement=True, generator=torch.Generator().manual_seed(5))
    logits = torch.cat([P.log().expand(count, 5), P.log()[None]])
    match, replacement = verify(sampler, logits, drafted, Q.expand(count, 5))
    emitted = torch.where(match, drafted, replacement[:-1])
    assert_follows(torch.bincount(emitted, minlength=5), P)
    assert match.double().mean().item() == pytest.approx(torch.minimum(P, Q).sum().item(), abs=0.01)
    assert not (match & (drafted == 3)).any(), "a token the draft cannot draw"
    assert not (~match & (replacement[:-1] == drafted)).any(), "the residual is empty at a refused token"


@given(st.integers(0, 2**31), st.floats(0.05, 2.0), st.integers(1, 6))
def test_equal_distributions_never_divide_by_zero(seed, temperature, size):
    """p == q leaves no residual to draw from: everything is accepted, and past the cut some id still stands."""
    sampler = Sampler(temperature, seed, CPU)
    logits = torch.randn(size + 1, 5, generator=torch.Generator().manual_seed(seed)) * 10
    q = sampler.distribution(logits[:-1])
    drafted = torch.multinomial(q, 1, generator=torch.Generator().manual_seed(seed))[:, 0]
    match, replacement = verify(sampler, logits, drafted, q)
    assert match.all()
    assert ((replacement >= 0) & (replacement < 5)).all()


def test_an_empty_draft_draws_the_bonus_from_the_target():
    sampler = Sampler(1.0, 3, CPU)
    ids = [int(verify(sampler, rows(P), torch.tensor([], dtype=torch.long), None)[1]) for _ in range(3000)]
    assert_follows(torch.bincount(torch.tensor(ids), minlength=5), P)


def test_seeds_repeat_and_differ():
    logits = torch.randn(8, 50, generator=torch.Generator().manual_seed(0))
    picks = [tuple(Sampler(1.0, seed, CPU).pick(logits).tolist()) for seed in (1, 1, 2)]
    assert picks[0] == picks[1] != picks[2]


def test_greedy_has_no_randomness():
    """Also no tie rule of its own: first index wins for draft and target alike."""
    sampler = Sampler(0.0, 0, CPU)
    state = sampler._generator.get_state()
    logits = torch.zeros(3, 5)
    logits[:, [1, 3]] = 2.0
    assert sampler.pick(logits).tolist() == [1, 1, 1]
    match, replacement = verify(sampler, logits, torch.tensor([1, 3]), None)
    assert (match.tolist(), replacement.tolist()) == ([True, False], [1, 1, 1])
    assert torch.equal(sampler._generator.get_state(), state)
    torch.testing.assert_close(sampler.distribution(logits), torch.softmax(logits, -1))


def test_temperature_divides_the_logits():
    logits = P.log()[None]
    expected = (P ** (1 / 0.7) / (P ** (1 / 0.7)).sum())[None]
    torch.testing.assert_close(Sampler(0.7, 0, CPU).distribution(logits), expected)


def test_a_tiny_temperature_is_nearly_greedy():
    logits = torch.tensor([[1.0, 30.0, 2.0]])
    assert Sampler(1e-38, 0, CPU).pick(logits).tolist() == [1]


# End to end ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def five(make_model):
    """Two different random models over a vocabulary of five letters, and no stop id."""
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE({letter: place for place, letter in enumerate("abcde")}, []))
    backend.decoder = decoders.ByteLevel()
    shape = {"vocab_size": 5, "hidden_size": 16, "num_hidden_layers": 1, "eos_token_id": None, "pad_token_id": None}
    target, draft = (make_model("llama", seed, initializer_range=0.15, **shape) for seed in (1, 2))
    pair = OraclePair.of("five", target, draft, PreTrainedTokenizerFast(tokenizer_object=backend))
    assert pair.vocab_size == 5
    assert pair.stop_ids == frozenset()
    return pair


@torch.inference_mode()
def joint(model, temperature: float) -> torch.Tensor:
    """The target's own probability of every text of three letters after the prompt `ab` [5, 5, 5]."""
    texts = torch.tensor([[0, 1, *text] for text in itertools.product(range(5), repeat=3)])
    logprobs = (model(input_ids=texts).logits / temperature).double().log_softmax(-1)
    chosen = logprobs[:, 1:-1].gather(2, texts[:, 2:, None])
    return chosen.sum((1, 2)).exp().view(5, 5, 5)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_decoded_texts_follow_the_target(five, temperature):
    """The greedy draft treated as sampled (transformers#32867), q recorded before the temperature (transformers#47932),
    rows shifted by one: end to end, over drafts of two, residuals and bonuses."""
    expected = joint(five.oracle, temperature)
    seen, kinds = torch.zeros(5, 5, 5, dtype=torch.double), set()
    for seed in range(400):
        config = DecodeConfig(rule="exact", draft_length=2, max_new_tokens=3, temperature=temperature, seed=seed)
        rounds = list(decode(five, [0, 1], config))
        seen[tuple(token for round_ in rounds for token in round_.emitted)] += 1
        kinds.update(kind for round_ in rounds for kind in round_.emitted_kinds)
    assert kinds == {"exact", "correction", "bonus"}
    for some in ((1, 2), (0, 2), (0, 1), 2, 0, 1):
        assert_follows(seen.sum(some), expected.sum(some))


def test_seeds_repeat_end_to_end(five):
    def ids(seed):
        config = DecodeConfig(rule="exact", draft_length=3, max_new_tokens=12, temperature=1.0, seed=seed)
        return [token for round_ in decode(five, [0, 1], config) for token in round_.emitted]

    assert ids(4) == ids(4)
    assert len({tuple(ids(seed)) for seed in range(5)}) > 1


def test_greedy_ignores_the_seed(five):
    def ids(seed):
        config = DecodeConfig(rule="fly", theta=0.1, window=1, draft_length=3, max_new_tokens=12, seed=seed)
        return [token for round_ in decode(five, [0, 1], config) for token in round_.emitted]

    assert ids(1) == ids(2)


def test_recorded_draft_probabilities_are_what_was_sampled_from(five):
    """q under the run's temperature, not raw."""
    config = DecodeConfig(rule="exact", draft_length=4, max_new_tokens=8, temperature=0.5, seed=1)
    (first, *_) = decode(five, [0, 1], config)
    with torch.inference_mode():
        logits = five.draft.model(input_ids=torch.tensor([[0, 1, *first.drafted]])).logits[0, 1:-1]
    q = torch.softmax(logits / 0.5, -1).gather(1, torch.tensor(first.drafted)[:, None])[:, 0]
    assert list(first.draft_probs) == pytest.approx(q.tolist(), abs=1e-5)


def test_fly_defers_what_the_draw_rejects(five):
    """On top of sampling: a refused draw counts as a mismatch, its draft may be kept, the rest of the draw stands."""
    base = DecodeConfig(rule="exact", draft_length=6, max_new_tokens=30, temperature=1.0, seed=2)
    strict = list(decode(five, [0, 1], base))
    loose = list(decode(five, [0, 1], replace(base, rule="fly", theta=0.0, window=0)))
    assert strict[0].match == loose[0].match
    assert strict[0].replacement == loose[0].replacement
    assert loose[0].accepted == 6
    assert any("deferred" in round_.verdicts for round_ in loose)
