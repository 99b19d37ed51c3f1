"""Encoding of rounds for the run view: text joins exactly, nothing a model says can leave its line, numbers stay short."""

import json

import pytest
from scripted import STORY, Step, Words, make_round

from explorer.config import DecodeConfig
from explorer.pieces import text_of
from explorer.ui import strip

CONFIG = DecodeConfig()
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "${alert(1)}",
    "{{x}}",
    "</script><script>",
    "a\nb",
    "\u2028",
    "\u202eabc",
    '"\\',
    "x" * 10_000,
]


def encode(words, rounds, stop_ids=frozenset(), config=CONFIG, room=10**9):
    """Lines of rounds given as (steps, bonus), and the records themselves."""
    encoder, length, lines, records = strip.StripEncoder(words, stop_ids), 1, [], []
    for steps, bonus in rounds:
        record = make_round(words, steps, bonus, length, config, room)
        length += len(record.emitted)
        lines.append(encoder.round(record))
        records.append(record)
    return lines + [tail] if (tail := encoder.tail()) else lines, records


def tokens(lines):
    return [token for line in lines for token in json.loads(line).get("tokens", ())]


def shown(lines):
    return "".join(token["t"] for token in tokens(lines)) + "".join(json.loads(line).get("tail", "") for line in lines)


def test_the_pieces_join_to_the_text():
    words = Words()
    lines, records = encode(words, STORY.rounds)
    assert shown(lines) == text_of([token for record in records for token in record.emitted], words)


def test_every_kind_and_reason_of_the_story_is_encoded():
    lines, _ = encode(Words(), STORY.rounds)
    assert {token["v"] for token in tokens(lines)} == {"exact", "deferred", "correction", "bonus"}
    refused = [token["d"] for token in tokens(lines) if "d" in token]
    assert [d["why"] for d in refused] == ["rejected:gate", "rejected:window", "rejected:edge"]
    assert refused[1]["m"] == 2  # the second mismatch follows two further on
    assert [json.loads(line)["w"] for line in lines] == ["EDEEEE", "EG·", "EW····", "EEEF·", "EEEEEE", "EEDEEEEE"]


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_split_over_tokens_and_rounds_shows_once(cut):
    """Guards the decoder's state between rounds: flushing at a round's end would show a replacement character."""
    words, fox = Words(), "🦊".encode()
    lines, _ = encode(words, [([Step(" a"), Step(fox[:cut])], fox[cut:]), ([Step(" b")], " c")])
    assert shown(lines) == " a🦊 b c"
    parts = [token for token in tokens(lines) if "x" in token]
    assert [(part["t"], part["x"]) for part in parts] == [("", fox[:cut].hex(" ")), ("🦊", fox[cut:].hex(" "))]


def test_bytes_that_never_become_a_character_end_as_the_decoder_ends_them():
    words = Words()
    lines, records = encode(words, [([Step(" a")], b"\xf0\x9f")])
    assert shown(lines) == " a\ufffd" == text_of(records[0].emitted, words)


def test_a_stop_token_is_shown_but_adds_no_text():
    words = Words()
    stop = words.id("<|im_end|>")
    lines, _ = encode(words, [([Step(" bye")], "<|im_end|>")], frozenset({stop}))
    assert shown(lines) == " bye"
    assert tokens(lines)[-1]["o"] == "<|im_end|>"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_line(text):
    lines, _ = encode(Words(), [([Step(text), Step(" b", text, 0.01)], text)])
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines)
    assert tokens(lines)[0]["t"] == text
    assert tokens(lines)[1]["d"]["t"] == " b"


def test_no_markup_survives_on_the_way():
    """The lines hold no `<`, so that even a place that took them for HTML would find none."""
    lines, _ = encode(Words(), [([Step("<b>"), Step("&amp;")], "</script>")])
    assert not any("<" in line for line in lines)


def test_a_round_cut_at_the_budget_shows_only_what_was_emitted():
    words = Words()
    lines, _ = encode(words, [([Step(" a"), Step(" b"), Step(" c")], " d")], room=2)
    assert shown(lines) == " a b"


def test_a_round_without_a_draft():
    lines, _ = encode(Words(), [([], " alone")], config=DecodeConfig(rule="autoregressive"))
    assert [token["v"] for token in tokens(lines)] == ["bonus"]
    assert "q" not in tokens(lines)[0]


def test_a_token_stays_small():
    """The whole text travels once more with the last update: a fatter token would slow every run."""
    lines, _ = encode(Words(), STORY.rounds)
    assert sum(map(len, lines)) / len(tokens(lines)) < 300


def test_the_header_carries_the_settings_and_their_notes():
    head = json.loads(strip.header("ab", "pair", DecodeConfig(window=9, draft_length=8)))
    assert (head["run"], head["theta"], head["window"], head["k"]) == ("ab", 0.05, 9, 8)
    assert "nothing can be deferred" in head["notes"][0]
