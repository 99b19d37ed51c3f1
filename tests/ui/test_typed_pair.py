"""Pairs that a visitor types."""

import json

import pytest
from explore import ExploreHandlers
from scripted import STORY, ScriptedBackend

from explorer.config import DecodeConfig
from explorer.conflicts import Offers
from explorer.engine.models.registry import UnknownPair
from explorer.errors import UserError
from explorer.ui.explore.request import RequestReader
from explorer.ui.explore.session import ExploreSession
from explorer.ui.explore.typed_pair import title_of_typed, typed_pair
from explorer.ui.page_knobs import page_knobs


@pytest.fixture
def folders(tmp_path):
    for name in ("target", "draft"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "model.safetensors").write_bytes(b"")
    return f"{tmp_path / 'target'},{tmp_path / 'draft'}"


def form(pair: str, **settings):
    config = DecodeConfig(**settings)
    return "Tell a story.", pair, False, *(getattr(config, knob.name) for knob in page_knobs())


def test_folders_of_this_machine_are_for_its_users(folders):
    known = typed_pair(f"{folders},cross-tokenizer", local_folders=True)
    assert known.cross_tokenizer
    assert title_of_typed(known) == "target / draft"
    with pytest.raises(UserError, match="not on this machine"):
        typed_pair(folders, local_folders=False)


@pytest.mark.parametrize("name", ["own/target,own/draft", "/nowhere/a,/nowhere/b"])
def test_what_is_not_here_is_refused(name):
    with pytest.raises(UserError, match="not on this machine"):
        typed_pair(name, local_folders=True)


def test_what_is_no_pair_is_refused():
    with pytest.raises(UnknownPair):
        typed_pair("a,b,c", local_folders=True)
    with pytest.raises(UserError, match="at most"):
        typed_pair("a" * 500 + ",b", local_folders=True)


def test_the_view_is_told_of_two_tokenizers(folders):
    handlers = ExploreHandlers(ScriptedBackend(STORY), local_folders=True)
    for name, crossed in ((folders, None), (f"{folders},cross-tokenizer", True), ("scripted", None)):
        head = json.loads(handlers.prepare(ExploreSession(), *form(name))[0])
        assert head.get("crossed") == crossed
    assert handlers.reader.read(*form(folders)).title == "target / draft"


def test_the_drafter_features_needs_a_pair_with_a_head():
    reader = RequestReader(ScriptedBackend(STORY, offers=Offers(head=False)))
    with pytest.raises(UserError, match="EAGLE-3 head"):
        reader.read(*form("scripted", drafter="features"))
