"""Forward times of random weights: shapes as they are written, what is counted, and what is modelled from a recorded run."""

import json

import pytest
import torch

from explorer import __main__ as cli
from explorer.analysis.cost_files import find_profile
from explorer.bench import synthetic
from explorer.bench.synthetic import (
    Modelled,
    ModelShape,
    ShapeError,
    Timing,
    costs_of,
    modelled,
    read_shapes,
    weights_read,
)
from explorer.engine.models.loading import Placement

WHERE = Placement(torch.device("cpu"), torch.float32, False)


def test_shapes_are_names_or_sizes():
    target, draft = read_shapes("7b + 32x2x4x2x64x96")
    assert (target.hidden, target.layers, target.vocabulary, target.tied) == (3584, 28, 152064, False)
    assert draft == ModelShape(32, 2, 4, 2, 64, 96, True)
    assert ModelShape.read("64x2x4") == ModelShape(64, 2, 4, 4, 256, 32000, True)


@pytest.mark.parametrize("text", ["7b", "8c+0.5b", "7b+", "32x2+0.5b", "32x2x4x2x64x96x7+0.5b", "32x2x0+0.5b", "30x2x4+0.5b", "32x2x4x3+0.5b"])  # fmt: skip
def test_impossible_shapes_are_refused(text):
    with pytest.raises(ShapeError):
        read_shapes(text)


def test_the_known_shapes_have_the_sizes_of_their_names():
    """By arithmetic, from the shapes: nothing is built."""
    for name, (hidden, layers, heads, kv_heads, mlp, vocabulary, tied) in synthetic.KNOWN.items():
        attention = hidden * hidden * 2 + 2 * hidden * hidden // heads * kv_heads
        total = layers * (attention + 3 * hidden * mlp) + (1 if tied else 2) * vocabulary * hidden
        size = float(name[:-1]) * (1e9 if name.endswith("b") else 1e6)
        assert 0.95 < total / size < 1.12, name


def test_a_table_of_its_own_is_not_read_by_a_forward():
    sizes = [weights_read(ModelShape(32, 1, 4, 2, 64, 96, tied).build(WHERE)) for tied in (True, False)]
    assert sizes[0] == sizes[1] > 4 * 96 * 32


def test_a_recorded_run_is_modelled_from_the_times(hand):
    """Three rounds of drafts of 3, 3 and 2 tokens: each costs its draft steps and one verification, the better of both forms."""
    timings = [
        Timing("draft step", None, 0.5, 0.25, 0.1),
        Timing("verify, K = 0", 0, 1.0, 2.0, 0.1),
        Timing("verify, K = 2", 2, 3.0, 2.0, 0.1),
        Timing("verify, K = 4", 4, 3.0, 4.0, 0.1),
    ]
    trace = hand.valid()
    rounds = 2 * (3 * 0.25 + 2.5) + (2 * 0.25 + 2.0)
    tokens = len(trace.output_ids)
    one = modelled(costs_of(timings, "7b+0.5b", "CPU", "float32"), "hand", trace)
    assert one == Modelled(
        "hand", "hand", pytest.approx(tokens / 3), pytest.approx(tokens / rounds), pytest.approx(tokens / rounds)
    )


def test_the_command_measures_and_models(hand, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(synthetic.COPIED, "cpu", 2**20)
    hand.valid().save(tmp_path / "run.json")
    done = cli.main(
        ["bench", "--synthetic", "32x2x4x2x64x96+16x1x2x1x32x96", "--device", "cpu", "--draft-length", "3", "--trace",
         str(tmp_path / "run.json"), "--out", str(tmp_path / "out.json")]
    )  # fmt: skip
    assert done == 0
    printed = capsys.readouterr().out
    assert "modelled" in printed
    assert "Measured: 32x2x4x2x64x96+16x1x2x1x32x96, random weights, float32" in printed
    record = json.loads((tmp_path / "out.json").read_text())
    assert [one["what"] for one in record["timings"]] == ["draft step", "verify, K = 0", "verify, K = 3"]
    assert all(min(one["eager"], one["fixed"], one["limit"]) > 0 for one in record["timings"])
    assert [one["run"] for one in record["modelled"]] == ["run"]
    assert list(find_profile(str(tmp_path / "out.json")).passes) == [1, 4]


def test_a_bad_shape_is_one_line(capsys):
    assert cli.main(["bench", "--synthetic", "huge", "--device", "cpu"]) == 2
    assert "like 7b+0.5b" in capsys.readouterr().err
