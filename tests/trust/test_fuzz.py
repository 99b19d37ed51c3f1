"""Damaged and hostile input: every reader returns or refuses, and nothing that comes from outside is run (tests/tools/fuzz.py)."""

import json
import pickle
import random
import shutil

import fuzz
import pytest
from node import run_script
from scripted import Script, Step, make_trace

from explorer.config import knobs
from explorer.engine.drafters.pacer.card import CardError, load
from explorer.engine.load_pair import load_pair
from explorer.errors import UserError
from explorer.schema import SchemaError, parse_json
from explorer.trace import MAX_TEXT_BYTES, Trace
from explorer.training.common.checkpoint import read_checkpoint
from explorer.training.common.collection import read_settings
from explorer.training.pacer.data import read_shard
from explorer.ui.run_text import run_text

INPUTS = {
    "trace, bytes": 60,
    "trace, values": 60,
    "trace, imported": 40,
    "sweep file": 40,
    "layer, safetensors": 40,
    "EAGLE-3 head": 60,
}  # 120 of the others


@pytest.fixture(scope="module")
def readers():
    with fuzz.kinds() as readers:
        yield readers


def names() -> list[str]:
    """The kinds, in words of their own so that one that is lost is missed."""
    return [
        "trace, bytes", "trace, values", "trace, imported", "judge line", "prompt set", "Explore form", "Tune form",
        "Compare form", "events of the view", "layer, safetensors", "layer, card", "shard, safetensors", "EAGLE-3 head", "sweep file",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", names())
def test_damaged_input_is_read_or_refused(kind, readers):
    assert list(readers) == names()
    tally = fuzz.tried(readers[kind], INPUTS.get(kind, 120), seed=1_000_000)
    if kind != "events of the view":  # what makes no sense there changes nothing
        assert tally.refused > tally.inputs / 10, "damage that nobody notices tests little"


READ_LINKS = """data.map((text) => {
  const found = readLink(text, { runs: ["a"], pairs: ["p"] });
  if (found === null || found.refused) return null;
  return [found.run, found.pair, found.round, found.position, Object.entries(found.knobs), found.view];
})"""


def test_damaged_links_are_followed_only_where_they_make_sense():
    """The page's own reader under node, which knows the same table of knobs."""
    whole = (
        b"v=1&run=a&pair=p&round=4&position=2&theta=0.3&window=3&rule=fly&raw_prompt=true&seed=5&view=refused.pinned"
    )
    links = [fuzz.damaged(whole, random.Random(seed)).decode("latin-1") for seed in range(1500)]
    found = run_script(READ_LINKS, links)
    read = [one for one in found if one]
    assert 20 < len(read) < len(links) - 200
    known = {knob.name: knob for knob in knobs()}
    for run, pair, round_, position, values, view in read:
        assert run in (None, "a")
        assert pair in (None, "p")
        assert all(number is None or 1 <= number <= 1_000_000 for number in (round_, position))
        for name, value in values:
            known[name].check(value)
        assert set(view) <= {"refused", "pinned", "table"}


class Trap:
    """What a pickle runs when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


READERS = {"shard-00000.safetensors": read_shard, "checkpoint.pt": read_checkpoint, "settings.json": lambda path: read_settings(path.parent), "trace.json": Trace.load}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_a_pickle_under_another_name_is_never_run(name, tmp_path):
    sprung, path = tmp_path / "sprung", tmp_path / name
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(UserError):
        READERS[name](path)
    assert not sprung.exists()


def test_a_pickle_in_place_of_a_models_weights_is_never_run(saved, tmp_path):
    sprung, folder = tmp_path / "sprung", tmp_path / "model"
    shutil.copytree(saved.split(",")[0], folder)
    (folder / "model.safetensors").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(UserError, match="cannot load"):
        load_pair(f"{folder},{folder}", device="cpu")
    assert not sprung.exists()


def test_one_long_token_does_not_make_a_text_of_gigabytes():
    """A file of 1 MB whose 4096 tokens are all the same one of 64 kB: 268 MB of text, decoded again and again."""
    trace = make_trace(Script([([Step("x"), Step("x")], "x")]), repeats=300)
    data = trace.to_json()
    token = next(key for key, piece in data["vocabulary"].items() if piece == "x")
    for piece in ("y" * 60_000, {"hex": "80" * 60_000}):
        data["vocabulary"][token] = piece
        with pytest.raises(SchemaError, match=f"the text has 54,000,000 bytes, a run's at most {MAX_TEXT_BYTES:,}"):
            Trace.from_json(data)


def test_bytes_that_never_end_a_character_are_read_once():
    """They were decoded again with every token that followed: quadratic in the length of the text."""
    trace = make_trace(Script([([Step(b"\x80" * 400), Step(b"\x80" * 400)], b"\x80" * 400)]), repeats=400)
    text = run_text("r", "P", trace, here=True)
    assert text.count("\\ufffd") + text.count("�") == 400 * 3 * 400


@pytest.mark.parametrize(
    "text", ["[" * 3_000_000, "[" + "[]," * 2_000_001 + "[]]", '{"a":' * 2_000_001], ids=["deep", "wide", "objects"]
)
def test_a_flood_of_lists_is_refused_before_it_is_parsed(text, monkeypatch):
    """Three bytes of text each, more than sixty in memory."""
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    for one in (text, text.encode()):
        with pytest.raises(SchemaError, match="more than 2,000,000 lists and objects"):
            parse_json(one)


def test_a_header_that_promises_gigabytes_is_refused(tmp_path):
    """safetensors begins with the length of its header: nothing is set aside for what a file only claims."""
    for claim in (2**63, 10**12, 10**8 - 9):
        (tmp_path / "shard-00000.safetensors").write_bytes(claim.to_bytes(8, "little") + b"{}" * 20)
        with pytest.raises(UserError, match="is damaged"):
            read_shard(tmp_path / "shard-00000.safetensors")
    header = json.dumps({"ids": {"dtype": "I64", "shape": [2**40], "data_offsets": [0, 2**43]}}).encode()
    (tmp_path / "shard-00000.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(UserError, match="is damaged"):
        read_shard(tmp_path / "shard-00000.safetensors")


def test_a_card_above_its_size_is_not_read(tmp_path):
    (tmp_path / "card.json").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(CardError, match="larger than such a file can be"):
        load(tmp_path)
