"""Generation settings that come with a model: said where they are left out, in the run and in its record, and never by transformers' rows alone."""

from __future__ import annotations

import copy
import json

import pytest
from transformers import GenerationConfig

from explorer.bench.rows import THEIR_PLAIN, their_rows
from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.models.generation import ignored_settings
from explorer.engine.pair import Pair

SETTINGS = {
    "repetition_penalty": 1.7, "no_repeat_ngram_size": 2, "suppress_tokens": list(range(20, 40)), "begin_suppress_tokens": [82],
    "bad_words_ids": [[70], [71, 72]], "forced_eos_token_id": 266, "stop_strings": ["th"], "min_new_tokens": 12,
}  # fmt: skip
PROMPT = [39, 68, 75, 75, 78, 258, 82]


def with_settings(model, **settings):
    changed = copy.deepcopy(model)
    changed.generation_config = GenerationConfig(**settings)
    return changed


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_that_changes_greedy_text_is_named(name, pair):
    (said,) = ignored_settings(with_settings(pair.oracle, **{name: SETTINGS[name]}))
    assert said.startswith(f"{name} ")
    assert len(said) < 100, "a list of thousands of ids is cut"


def test_what_changes_nothing_is_not_named(pair):
    assert ignored_settings(pair.oracle) == pair.provenance().ignored == pair.provenance().notes == ()
    usual = {"repetition_penalty": 1.0, "min_new_tokens": 0, "bad_words_ids": [], "num_beams": 1, "max_new_tokens": 9}
    assert not ignored_settings(
        with_settings(pair.oracle, **usual, do_sample=True, temperature=0.6, top_p=0.9, top_k=20)
    )


def test_transformers_rows_leave_them_out_too(pair):
    """They followed them, and ours did not: `same ids 0/2`, for no reason that anybody was told."""
    target, draft = (with_settings(model, **SETTINGS) for model in (pair.oracle, pair.oracle_draft))
    changed = Pair.of("p", target, draft, pair.tokenizer)
    config = DecodeConfig(rule="exact", max_new_tokens=20)
    own = tuple(token for round_ in decode(changed, PROMPT, config) for token in round_.emitted)
    rows = their_rows(changed, config, [4])
    assert len(rows) == 3
    assert {row: run(PROMPT).ids for row, run in rows.items()} == dict.fromkeys(rows, own)
    assert len(changed.ignored) == len(SETTINGS), "what was found at loading is still told"
    assert THEIR_PLAIN in rows


def test_it_is_said_once_and_stands_in_the_record(pair, tmp_path, command):
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        with_settings(model, repetition_penalty=1.1).save_pretrained(tmp_path / side)
        pair.tokenizer.save_pretrained(tmp_path / side)
    name, out = f"{tmp_path / 'target'},{tmp_path / 'draft'}", tmp_path / "trace.json"
    code, _, err = command("run", "--prompt", "Hi", "--pair", name, "--max-new-tokens", 6, "--out", out, "--baseline")
    assert code == 0
    assert err.count("repetition_penalty") == 1
    assert "note: ignored of the target's generation settings: repetition_penalty 1.1." in err
    assert json.loads(out.read_text(encoding="utf-8"))["provenance"]["ignored"] == ["repetition_penalty 1.1"]
    code, out, _ = command(
        "bench", "--pair", name, "--limit", 1, "--passes", 1, "--max-new-tokens", 6, "--rows", "plain"
    )
    assert code == 0
    assert "repetition_penalty 1.1" in out
