"""The embedded pair on varied prompts against transformers' own float32 modules of the target.

A text is greedy if each of its tokens is the target's first choice after the ones before it: one forward of transformers over the
whole text says so (vllm-rbln#630), at a tenth of the time of generating it. A slow test generates, too. Another choice is excused
only where the two best tokens lie within 1e-3 nats of each other, and is printed: one pass over K + 1 rows rounds differently
from K + 1 passes (transformers#39421). See them with `pytest -m real -s`.
"""

import dataclasses

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.load_pair import load_pair
from explorer.engine.models.registry import default_pair

pytestmark = pytest.mark.real

COUNT = 24
NEAR_TIE = 1e-3
EXACT = DecodeConfig(rule="exact", draft_length=5, max_new_tokens=COUNT)

PROMPTS = [
    # plain questions
    "What is the capital of Portugal?",
    "Why is the sky blue at noon and red in the evening?",
    "Who wrote the novel Frankenstein?",
    "How do bees find their way back to the hive?",
    "What does a compiler do that an interpreter does not?",
    "Is a tomato a fruit or a vegetable? Answer in one word.",
    "Name three rivers in Africa.",
    "What happens to water when it freezes?",
    # arithmetic and logic
    "What is 17 times 6?",
    "Anna is older than Ben and Ben is older than Carl. Who is the youngest?",
    "Count from 20 down to 1.",
    "Convert 3.5 kilometres to metres.",
    "Write the first ten square numbers, separated by commas.",
    # code
    "Write a C function that swaps two integers through pointers.",
    "```javascript\nconst total = items.reduce((sum, item) =>\n```\nFinish this line.",
    "Explain what `git rebase` does.",
    "Give me a regular expression for a date like 2024-07-31.",
    'Turn this into JSON: name Ada, born 1815, fields mathematics and computing.',
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "Write an HTML table with two rows and three columns.",
    # tasks on a text
    "Translate into French: The cat sleeps under the table.",
    "Write a haiku about fog over a harbour.",
    "Shorten this: I am writing to you today in order to ask whether it might be possible to meet at some point.",
    "Put these words in alphabetical order: pear, lemon, apple, quince, fig.",
    "Is this review positive or negative? The soup was cold and the waiter was rude.",
    "Continue the pattern: red, green, blue, red, green,",
    "Write a limerick about a programmer from Leeds.",
    "Invent a name for a bakery that only opens at night.",
    # instructions of a certain form
    "Answer with yes or no only: is the moon larger than the earth?",
    "List five kitchen tools as bullet points.",
    "Write a recipe for pancakes with exact amounts.",
    "Write a short letter of resignation.",
    "Explain gravity to a five-year-old.",
    "Give two arguments for and two against school uniforms.",
    # other languages and odd texts
    "Wie viele Bundesländer hat Deutschland?",
    "¿Cuál es la montaña más alta de España?",
    "Qu'est-ce que la photosynthèse ?",
    "日本の首都はどこですか。",
    "Назови три города в России.",
    "Say hello in Arabic: مرحبا",
    "🎉🎂 What do these emoji mean?",
    "aaaa aaaa aaaa aaaa aaaa",
    "THE QUICK BROWN FOX JUMPS OVER",
    "x",
    "1 2 3 4 5 6 7 8 9 10 11 12",
    # long enough that the prefill matters
    "Read this and say what Mira lost. " + "Mira walked along the canal and counted the boats. She liked the green one best. " * 12
    + "At the bridge she noticed that her umbrella was gone.",
]  # fmt: skip


@pytest.fixture(scope="module")
def plain():
    """The plain float32 pair: transformers' own modules of the same weights, under this engine."""
    return load_pair(default_pair(), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def oracle(plain):
    return plain.target.model


@pytest.fixture(scope="module")
def exact_rounds(real_pair):
    """The rounds of every prompt under EXACT, decoded once."""
    known = {}

    def of(prompt: str):
        if prompt not in known:
            known[prompt] = list(decode(real_pair, list(real_pair.encode(prompt).ids), EXACT))
        return known[prompt]

    return of


def ids_of(pair, prompt, config) -> list[int]:
    return [token for round_ in decode(pair, list(pair.encode(prompt).ids), config) for token in round_.emitted]


@torch.inference_mode()
def assert_greedy(pair, oracle, prompt: str, ours: list[int]) -> None:
    """Every token is the target's own choice after the ones before it, and the text ends where it should."""
    assert len(ours) == COUNT or ours[-1] in pair.stop_ids
    assert pair.stop_ids.isdisjoint(ours[:-1])
    ids = torch.tensor([[*pair.encode(prompt).ids, *ours]])
    logits = oracle(input_ids=ids, logits_to_keep=len(ours) + 1).logits[0, :-1, : pair.vocab_size]
    top = logits.log_softmax(-1).topk(2)
    for place, (token, values, best) in enumerate(zip(ours, top.values.tolist(), top.indices.tolist(), strict=True)):
        if token != best[0]:
            gap = values[0] - values[1]
            print(f"\nnear-tie: {prompt[:50]!r} token {place}, gap {gap:.1e} between {best}")
            assert gap < NEAR_TIE, f"{prompt!r} differs at token {place} where the gap is {gap:.4f}"
            assert token == best[1]


@torch.inference_mode()
def generated(pair, oracle, prompt: str) -> list[int]:
    """What transformers itself writes."""
    ids = torch.tensor([pair.encode(prompt).ids])
    output = oracle.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=COUNT,
        eos_token_id=sorted(pair.stop_ids), pad_token_id=0,
    )  # fmt: skip
    return output[0, ids.shape[1] :].tolist()


@torch.inference_mode()
def compare(pair, oracle, prompt: str, ours: list[int], theirs: list[int]) -> None:
    """Equal, or a near-tie at the first difference."""
    if ours == theirs:
        return
    at = next(i for i in range(COUNT) if ours[i : i + 1] != theirs[i : i + 1])
    ids = torch.tensor([[*pair.encode(prompt).ids, *theirs[:at]]])
    top = oracle(input_ids=ids).logits[0, -1, : pair.vocab_size].log_softmax(-1).topk(2)
    gap = (top.values[0] - top.values[1]).item()
    print(f"\nnear-tie: {prompt[:50]!r} token {at}, gap {gap:.1e} between {top.indices.tolist()}")
    assert gap < NEAR_TIE, f"{prompt!r} differs at token {at} where the gap is {gap:.4f}"
    assert ours[at] in top.indices.tolist()


def test_there_are_enough_prompts():
    assert len(set(PROMPTS)) == len(PROMPTS) >= 40


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt[:30].encode("ascii", "replace").decode())
def test_exact_is_plain_greedy(prompt, real_pair, oracle, exact_rounds):
    """Issue: token-identical to transformers' greedy decoding on at least 40 varied prompts."""
    assert_greedy(real_pair, oracle, prompt, [token for round_ in exact_rounds(prompt) for token in round_.emitted])


@pytest.mark.slow
def test_exact_is_what_transformers_generates(real_pair, oracle, exact_rounds):
    for prompt in PROMPTS:
        ours = [token for round_ in exact_rounds(prompt) for token in round_.emitted]
        compare(real_pair, oracle, prompt, ours, generated(real_pair, oracle, prompt))


@pytest.mark.parametrize("change", [
    {"draft_length": 1}, {"draft_length": 12}, {"rule": "autoregressive"}, {"rule": "fly", "theta": 1.2, "window": 1},
    {"rule": "fly", "theta": 0.0, "window": 5}, {"drafter": "lookup"}, {"drafter": "model+lookup"},
], ids=str)  # fmt: skip
def test_every_way_that_cannot_loosen_is_plain_greedy(change, real_pair, oracle):
    for prompt in (PROMPTS[2], PROMPTS[18], PROMPTS[37]):
        assert_greedy(real_pair, oracle, prompt, ids_of(real_pair, prompt, dataclasses.replace(EXACT, **change)))


def test_phrases_and_pearls_schedule_are_plain_greedy(real_pair, oracle):
    """A pool that is cold, then one that has read the very answer; and drafting ahead with a cache of its own."""
    phrases, pearl = dataclasses.replace(EXACT, phrases=3), dataclasses.replace(EXACT, schedule="pearl")
    for prompt in (PROMPTS[12], PROMPTS[35]):
        ids, pool = list(real_pair.encode(prompt).ids), PhrasePool(phrases.phrase_length, real_pair.stop_ids)
        runs = [list(decode(real_pair, list(ids), phrases, pool)) for _ in range(2)]
        for rounds in [*runs, list(decode(real_pair, list(ids), pearl))]:
            assert_greedy(real_pair, oracle, prompt, [token for round_ in rounds for token in round_.emitted])
        assert len(runs[1]) < len(runs[0]), "a pool that has read the answer must save passes"


def test_the_shipped_head_is_plain_greedy_and_of_use(real_pair, oracle):
    """Drafting from the target's own states, and now and then right: a head of another target would never be."""
    config = dataclasses.replace(EXACT, drafter="features", draft_length=2)
    kept = 0
    for prompt in PROMPTS[3:6]:
        rounds = list(decode(real_pair, list(real_pair.encode(prompt).ids), config))
        assert_greedy(real_pair, oracle, prompt, [token for round_ in rounds for token in round_.emitted])
        kept += sum(round_.accepted for round_ in rounds)
    assert kept > 3


def test_trees_of_the_shipped_head_are_plain_greedy_and_of_more_use(real_pair, oracle):
    """A token that is not the head's first choice is kept now and then: a chain of the same depth makes more passes."""
    chain = dataclasses.replace(EXACT, drafter="features", draft_length=2)
    passes = {}
    for config in (chain, dataclasses.replace(chain, tree=8)):
        for prompt in PROMPTS[3:5]:
            rounds = list(decode(real_pair, list(real_pair.encode(prompt).ids), config))
            passes[config.tree] = passes.get(config.tree, 0) + len(rounds)
            if config.tree:
                assert_greedy(real_pair, oracle, prompt, [token for round_ in rounds for token in round_.emitted])
                assert all(round_.verified <= 8 for round_ in rounds)
    assert passes[8] < passes[0]


def test_transformers_own_modules_too(plain, oracle):
    """The plain float32 pair, which is the oracle that the packed one is held to."""
    for prompt in (PROMPTS[8], PROMPTS[35]):
        ours = ids_of(plain, prompt, EXACT)
        assert_greedy(plain, oracle, prompt, ours)
        compare(plain, oracle, prompt, ours, generated(plain, oracle, prompt))


@torch.inference_mode()
def test_one_forward_reproduces_what_was_recorded(real_pair, oracle):
    """Kept rows and cut rows to 1e-3, on a loose run whose cache has been rolled back many times."""
    config = dataclasses.replace(EXACT, rule="fly", theta=0.05, window=2, draft_length=8)
    for prompt in (PROMPTS[4], PROMPTS[-1]):
        sequence = list(real_pair.encode(prompt).ids)
        for round_ in decode(real_pair, list(sequence), config):
            ids = torch.tensor([[*sequence, *round_.drafted]])
            logits = oracle(input_ids=ids, logits_to_keep=len(round_.rows)).logits[0, :, : real_pair.vocab_size]
            for row, truth, drafted in zip(round_.rows, logits.log_softmax(-1), [*round_.drafted, None]):
                best = truth.topk(2).values
                assert row.argmax == truth.argmax() or best[0] - best[1] < NEAR_TIE
                assert row.argmax_logprob == pytest.approx(best[0].item(), abs=1e-3)
                if drafted is not None:
                    assert row.drafted_logprob == pytest.approx(truth[drafted].item(), abs=1e-3)
            sequence += round_.emitted


def test_the_draft_is_of_use(exact_rounds):
    """A broken draft still gives the right text, only at 0 % (llama.cpp PR#3812)."""
    rounds = [round_ for prompt in PROMPTS[:8] for round_ in exact_rounds(prompt)]
    assert sum(round_.accepted for round_ in rounds) / len(rounds) > 0.3


def test_a_real_run_is_a_valid_trace(real_pair, record, tmp_path):
    from explorer.trace import Trace

    prompt = real_pair.encode(PROMPTS[35])
    trace = record(real_pair, prompt.ids, dataclasses.replace(EXACT, rule="fly", temperature=0.7))
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace
    assert real_pair.stop_ids
