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


@pytest.fixture
def command(capsys):
    """Run one command in this process: exit code, stdout, stderr."""
    from explorer.__main__ import main

    def call(*arguments: object):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:  # argparse
            code = stopped.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def refused(command):
    """Run a command that must be refused: exit 2 and one line, which is returned."""

    def call(*arguments: object) -> str:
        code, _, err = command(*arguments)
        assert code == 2, (code, err)
        assert len(err.strip().splitlines()) == 1, err
        assert "Traceback" not in err
        return err.strip()

    return call
