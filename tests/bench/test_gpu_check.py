"""The check of a GPU, on tiny pairs without one: what it compares, that it sees a difference, and what it says it did not do."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from explorer import __main__ as cli
from explorer.bench import gpu_check
from explorer.engine.models.model import LanguageModel

PROMPTS = ["hello there", "one two"]
SETTINGS = gpu_check.settings(8)


@pytest.fixture
def without_stops(make_pair, with_stop_ids):
    return with_stop_ids(make_pair("llama"))


def test_both_forms_of_the_draft_run_every_setting(without_stops):
    lines = gpu_check.forms(without_stops, PROMPTS[1:], SETTINGS)
    assert [line.setting for line in lines] == ["exact, K = 4", "fly, K = 8", "exact, pacer"]
    assert all(line.same_ids == line.runs == 1 for line in lines)
    assert all(line.eager > 0 and line.fixed > 0 for line in lines)


def test_a_difference_is_found_with_its_place_and_gap(without_stops, make_pair):
    configs = {name: config for name, config in SETTINGS.items() if config.length != "pacer"}
    same = gpu_check.differences(without_stops, without_stops, PROMPTS[:1], configs)
    assert [one.index for one in same] == [None] * 3
    target = LanguageModel(make_pair("llama", seed=3).oracle, without_stops.vocab_size)
    other = replace(without_stops, target=target)
    found = gpu_check.differences(without_stops, other, PROMPTS[:1], configs)
    assert all(one.index is not None and one.gap > 0 for one in found)
    assert "none" in gpu_check.difference_table(same)
    assert "none" not in gpu_check.difference_table(found)


def test_without_a_gpu_it_says_what_it_did_not_do(without_stops, monkeypatch, tmp_path, capsys):
    """Exit code 1: a check that was not made must not look like one that passed."""
    monkeypatch.setattr(gpu_check, "load_pair", lambda *_: without_stops)
    monkeypatch.setattr(gpu_check, "CPU_SHAPE", "32x2x4x2x64x96+16x1x2x1x32x96")
    monkeypatch.setitem(gpu_check.synthetic.COPIED, "cpu", 2**20)
    out = tmp_path / "report.md"
    assert cli.main(["gpu-check", "--prompts", "1", "--max-new-tokens", "4", "--out", str(out)]) == 1
    text = out.read_text()
    assert capsys.readouterr().out == text
    assert "fixed buffers" in text
    assert "Not run: no CUDA device" in text
    assert text.endswith("## Mismatches\n\nnone\n")


@pytest.fixture
def quick(monkeypatch):
    """A machine with a GPU, by its word, whose forwards of random weights nobody times."""
    monkeypatch.setattr(gpu_check.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        gpu_check.loading, "placement", lambda *_: SimpleNamespace(device=torch.device("cpu"), dtype=torch.float32)
    )
    monkeypatch.setattr(gpu_check.synthetic, "report", lambda *_: ("", {}))


def test_ids_that_differ_are_no_success(without_stops, make_pair, with_stop_ids, quick, monkeypatch, capsys):
    arguments = ["gpu-check", "--prompts", "1", "--max-new-tokens", "4"]
    monkeypatch.setattr(gpu_check, "load_pair", lambda *_: without_stops)
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.endswith("## Mismatches\n\nnone\n")
    other = with_stop_ids(make_pair("llama", seed=3))
    monkeypatch.setattr(gpu_check, "load_pair", lambda name, device, dtype: without_stops if device == "cpu" else other)
    assert cli.main(arguments) == 1
    assert "float32 on the GPU against float32 on the CPU: 3" in capsys.readouterr().out


def test_only_near_ties_may_fall_otherwise_and_only_in_bfloat16():
    level, apart = (gpu_check.DeviceDifference(0, "exact", 8, 3, gap, gap < 0.25) for gap in (0.1, 0.5))
    same = gpu_check.DeviceDifference(0, "exact", 8, None, None)
    assert gpu_check.differing("float32", [same, level, apart]).mismatches == 2
    assert gpu_check.differing("bfloat16", [same, level, apart], near_ties=True).mismatches == 1


def test_a_draft_on_fixed_buffers_with_other_ids_is_a_mismatch():
    lines = [gpu_check.Forms("exact", 3, 3, 0.1, 0.1), gpu_check.Forms("fly", 3, 1, 0.1, 0.1)]
    assert gpu_check.in_both_forms("graphs", lines, "graph").mismatches == 2
