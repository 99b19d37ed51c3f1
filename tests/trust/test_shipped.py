"""What ships: how large, in which formats, pinned to what."""

import ast
import fnmatch
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEIGHTS = (".safetensors", ".gguf")
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".npy", ".npz", ".joblib", ".h5", ".msgpack", ".onnx")
MOST = 120_000_000  # bytes of all weights in the repository together
PLAIN = 10_000_000  # bytes above which the hub takes no file by plain git


@pytest.fixture(scope="module")
def shipped():
    """Every file of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:  # a copy without its history
        skipped = {".venv", ".git", "runs", "out"}
        return [path for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.relative_to(ROOT).parts)]
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_all_weights_together_stay_small(shipped):
    sizes = {path: path.stat().st_size for path in shipped if path.suffix in WEIGHTS}
    assert sizes
    assert sum(sizes.values()) <= MOST, {str(path.relative_to(ROOT)): size for path, size in sizes.items()}


def test_weights_come_as_safetensors_or_gguf_only(shipped):
    assert [path for path in shipped if path.suffix in PICKLES] == []


def test_what_the_hub_takes_by_large_file_storage_only_is_named(shipped):
    lines = (ROOT / "space" / ".gitattributes").read_text(encoding="utf-8").splitlines()
    patterns = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert all("filter=lfs" in line for line in lines if line and not line.startswith("#"))
    for path in shipped:
        if path.stat().st_size > PLAIN:
            assert any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns), path
    assert not (ROOT / ".gitattributes").exists(), "plain files here: see space/.gitattributes"


def test_every_download_is_pinned_to_a_version_and_a_hash():
    table = tomllib.loads((ROOT / "assets" / "pairs.toml").read_text(encoding="utf-8"))
    for entry in table["registry"].values():
        assert re.fullmatch("[0-9a-f]{64}", entry["sha256"])
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", entry["version"])
        assert entry["size"] > 0
        assert entry["file"].endswith(".gguf")


def calls():
    """Every call in the program: (file, name, keywords)."""
    for path in (ROOT / "explorer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield path.name, ast.unparse(node.func), {word.arg: word.value for word in node.keywords}


def test_no_code_that_comes_with_a_model_is_run_and_no_pickle_read():
    """`trust_remote_code` is written down as False wherever transformers would ask; checkpoints are read as plain data."""
    asked = 0
    for file, name, words in calls():
        if name.startswith("Auto") and name.endswith(("from_pretrained", "from_config")):
            asked += 1
            assert getattr(words.get("trust_remote_code"), "value", None) is False, (file, name)
        if name in ("torch.load", "load") and "weights_only" in words:
            assert words["weights_only"].value is True, file
        assert name != "torch.load" or "weights_only" in words, file
        assert name.split(".")[0] not in ("pickle", "dill", "joblib", "marshal"), (file, name)
        assert name not in ("eval", "exec", "compile", "os.system"), (file, name)
        assert "shell" not in words, (file, name)
    assert asked >= 4


def test_every_requirement_has_an_upper_bound():
    """A range that was tested; `make newest` tries the newest of each."""
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            line = line.partition("#")[0].partition(";")[0].strip()
            if line and not line.startswith("-"):
                assert "==" in line or "<" in line, f"{name}: {line}"


def test_the_pictures_and_records_hold_no_path_of_a_machine(shipped):
    for path in shipped:
        if path.suffix in (".json", ".jsonl", ".md", ".toml") and path.stat().st_size < 2_000_000:
            text = path.read_text(encoding="utf-8")
            for found in ("/home/", "/root/", "/Users/", "/work/"):
                assert found not in text, f"{path}: {found}"
