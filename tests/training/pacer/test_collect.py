"""Collecting and training from the command line, on a tiny pair written to disk."""

import json

import pytest
import torch

from explorer.__main__ import main
from explorer.trace import Trace
from explorer.training.common.collection import shard_paths
from explorer.training.pacer.data import read_shard


@pytest.fixture(scope="module")
def pair_folder(make_pair, tokenizer, tmp_path_factory):
    """TARGET,DRAFT as folders, with the tokenizer of the suite."""
    folder, pair = tmp_path_factory.mktemp("pair"), make_pair("llama")
    for name, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.config.max_position_embeddings = 512
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        model.config.max_position_embeddings = 256
    return f"{folder / 'target'},{folder / 'draft'}"


@pytest.fixture(scope="module")
def run(pair_folder):
    def command(*arguments, data):
        return main(["pacer", "--pair", pair_folder, "--data", str(data), "--device", "cpu", *map(str, arguments)])

    return command


COLLECT = ("collect", "--rows", 9, "--max-new-tokens", 12)


@pytest.fixture(scope="module")
def data(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    assert run(*COLLECT, "--rule", "fly", "--shards", "0:3", data=folder) == 0
    return folder


def test_collecting_goes_on_where_it_stopped(run, data, capsys):
    before = {path.name: path.read_bytes() for path in shard_paths(data)}
    (data / "shard-00001.safetensors").unlink()
    assert run(*COLLECT, "--rule", "fly", "--shards", "0:3", data=data) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["shard-00001.safetensors"]
    assert {path.name: path.read_bytes() for path in shard_paths(data)} == before, "a shard depends on its number alone"


def test_other_settings_need_another_folder(run, data, capsys):
    assert run(*COLLECT, "--rule", "fly", "--seed", 3, data=data) == 2
    assert "other settings" in capsys.readouterr().err


def test_what_is_refused_leaves_no_settings_behind(run, tmp_path, capsys):
    """A folder begun with them would refuse the right ones afterwards."""
    assert run(*COLLECT, "--exclude", tmp_path / "nothing.jsonl", data=tmp_path / "data") == 2
    assert not (tmp_path / "data").exists()
    assert "nothing.jsonl" in capsys.readouterr().err


def test_texts_are_the_targets_own_and_excluded_prompts_are_left_out(make_pair, data, run, tmp_path):
    pair = make_pair("llama")
    for text in read_shard(shard_paths(data)[0])[:3]:
        with torch.inference_mode():
            logits = pair.oracle(input_ids=text.ids[None]).logits[0, text.prompt_length - 1 : -1, : pair.vocab_size]
        assert logits.argmax(-1).tolist() == text.answer.tolist()
    settings = json.loads((data / "settings.json").read_text())
    assert settings["weights"]["target"].startswith("sampled-sha256:")
    assert settings["exclude"] == ["heldout.jsonl", "prompts.jsonl"]


def test_asking_afterwards_is_collecting_for_the_loose_rule(run, data, tmp_path, capsys):
    assert run(*COLLECT, "--shards", "0:3", data=tmp_path / "exact") == 0
    assert run("ask", "--out", tmp_path / "both", data=tmp_path / "exact") == 0
    capsys.readouterr()
    for mine, its in zip(shard_paths(tmp_path / "both"), shard_paths(data), strict=True):
        assert mine.read_bytes() == its.read_bytes()
    assert json.loads((tmp_path / "both/settings.json").read_text()) == json.loads((data / "settings.json").read_text())


def test_a_layer_from_start_to_end(run, data, pair_folder, tmp_path, capsys):
    """Collect, train, evaluate, choose, and decode with the result."""
    layer, costs, out = tmp_path / "layer", tmp_path / "costs.json", tmp_path / "figures.json"
    common = ("train", "--held-out", 1, "--epochs", 1, "--precision", "no", "--longest", 8)
    assert run(*common, "--rule", "fly", "--work", tmp_path / "w", "--out", layer, data=data) == 0
    costs.write_text('{"draft": 0.1, "layer": 0.01, "verify": {"0": 1, "8": 1.1}, "where": "a test"}')
    arguments = (
        "evaluate",
        "--layer",
        layer,
        "--held-out",
        1,
        "--costs",
        costs,
        "--longest",
        8,
        "--out",
        out,
        "--choose",
    )
    assert (layer / "report.svg").read_text().count("<g ") == 2, "loss and calibration"
    assert run(*arguments, data=data) == 0
    assert "Loss" not in (layer / "report.svg").read_text(), "the log of another training is left out"
    assert run(*arguments, "--work", tmp_path / "w", data=data) == 0
    assert (layer / "report.svg").read_text().count("<g ") == 3, "and speed by policy"
    said = capsys.readouterr()
    assert f"report: {layer / 'report.svg'}" in said.err
    figures = json.loads(out.read_text())
    assert {"fly": figures["choice"]} == json.loads((layer / "card.json").read_text())["choices"]
    assert out.with_suffix(".md").read_text().strip() in said.out
    command = [
        "run",
        "--pair",
        pair_folder,
        "--device",
        "cpu",
        "--raw-prompt",
        "--prompt",
        "the man and the",
        "--length",
        "pacer",
    ]
    trace = tmp_path / "trace.json"
    assert main([*command, "--pacer-layer", str(layer), "--max-new-tokens", "12", "--out", str(trace)]) == 0
    assert "warning" not in capsys.readouterr().err
    recorded = json.loads(trace.read_text())
    assert set(Trace.from_json(recorded).provenance.weights) == {"target", "draft", "pacer"}, "a layer of one's own"
    assert recorded["config"]["threshold"] == figures["choice"]["threshold"]
    assert any(round_["blocks"] for round_ in recorded["rounds"])
    assert main(command) == 2, "nothing ships for this pair"
    assert "train one" in capsys.readouterr().err


def test_a_layer_for_other_weights_is_warned_of(run, data, pair_folder, tmp_path, capsys):
    layer = tmp_path / "layer"
    options = ("--held-out", 1, "--epochs", 1, "--precision", "no", "--longest", 8, "--recompute", "--no-position")
    assert run("train", *options, "--work", tmp_path / "w", "--out", layer, data=data) == 0
    card = json.loads((layer / "card.json").read_text())
    assert not card["shape"]["position"]
    card["weights"]["draft"] = "sampled-sha256:other"
    (layer / "card.json").write_text(json.dumps(card))
    command = [
        "run",
        "--pair",
        pair_folder,
        "--device",
        "cpu",
        "--raw-prompt",
        "--prompt",
        "the man",
        "--length",
        "pacer",
    ]
    assert main([*command, "--pacer-layer", str(layer), "--max-new-tokens", "4"]) == 0
    assert "trained for other weights of the draft" in capsys.readouterr().err


def test_too_little_data_is_said(run, data, tmp_path, capsys):
    assert run("train", "--held-out", 3, data=data) == 2
    assert "pacer collect` first" in capsys.readouterr().err
    assert run(*COLLECT, "--shards", "0:2", data=tmp_path / "exact") == 0
    assert run("train", "--rule", "fly", "--held-out", 1, data=tmp_path / "exact") == 2
    assert "collect again with --rule fly" in capsys.readouterr().err
    assert run("train", "--rule", "fly", "--theta", "0.001", "--held-out", 1, data=data) == 2
    assert "theta must be at least" in capsys.readouterr().err
