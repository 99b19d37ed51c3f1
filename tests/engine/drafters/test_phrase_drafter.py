"""Ouroboros' draft side: what is drafted is what the model alone drafts, in fewer forwards; the window makes true n-grams."""

import dataclasses

import pytest
import torch

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.draft import Draft, ModelDrafter
from explorer.engine.drafters.phrase_drafter import PhraseDrafter
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.engine.sampling import Sampler

SHAPES = ("llama", "qwen2", "packed-llama", "packed-qwen2", "self-qwen2")
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
COUNT = 24
CONFIG = DecodeConfig(
    rule="exact",
    drafter="model+phrases",
    draft_length=5,
    phrases=2,
    phrase_length=3,
    phrase_window=3,
    max_new_tokens=COUNT,
)


def run(pair, config, pool=None):
    return list(decode(pair, list(PROMPT), config, pool))


def ids_of(rounds) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


@pytest.fixture(scope="module")
def greedy(make_pair, plain_greedy_ids):
    return {shape: plain_greedy_ids(make_pair(shape), PROMPT, COUNT) for shape in SHAPES}


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_is_plain_greedy(shape, make_pair, greedy):
    extremes = ({"phrases": 0}, {"phrase_length": 1}, {"draft_length": 1}, {"phrase_window": 1})
    for change in ({}, *(extremes if shape == "self-qwen2" else ())):
        assert ids_of(run(make_pair(shape), dataclasses.replace(CONFIG, **change))) == greedy[shape]


@pytest.mark.parametrize("shape", ["llama", "qwen2"])
def test_the_drafts_are_those_of_the_model_alone(shape, make_pair, greedy):
    """In float32: the same drafts after the same text, with confirmed phrases among them, the probabilities too."""
    pair, pool = make_pair(shape), PhrasePool(3, ())
    alone = {r.length_before: r for r in run(pair, dataclasses.replace(CONFIG, drafter="model", phrases=0))}
    first = run(pair, dataclasses.replace(CONFIG, phrases=0), pool)
    second = run(pair, dataclasses.replace(CONFIG, phrases=0), pool)
    for rounds in (first, second):
        for round_ in rounds:
            same = alone[round_.length_before]
            assert round_.drafted == same.drafted
            assert round_.draft_probs == pytest.approx(same.draft_probs, abs=1e-4)
    assert sum(round_.sources.count("drafted phrase") for round_ in second) > 4


def test_confirmed_phrases_save_forwards(pair, monkeypatch):
    fed = []
    branch = Context.branch
    monkeypatch.setattr(Context, "branch", lambda self, *rest: fed.append(self) or branch(self, *rest))
    pool = PhrasePool(3, ())
    config = dataclasses.replace(CONFIG, phrases=0)
    run(pair, config, pool)
    cold = len(fed)
    drafted = sum(len(round_.drafted) for round_ in run(pair, config, pool))
    assert len(fed) - cold < drafted
    assert len(fed) - cold < cold


@torch.inference_mode()
def test_a_layer_is_shown_the_states_that_the_tokens_were_read_off(pair):
    """Also those of a confirmed phrase, which stood elsewhere in the forward: the states of drafting one by one."""
    pool, shown = PhrasePool(3, ()), []

    def score(states, probs):
        shown.append(states.clone())
        return torch.ones(len(states))

    drafts = []
    for kind, options in ((ModelDrafter, {}), (PhraseDrafter, {"pool": pool, "window": 3, "length": 3})):
        drafter, draft = (
            kind(pair.draft.open(True), Sampler(0.0, 0, torch.device("cpu")), frozenset(), **options),
            Draft(),
        )
        drafter.prefill(PROMPT[:-1])
        drafter.extend(draft, list(PROMPT), 7, score)
        pool.read([PROMPT[-1], *draft.ids], len(draft) + 1)
        drafts.append(draft)
    assert drafts[0].ids == drafts[1].ids
    assert "drafted phrase" in drafts[1].sources
    torch.testing.assert_close(shown[1], shown[0], atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("kind", ["llama", "packed-llama"])
def test_a_forward_is_what_single_forwards_say(kind, make_pair):
    """Every level of the window against the model fed with that column alone; after it the cache holds the drafted text only."""
    pair = make_pair(kind)
    pool = PhrasePool(3, ())
    seen = []
    pool.add = lambda key, phrase: seen.append((key, tuple(phrase)))
    with torch.inference_mode():
        context = pair.draft.open()
        drafter = PhraseDrafter(
            context, Sampler(0.0, 0, torch.device("cpu")), frozenset(), pool=pool, window=3, length=3
        )
        drafter.prefill(PROMPT[:-1])
        levels = [list(level) for level in drafter._levels(PROMPT)]
        drafter.extend(Draft(), list(PROMPT), 1)
        assert context.length == len(PROMPT)
        for column, (key, phrase) in enumerate(seen):
            text = [*PROMPT, *levels[0][: column + 1], levels[1][column], levels[2][column]]
            assert (key, *phrase[:-1]) == (levels[0][column], levels[1][column], levels[2][column])
            again = pair.draft.open()
            own = again.feed(torch.tensor(text), rows=1).argmax(-1).item()
            if kind == "llama":  # a quantized forward rounds by the number of its rows
                assert phrase[-1] == own
    assert len(seen) == 3
    assert isinstance(context, Context if kind == "llama" else PackedContext)


def test_what_cannot_be_is_refused(make_pair):
    with pytest.raises(ConfigError, match="temperature 0"):
        dataclasses.replace(CONFIG, phrases=0, temperature=0.7)
    with pytest.raises(ConfigError, match="attention mask"):
        run(make_pair("gemma3"), dataclasses.replace(CONFIG, phrases=0))
