"""What crosses the layers: the scripted pair, the load's visitors and the fuzzer's readers are imported by name."""

import os
import sys
from pathlib import Path

import pytest

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
for folder in (Path(__file__).parents[1], Path(__file__).parents[1] / "ui"):
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="session")
def saved(make_pair, tmp_path_factory):
    """A tiny pair on disk, as TARGET,DRAFT."""
    pair, folder = make_pair("llama"), tmp_path_factory.mktemp("pair")
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(folder / side)
        pair.tokenizer.save_pretrained(folder / side)
    return f"{folder / 'target'},{folder / 'draft'}"
