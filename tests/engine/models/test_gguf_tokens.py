"""Tokens that a tokenizer has and its model does not, and the ids that end an answer, of GGUF files and of folders."""

from __future__ import annotations

import json

import pytest
import torch
from gguf import GGUFReader
from gguf_files import TEXT, write_gguf
from transformers import AutoModelForCausalLM, GgufConfig

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.load_pair import load_pair
from explorer.engine.models.gguf_file import convert_gguf, end_ids
from explorer.engine.models.model import UnsupportedModel
from explorer.engine.models.weights import is_here
from explorer.prompts import PromptError

PROMPT = [39, 68, 75, 75, 78, 256, 82]
CONTROL = ("<|eot_id|>", "<|end_of_text|>", "<|begin_of_text|>")
EOT, EOS, BOS = range(len(TEXT), len(TEXT) + 3)
ADDED = "<|endoftext|>"  # which the tokenizer class of byte-level GGUF files adds where the file lacks it


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "cache"))


def ids_of(pair, count: int = 30, **settings) -> list[int]:
    config = DecodeConfig(
        **{"rule": "exact", "draft_length": 4, "max_new_tokens": count, "raw_prompt": True, **settings}
    )
    return [token for round_ in decode(pair, PROMPT, config) for token in round_.emitted]


def test_a_token_that_no_row_gives_is_no_reason_to_refuse(tmp_path):
    path = tmp_path / "tiny.gguf"
    write_gguf(path, CONTROL, eos=EOS, eot=EOT, bos=BOS)
    pair = load_pair(f"{path},{path}", device="cpu", dtype="float32")
    rows = len(TEXT) + len(CONTROL)
    assert (len(pair.vocabulary), pair.vocab_size) == (rows + 1, rows)
    assert pair.vocabulary[rows].decode() == ADDED
    oracle = AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file=path.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    with torch.inference_mode():
        own = oracle.generate(
            torch.tensor([PROMPT]), do_sample=False, max_new_tokens=30, eos_token_id=[EOT, EOS], pad_token_id=0
        )
    for settings in ({}, {"rule": "autoregressive"}, {"drafter": "lookup"}):
        assert ids_of(pair, **settings) == own[0, len(PROMPT) :].tolist()
    assert len(ids_of(pair, temperature=1.0)) <= 30
    with pytest.raises(PromptError, match=f"0 to {rows - 1}"):
        next(decode(pair, list(pair.encode(f"a{ADDED}", raw=True).ids), DecodeConfig(max_new_tokens=4)))


@pytest.mark.parametrize("given", ["the file", "its folder"])
def test_a_file_is_known_by_its_ending_in_capitals_too(given, tmp_path):
    (tmp_path / "m").mkdir()
    path = tmp_path / "m" / "TINY.Q8.GGUF"
    write_gguf(path, CONTROL, eos=EOS)
    reference = str(path if given == "the file" else path.parent)
    assert is_here(reference)
    pair = load_pair(f"{reference},{reference}", device="cpu")
    assert len(ids_of(pair, 4)) == 4


@pytest.mark.parametrize(
    ("named", "expected"),
    [({"eos": EOS}, {EOS}), ({"eos": EOS, "eot": EOT}, {EOS, EOT}), ({"eos": EOS, "eot": EOT, "eom": BOS}, {EOS, EOT, BOS})],
)  # fmt: skip
def test_the_end_of_a_turn_ends_an_answer_too(named, expected, tmp_path):
    """Only the end of the text did: a chat model's answer went on through the turns of both sides."""
    path = tmp_path / "tiny.gguf"
    write_gguf(path, CONTROL, **named)
    assert set(end_ids(GGUFReader(path))) == expected
    (folder := tmp_path / "folder").mkdir()
    convert_gguf(path, folder)
    pair = load_pair(f"{folder},{folder}", device="cpu")
    assert pair.stop_ids == expected


def with_added_token(tokenizer, model, folder, text: str = "[PAD]"):
    """A folder whose tokenizer has one token more than its model has rows, as fine-tunes have that were not resized."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["added_tokens"].append({**settings["added_tokens"][-1], "id": len(tokenizer), "content": text})
    path.write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_so_it_is_in_folders(dtype, pair, tmp_path, plain_greedy_ids):
    target = with_added_token(pair.tokenizer, pair.oracle, tmp_path / "target")
    draft = with_added_token(pair.tokenizer, pair.oracle_draft, tmp_path / "draft")
    loaded = load_pair(f"{target},{draft}@float32", device="cpu", dtype=dtype)
    assert (len(loaded.vocabulary), loaded.vocab_size) == (268, 267)
    assert ids_of(loaded) == plain_greedy_ids(pair, PROMPT, 30)


def test_a_draft_of_another_vocabulary_never_reads_such_a_token(pair, tmp_path, plain_greedy_ids):
    """Its embeddings have no row for it: a text that spells the token ended in a traceback."""
    pair.oracle.save_pretrained(tmp_path / "target")
    pair.tokenizer.save_pretrained(tmp_path / "target")
    draft = with_added_token(pair.tokenizer, pair.oracle_draft, tmp_path / "draft", "the")
    loaded = load_pair(f"{tmp_path / 'target'},{draft},cross-tokenizer@float32", device="cpu")
    prompt = list(loaded.encode("Say the word", raw=True).ids)
    rounds = decode(loaded, prompt, DecodeConfig(rule="exact", max_new_tokens=12))
    assert [token for round_ in rounds for token in round_.emitted] == plain_greedy_ids(pair, prompt, 12)


def test_a_draft_that_lacks_a_row_of_the_target_is_refused(pair, make_model, tmp_path):
    target = with_added_token(pair.tokenizer, make_model("llama", 0, vocab_size=268), tmp_path / "target")
    draft = with_added_token(pair.tokenizer, pair.oracle_draft, tmp_path / "draft")
    with pytest.raises(UnsupportedModel, match="267 output rows, its tokenizer 268 tokens"):
        load_pair(f"{target},{draft}", device="cpu")
