"""What a form of a target costs in fidelity, on tiny pairs: against float32's own text, and by transformers' own arithmetic."""

import json
import os
from concurrent.futures.process import BrokenProcessPool

import pytest
import torch

from explorer.bench import fidelity, forms, tables
from explorer.bench.fidelity import LIKELIEST, compare, in_own_process, measure_form, reference_text
from explorer.bench.form_lines import ROWS
from explorer.bench.forms import logprobs_along
from explorer.bench.rows import ours
from explorer.cli.main import main
from explorer.config import DecodeConfig
from explorer.engine.pair import Pair, lay_out

PROMPTS = [[1, 2, 3, 4, 2, 3], [39, 68, 75, 75]]
BASE = DecodeConfig(max_new_tokens=12)


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(forms, "REPEATS", 1)


@pytest.fixture
def packed(make_pair):
    return make_pair("packed-llama")


@pytest.fixture
def in_form(packed, tokenizer):
    """The tiny pair with its target in a form."""

    def build(form) -> Pair:
        return Pair.of("tiny", packed.oracle, packed.oracle_draft, tokenizer, target_form=form)

    return build


def test_a_target_agrees_with_itself(packed):
    ids = ours(packed, DecodeConfig(rule="autoregressive", max_new_tokens=12))(PROMPTS[0]).ids
    text = reference_text(packed.target, PROMPTS[0], ids)
    above, divergence, agreement = compare(packed.target, PROMPTS[0], text)
    assert above.tolist() == [0] * len(ids)
    assert divergence.tolist() == pytest.approx([0] * len(ids), abs=1e-9)
    assert agreement.tolist() == [1] * len(ids)


def test_what_a_form_costs_is_measured_along_the_text_of_the_reference(packed):
    """By hand, from both models' whole distributions; rounding tokens of the tail into one makes KL a little smaller at most."""
    other = lay_out(packed.oracle_draft, packed.vocab_size, "int8")  # other weights: a difference to see
    ids = ours(packed, DecodeConfig(rule="autoregressive", max_new_tokens=12))(PROMPTS[0]).ids
    above, divergence, agreement = compare(other, PROMPTS[0], reference_text(packed.target, PROMPTS[0], ids))
    p, q = (logprobs_along(model, PROMPTS[0], ids).double() for model in (packed.target, other))
    exact = (p.exp() * (p - q)).sum(dim=1)
    assert packed.vocab_size > LIKELIEST
    assert divergence.tolist() == pytest.approx(exact.tolist(), rel=1e-3, abs=1e-6)
    assert exact.min() > 1e-4
    for place, token in enumerate(ids):
        assert above[place].item() == pytest.approx((q - p)[place, token].item(), abs=1e-5)
        assert agreement[place] == (q[place].argmax() == token)


def test_every_form_is_held_against_float32(in_form):
    reference = measure_form(in_form("float32"), PROMPTS, BASE, 1)
    line = reference.line
    assert (line.form, line.stored, line.fidelity, line.agreement) == ("float32", "float32", 0, 1)
    assert (line.same_ids, line.prompts) == (2, 2)
    assert list(line.pass_milliseconds) == [str(rows) for rows in ROWS]
    assert min(line.tokens_per_second, line.draft_milliseconds, *line.pass_milliseconds.values()) > 0

    pair = in_form("int8")
    measured = measure_form(pair, PROMPTS, BASE, 2, reference.reference)
    assert measured.reference == reference.reference
    above = torch.cat([compare(pair.target, *one)[0] for one in zip(PROMPTS, reference.reference)])
    assert measured.line.fidelity == pytest.approx(above.mean().item())
    assert 0 < measured.line.divergence < 0.1
    assert measured.line.weight_bytes < line.weight_bytes


def test_a_form_has_a_process_of_its_own():
    assert in_own_process(os.getpid) != os.getpid()
    with pytest.raises(BrokenProcessPool):
        in_own_process(os._exit, 3)
    with pytest.raises(ZeroDivisionError):
        in_own_process(divmod, 1, 0)


@pytest.fixture
def in_this_process(monkeypatch, in_form):
    monkeypatch.setattr(fidelity, "in_own_process", lambda work, *arguments: work(*arguments))
    monkeypatch.setattr(fidelity, "load_pair", lambda name, device, form, progress: in_form(form))


def test_the_command_writes_a_table_that_documents_can_hold(in_this_process, tmp_path, capsys, monkeypatch):
    options = ["--passes", "1", "--limit", "2", "--max-new-tokens", "4", "--out", str(tmp_path / "forms.json")]
    assert main(["bench", "--forms", *options]) == 0
    printed = capsys.readouterr().out
    record = json.loads((tmp_path / "forms.json").read_text())
    assert [one["form"] for one in record["forms"]] == ["float32", "int8", "int4"]
    assert all(one["peak_bytes"] > one["weight_bytes"] for one in record["forms"])
    monkeypatch.setattr(tables, "FIGURES", tmp_path)
    made = tables.forms("forms")
    assert made.startswith(printed.rstrip("\n"))
    assert "| float32 | " in made
    assert "Measured: tiny, 2 prompts, 4 tokens each" in made


def test_a_process_that_is_killed_is_one_sentence(monkeypatch, capsys):
    def killed(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(fidelity, "in_own_process", killed)
    assert main(["bench", "--forms", "--limit", "1"]) == 2
    assert "the process of the form float32 ended early" in capsys.readouterr().err
