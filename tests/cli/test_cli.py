"""The command line as a person and a script meet it: exit codes, one line per mistake, text on stdout, figures on stderr."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from explorer.analysis.cost_files import find_profile, save_profile
from explorer.analysis.costs import CostProfile
from explorer.config import PRESETS, DecodeConfig
from explorer.stops import Stop
from explorer.trace import Baseline, Trace
from explorer.verdicts import RULES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(command):
    return command


def process(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "explorer", *arguments],
        input=stdin, capture_output=True, cwd=ROOT, env={**os.environ, **environment},
    )  # fmt: skip


# judge ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cases(golden, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(case["input"]) for case in golden) + "\n", encoding="utf-8")
    return path


def test_judge_gives_every_golden_line(run, cases, golden):
    code, out, err = run("judge", cases)
    assert (code, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == [case["expected"] for case in golden]


def test_judge_reads_stdin_and_skips_empty_lines(cases, golden):
    raw = cases.read_bytes().replace(b"\n", b"\r\n\n", 3)
    for arguments in (["judge"], ["judge", "-"]):
        result = process(*arguments, stdin=raw)
        assert (result.returncode, result.stderr) == (0, b"")
        assert [json.loads(line) for line in result.stdout.splitlines()] == [case["expected"] for case in golden]


CASE = {"match": [True, False], "entropy": [0.1, 0.5], "theta": 0.3, "window": 0, "rule": "fly"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("{", "not valid JSON"),
        ("[1]", "must be an object"),
        ("NaN", "NaN is not a number"),
        ({"match": None}, "match must be a list"),
        ({"match": [1, 0]}, "match[0] must be true or false"),
        ({"entropy": [0.1]}, "one entry per drafted token"),
        ({"entropy": [0.1, "x"]}, "entropy[1] must be a finite number"),
        ({"protected": [True]}, "one entry per drafted token"),
        ({"theta": True}, "theta must be a finite number"),
        ({"window": -1}, "window must be a whole number from 0 to 32"),
        ({"theta": 9}, "theta must be a number from 0 to 1.2"),
        ({"window": 1.5}, "window must be a whole number"),
        ({"includes_mismatch": True}, "at least 1 when it includes"),
        ({"rule": "loose"}, f"rule must be one of {', '.join(RULES)}"),
        ({"entropy": None}, "entropy is missing"),
        ({"rule": "topk"}, "rank is missing"),
        ({"rule": "topk", "rank": [None, 2]}, "top_k is missing"),
        ({"rule": "topk", "rank": [2], "top_k": 2}, "one entry per drafted token"),
        ({"rule": "topk", "rank": [None, 2], "top_k": 0}, "top_k must be a whole number from 1 to 8"),
        (
            {"rule": "kl", "top_prob": [0.1, 0.1], "divergence": [0.1, None], "kl_limit": 1, "kl_confidence": 1},
            "needs the divergence",
        ),
    ],
)
def test_judge_names_the_line_of_a_bad_case(refused, tmp_path, change, words):
    bad = change if isinstance(change, str) else json.dumps({**CASE, **change})
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(CASE)}\n\n{bad}\n", encoding="utf-8")
    line = refused("judge", path)
    assert "line 3" in line
    assert words in line


def test_judge_answers_the_lines_before_a_bad_one(run, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(CASE)}\nnonsense\n", encoding="utf-8")
    code, out, _ = run("judge", path)
    assert code == 2
    assert json.loads(out)["verdicts"] == ["exact", "deferred"]


def test_judge_of_files_that_cannot_be_read(refused, tmp_path):
    assert "no-such-file" in refused("judge", tmp_path / "no-such-file")
    assert str(tmp_path) in refused("judge", tmp_path)
    (tmp_path / "latin").write_bytes(b'{"rule": "\xe9"}')
    assert "not UTF-8" in refused("judge", tmp_path / "latin")


def test_judge_lines_end_at_newlines_only(run, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({**CASE, "note": "a\u2028b"}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert run("judge", path)[0] == 0


def test_judge_of_stdin_that_is_not_utf8():
    result = process("judge", stdin=b'{"rule": "\xe9"}\n', PYTHONIOENCODING="utf-8")
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)


def test_a_closed_pipe_is_no_error(golden, tmp_path):
    """`explorer judge FILE | head -1` must end quietly."""
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps(case["input"]) for case in golden * 20), encoding="utf-8")
    command = f"'{sys.executable}' -m explorer judge '{path}' | head -1 > /dev/null; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, cwd=ROOT)
    assert result.stderr == b""
    assert result.stdout.strip() == b"0"


# Bad arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--theta", "-0.1", "a number from 0 to 1.2"),
        ("--theta", "2.1", "a number from 0 to 1.2"),
        ("--theta", "nan", "a number from 0 to 1.2"),
        ("--theta", "inf", "a number from 0 to 1.2"),
        ("--theta", "x", "a number from 0 to 1.2"),
        ("--window", "-1", "a whole number from 0 to 32"),
        ("--window", "33", "a whole number from 0 to 32"),
        ("--window", "1.5", "a whole number from 0 to 32"),
        ("--draft-length", "0", "a whole number from 1 to"),
        ("--draft-length", "65", "a whole number from 1 to"),
        ("--max-new-tokens", "0", "a whole number from 1 to"),
        ("--temperature", "-1", "a number from 0 to 2"),
        ("--temperature", "nan", "a number from 0 to 2"),
        ("--seed", "-1", "a whole number from 0 to"),
        ("--seed", "9" * 5000, "a whole number from 0 to"),
        ("--rule", "lucky", "autoregressive"),
        ("--entropy", "full", "normalized"),
        ("--preset", "best", "paper"),
        ("--stop", "", "a stop string must not be empty"),
        ("--pair", "", "must not be empty"),
        ("--dtype", "int3", "float32, bfloat16, float16"),
        ("--device", "abacus", "abacus"),
        ("--pair", "nope", "unknown pair 'nope'"),
        ("--pair", "a,", "TARGET,DRAFT"),
        ("--pair", "/no/where,/no/where", "/no/where"),
        ("--pair", "no-owner,./x", "no-owner"),
        ("--out", "/no/such/folder/t.json", "no folder"),
        ("--prompt-file", "x", "not allowed with"),
        ("--frobnicate", "1", "--frobnicate"),
        ("--the", "0.1", "--the"),
    ],
)
def test_bad_options_say_the_range(refused, option, value, words):
    line = refused("run", "--prompt", "hello", option, value)
    assert words in line
    assert len(line) < 6000


def test_bad_prompts(refused, tmp_path, saved):
    assert "no-such-file" in refused("run", "--prompt-file", tmp_path / "no-such-file")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    assert "not UTF-8" in refused("run", "--prompt-file", tmp_path / "latin")
    assert "--prompt" in refused("run")
    assert "the prompt is empty" in refused("run", "--prompt", "  ", "--pair", saved)
    long = refused("run", "--prompt", "word " * 300, "--pair", saved, "--quiet")
    assert "context of 256" in long


def test_a_prompt_that_is_not_utf8(refused, saved):
    refused("run", "--prompt", "a\udc80", "--pair", saved, "--quiet")


def test_no_window_that_includes_the_mismatch(refused):
    assert "at least 1" in refused("run", "--prompt", "x", "--window", "0", "--window-includes-mismatch")


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["judge", "a", "b"], ["replay"], ["replay", "x", "--theta", "9"]]
)
def test_bad_commands(refused, arguments):
    refused(*arguments)


def test_help_explains_every_knob(run):
    code, out, _ = run("run", "--help")
    assert code == 0
    for word in (
        "--theta",
        "--window",
        "--entropy",
        "--window-includes-mismatch",
        "--draft-length",
        "--stop",
        "--baseline",
        "--out",
        "--quiet",
        "--raw-prompt",
        *PRESETS,
    ):
        assert word in out


def test_pairs_lists_what_is_known(run):
    code, out, _ = run("pairs")
    assert code == 0
    assert out.startswith("smollm2-135m ")
    assert "Llama 3.1 70B" in out
    assert "TARGET,DRAFT" in out


# run -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(make_pair, tmp_path_factory):
    """A tiny pair on disk, as TARGET,DRAFT."""
    pair, folder = make_pair("llama"), tmp_path_factory.mktemp("pair")
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(folder / side)
        pair.tokenizer.save_pretrained(folder / side)
    return f"{folder / 'target'},{folder / 'draft'}"


def printable(text: str) -> str:
    """A terminal gets the text without control characters, which a random model writes many of."""
    return "".join(c for c in text if c in "\n\t" or not (ord(c) < 32 or 127 <= ord(c) < 160))


FAST = ["--max-new-tokens", "24", "--draft-length", "4", "--theta", "0.2", "--window", "1"]


def test_run_prints_the_text_and_writes_the_trace(run, saved, tmp_path):
    out_path = tmp_path / "trace.json"
    code, out, err = run("run", "--prompt", "Hello the world", "--pair", saved, *FAST, "--baseline", "--out", out_path)
    assert code == 0
    trace = Trace.load(out_path)
    assert out.rstrip("\n�") == printable(trace.text).rstrip("\n�")
    assert "\033" not in out, "plain where it is not a terminal"
    assert (trace.config.theta, trace.config.window, trace.config.draft_length) == (0.2, 1, 4)
    assert trace.prompt.text.startswith("<|im_start|>user\nHello the world")
    assert trace.baseline is not None
    for words in (
        "tau",
        "kept per round",
        "exact",
        "deferred",
        "rejected",
        "seconds:",
        "tokens/s after the prefill (measured",
        "plain greedy",
    ):
        assert words in err


def test_quiet_prints_the_text_alone(run, saved):
    code, out, err = run("run", "--prompt", "Hello", "--pair", saved, *FAST, "--quiet")
    assert (code, err) == (0, "")
    assert out.endswith("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_prompt_from_a_file_and_raw(encoding, run, saved, tmp_path):
    (tmp_path / "p.txt").write_text("Größe the\n", encoding=encoding)
    code, _, _ = run(
        "run", "--prompt-file", tmp_path / "p.txt", "--raw-prompt", "--pair", saved, *FAST, "--out", tmp_path / "t.json"
    )
    assert code == 0
    trace = Trace.load(tmp_path / "t.json")
    assert (trace.prompt.text, trace.prompt.messages) == ("Größe the\n", None)


def test_presets_and_single_options(run, saved, tmp_path):
    """A preset first, single options over it; a measure without a theta brings its own."""

    def config(*options):
        assert (
            run(
                "run", "--prompt", "x", "--pair", saved, "--max-new-tokens", "2", "--out", tmp_path / "t.json", *options
            )[0]
            == 0
        )
        c = Trace.load(tmp_path / "t.json").config
        return c.rule, c.entropy, c.theta, c.window, c.window_includes_mismatch

    assert config("--preset", "released") == ("fly", "top3", 0.3, 6, True)
    assert config("--preset", "released", "--no-window-includes-mismatch") == ("fly", "top3", 0.3, 6, False)
    assert config("--preset", "paper", "--theta", "0.1") == ("fly", "normalized", 0.1, 6, False)
    assert config("--entropy", "top3")[1:3] == ("top3", 0.3)
    assert config("--entropy", "top3", "--theta", "0.7")[1:3] == ("top3", 0.7)
    assert config("--entropy", "normalized")[1:3] == ("normalized", 0.05)


def test_settings_that_defer_nothing_are_noted(run, saved):
    _, _, err = run(
        "run", "--prompt", "x", "--pair", saved, "--max-new-tokens", "4", "--draft-length", "3", "--window", "5"
    )
    assert "nothing can be deferred" in err


def test_every_rule_and_temperature_runs(run, saved, tmp_path):
    for options in (
        ["--rule", "autoregressive"],
        ["--rule", "exact"],
        ["--rule", "fly", "--temperature", "0.8", "--seed", "3"],
    ):
        code, out, _ = run("run", "--prompt", "Hello", "--pair", saved, *FAST, *options, "--out", tmp_path / "t.json")
        assert code == 0
        assert out.rstrip("\n�") == printable(Trace.load(tmp_path / "t.json").text).rstrip("\n�")


def test_a_stop_string_is_not_printed(run, saved, tmp_path):
    """Text, ids and records end together; the shown text ends before the stop string."""
    options = ["--prompt", "Hello the world", "--pair", saved, *FAST, "--out", tmp_path / "t.json"]
    _, out, _ = run("run", *options)
    whole = out.rstrip("\n")
    stop = next(c for c in whole[4:] if c.isascii() and c.isprintable() and c not in whole[:4])
    code, out, _ = run("run", *options, "--stop", stop)
    assert code == 0
    trace = Trace.load(tmp_path / "t.json")
    assert trace.stop.reason == "stop_string"
    assert out == printable(trace.text) + "\n"


def test_part_of_a_character_at_the_end_is_shown(run, saved, tmp_path):
    """Budgets that cut a character in two: what is printed is still exactly the text of the trace."""
    ends = set()
    for budget in range(1, 13):
        options = [
            "--prompt",
            "Hello",
            "--pair",
            saved,
            *FAST,
            "--max-new-tokens",
            budget,
            "--out",
            tmp_path / "t.json",
        ]
        _, out, _ = run("run", *options)
        trace = Trace.load(tmp_path / "t.json")
        assert out == printable(trace.text) + "\n"
        ends.add(trace.text.endswith("�"))
    assert ends == {True, False}


def test_colours_mark_what_each_token_is(pair, record):
    from explorer.cli.terminal import Printer, styles_for
    from explorer.config import DecodeConfig

    trace = record(pair, [1, 2, 3], DecodeConfig(theta=0.0, window=0, max_new_tokens=16))
    terminal, environment = SimpleNamespace(isatty=lambda: True), {"TERM": "xterm"}
    styles = [styles_for(terminal, environment), styles_for(terminal, environment | {"NO_COLOR": "1"})]
    assert (
        styles_for(terminal, {"TERM": "dumb"}) == styles_for(SimpleNamespace(isatty=lambda: False), environment) == {}
    )
    assert "exact" not in styles[0], "most tokens are exact: readable on any ground"
    assert not any(re.search(r"3\d", style) for style in styles[1].values()), "no colour where none is wanted"
    for one in styles:
        assert len({one.get(kind) for kind in ("exact", "deferred", "correction", "bonus")}) == 4
        plain, styled = (Printer(trace.vocabulary, pair.stop_ids, which) for which in ({}, one))
        for round_ in trace.rounds:
            assert re.sub(r"\033\[[0-9;]*m", "", styled.text(round_)) == plain.text(round_)
        kinds = {kind for round_ in trace.rounds for kind in round_.emitted_kinds}
        assert plain.key == ""
        assert {kind for kind in ("exact", "deferred", "correction", "bonus") if kind in styled.key} == kinds


def test_control_characters_of_a_model_do_not_reach_the_terminal(pair, record):
    """A model that writes an escape sequence could rewrite the screen."""
    from explorer.cli.terminal import Printer
    from explorer.config import DecodeConfig

    trace = record(pair, [1, 2, 3], DecodeConfig(max_new_tokens=4))
    evil = {token: "\033[2J\x07\r\x9b31m ok\n\t".encode() for token in range(pair.vocab_size)}
    shown = Printer(evil, frozenset(), {}).text(trace.rounds[0])
    assert set(shown) == set("[2J31m ok\n\t")


def test_an_interrupt_keeps_what_is_there(run, saved, tmp_path, monkeypatch):
    """Ctrl-C: the partial trace is written and marked."""
    from explorer.cli import terminal

    shown = terminal.Printer.text
    calls = []

    def interrupted(self, round_):
        calls.append(round_)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return shown(self, round_)

    monkeypatch.setattr(terminal.Printer, "text", interrupted)
    code, _, err = run("run", "--prompt", "Hello", "--pair", saved, *FAST, "--out", tmp_path / "t.json")
    trace = Trace.load(tmp_path / "t.json")
    assert (code, trace.partial, trace.stop.reason, len(trace.rounds)) == (0, True, "user", 2)
    assert "stopped by user" in err


def test_an_interrupt_of_plain_greedy_keeps_the_run(run, saved, tmp_path, monkeypatch):
    """Ctrl-C while the run is compared: the run itself is complete, and so is its record."""

    def interrupted(rounds):
        raise KeyboardInterrupt

    monkeypatch.setattr(Baseline, "of", interrupted)
    options = ["--prompt", "Hello", "--pair", saved, *FAST, "--baseline", "--out", tmp_path / "t.json"]
    code, _, err = run("run", *options)
    trace = Trace.load(tmp_path / "t.json")
    assert (code, trace.partial, trace.baseline) == (0, False, None)
    assert "plain greedy was stopped" in err


def test_options_without_effect_are_noted(run, saved):
    _, _, err = run("run", "--prompt", "x", "--pair", saved, *FAST, "--rule", "exact", "--pacer-layer", "/no/such")
    assert "note: --theta has no effect here: it needs --rule fly" in err
    assert "note: --window has no effect here" in err
    assert "note: --pacer-layer has no effect here" in err
    assert "--draft-length" not in err


def test_rounds_are_printed_where_asked_for(run, saved):
    options = ["--prompt", "Hello", "--pair", saved, *FAST]
    assert "round 1: " not in run("run", *options)[2]
    assert re.search(r"\nround 1: [EDGWFR·]+  '.*\n(round .*\n)+letters: ", run("run", *options, "--rounds")[2])


def test_a_vocabulary_mismatch_is_one_line(refused, saved, tmp_path):
    import shutil

    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    shutil.copytree(saved.partition(",")[2], tmp_path / "draft")
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, []))).save_pretrained(tmp_path / "draft")
    line = refused("run", "--prompt", "x", "--pair", f"{saved.partition(',')[0]},{tmp_path / 'draft'}")
    assert "267 and 1 tokens" in line


def test_rows_of_a_benchmark_that_are_not_there(refused, saved, tmp_path):
    """A typo measured plain greedy alone, for minutes."""
    (tmp_path / "p.jsonl").write_text('{"prompt": "Hello"}')
    line = refused("bench", "--pair", saved, "--prompts", tmp_path / "p.jsonl", "--rows", "exact, K", "--rows", "typo")
    assert "--rows 'typo': no row has this name" in line
    assert "exact, K = 8" in line


# replay --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(hand, tmp_path):
    hand.valid().save(tmp_path / "t.json")
    return tmp_path / "t.json"


def test_replay_shows_what_changes_round_by_round(run, recorded):
    code, out, err = run("replay", recorded, "--theta", "0.1")
    assert code == 0
    assert out.splitlines() == [
        "round 1: EDE",
        "round 2: EG· -> EDE  kept 1 -> 3  'klmo'",
        "round 3: EE  (counterfactual)",
    ]
    assert "replayed: exact up to and including round 2" in err
    code, out, err = run("replay", recorded)
    assert "->" not in out
    assert "the run would be the same" in err


def test_a_record_in_the_released_counting_is_replayed_in_the_papers(run, hand, tmp_path):
    """W = 2 after the first mismatch: its second token is another mismatch, which the released code does not look at."""
    config = DecodeConfig(theta=0.3, window=2, window_includes_mismatch=True, draft_length=4, max_new_tokens=4)
    trace = hand.trace([hand.round(3, [4, 5, 6, 7], [8, 5, 2, 7, 1], config, emit=3)], config, Stop("user"))
    trace.save(tmp_path / "t.json")
    code, out, _ = run("replay", tmp_path / "t.json")
    assert (code, out.splitlines()[0]) == (0, "round 1: DEF·")
    code, out, _ = run("replay", tmp_path / "t.json", "--no-window-includes-mismatch")
    assert code == 0
    assert out.startswith("round 1: DEF· -> W···  kept 2 -> 0")


def test_replay_says_what_its_letters_mean_and_what_is_for_nothing(run, recorded):
    _, _, err = run("replay", recorded, "--rule", "exact", "--theta", "0.1")
    assert "letters: E exact, D deferred, " in err
    assert "R rejected" in err
    assert "note: --theta has no effect here: it needs --rule fly" in err


def test_replay_tells_speeds_at_other_costs(run, refused, recorded):
    """Eight drafted tokens and three passes, 16 and 2 x 100 + 90 ms there, for eight tokens; ten where theta accepts two more."""
    costs = CostProfile("hers", "entered", "ms", step=2.0, passes={1: 50.0, 3: 90.0, 4: 100.0})
    save_profile(costs, recorded.parent / "hers.json")
    code, _, err = run("replay", recorded, "--theta", "0.1", "--costs", recorded.parent / "hers.json")
    assert code == 0
    assert "Costs of hers (entered). Speeds at these costs are modelled." in err
    assert (
        f"the run as recorded: {8 / 0.306:.2f} tokens/s, {400 / 306:.2f} x plain (modelled, the prefill apart)" in err
    )
    assert f"replayed per round: {10 / 0.306:.2f} tokens/s, {500 / 306:.2f} x plain (modelled" in err
    assert "best draft length up to the recorded one, estimated: K = " in err
    err = run("replay", recorded, "--costs", "llama-2-70b-7b")[2]
    assert "ratios only: a target pass of one token is 1" in err
    assert "arXiv 2408.11850" in err
    assert f"the run as recorded: {8 / (8 / 5 + 3):.2f} x plain (modelled" in err
    assert "tokens/s" not in err
    assert "neither a cost profile nor a file" in refused("replay", recorded, "--costs", "nope")


def test_costs_lists_what_ships_and_keeps_a_profile(run, refused, recorded):
    code, out, _ = run("costs")
    assert code == 0
    assert re.search(r"\| llama-2-70b-7b \| published \| .*\| 0.20 \|", out)
    out = run("costs", "--costs", recorded, "--out", recorded.parent / "kept.json")[1]
    assert "| measured |" in out
    assert find_profile(str(recorded.parent / "kept.json")) == dataclasses.replace(
        CostProfile.of_trace(Trace.load(recorded)), name="kept"
    )
    assert "name the costs" in refused("costs", "--sweep", recorded)
    assert "t.json: " in refused("costs", "--sweep", recorded, "--costs", recorded)


def test_a_run_without_drafts_cannot_be_judged_again(refused):
    """96 lines of nothing, and that the run would be the same."""
    assert "has no drafts" in refused("replay", ROOT / "examples/runs/12-story-alone.json", "--rule", "fly")


def test_differences_of_files_that_cannot_be_counted(run, refused, tmp_path):
    assert "no-such" in refused("differences", tmp_path / "no-such.json")
    assert "README.md" in refused("differences", ROOT / "README.md")
    assert "no run among these has a draft" in refused("differences", ROOT / "examples/runs/12-story-alone.json")
    assert "TRACE.json" in refused("differences")
    code, out, _ = run("differences", ROOT / "examples/runs/01-story.json")
    assert code == 0
    assert out.startswith("| difference |")


def test_replay_of_what_is_no_trace(refused, recorded, tmp_path):
    assert "no-such" in refused("replay", tmp_path / "no-such.json")
    assert str(tmp_path) in refused("replay", tmp_path)
    for content, words in (
        (b"{", "not valid JSON"),
        (b"{}", "schema version None"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"schema": 7}', "schema version 7"),
    ):
        (tmp_path / "bad.json").write_bytes(content)
        assert words in refused("replay", tmp_path / "bad.json", "--theta", "0.1")
    data = json.loads(recorded.read_text())
    data["rounds"][1]["match"][0] = False
    recorded.write_text(json.dumps(data))
    assert "rounds[1]" in refused("replay", recorded)


def test_replay_under_no_draft_at_all(run, recorded):
    """Without a draft every round is one token; a replay cannot show that and must refuse."""
    assert run("replay", recorded, "--rule", "autoregressive")[0] == 2


# The real program ----------------------------------------------------------------------------------------------------


def test_the_program_runs_as_a_process(hand, tmp_path):
    hand.valid().save(tmp_path / "t.json")
    result = process("replay", str(tmp_path / "t.json"), "--theta", "0.1", PYTHONUTF8="1")
    assert result.returncode == 0
    assert "round 2: EG· -> EDE" in result.stdout.decode()
    result = process("replay", str(tmp_path / "nothing.json"))
    assert result.returncode == 2
    assert result.stderr.count(b"\n") == 1


def test_a_terminal_without_unicode(hand, tmp_path):
    """An old terminal or a redirect in a narrow locale must not end a run in a traceback."""
    hand.valid().save(tmp_path / "t.json")
    result = process("replay", str(tmp_path / "t.json"), PYTHONIOENCODING="ascii")
    assert result.returncode == 0
