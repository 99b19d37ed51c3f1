"""What several of these tests need."""

import pytest


@pytest.fixture(scope="session")
def saved(make_pair, tmp_path_factory):
    """A tiny pair on disk, as TARGET,DRAFT."""
    pair, folder = make_pair("llama"), tmp_path_factory.mktemp("pair")
    for side, model in (("target", pair.oracle), ("draft", pair.oracle_draft)):
        model.save_pretrained(folder / side)
        pair.tokenizer.save_pretrained(folder / side)
    return f"{folder / 'target'},{folder / 'draft'}"
