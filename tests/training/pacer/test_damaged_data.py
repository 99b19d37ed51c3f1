"""A collection or a training that was killed, or whose files are damaged: it goes on, or says what to delete."""

import json
import os

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.errors import UserError
from explorer.training.common.checkpoint import read_checkpoint
from explorer.training.common.collection import read_settings, shard_paths
from explorer.training.common.progress import finish
from explorer.training.pacer import collect as module
from explorer.training.pacer.collect import collect
from explorer.training.pacer.data import read_folder, read_shard


class Killed(BaseException):
    """The process is gone: nothing behind this line runs."""


class FakeModels:
    """As much of a pair's models as collecting reads before its shards, which are hand-made here."""

    provenance = {"pair": "tiny", "weights": {"target": "a", "draft": "b"}, "dtype": {}, "stop_ids": [1]}


SETTINGS = {"rule": "exact", "rows": 1, "max_new": 4, "seed": 1}


@pytest.fixture
def gather(hand_text, monkeypatch):
    """Collect three shards of hand-made texts into a folder."""

    def make_shard(models, index, *_):
        yield 1.0
        return [hand_text([True, False, True], seed=index)]

    monkeypatch.setattr(module, "_make_shard", make_shard)
    return lambda folder: finish(collect(FakeModels(), folder, range(3), SETTINGS, []))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if ".part" not in path.name}


def test_a_collection_killed_at_any_write_goes_on_to_the_same_files(gather, tmp_path, monkeypatch):
    """Before a file has its name, or just after; the settings come first, then one shard after another."""
    gather(tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    assert len(whole) == 4
    replace = os.replace
    for kill in range(4):
        for after in (False, True):
            folder, left = tmp_path / f"{kill}{after}", [kill]

            def dying(source, target, left=left, after=after):
                if left[0] == 0 and not after:
                    raise Killed
                replace(source, target)
                if left[0] == 0:
                    raise Killed
                left[0] -= 1

            monkeypatch.setattr(os, "replace", dying)
            with pytest.raises(Killed):
                gather(folder)
            monkeypatch.setattr(os, "replace", replace)
            assert len(contents(folder)) == kill + after, "each file is there whole or not at all"
            gather(folder)
            assert contents(folder) == whole


def test_a_shard_cut_short_is_named_with_what_to_do(gather, tmp_path):
    gather(tmp_path)
    path = shard_paths(tmp_path)[1]
    whole = path.read_bytes()
    for data in (b"", whole[:4], whole[:200], whole[:-1], whole + b"x"):
        path.write_bytes(data)
        with pytest.raises(UserError, match=r"shard-00001\.safetensors is damaged .*delete it, and collect again"):
            read_folder(tmp_path, 1, DecodeConfig(rule="exact"))
    path.unlink()
    gather(tmp_path)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["", "{", "[]", '{"rule": NaN}', "\x00" * 40])
def test_damaged_settings_are_named_with_what_to_do(text, gather, tmp_path):
    gather(tmp_path)
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(UserError, match=r"settings\.json is damaged .*delete it"):
        gather(tmp_path)
    with pytest.raises(UserError, match="is damaged"):
        read_settings(tmp_path)
    (tmp_path / "settings.json").unlink()
    with pytest.raises(UserError, match="not the folder of a collection"):
        read_settings(tmp_path)
    gather(tmp_path)
    assert json.loads((tmp_path / "settings.json").read_text())["rule"] == "exact"


def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "checkpoint.pt"
    torch.save({"at": {"step": 1}, "layer": {"w": torch.zeros(64)}}, path)
    whole = path.read_bytes()
    assert read_checkpoint(path)["at"] == {"step": 1}
    for data in (b"", whole[:100], whole[: len(whole) // 2], whole[:-30], b"\x80\x02}q\x00."[:3]):
        path.write_bytes(data)
        with pytest.raises(UserError, match=r"checkpoint\.pt is damaged .*delete it to begin anew"):
            read_checkpoint(path)


def test_a_shard_of_another_kind_is_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"lengths": torch.tensor([3])}, tmp_path / "shard-00000.safetensors")
    with pytest.raises(UserError, match="is damaged"):
        read_shard(tmp_path / "shard-00000.safetensors")
