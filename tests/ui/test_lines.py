"""The text of a run, as written here and as read by the page's own reader under node: nothing is lost, nothing escapes."""

import dataclasses
import json

import pytest
from node import run_script
from scripted import STORY, Step, Words, make_round

from explorer import wire as module
from explorer.config import DecodeConfig
from explorer.pieces import piece_of, text_of
from explorer.trace import Block
from explorer.verdicts import Verdict

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

READ = """(() => {
  const run = newRun(JSON.parse(data[0]));
  data.slice(1).forEach((line) => readEvent(run, JSON.parse(line)));
  return run;
})()"""


def encode(words, rounds, stop_ids=frozenset(), config=CONFIG, room=10**9, change=lambda record: record):
    """The lines of rounds given as (steps, bonus), and the records themselves."""
    encoder, length, lines, records = module.RunEncoder(words, stop_ids), 1, [], []
    for steps, bonus in rounds:
        record = change(make_round(words, steps, bonus, length, config, room))
        length += len(record.emitted)
        lines.append(encoder.round(record))
        records.append(record)
    return lines + [tail] if (tail := encoder.tail()) else lines, records


def read(lines):
    """The run as the page has it after these lines."""
    return run_script(READ, [module.header("r", "pair", "Pair", "go", CONFIG), *lines])


def shown(run):
    return "".join(token["text"] for token in run["tokens"]) + run["tail"]


def test_the_pieces_join_to_the_text():
    words = Words()
    lines, records = encode(words, STORY.rounds)
    assert shown(read(lines)) == text_of([token for record in records for token in record.emitted], words)


def test_a_round_reads_back_as_it_was_recorded():
    """All K + 1 rows, also behind the cut: a moved threshold may move the cut there."""
    words = Words()
    lines, records = encode(words, STORY.rounds)
    run = read(lines)
    text = [piece["text"] for piece in run["pieces"]]
    for record, round_ in zip(records, run["rounds"], strict=True):
        rows = record.rows
        assert [text[token] for token in round_["drafted"]] == [piece_of(words[token]).text for token in record.drafted]
        assert [text[token] for token in round_["replacement"]] == [
            piece_of(words[token]).text for token in record.replacement
        ]
        assert tuple(round_["match"]) == record.match
        assert round_["entropy"]["normalized"] == [
            row.entropy_normalized for row in rows
        ]  # bit-equal: theta meets them
        assert round_["entropy"]["top3"] == [row.entropy_top3 for row in rows]
        assert round_["judgement"]["verdicts"] == list(map(str, record.verdicts))
        assert (round_["judgement"]["accepted"], round_["judgement"]["last"]) == (record.accepted, record.last)
        assert round_["emitted"] == len(record.emitted)
        assert len(round_["top"]) == len(rows)
        assert text[round_["top"][0][0]["token"]] == piece_of(words[rows[0].argmax]).text
        assert round_["top"][0][0]["prob"] == 0.6


def test_each_piece_of_the_vocabulary_is_sent_once():
    lines, _ = encode(Words(), STORY.rounds * 3)
    pieces = [piece for line in lines for piece in json.loads(line).get("v", ())]
    assert len(pieces) == len(set(pieces)) > 20
    assert all("v" not in json.loads(line) for line in lines[len(STORY.rounds) :])


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_split_over_tokens_and_rounds_shows_once(cut):
    """Guards the decoder's state between rounds: flushing at a round's end would show a replacement character."""
    words, fox = Words(), "🦊".encode()
    lines, _ = encode(words, [([Step(" a"), Step(fox[:cut])], fox[cut:]), ([Step(" b")], " c")])
    run = read(lines)
    assert shown(run) == " a🦊 b c"
    parts = [(token["text"], token["hex"]) for token in run["tokens"] if token["hex"]]
    assert parts == [("", fox[:cut].hex(" ")), ("🦊", fox[cut:].hex(" "))]


def test_bytes_that_never_become_a_character_end_as_the_decoder_ends_them():
    words = Words()
    lines, records = encode(words, [([Step(" a")], b"\xf0\x9f")])
    assert shown(read(lines)) == " a\ufffd" == text_of(records[0].emitted, words)


def test_a_stop_token_is_shown_but_adds_no_text():
    words = Words()
    stop = words.id("<|im_end|>")
    run = read(encode(words, [([Step(" bye")], "<|im_end|>")], frozenset({stop}))[0])
    assert shown(run) == " bye"
    assert run["tokens"][-1]["stop"] == "<|im_end|>"


def test_what_only_some_runs_have_is_sent_only_there():
    """Drawn matches, stop ids, lookups and PACER's blocks: left out where there is nothing to say."""
    plain = json.loads(encode(Words(), [([Step(" a"), Step(" b")], " c")])[0][0])
    assert not {"m", "g", "f", "b", "x"} & set(plain)

    def change(record):
        blocks = (Block(1, (0.9,), 0.9, 0.5, True), Block(1, (0.2,), 0.2, 0.6, False))
        return dataclasses.replace(
            record, match=(True, True), protected=(True, False), sources=("lookup", "model"), blocks=blocks
        )

    (round_,) = read(encode(Words(), [([Step(" a"), Step(" b")], " c")], change=change)[0])["rounds"]
    assert (round_["protected"], round_["sources"]) == ([True, False], ["lookup", "model"])
    assert round_["blocks"][1] == {"size": 1, "mean": 0.2, "threshold": 0.6, "passed": False, "scores": [0.2]}


def test_a_match_that_was_drawn_is_not_equality():
    """Sampling may accept a token that is not the target's likeliest."""

    def change(record):
        committed = (*record.drafted, record.replacement[-1])
        return dataclasses.replace(
            record, match=(True,), verdicts=(Verdict.EXACT,), committed=committed, emitted=committed
        )

    (round_,) = read(encode(Words(), [([Step(" a", " b", 0.01)], " c")], change=change)[0])["rounds"]
    assert round_["match"] == [True]
    assert round_["drafted"] != round_["replacement"][:1]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_line(text):
    lines, _ = encode(Words(), [([Step(text), Step(" b", text, 0.01)], text)])
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines)
    run = read(lines)
    assert [token["text"] for token in run["tokens"]] == [text, text]
    assert run["pieces"][run["rounds"][0]["drafted"][1]]["text"] == " b"


def test_no_markup_survives_on_the_way():
    """The lines hold no `<`, so that even a place that took them for HTML would find none."""
    lines, _ = encode(Words(), [([Step("<b>"), Step("&amp;")], "</script>")])
    assert not any("<" in line for line in lines)


def test_a_round_cut_at_the_budget_shows_only_what_was_emitted():
    lines, _ = encode(Words(), [([Step(" a"), Step(" b"), Step(" c")], " d")], room=2)
    assert shown(read(lines)) == " a b"


def test_a_round_without_a_draft():
    run = read(encode(Words(), [([], " alone")], config=DecodeConfig(rule="autoregressive"))[0])
    assert [(token["text"], token["position"]) for token in run["tokens"]] == [(" alone", 0)]
    assert run["rounds"][0]["judgement"] == {"verdicts": [], "accepted": 0, "cut": None, "last": "bonus"}


def test_a_row_stays_small():
    """The whole text travels once more with the last update: a fatter row would slow every run."""
    lines, records = encode(Words(), STORY.rounds)
    assert sum(map(len, lines)) / sum(len(record.rows) for record in records) < 130


def test_the_header_carries_the_settings_and_their_notes():
    head = json.loads(module.header("ab", "pair", "Pair", "go", DecodeConfig(window=9, draft_length=8)))
    assert (head["run"], head["recorded"], head["config"]["theta"], head["config"]["window"]) == ("ab", False, 0.05, 9)
    assert head["notes"] == [{"code": "note.window_too_long", "values": {"window": 9, "longest": 8}}]


def read_trace(trace):
    encoder = module.RunEncoder(trace.vocabulary, frozenset(trace.stop_ids))
    return read([encoder.round(round_) for round_ in trace.rounds])


def test_phrases_and_tokens_ahead_read_back(hand):
    run = read_trace(hand.phrases())
    (round_,), text = run["rounds"], [piece["text"] for piece in run["pieces"]]
    tried = [("".join(text[token] for token in branch["ids"]), branch["agreed"]) for branch in round_["branches"]]
    assert tried == [("efg", 2), ("ers", 1)]
    assert (round_["fromPool"], round_["sources"][4]) == (3, "phrase pool")
    run = read_trace(hand.pearl())
    text = [piece["text"] for piece in run["pieces"]]
    assert ["".join(text[token] for token in one["ahead"]) for one in run["rounds"]] == ["bcd", "efg", "ikl", "ikl", ""]
    assert run_script("data.map(goesOn)", run["rounds"]) == [True, True, False, True, False]


def test_a_tree_reads_back(hand):
    """Probabilities along the path and its place in the draft follow from what is sent."""
    run = read_trace(hand.tree())
    (round_,), text = run["rounds"], [piece["text"] for piece in run["pieces"]]
    told = [
        (text[node["token"]], node["parent"], node["depth"], node["along"], text[node["argmax"]], node["position"])
        for node in round_["tree"]
    ]
    assert told == [
        ("a", -1, 1, 0.625, "h", None),
        ("b", -1, 1, 0.25, "d", 0),
        ("c", 0, 2, 0.3125, "i", None),
        ("d", 1, 2, 0.25 * 0.375, "f", 1),
        ("e", 1, 2, 0.125, "m", None),
        ("g", 3, 3, pytest.approx(0.25 * 0.375 * 0.875), "k", 2),
    ]
    assert round_["verified"] == 6
    others = read_trace(hand.phrases())["rounds"][0]
    assert (others["tree"], others["verified"]) == (None, hand.phrases().rounds[0].verified)


def test_a_tree_is_laid_out_by_hand(hand):
    """First b, d and the target's own token f, the last node: what was committed; below it the refused g, then e, then a-c."""
    (round_,) = read_trace(hand.tree())["rounds"]
    layout = run_script("treeLayout(data, 2)", round_["tree"])
    assert [(node["depth"], node["row"]) for node in layout["nodes"]] == [
        (1, 3), (1, 0), (2, 3), (2, 0), (2, 2), (3, 1), (3, 0)
    ]  # fmt: skip
    assert (layout["order"], layout["rows"]) == ([1, 3, 6, 5, 4, 0, 2], 4)
    alone = run_script("treeLayout(data, 0)", round_["tree"])
    assert alone["nodes"][6] == {"parent": -1, "depth": 1, "row": 0}
    assert alone["order"] == [6, 1, 3, 5, 4, 0, 2]


def test_a_phrase_says_nothing_of_acceptance(hand):
    """It was picked for agreeing: positions of the chart end with the drafted tokens."""
    assert len(run_script("acceptanceByPosition(data)", read_trace(hand.phrases())["rounds"])) == 4
