"""The log of a training: what its report draws is that training, each step once."""

from explorer.training.common.progress import LogLine
from explorer.training.common.training_log import LOG, append_log, begin_log, read_log


def lines(folder, *steps):
    for step in steps:
        append_log(folder, LogLine({"step": step}))


def test_a_new_training_begins_a_new_log(tmp_path):
    begin_log(tmp_path, 0)
    assert read_log(tmp_path) == []
    lines(tmp_path, 50, 100)
    begin_log(tmp_path, 0)
    assert read_log(tmp_path) == []


def test_what_is_trained_again_is_not_logged_twice(tmp_path):
    """Killed after a line was written and before the checkpoint was."""
    lines(tmp_path, 50, 100)
    begin_log(tmp_path, 50)
    lines(tmp_path, 100)
    assert [line["step"] for line in read_log(tmp_path)] == [50, 100]


def test_a_line_cut_short_is_dropped(tmp_path):
    lines(tmp_path, 50, 100)
    (tmp_path / LOG).write_text((tmp_path / LOG).read_text() + '{"step": 15')
    assert [line["step"] for line in read_log(tmp_path)] == [50, 100]
    begin_log(tmp_path, 100)
    lines(tmp_path, 150)
    assert [line["step"] for line in read_log(tmp_path)] == [50, 100, 150]
