"""Training that is killed while it saves."""

import contextlib
import itertools
import os

import pytest


@pytest.fixture
def killed_at_save(monkeypatch):
    """A block in which the process is killed at its `number`-th save, after or before the file is there."""

    @contextlib.contextmanager
    def block(number: int, after: bool = True):
        replace, saves = os.replace, itertools.count(1)

        def killed(*paths):
            last = next(saves) == number
            if after or not last:
                replace(*paths)
            if last:
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", killed)
            with pytest.raises(KeyboardInterrupt):
                yield

    return block
