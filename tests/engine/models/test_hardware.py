"""Which machine this is, told before torch is imported, and what that changes: the pair that is chosen by itself."""

import sys
from types import SimpleNamespace

import pytest

from explorer.engine.models import hardware, registry
from explorer.engine.models.registry import default_pair, find_pair, known_pairs


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(registry, "has_cuda", lambda: True)


def test_on_a_gpu_the_default_is_a_pair_whose_draft_is_no_copy(on_gpu):
    assert known_pairs()[0].name == default_pair() == "smollm2-135m-distilled"
    assert default_pair("cpu") == "smollm2-135m"
    assert find_pair("smollm2-135m").drafts_for_itself
    assert not find_pair("smollm2-135m").is_ready
    assert default_pair("cuda:1") == default_pair("auto") == "smollm2-135m-distilled"


def test_on_a_cpu_it_is_the_default():
    assert default_pair("cuda") == "smollm2-135m-distilled"
    assert find_pair("smollm2-135m").is_ready
    assert known_pairs()[0].name == default_pair("cpu") == "smollm2-135m"


@pytest.mark.parametrize(
    ("build", "driver", "visible", "expected"),
    [
        ("'13.0'", True, None, True),
        ("'13.0'", True, "1", True),
        ("'13.0'", True, "", False),
        ("'13.0'", True, "-1", False),
        ("'13.0'", False, None, False),
        ("None", True, None, False),
    ],
)
def test_before_torch_is_imported_it_is_told_from_what_is_installed(
    build, driver, visible, expected, monkeypatch, tmp_path
):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(hardware, "DRIVERS", (tmp_path if driver else tmp_path / "none",))
    monkeypatch.setattr(hardware, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    (tmp_path / "version.py").write_text(
        f"__version__ = '2.11.0'\ncuda: Optional[str] = {build}\nhip: Optional[str] = '1'\n"
    )
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert hardware.has_cuda.__wrapped__() is expected


def test_once_torch_is_there_it_is_asked(monkeypatch):
    answers = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", answers)
    assert hardware.has_cuda.__wrapped__()
