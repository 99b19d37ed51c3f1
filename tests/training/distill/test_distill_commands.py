"""The commands that make a draft and a head, from the target's own text to figures, on a tiny target written to disk."""

import pytest

from explorer.training.common.collection import shard_paths
from explorer.training.common.training_log import read_log


@pytest.fixture(scope="module")
def target_folder(make_model, tokenizer, tmp_path_factory):
    """Deep enough for a head's three taps."""
    folder = tmp_path_factory.mktemp("target")
    make_model("llama", 0, num_hidden_layers=6, max_position_embeddings=512).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def distill(command, target_folder, tmp_path):
    return lambda *arguments: command(
        "distill", "--target", target_folder, "--data", tmp_path / "data", "--held-out", 1, *arguments
    )


def test_a_draft_and_a_head_from_start_to_end(distill, refused, target_folder, tmp_path):
    generate = ("generate", "--shards", "0:3", "--rows", 9, "--max-new-tokens", 12)
    code, out, err = distill(*generate)
    assert (code, err) == (0, "")
    assert [line.split(":")[0] for line in out.splitlines()] == [path.name for path in shard_paths(tmp_path / "data")]
    assert distill(*generate)[:2] == (0, ""), "all shards are there"

    makers = {"train": ("--layers", "0,5", "--batch", 256), "features": ("--batch", 256, "--chain", 2)}
    for step, options in makers.items():
        made, work = tmp_path / step, tmp_path / f"{step}-work"
        code, out, err = distill(step, *options, "--tokens", 600, "--work", work, "--out", made)
        assert (code, err) == (0, "")
        assert f"report: {made / 'report.svg'}" in out
        assert "Acceptance rate" in (made / "report.svg").read_text()
        assert "`report.svg`" in (made / "README.md").read_text()
        assert (work / "checkpoint.pt").exists()
        said = out.splitlines()[-1]
        assert said.startswith("next-token agreement")
        assert distill("evaluate", "--draft", made)[1].splitlines()[-1] == said, "what is written is what was judged"


def test_what_cannot_be_trained_is_refused(distill, refused, target_folder, tmp_path):
    shared = ("distill", "--target", target_folder, "--data", tmp_path / "data")
    assert "distill generate` first" in refused(*shared, "train")
    assert distill("generate", "--shards", "0:2", "--rows", 9, "--max-new-tokens", 4)[0] == 0
    assert "it has 6, from 0" in refused(*shared, "--held-out", 1, "train", "--layers", "0,6")
    assert read_log(tmp_path) == []
