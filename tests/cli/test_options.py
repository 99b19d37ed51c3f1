"""What the command line says of its options, and what it refuses before any work: every option of every command, not a list of them."""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli.commands import command_line
from explorer.cli.options import as_options, flag, need_text, without_effect
from explorer.config import DecodeConfig, knobs

ROOT = Path(__file__).parents[2]


def commands(parser=None, path=()):
    """Every command and step, with its parser."""
    parser = parser or command_line()
    subs = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if path and not subs:
        yield " ".join(path), parser
    for action in subs:
        if path:
            yield " ".join(path), parser
        for name, one in action.choices.items():
            yield from commands(one, (*path, name))


COMMANDS = dict(commands())


def options(command: str) -> list[argparse.Action]:
    skipped = (argparse._HelpAction, argparse._SubParsersAction)
    return [action for action in COMMANDS[command]._actions if not isinstance(action, skipped)]


def test_every_switch_can_be_taken_back():
    """A preset or a record may have switched it on."""
    for command in COMMANDS:
        for action in options(command):
            assert not isinstance(action, (argparse._StoreTrueAction, argparse._StoreFalseAction)), action
    assert "--no-window-includes-mismatch" in COMMANDS["replay"].format_help()


def test_all_commands_are_looked_at():
    assert {"run", "pacer train", "judge-head collect", "distill features", "differences"} <= COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_is_and_what_holds_without_it(command):
    for action in options(command):
        assert action.help, action
        if action.option_strings and not action.required and action.nargs != 0 and action.default not in (None, []):
            assert "default" in action.help, action
    COMMANDS[command].format_help()  # a stray % would raise


@pytest.mark.parametrize("command", COMMANDS)
def test_every_number_has_a_range(command):
    """A number out of its range would be a traceback much later, or an empty shard."""
    for action in options(command):
        if action.type and action.type is not Path:
            for text in ["nan", "inf", "-1", "x", ""] if action.metavar in ("N", "X", "K") else [""]:
                with pytest.raises((argparse.ArgumentTypeError, ValueError)):
                    action.type(text)


@pytest.mark.parametrize(
    "arguments",
    [
        "pacer collect --rows 0",
        "pacer collect --shards 3:3",
        "pacer collect --shards -1:3",
        "pacer train --epochs 0",
        "pacer train --batch 0",
        "pacer train --rate nan",
        "pacer train --longest 0",
        "pacer train --longest 999",
        "pacer train --tail -3",
        "pacer train --held-out 0",
        "pacer evaluate --held-out -1",
        "distill --threads 0 generate",
        "distill train --layers 0,x",
        "distill features --alone 2",
        "distill evaluate --draft-length 99",
        "judge-head --held-out 0 train",
        "judge-head train --folds 1",
        "judge-head train --recall 0",
        "bench --rows",
        "bench --draft-length 65",
        "sweep --prompts x --thetas 0 --windows 3 --out x.csv --drafter model+phrases",
        "run --prompt x --device abacus",
        "run --prompt x --device mps",
        "run --prompt x --device xpu",
        "run --prompt x --device auto:1",
        "run --prompt x --dtype int3",
    ],
)
def test_what_would_fail_later_is_refused_at_once(refused, arguments):
    refused(*arguments.split())


def test_empty_texts_are_refused_before_anything_is_loaded(refused, tmp_path):
    assert "a row begins with its rule" in refused("bench", "--row", "", "--pair", "/no/such,/no/such")
    assert "must not be empty" in refused("bench", "--rows", "")
    assert "must not be empty" in refused("run", "--prompt", "x", "--pair", "")
    assert "the prompt is empty" in refused("run", "--prompt", " ", "--pair", "/no/such,/no/such")
    assert "--synthetic" in refused("bench", "--trace", "examples/runs/01-story.json")
    assert "nothing.jsonl" in refused("bench", "--prompts", tmp_path / "nothing.jsonl")
    sweep = ("sweep", "--thetas", "0", "--windows", "3", "--out", tmp_path / "s.csv", "--prompts")
    assert "nothing.jsonl" in refused(*sweep, tmp_path / "nothing.jsonl")


def test_a_place_that_cannot_be_written_is_told_before_the_work(refused, tmp_path):
    assert "is a folder" in refused("run", "--prompt", "x", "--out", tmp_path)


def test_unknown_options_are_told_by_their_command(refused):
    assert refused("run", "--prompt", "x", "--thet", "0.1").endswith("(see python -m explorer run --help)")
    assert refused("pacer", "train", "--epoch", "1").endswith("(see python -m explorer pacer train --help)")


# Knobs ----------------------------------------------------------------------------------------------------------------


def helps(command: str) -> dict[str, str]:
    return {action.dest: action.help for action in COMMANDS[command]._actions if action.help}


@pytest.mark.parametrize("knob", knobs(), ids=lambda knob: knob.name)
def test_the_help_of_a_knob_is_made_from_the_table(knob):
    text = helps("run")[knob.name]
    assert knob.help.replace("%", "%%") in text
    assert "default: " in text
    if knob.kind in (int, float):
        assert knob.range_text in text
        assert not knob.unit or f"{knob.range_text} {knob.unit}" in text
    for need in knob.relevant_when:
        assert "rule" in need or need_text(need) in text


def test_defaults_are_those_of_the_command():
    assert "default: 64]" in helps("sweep")["max_new_tokens"]
    assert "default: 128]" in helps("run")["max_new_tokens"]
    assert "default: 0.05, 0.3 with --entropy top3]" in helps("run")["theta"]
    assert "24 with --length pacer" in helps("run")["draft_length"]
    assert "default: as recorded]" in helps("replay")["theta"]


def test_needs_in_options():
    by_name = {knob.name: knob for knob in knobs()}
    assert [need_text(need) for need in by_name["tree_width"].relevant_when] == [
        "a --rule other than autoregressive", "--drafter features", "--tree above 0",
    ]  # fmt: skip
    assert need_text(by_name["growth"].relevant_when[1]) == "--length pacer"


def test_options_given_for_nothing_are_named():
    assert without_effect(["theta", "rule"], DecodeConfig(rule="exact")) == [
        "--theta has no effect here: it needs --rule fly"
    ]
    assert without_effect(["theta", "window", "draft_length"], DecodeConfig()) == []
    assert without_effect(["block_size", "seed", "pacer_layer"], DecodeConfig()) == [
        "--block-size has no effect here: it needs --length pacer, survival or pacer-throughput",
        "--seed has no effect here: it needs --temperature above 0",
        "--pacer-layer has no effect here: it needs --length pacer, survival or pacer-throughput",
    ]
    assert without_effect(["block_size", "pacer_layer"], DecodeConfig(length="pacer")) == []
    assert without_effect(["phrase_length"], DecodeConfig(phrases=3)) == []
    assert without_effect(["draft_length"], DecodeConfig(rule="autoregressive")) == [
        "--draft-length has no effect here: it needs a --rule other than autoregressive"
    ]


def test_every_knob_has_an_effect_under_some_settings():
    """The way back of the last test: whatever is named as needed can be had, and then the knob counts."""
    for knob in knobs():
        settings = {
            name: (choices[0] if choices else 1)
            for need in knob.relevant_when
            for name, choices in list(need.items())[:1]
        }
        assert knob.unmet(DecodeConfig(**settings)) is None


def test_refusals_name_options_not_labels(refused):
    line = refused("run", "--prompt", "x", "--drafter", "lookup", "--length", "pacer")
    assert "--length pacer needs a draft model" in line
    assert "--window must be at least 1" in refused(
        "run", "--prompt", "x", "--window", "0", "--window-includes-mismatch"
    )
    assert as_options("Tree nodes N is not used.") == "--tree is not used."
    assert all(as_options(knob.label) == flag(knob.name) for knob in knobs())


# The program as a process ---------------------------------------------------------------------------------------------


def test_a_python_without_the_requirements_is_told_what_to_do():
    """As the README's first command line was typed with the system's Python."""
    for arguments in (["-m", "explorer", "run", "--prompt", "hi"], ["-m", "explorer", "pairs"], ["app.py"]):
        result = subprocess.run([sys.executable, "-S", *arguments], capture_output=True, cwd=ROOT, text=True)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert re.search(r"\w+ is not installed .*make run.*\.venv/bin/python", result.stderr)


def test_make_says_which_python_it_needs(tmp_path):
    for name in ("python3.9", "no-python"):
        result = subprocess.run(
            ["make", "-C", str(ROOT), "run", f"VENV={tmp_path / 'venv'}", f"PYTHON={tmp_path / name}"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert result.returncode
        assert "Python 3.11 or 3.12 is needed" in result.stderr
        assert "PYTHON=python3.11 make run" in result.stderr


def shell(line: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "EXPLORER": f"{sys.executable} -m explorer"}
    return subprocess.run(["bash", "-c", line], capture_output=True, cwd=ROOT, env=environment, text=True)


def test_streams_that_are_closed_or_full():
    result = shell("$EXPLORER judge <&-")
    assert (result.returncode, result.stderr) == (
        2, "explorer: there is no standard input: name a file of JSON lines\n",
    )  # fmt: skip
    result = shell("$EXPLORER judge examples/drafts.jsonl >&-")
    assert (result.returncode, result.stderr) == (0, "")
    result = shell("$EXPLORER judge examples/drafts.jsonl > /dev/full")
    assert (result.returncode, result.stderr) == (2, "explorer: standard input or output: No space left on device\n")


def test_an_interrupt_while_it_starts_is_silent():
    """Ctrl-C during the imports: a module of ours is being looked for when it comes."""
    code = """
import os, runpy, signal, sys
class Interrupt:
    def find_spec(name, *_):
        if name == "explorer.cli.terminal":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
runpy.run_module("explorer", run_name="__main__")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT)
    assert (result.returncode, result.stderr) == (-signal.SIGINT, b"")
