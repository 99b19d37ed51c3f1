"""What a Space reads before anything runs: the front matter of the README and the requirements."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
ZEROGPU_TORCH = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")  # what it offers, on Python 3.12


@pytest.fixture(scope="module")
def front_matter():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)[1]
    return {key: value.strip('"') for key, value in (line.split(": ", 1) for line in block.splitlines())}


def requirements(python: str) -> dict[str, Requirement]:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return {one.name: one for one in found if one.marker is None or one.marker.evaluate(environment)}


def test_the_front_matter_is_what_the_hub_takes(front_matter):
    from huggingface_hub import SpaceHardware

    assert (front_matter["sdk"], front_matter["app_file"], front_matter["python_version"]) == (
        "gradio",
        "app.py",
        "3.12",
    )
    assert front_matter["suggested_hardware"] in {hardware.value for hardware in SpaceHardware}
    assert len(front_matter["short_description"]) <= 60
    assert front_matter["license"] == "apache-2.0"


def test_one_gradio_in_the_front_matter_and_the_requirements(front_matter):
    """The platform installs the first, then the second over it."""
    assert str(requirements("3.12")["gradio"].specifier) == f"=={front_matter['sdk_version']}"


def test_every_torch_of_zerogpu_will_do():
    torch = requirements("3.12")["torch"].specifier
    assert all(Version(version) in torch for version in ZEROGPU_TORCH)
    assert Version("2.13.0") in requirements("3.11")["torch"].specifier
    assert all(set(requirements(python)) >= {"torch", "transformers", "gradio"} for python in ("3.11", "3.12"))
    assert "spaces" not in requirements("3.12"), "the platform brings its own"
