"""Pairs that a scripted PACER layer steers."""

import dataclasses

import pytest
from layers import Scripted


@pytest.fixture
def with_scorer(make_pair, with_stop_ids):
    """A tiny pair without stop ids, steered by scripted scores."""

    def build(shape, value, noise=None):
        return dataclasses.replace(with_stop_ids(make_pair(shape, noise)), scorers={"exact": Scripted(value)})

    return build
