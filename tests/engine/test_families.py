"""Families of models with a peculiarity: what depends on the length of the text, how attention is computed, where settings stand.

The exact rule must give the ids of transformers' own greedy generation, or the model is refused in one line.
"""

from __future__ import annotations

import pytest
import torch
from families import FAMILIES, VOCABULARY, tiny_family

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.load_pair import load_folders
from explorer.engine.models.loading import placement
from explorer.engine.pair import Pair
from explorer.prompts import PromptError

TEXTS = ((10, 40), (28, 20), (33, 16))  # tokens of the prompt, budget: LongRoPE's tables change at 32
REFUSED = ("llama longrope",)  # what its generation does with a text that crosses depends on how it is cut into passes


def prompt_of(length: int) -> list[int]:
    return torch.randint(0, 260, (length,), generator=torch.Generator().manual_seed(length)).tolist()


def own_ids(model, prompt: list[int], count: int, **settings) -> list[int]:
    """transformers' greedy generation."""
    settings = {"do_sample": False, "max_new_tokens": count, "eos_token_id": [266], "pad_token_id": 264} | settings
    with torch.inference_mode():
        return model.generate(torch.tensor([prompt]), **settings)[0, len(prompt) :].tolist()


def decoded(pair: Pair, prompt: list[int], count: int, **settings) -> list[int]:
    config = DecodeConfig(**{"rule": "exact", "max_new_tokens": count, **settings})
    return [token for round_ in decode(pair, prompt, config) for token in round_.emitted]


@pytest.fixture(scope="module")
def family(tokenizer):
    made = {}

    def of(name: str) -> tuple[Pair, torch.nn.Module]:
        if name not in made:
            target, draft = tiny_family(name)
            made[name] = Pair.of(name, target, draft, tokenizer), target
        return made[name]

    return of


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in REFUSED])
def test_exact_is_transformers_own_greedy_text(name, family):
    """Keys of one rotary table met by queries of another (LongRoPE): 12 of 12 texts that crossed were not the model's own."""
    pair, oracle = family(name)
    assert len(pair.vocabulary) == VOCABULARY
    seen = set()
    for length, count in TEXTS:
        prompt = prompt_of(length)
        own = own_ids(oracle, prompt, count)
        seen |= set(own)
        assert decoded(pair, prompt, count, draft_length=8) == own
        assert decoded(pair, prompt, count, rule="autoregressive") == own
    assert len(seen) > 12, "texts that repeat themselves test little"


def test_a_text_that_crosses_to_another_table_is_refused_where_its_keys_stay(family):
    """Here generation goes on with keys of the table of short texts; so its text depends on where the prompt ended."""
    pair, oracle = family("llama longrope")
    with pytest.raises(PromptError, match="the target's context of 32"):
        decoded(pair, prompt_of(10), 40)
    assert decoded(pair, prompt_of(10), 22) == own_ids(oracle, prompt_of(10), 22)


@torch.inference_mode()
def test_what_is_taken_back_over_the_change_of_tables_is_forgotten(family):
    """Rows after a rejection are those of one forward over the text, whatever was held before: also the states heads are fed."""
    pair, oracle = family("phi3 longrope")
    prompt, guess = torch.tensor(prompt_of(30)), torch.arange(100, 106)
    context = pair.target.open(taps=(1,))
    context.prefill(prompt)
    for text in (guess, guess + 20, guess[:1], guess + 40):
        rows = context.feed(text, len(text))
        whole = torch.cat([prompt, text])
        for place in range(len(text)):
            one = oracle(whole[None, : 31 + place], output_hidden_states=True)
            torch.testing.assert_close(rows[place], one.logits[0, -1], atol=1e-4, rtol=1e-4)
        assert context.tapped.shape[0] == len(text)
        context.crop(30)
        assert context.length == 30


@pytest.mark.parametrize("name", ["gemma2 softcap", "gpt-oss sinks", "bloom alibi", "mpt alibi", "gpt-neo local", "gemma3 multimodal"])  # fmt: skip
def test_a_folder_is_read_with_the_attention_of_its_family(name, family, tokenizer, tmp_path):
    """One kind of attention was forced on all: these were refused, in a sentence cut off in the middle."""
    _, oracle = family(name)
    oracle.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    sides = ("target", "draft")
    pair = load_folders(name, dict.fromkeys(sides, tmp_path), dict.fromkeys(sides, name), placement("cpu", None))
    assert decoded(pair, prompt_of(10), 20) == own_ids(oracle, prompt_of(10), 20)
