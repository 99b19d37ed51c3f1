"""What a user would otherwise run, in the table: the draft alone, the target in its fastest form, and what they say of speculation."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
import torch

from explorer.bench import comparison, forms, plain_rows, tables
from explorer.bench.forms import logprobs_along, pass_seconds
from explorer.bench.lines import notes, payoff, pooled, table
from explorer.bench.measured import DRAFT_ALONE, PLAIN, Measured, fastest_name, is_exact, is_plain
from explorer.bench.plain_rows import draft_alone, fastest_form, other_target
from explorer.bench.rows import ours
from explorer.cli.main import main
from explorer.config import DecodeConfig
from explorer.engine.pair import lay_out

PROMPT = [1, 2, 3, 4, 2, 3]
BASE = DecodeConfig(max_new_tokens=12)
TIMES = {"float32": 0.009, "int8": 0.001, "int4": 0.002}


@pytest.fixture
def packed(make_pair):
    return make_pair("packed-llama")


def in_form(pair, form):
    return lay_out(pair.oracle, pair.vocab_size, form)


def test_the_draft_alone_is_its_own_greedy_text_under_the_target(pair):
    one = draft_alone(pair, BASE)(PROMPT)
    text = pair.oracle_draft.generate(
        torch.tensor([PROMPT]), do_sample=False, max_new_tokens=12, eos_token_id=sorted(pair.stop_ids), pad_token_id=264
    )[0]
    assert list(one.ids) == text[len(PROMPT) :].tolist()
    with torch.inference_mode():
        logprobs = pair.oracle(text[None, :-1]).logits[0, len(PROMPT) - 1 :].log_softmax(dim=-1)
    expected = logprobs.gather(1, text[len(PROMPT) :, None])[:, 0]
    assert one.logprobs == pytest.approx(expected.tolist(), abs=1e-4)
    assert (one.passes, one.rounds) == (0, ())


def test_a_draft_on_fixed_buffers_works_alone(make_model, tokenizer):
    """As drafts on a GPU do."""
    from pairs import OraclePair

    model = make_model("llama", 0)
    pair = OraclePair.of("fixed", model, make_model("llama", 1), tokenizer, fixed_draft=True)
    one = draft_alone(pair, BASE)(PROMPT)
    grown = replace(pair, draft=lay_out(pair.oracle_draft, pair.vocab_size, None))
    assert one.ids == draft_alone(grown, BASE)(PROMPT).ids


def test_another_form_writes_its_own_text_and_the_target_judges_it(packed):
    target = in_form(packed, "int8")
    one = other_target(packed, target, BASE)(PROMPT)
    own = ours(replace(packed, target=target), replace(BASE, rule="autoregressive"))(PROMPT)
    assert one.ids == own.ids
    assert len(one.rounds) == one.passes == len(one.ids)
    along = logprobs_along(packed.target, PROMPT, one.ids)
    assert one.logprobs == pytest.approx([along[place, token].item() for place, token in enumerate(one.ids)])
    assert one.logprobs != own.logprobs


def test_a_pass_is_timed_at_any_number_of_rows(packed, monkeypatch):
    monkeypatch.setattr(forms, "REPEATS", 1)
    assert all(pass_seconds(model, rows) > 0 for model in (packed.target, packed.draft) for rows in (1, 3))


@pytest.fixture
def timed(packed, monkeypatch):
    """The choice of a form, where a pass of each takes so long; int4 comes out as int8 does, as where its kernel is missing."""

    def choose(milliseconds, free=float("inf")):
        monkeypatch.setattr(plain_rows, "pass_seconds", lambda model, rows: milliseconds[model.form] / 1e3)
        monkeypatch.setattr(plain_rows, "free_bytes", lambda: free)
        return fastest_form(packed, lambda form: in_form(packed, "int8" if form == "int4" else form))

    return choose


def test_the_fastest_form_is_the_one_that_takes_least_time(timed, packed):
    found = timed({"float32": 9.0, "int8": 3.0})
    assert found.model.form == "int8"
    assert found.milliseconds == pytest.approx({"float32": 9.0, "int8": 3.0}), "int4 would be int8 once more"
    assert "int8 3.0, float32 9.0" in str(found.said[-1])
    for int8 in (8.8, 12.0):  # a difference this small is noise
        found = timed({"float32": 9.0, "int8": int8})
        assert found.model is packed.target
        assert "plain greedy is that already, in float32" in str(found.said[-1])


def test_a_form_without_room_is_left_out_with_a_sentence(timed, packed):
    found = timed({"float32": 9.0, "int8": 3.0}, free=0)
    assert found.model is packed.target
    assert [message.code for message in found.said] == ["bench.no_room", "bench.no_room", "bench.own_form_fastest"]


def test_a_target_of_one_form_is_not_timed(pair):
    found = fastest_form(pair, None)
    assert (found.model, found.milliseconds) == (pair.target, {})
    assert "not run here" in str(found.said[0])


# What the table says of it ------------------------------------------------------------------------------------------------


def lines_of(**walls):
    """A line for each row that made ten tokens in so many seconds."""
    rows = {
        "plain": PLAIN,
        "fastest": fastest_name("int4"),
        "alone": DRAFT_ALONE,
        "exact": "exact, K = 8",
        "fly": "fly, K = 8",
    }
    measured = {rows[name]: [Measured(tuple(range(10)), wall, 10)] for name, wall in walls.items()}
    return pooled([measured], ["code"])


def test_every_row_stands_against_plain_greedy_and_against_the_fastest_plain_row():
    lines = lines_of(plain=8.0, fastest=2.0, alone=1.0, exact=4.0)
    assert [(one.times_plain, one.times_fastest) for one in lines] == [(1, 0.25), (4, 1), (8, 2), (2, 0.5)]
    head, _, plain, *_ = table(lines, ("row", "x plain", "x fastest")).splitlines()
    assert (head, plain) == ("| row | x plain | x fastest |", "| plain greedy | 1.00 | 0.25 |")
    assert notes(lines)[0].startswith("x fastest is against int4 target (fastest form), plain greedy")


def test_one_column_is_enough_where_plain_greedy_is_the_fastest():
    lines = lines_of(plain=2.0, alone=1.0, exact=1.5)
    assert "x fastest" not in table(lines)
    assert not [note for note in notes(lines) if note.startswith("x fastest")]


@pytest.mark.parametrize(
    ("walls", "code"),
    [
        ({"plain": 8.0, "fastest": 2.0, "exact": 4.0, "fly": 0.5}, "bench.does_not_pay"),
        ({"plain": 8.0, "fastest": 2.0, "exact": 2.0}, "bench.does_not_pay"),
        ({"plain": 8.0, "alone": 0.5, "fastest": 2.0, "exact": 1.9}, "bench.pays"),
        ({"plain": 8.0, "exact": 4.0}, "bench.pays"),
    ],
)
def test_whether_speculation_pays_is_said(walls, code):
    """Against the target alone in any form: the draft's text is another model's, and a loose rule's is not the target's own."""
    lines = lines_of(**walls)
    assert payoff(lines).code == code
    assert str(payoff(lines)) in notes(lines)


def test_nothing_is_said_where_no_exact_row_was_run_or_forms_were_unknown():
    assert payoff(lines_of(plain=8.0, fly=1.0)) is None
    assert payoff([replace(one, times_fastest=None) for one in lines_of(plain=8.0, exact=1.0)]) is None


def test_rows_are_known_by_their_names():
    assert [is_plain(row) for row in (PLAIN, fastest_name("int8"), "transformers: plain greedy", DRAFT_ALONE)] == [
        True
    ] * 3 + [False]
    assert [is_exact(row) for row in ("exact, K = 8", "exact length=pacer", PLAIN, "fly, K = 4")] == [
        True,
        True,
        False,
        False,
    ]


# The command --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bench(packed, monkeypatch, tmp_path, capsys):
    """The command on a tiny pair, whose int8 form is the fastest: what it printed and what it wrote."""

    def load(name, device=None, dtype=None, form=None, progress=None):
        return packed if form is None and dtype is None else SimpleNamespace(target=in_form(packed, form))

    monkeypatch.setattr(comparison, "load_pair", load)
    monkeypatch.setattr(plain_rows, "pass_seconds", lambda model, rows: TIMES[model.form])

    def run(*options):
        options = ["--passes", "1", "--limit", "1", "--max-new-tokens", "4", "--draft-length", "2", *options]
        assert main(["bench", *options, "--out", str(tmp_path / "out.json")]) == 0
        return capsys.readouterr().out, json.loads((tmp_path / "out.json").read_text())

    return run


def test_the_command_says_both(bench):
    printed, record = bench("--rows", "draft alone", "--rows", "fastest form", "--rows", "exact, K")
    rows = [line["row"] for line in record["lines"]]
    assert rows == [PLAIN, DRAFT_ALONE, "int8 target (fastest form), plain greedy", "exact, K = 2"]
    assert all(f"| {row} |" in printed for row in rows)
    assert "Speculation " in printed
    assert record["form_milliseconds"] == pytest.approx({"float32": 9.0, "int8": 1.0, "int4": 2.0})
    assert all(line["times_fastest"] > 0 for line in record["lines"])
    assert "target int8 packed" in record["memory"]["weights"]


def test_forms_are_not_loaded_for_rows_that_are_not_wanted(bench):
    printed, record = bench("--rows", "exact, K")
    assert [line["row"] for line in record["lines"]] == [PLAIN, "exact, K = 2"]
    assert record["form_milliseconds"] == {}


def test_a_draft_with_another_vocabulary_does_not_stand_alone(bench, packed, monkeypatch):
    other = replace(packed, draft_side=object())
    monkeypatch.setattr(comparison, "load_pair", lambda *_, **__: other)
    printed, record = bench("--rows", "draft alone")
    assert [line["row"] for line in record["lines"]] == [PLAIN]
    assert "draft alone, plain greedy: not run here, the draft has another vocabulary" in printed


def test_the_readme_begins_with_what_a_user_would_otherwise_run(tmp_path, monkeypatch):
    """All plain rows that the file has, whatever the fastest form was, then the rows that are named."""
    lines = [asdict(one) for one in lines_of(plain=8.0, alone=1.0, fastest=2.0, fly=2.5, exact=4.0)]
    (tmp_path / "run.json").write_text(json.dumps({"lines": lines}), encoding="utf-8")
    monkeypatch.setattr(tables, "FIGURES", tmp_path)
    monkeypatch.setattr(tables, "HEADLINES", {"a pair": (("run", "exact, K = 8", "**exact**"),)})
    assert tables.headlines().splitlines() == [
        "| pair | row | tokens/s | x fastest | x plain | tau | same ids | nats/token |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| a pair | plain greedy | 1.2 | 0.25 | 1.00 | 1.00 | 1/1 | - |",
        "|  | draft alone, plain greedy | 10.0 | 2.00 | 8.00 | 1.00 | 1/1 | - |",
        "|  | int4 target (fastest form), plain greedy | 5.0 | 1.00 | 4.00 | 1.00 | 1/1 | - |",
        "|  | **exact** | 2.5 | 0.50 | 2.00 | 1.00 | 1/1 | - |",
    ]
