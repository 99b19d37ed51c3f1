"""Phrases tried behind the draft: still plain greedy, whatever is in the pool; caches; rules and length policies beside them."""

import dataclasses

import pytest
import torch

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.make_length_policy import make_length_policy
from explorer.engine.open_pair import OpenPair
from explorer.sweep.grid import decode_grid
from explorer.trace import Trace, longest

SHAPES = ("llama", "qwen2", "packed-llama", "packed-qwen2", "self-qwen2", "self-llama")
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
COUNT = 24
CONFIG = DecodeConfig(rule="exact", draft_length=3, phrases=3, phrase_length=4, max_new_tokens=COUNT)


def run(pair, config, pool=None):
    return list(decode(pair, list(PROMPT), config, pool))


def ids_of(rounds) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


def taught(pair, output, length=4):
    """A pool that has read the answer, and then behind its every token two phrases that go wrong after one and two tokens."""
    pool = PhrasePool(length, pair.stop_ids)
    pool.read(output, len(output))
    for place, token in enumerate(output[:-length]):
        for right in (1, 2):
            pool.read([token, *output[place + 1 : place + 1 + right], *[7] * (length - right)], length + 1)
    return pool


@pytest.fixture(scope="module")
def greedy(make_pair, plain_greedy_ids):
    return {shape: plain_greedy_ids(make_pair(shape), PROMPT, COUNT) for shape in SHAPES}


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_with_phrases_is_plain_greedy(shape, make_pair, greedy):
    """A phrase's entries left at the wrong place, rotated for the wrong position, or visible to its neighbour."""
    pair, told = make_pair(shape), []
    for length in (1, 3, 8):
        config = dataclasses.replace(CONFIG, draft_length=length)
        cold, warm = run(pair, config), run(pair, config, taught(pair, greedy[shape]))
        assert ids_of(cold) == ids_of(warm) == greedy[shape]
        assert len(warm) < len(cold) or length == 8
        told += [round_ for round_ in warm if round_.branches]
    assert any(longest(round_.branches) > 0 for round_ in told)
    assert any(round_.from_pool and round_.accepted == len(round_.drafted) for round_ in told), "a whole phrase"
    assert any(round_.from_pool and round_.accepted < len(round_.drafted) - round_.from_pool for round_ in told)


@pytest.mark.parametrize("shape", ["qwen2", "self-llama"])
def test_wrong_phrases_change_nothing(shape, make_pair, greedy):
    pair, pool = make_pair(shape), PhrasePool(4, ())
    for token in range(267):
        pool.read([token, 3, 1, 4, 1], 5)
        pool.read([token, 5, 9, 2, 6], 5)
    rounds = run(pair, CONFIG, pool)
    assert ids_of(rounds) == greedy[shape]
    assert sum(len(round_.branches) for round_ in rounds) > 4


@pytest.mark.parametrize("shape", ["llama", "self-qwen2"])
def test_a_branch_is_what_a_pass_of_its_own_says(shape, make_pair, greedy):
    """Also of the branches that were not chosen: neighbours stay unseen, positions start anew."""
    pair = make_pair(shape)
    output, seen = list(PROMPT), 0
    for round_ in run(pair, CONFIG, taught(pair, greedy[shape])):
        own = round_.drafted[: len(round_.drafted) - round_.from_pool]
        for branch in round_.branches:
            text = torch.tensor([[*output, *own, *branch.ids]])
            with torch.inference_mode():
                logits = pair.oracle(input_ids=text).logits[0, -len(branch.ids) - 1 : -1, : pair.vocab_size]
            assert branch.argmax == tuple(logits.argmax(-1).tolist())
            seen += 1
        output += round_.emitted
    assert seen > 4


@pytest.mark.parametrize("shape", SHAPES)
def test_the_target_holds_the_committed_text_after_a_phrase(shape, make_pair, greedy):
    """Number by number what a prefill of the same text holds, in every layer."""
    pair = make_pair(shape)
    policy = make_length_policy(pair, CONFIG)
    opened = OpenPair(pair, CONFIG, taught(pair, greedy[shape]))
    text, moved = list(PROMPT), 0
    with torch.inference_mode():
        opened.prefill(text[:-1])
        for _ in range(4):
            verified = opened.verify(text, opened.draft(text, 20, policy))
            judgement = verified.judge(CONFIG)
            text += verified.committed(judgement)
            moved += judgement.accepted > verified.proposal.drafted and longest(verified.branches) > 0
            opened.roll_back(len(text) - 1)
            again = pair.target.open()
            again.prefill(torch.tensor(text[:-1]))
            for ours, theirs in zip(entries(opened.target), entries(again), strict=True):
                torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-3)
    assert opened.target.length == len(text) - 1
    assert moved, "some phrase other than the first must have been moved"


def entries(context) -> list[torch.Tensor]:
    if hasattr(context, "cache"):
        return [context.cache.entries[:, : context.length]]
    return [held for layer in context._cache.layers for held in (layer.keys, layer.values)]


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "fly", "theta": 0.0, "window": 2},
        {"drafter": "lookup"},
        {"drafter": "model+lookup"},
        {"drafter": "model+phrases"},
        {"length": "heuristic", "draft_length": 6},
        {"length": "confidence", "threshold": 0.3, "draft_length": 6},
        {"length": "entropy", "threshold": 0.3, "draft_length": 6},
    ],
    ids=str,
)
def test_phrases_go_with_rules_drafters_and_lengths(change, pair, record):
    """Each record is consistent, read back, and judged again as it was."""
    config = dataclasses.replace(CONFIG, **change)
    trace = record(pair, PROMPT, config, pool=taught(pair, ids_of(run(pair, config))))
    assert Trace.from_json(trace.to_json()) == trace
    assert any(round_.branches for round_ in trace.rounds)


class Layer:
    """A layer of PACER whose every score is the same; counts what it is shown."""

    seconds, seen = 0.0, 0

    def open(self):
        return self

    def reset(self):
        pass

    def score(self, states, probs):
        self.seen += len(states)
        return torch.full((len(states),), 0.55)


def test_phrases_go_with_pacer(pair, with_stop_ids, record):
    """PACER decides on the drafted blocks alone; a phrase hangs on behind a stopped draft too, and is never scored."""
    pacer = dataclasses.replace(CONFIG, length="pacer", draft_length=8, block_size=2, threshold=0.5, growth=1.2)
    steered = dataclasses.replace(with_stop_ids(pair), scorers={"exact": Layer()})
    output = ids_of(run(steered, pacer))
    rounds = run(steered, pacer, taught(steered, output))
    assert ids_of(rounds) == output
    for round_ in rounds[:-1]:
        own = len(round_.drafted) - round_.from_pool
        assert sum(block.size for block in round_.blocks) == own == 4  # 0.55 passes 0.5, not 0.6
    assert any(round_.from_pool and round_.blocks for round_ in rounds)
    assert record(steered, PROMPT, pacer).rounds


def test_a_length_policy_answers_for_its_own_tokens_only(pair):
    """A kept phrase never lengthens the next draft: the heuristic counts what it drafted itself."""
    output = ids_of(run(pair, CONFIG))
    config = dataclasses.replace(CONFIG, length="heuristic", draft_length=6)
    wanted = 6
    for round_ in run(pair, config, taught(pair, output)):
        own = len(round_.drafted) - round_.from_pool
        assert own <= wanted
        if own == wanted:
            wanted = min(wanted + 2, 6) if round_.accepted >= own else max(wanted - 1, 1)


def test_a_stop_id_in_a_phrase_ends_the_draft_and_the_text(pair, with_stop_ids):
    output = ids_of(run(pair, CONFIG))
    stop = next(token for token in output[8:] if token not in output[:8])
    stopping = with_stop_ids(pair, stop)
    pool = taught(stopping, output)
    rounds = run(stopping, CONFIG, pool)
    assert ids_of(rounds) == output[: output.index(stop) + 1]
    assert all(stop not in branch.ids[:-1] for round_ in rounds for branch in round_.branches)


def test_the_budget_is_never_exceeded(pair):
    output = ids_of(run(pair, CONFIG))
    for budget in (1, 2, 7, 12):
        config = dataclasses.replace(CONFIG, max_new_tokens=budget)
        assert ids_of(run(pair, config, taught(pair, output))) == output[:budget]


def test_the_target_alone_tries_none(pair):
    rounds = run(pair, dataclasses.replace(CONFIG, rule="autoregressive"))
    assert not any(round_.branches or round_.drafted for round_ in rounds)


@pytest.mark.parametrize("shape", ["gemma3", "mistral"])
def test_a_target_that_takes_no_mask_is_refused(shape, make_pair):
    with pytest.raises(ConfigError, match="attention mask .* set Candidate phrases to 0"):
        run(make_pair(shape), CONFIG)


def test_draws_and_sweeps_are_refused(pair):
    with pytest.raises(ConfigError, match="temperature 0"):
        dataclasses.replace(CONFIG, temperature=0.5)
    with pytest.raises(ConfigError, match="earlier ones"):
        next(decode_grid(pair, PROMPT, [CONFIG]))
