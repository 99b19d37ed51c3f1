"""How long work looks on a terminal, and in a file."""

import io

import pytest

from explorer.cli.progress import show
from explorer.training.common.progress import LogLine, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(first: float = 1):
    yield LogLine({"before": 1})
    yield Progress(first, 4)
    yield "shard-00001"
    yield Progress(4, 4)
    return "the result"


def test_a_terminal_shows_a_bar_and_the_lines(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert show(work(), "shards") == "the result"
    assert capsys.readouterr().out.splitlines() == ['{"before": 1}', "shard-00001"]
    assert "1/4 shards" in terminal.getvalue()
    assert terminal.getvalue().rstrip().splitlines()[-1].strip().startswith("100%")


def test_a_file_gets_plain_lines_only(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", file := io.StringIO())
    assert show(work(), "shards") == "the result"
    assert capsys.readouterr().out.splitlines() == ['{"before": 1}', "shard-00001"]
    assert file.getvalue() == ""


def test_a_share_of_a_unit_moves_the_bar(monkeypatch):
    """Training yields parts of an epoch: a bar that waits for whole ones stands still for an hour."""

    def epochs():
        for step in range(11):
            yield Progress(step / 100, 3)

    monkeypatch.setattr("tqdm.std.time", iter(range(1000)).__next__)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    show(epochs(), "epochs")
    assert "0.05/3 epochs" in terminal.getvalue()


def test_many_tokens_are_written_out(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    show(iter([Progress(1_234_567, 4_000_000)]), "tokens")
    assert "1,234,567/4,000,000 tokens" in terminal.getvalue()


def test_the_bar_is_closed_where_work_fails(monkeypatch):
    def failing():
        yield Progress(1, 2)
        raise OSError("disk full")

    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with pytest.raises(OSError, match="disk full"):
        show(failing(), "shards")
    assert terminal.getvalue().endswith("\n"), "what is said next begins a line"
