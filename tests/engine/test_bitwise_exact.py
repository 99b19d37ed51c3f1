"""A quantized target on real weights: whatever drafts, and however long, the text is that of plain greedy decoding to the last token."""

import dataclasses
import itertools

import pytest

from explorer.config import POLICY_DEFAULTS, ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.load_pair import load_pair
from explorer.engine.models.registry import default_pair
from explorer.prompts import HELD_OUT, read_prompts

pytestmark = [pytest.mark.slow, pytest.mark.real]
BASE = DecodeConfig(rule="exact", max_new_tokens=64)
DRAFTERS = {
    "model": {},
    "lookup": {"drafter": "lookup"},
    "model+lookup": {"drafter": "model+lookup"},
    "phrases": {"drafter": "model+phrases", "phrases": 3},
    "head": {"drafter": "features"},
    "tree": {"drafter": "features", "tree": 8, "tree_width": 2},
    "pearl": {"schedule": "pearl"},
}


def written(pair, prompt, config) -> list[int]:
    return [token for round_ in decode(pair, prompt, config) for token in round_.emitted]


@pytest.fixture(scope="module", params=["int8", "int4"])
def pair_and_texts(request):
    """The default pair with its target in a form, and plain greedy decoding of every held-out prompt."""
    pair = load_pair(f"{default_pair()}@{request.param}", "cpu")
    prompts = [list(pair.encode(item.prompt).ids) for item in read_prompts(HELD_OUT)]
    plain = dataclasses.replace(BASE, rule="autoregressive")
    return pair, [(prompt, written(pair, prompt, plain)) for prompt in prompts]


@pytest.mark.parametrize(("drafter", "length"), itertools.product(DRAFTERS, POLICY_DEFAULTS))
def test_exact_is_plain_greedy_to_the_last_token(drafter, length, pair_and_texts):
    pair, texts = pair_and_texts
    try:
        config = dataclasses.replace(BASE, length=length, **POLICY_DEFAULTS[length] | DRAFTERS[drafter])
        config.check_with(pair.offers)
    except ConfigError as error:
        pytest.skip(str(error))
    different = [index for index, (prompt, text) in enumerate(texts) if written(pair, prompt, config) != text]
    assert not different
