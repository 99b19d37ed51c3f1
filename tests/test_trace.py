"""The record of a run: what is written reads back equal, and a file whose parts contradict each other is refused."""

import copy
import dataclasses
import json
import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer.trace as trace_module
from explorer.config import DecodeConfig
from explorer.schema import SchemaError, parse_json
from explorer.stops import Stop
from explorer.trace import MAX_FILE_BYTES, Baseline, Block, Row, Seconds, Trace
from explorer.verdicts import Verdict


def test_a_hand_made_trace_says_what_happened(hand):
    trace = hand.valid()
    assert [[str(v) for v in r.verdicts] for r in trace.rounds] == [
        ["exact", "deferred", "exact"],
        ["exact", "rejected:gate", "discarded"],
        ["exact", "exact"],
    ]
    assert [r.last for r in trace.rounds] == ["bonus", "correction", "bonus"]
    assert [r.emitted_kinds for r in trace.rounds] == [
        ("exact", "deferred", "exact", "bonus"),
        ("exact", "correction"),
        ("exact", "exact"),
    ]
    assert trace.output_ids == (4, 5, 6, 8, 10, 13, 4, 9)
    assert trace.text == "efgikne", "the stop id is not text"
    assert trace.rounds[0].emitted_logprobs == (-0.25, -1.5, -0.25, -0.25)
    assert trace.verdict_counts[Verdict.EXACT] == 5
    assert sum(trace.verdict_counts.values()) == 8
    assert trace.seconds.total == 3.0


def test_file_reads_back_equal(hand, tmp_path):
    trace = hand.valid()
    trace.save(tmp_path / "t.json")
    again = Trace.load(tmp_path / "t.json")
    assert again == trace
    assert again.rounds[1].rows[2].entropy_normalized.hex() == (math.pi / 4).hex()
    again.save(tmp_path / "u.json")
    assert (tmp_path / "u.json").read_bytes() == (tmp_path / "t.json").read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(theta=st.floats(0, 1.2), entropy=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_gates_give_the_same_verdict_after_a_round_trip(hand, theta, entropy):
    """A rounded entropy or theta moves a boundary case."""
    for h in (entropy, [min(theta, 1.0)] * 4):
        config = DecodeConfig(theta=theta, window=1, draft_length=3, max_new_tokens=4)
        round_ = hand.round(3, [4, 5, 6], [4, 7, 6, 8], config, entropy=h)
        emitted = len(round_.emitted)
        trace = hand.trace([round_], dataclasses.replace(config, max_new_tokens=emitted), Stop("budget"))
        again = Trace.from_json(json.loads(json.dumps(trace.to_json())))
        assert again == trace
        assert [row.entropy_normalized.hex() for row in again.rounds[0].rows] == [x.hex() for x in h]


# Contradictions -----------------------------------------------------------------------------------------------------


def find(data, path: str):
    """The list or table that holds the last part of the path, and that part as its key."""
    *way, last = path.split(".")
    for step in way:
        data = data[int(step) if isinstance(data, list) else step]
    return data, int(last) if isinstance(data, list) else last


def put(path: str, value):
    """A change of one place of the JSON: `rounds.0.rows.1.argmax`; a callable gets the old value."""

    def change(data):
        place, last = find(data, path)
        place[last] = value(place[last]) if callable(value) else value

    return change


def drop(path: str):
    def change(data):
        place, last = find(data, path)
        del place[last]

    return change


def several(*changes):
    def change(data):
        for one in changes:
            one(data)

    return change


CONTRADICTIONS = {
    "schema of the future": (put("schema", 2), "schema version 2"),
    "schema missing": (drop("schema"), "schema version None"),
    "schema true": (put("schema", True), "schema"),
    "no prompt": (put("prompt.ids", []), "prompt: the prompt is empty"),
    "prompt id unknown": (put("prompt.ids.0", 900), "token 900"),
    "negative id": (put("prompt.ids.0", -1), "token -1"),
    "length_before": (put("rounds.1.length_before", 8), "rounds[1].length_before must be 7"),
    "fewer requested than drafted": (put("rounds.0.requested", 2), "rounds[0]: more tokens drafted"),
    "drafted longer": (put("rounds.0.drafted", [4, 5, 6, 7]), "rounds[0]"),
    "drafted id unknown": (put("rounds.1.drafted.2", 901), "token 901"),
    "draft_probs short": (put("rounds.0.draft_probs", [0.5, 0.5]), "rounds[0]: draft_probs"),
    "sources short": (put("rounds.0.sources", ["model"]), "rounds[0]: sources"),
    "source unknown": (put("rounds.0.sources.1", "oracle"), "rounds[0].sources[1]"),
    "rows short": (put("rounds.0.rows", lambda rows: rows[:3]), "rounds[0]: rows"),
    "rows long": (put("rounds.0.rows", lambda rows: rows + rows[:1]), "rounds[0]: rows"),
    "row without drafted_logprob": (put("rounds.0.rows.1.drafted_logprob", None), "rounds[0]: a row lacks"),
    "top lists differ": (put("rounds.0.rows.1.top_logprobs", [-0.1]), "rounds[0].rows[1]: top_ids"),
    "top id unknown": (put("rounds.0.rows.1.top_ids.2", 902), "token 902"),
    "match short": (put("rounds.0.match", [True]), "rounds[0]: match"),
    "match is not drafted == argmax": (put("rounds.1.match.2", False), "rounds[1]: match"),
    "replacement short": (put("rounds.0.replacement", [4]), "rounds[0]: replacement"),
    "replacement is not the argmax": (put("rounds.0.replacement.1", 8), "rounds[0]"),
    "replacement past the cut": (put("rounds.1.replacement.2", 8), "rounds[1]: a greedy replacement"),
    "protected short": (put("rounds.0.protected", []), "rounds[0]: protected"),
    "protected without a stop id": (put("rounds.0.protected.0", True), "rounds[0]: protected"),
    "stop id not protected": (put("rounds.2.protected.1", False), "rounds[2]: protected"),
    "verdict unknown": (put("rounds.0.verdicts.0", "kept"), "rounds[0].verdicts[0]"),
    "verdicts short": (put("rounds.0.verdicts", ["exact"]), "rounds[0]: verdicts"),
    "kept behind the cut": (put("rounds.1.verdicts.2", "exact"), "rounds[1]"),
    "two rejected": (put("rounds.1.verdicts.2", "rejected:gate"), "rounds[1]: the first token not kept"),
    "discarded without a cut": (put("rounds.0.verdicts.2", "discarded"), "rounds[0]: the first token not kept"),
    "other reason than the rule's": (put("rounds.1.verdicts.1", "rejected:window"), "rounds[1]: the rule gives"),
    "deferred called exact": (put("rounds.0.verdicts.1", "exact"), "rounds[0]: the rule gives"),
    "committed short": (put("rounds.0.committed", [4, 5, 6]), "rounds[0]: committed"),
    "committed other": (put("rounds.0.committed.1", 7), "rounds[0]: committed"),
    "nothing emitted": (put("rounds.2.emitted", []), "rounds[2]: emitted"),
    "emitted no prefix": (put("rounds.0.emitted", [4, 6]), "rounds[0]: emitted"),
    "emitted longer": (put("rounds.2.emitted", [4, 9, 5, 5]), "rounds[2]: emitted"),
    "cut before the last round": (put("rounds.0.emitted", [4, 5]), "rounds[0] is cut"),
    "blocks do not add up": (
        put("rounds.0.blocks", [{"size": 2, "scores": [], "mean": None, "threshold": None, "passed": True}]),
        "rounds[0]: blocks",
    ),
    "block scores": (
        put("rounds.0.blocks", [{"size": 3, "scores": [1.0], "mean": 1.0, "threshold": 0.5, "passed": True}]),
        "rounds[0].blocks[0]: a block needs",
    ),
    "negative time": (put("rounds.0.seconds.draft", -1.0), "rounds[0].seconds: a time"),
    "theta moved": (put("config.theta", 0.1), "rounds[1]: the rule gives other verdicts"),
    "window moved": (put("config.window", 2), "rounds[0]: the rule gives other verdicts"),
    "theta out of range": (put("config.theta", 3.0), "config: Theta must be a number from 0 to 1.2"),
    "draft length a truth value": (put("config.draft_length", True), "config.draft_length"),
    "rule unknown": (put("config.rule", "lucky"), "config: Rule must be one of"),
    "stop reason unknown": (put("stop.reason", "boredom"), "stop.reason"),
    "budget not spent": (put("stop.reason", "budget"), "stop: the text ends at stop_id"),
    "more than the budget": (put("config.max_new_tokens", 7), "the text goes on behind its end"),
    "partial alone": (put("partial", True), "partial"),
    "user not partial": (put("stop.reason", "user"), "partial"),
    "stop id without one": (drop("rounds.2"), "stop: the text ends nowhere"),
    "no stop ids": (put("stop_ids", []), "rounds[2]: protected"),
    "offset without a stop string": (put("stop.text_offset", 0), "stop: the text ends at stop_id, text_offset None"),
    "vocabulary lacks an id": (drop("vocabulary.13"), "token 13"),
    "vocabulary key": (put("vocabulary", {"x": "a"}), "vocabulary.x"),
    "vocabulary is a list": (put("vocabulary", []), "vocabulary must be an object"),
    "baseline lengths": (
        put("baseline", {"ids": [4], "logprobs": [], "seconds": {}}),
        "baseline: baseline ids and logprobs differ",
    ),
    "provenance without a date": (drop("provenance.date"), "provenance.date is missing"),
    "rounds is a number": (put("rounds", 3), "rounds must be a list"),
    "a round is null": (put("rounds.1", None), "rounds[1] must be an object"),
    "argmax is a text": (put("rounds.0.rows.0.argmax", "4"), "rounds[0].rows[0].argmax"),
    "entropy is null": (put("rounds.0.rows.0.entropy_top3", None), "rounds[0].rows[0].entropy_top3"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_refused_and_its_place_named(name, hand):
    """Each identity of the format violated once."""
    change, place = CONTRADICTIONS[name]
    data = copy.deepcopy(json.loads(json.dumps(hand.valid().to_json())))
    Trace.from_json(copy.deepcopy(data))
    change(data)
    with pytest.raises(SchemaError) as error:
        Trace.from_json(data)
    assert place in str(error.value)
    assert len(str(error.value)) < 300


OUT_OF_RANGE = {
    "entropy above 1": put("rounds.0.rows.0.entropy_normalized", 1.5),
    "entropy below 0": put("rounds.0.rows.3.entropy_top3", -0.5),
    "log-probability above 0": put("rounds.0.rows.0.argmax_logprob", 3.0),
    "drafted log-probability above 0": put("rounds.0.rows.0.drafted_logprob", 3.0),
    "alternative above 0": put("rounds.0.rows.0.top_logprobs.0", 3.0),
    "draft probability above 1": put("rounds.0.draft_probs.0", 7.0),
    "block of negative size": put(
        "rounds.0.blocks",
        [
            {"size": 4, "scores": [], "mean": None, "threshold": None, "passed": True},
            {"size": -1, "scores": [], "mean": None, "threshold": None, "passed": True},
        ],
    ),
    "no threads": put("provenance.threads", -3),
    "text behind the stop id": several(
        put("rounds.2.emitted", [4, 9, 5]),
    ),
    "requested more than K": put("rounds.0.requested", 60),
    "autoregressive with a draft": several(
        put("config.rule", "autoregressive"),
        put("rounds", lambda rounds: rounds[2:]),
        put("rounds.0.length_before", 3),
    ),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_values_out_of_range_are_refused(name, hand):
    """DESIGN section 3: validate types, lengths, ranges and size before use."""
    data = json.loads(json.dumps(hand.valid().to_json()))
    OUT_OF_RANGE[name](data)
    with pytest.raises(SchemaError):
        Trace.from_json(data)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused_when_a_record_is_built(hand, value):
    with pytest.raises(SchemaError):
        dataclasses.replace(hand.row(4), entropy_top3=value)


def test_stop_string_and_its_offset(hand):
    config = DecodeConfig(rule="exact", draft_length=3, max_new_tokens=16, stop_strings=("gi", "zz"))
    rounds = [hand.round(3, [4, 5, 6], [4, 5, 6, 8], config)]
    trace = hand.trace(rounds, config, Stop("stop_string", 2))
    assert trace.text == "ef"
    data = json.loads(json.dumps(trace.to_json()))
    assert Trace.from_json(data) == trace
    for offset in (1, 3, -1, -2, 99, None):
        data["stop"]["text_offset"] = offset
        with pytest.raises(SchemaError, match="stop_string, text_offset 2"):
            Trace.from_json(data)


def test_the_first_stop_in_the_text_is_the_reason(hand):
    """Whatever the record claims: the rule that ended the run is asked again."""
    config = DecodeConfig(rule="exact", draft_length=3, max_new_tokens=4, stop_strings=("gi",))
    round_ = hand.round(3, [4, 5, 6], [4, 5, 6, 8], config)
    hand.trace([round_], config, Stop("stop_string", 2))
    for stop in (Stop("budget"), Stop("user"), Stop("stop_id"), Stop("stop_string", 1)):
        with pytest.raises(SchemaError, match="the text ends at stop_string, text_offset 2"):
            hand.trace([round_], config, stop)
    early = dataclasses.replace(config, stop_strings=("fg",))
    with pytest.raises(SchemaError, match="goes on behind its end"):
        hand.trace([hand.round(3, [4, 5, 6], [4, 5, 6, 8], early)], early, Stop("stop_string", 1))
    cut = dataclasses.replace(round_, emitted=round_.committed[:2])
    with pytest.raises(SchemaError, match="the last round is cut"):
        hand.trace([cut], dataclasses.replace(config, stop_strings=()), Stop("user"))


def test_a_run_without_rounds_is_a_partial_trace(hand, tmp_path):
    trace = hand.trace([], DecodeConfig(), Stop("user"))
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace
    assert (trace.text, trace.output_ids, trace.seconds) == ("", (), Seconds())


def test_a_baseline_and_blocks_come_along(hand):
    base = Baseline((4, 5), (-0.1, -0.2), Seconds(0.5, verify=0.25))
    trace = hand.valid()
    block = Block(3, (0.9, 0.8, 0.7), 0.8, 0.5, True)
    rounds = (dataclasses.replace(trace.rounds[0], blocks=(block,)), *trace.rounds[1:])
    trace = dataclasses.replace(trace, baseline=base, rounds=rounds)
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace


def test_unknown_fields_are_ignored(hand):
    """Later rules add optional fields; a reader of version 1 goes on."""
    data = json.loads(json.dumps(hand.valid().to_json()))
    for place in (
        data,
        data["rounds"][0],
        data["rounds"][0]["rows"][1],
        data["config"],
        data["stop"],
        data["provenance"],
    ):
        place["from_the_future"] = [{"x": None}]
    assert Trace.from_json(data) == hand.valid()


def test_markup_in_token_text_survives_as_text(hand, tmp_path):
    """HTML in a token is text: neither changed nor refused; escaping is the page's business."""
    trace = hand.valid()
    evil = "<script>alert('x')</script>&amp;\"\u2028\x00"
    trace = dataclasses.replace(trace, vocabulary={**trace.vocabulary, 4: evil.encode()})
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json").text.startswith(evil)


def test_parts_of_characters_survive(hand, tmp_path):
    trace = hand.valid()
    trace = dataclasses.replace(trace, vocabulary={**trace.vocabulary, 4: b"\xf0\x9f", 5: b"\x8e\x89"})
    trace.save(tmp_path / "t.json")
    again = Trace.load(tmp_path / "t.json")
    assert again == trace
    assert again.text.startswith("🎉")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(SchemaError, match="67,108,865 bytes"):
        Trace.load(path)


def test_files_that_are_no_trace(tmp_path):
    path = tmp_path / "t.json"
    for content in (
        b"",
        b"null",
        b"[]",
        b"3",
        b'"x"',
        b"{}",
        b"\xff\xfe\x00",
        b"{" * 5000,
        b'{"schema":1}',
        b'{"schema":1e0}',
    ):
        path.write_bytes(content)
        with pytest.raises(SchemaError):
            Trace.load(path)


def test_a_hostile_schema_version_is_refused_in_few_words():
    """A version of a megabyte, or one nested so deep that its repr overflows."""
    for text in ('"' + "x" * 10_000 + '"', *("[" * depth + "]" * depth for depth in range(700, 1000))):
        with pytest.raises(SchemaError) as error:
            Trace.from_json(parse_json('{"schema":' + text + "}"))
        assert len(str(error.value)) < 300


def test_a_hostile_setting_is_refused_in_few_words(hand):
    data = json.loads(json.dumps(hand.valid().to_json()))
    data["config"]["rule"] = "x" * 1_000_000
    with pytest.raises(SchemaError) as error:
        Trace.from_json(data)
    assert len(str(error.value)) < 300


def test_stop_ids_are_not_gathered_again_for_every_round(hand, monkeypatch):
    """Many rounds x many stop ids: a file of a few megabytes kept the reader busy for an hour."""
    gathered = []

    def counting_set(values=()):
        values = list(values)
        gathered.append(len(values))
        return {*values}

    trace = hand.valid()
    monkeypatch.setattr(trace_module, "set", counting_set, raising=False)
    stop_ids = (*trace.stop_ids, *range(4_000, 4_100))
    dataclasses.replace(trace, stop_ids=stop_ids, vocabulary={**trace.vocabulary, **dict.fromkeys(stop_ids, b"!")})
    assert gathered.count(len(stop_ids)) <= 2


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_damaged_files_never_raise_anything_else(hand, seed):
    """Flipped, lost, doubled and swapped bytes: a trace or a SchemaError."""
    rng = random.Random(seed)
    raw = bytearray(json.dumps(hand.valid().to_json()).encode())
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(raw))
        match rng.randrange(4):
            case 0:
                raw[at] = rng.randrange(256)
            case 1:
                del raw[at : at + rng.randrange(1, 40)]
            case 2:
                raw[at:at] = raw[at : at + rng.randrange(1, 40)]
            case 3:
                raw[at : at + 1] = rng.choice(
                    [b"NaN", b"1e999", b"null", b"[", b'"', b"\\ud800", b"-", b"99999999999999999999"]
                )
    try:
        trace = Trace.from_json(parse_json(bytes(raw)))
    except SchemaError:
        return
    assert isinstance(trace, Trace)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_values_swapped_for_others_never_raise_anything_else(hand, seed):
    """Well-formed JSON with a wrong value anywhere."""
    rng = random.Random(seed)
    data = json.loads(json.dumps(rng.choice([hand.valid(), hand.tree()]).to_json()))
    place, key = data, rng.choice(list(data))
    while isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.85:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    place[key] = rng.choice(
        [None, True, -1, 0, 2**70, 1.5, -1e308, "x", "\ud800", [], {}, [[]], {"hex": "ff"}, "exact"]
    )
    try:
        Trace.from_json(data)
    except SchemaError:
        return


def test_row_gives_the_entropy_of_the_measure():
    row = Row(1, -0.1, 0.25, 0.75, (1,), (-0.1,), -0.1)
    assert (row.entropy("normalized"), row.entropy("top3")) == (0.25, 0.75)


# Phrases and PEARL's schedule ---------------------------------------------------------------------------------------


def test_a_round_with_a_tree_says_what_happened(hand):
    """Three drafted tokens, the path; three more were verified beside it and thrown away."""
    trace = hand.tree()
    (round_,) = trace.rounds
    assert (round_.drafted, round_.committed, round_.verified) == ((1, 3, 6), (1, 3, 5), 6)
    assert round_.tree.path(round_.rows[0].argmax) == (1, 3, 5)
    assert round_.tree.depths == (1, 1, 2, 2, 2, 3)
    assert {12, 2, 8} <= set(trace.vocabulary), "tokens that only the tree speaks of"
    assert Trace.from_json(trace.to_json()) == trace


def test_records_without_a_tree_are_what_they_were(hand):
    """An older reader finds nothing new in them, and ignores what it does not know in the others."""
    assert "tree" not in hand.valid().to_json()["rounds"][0]
    data = hand.tree().to_json()
    data["rounds"][0]["tree"]["later"] = 1
    assert Trace.from_json(data) == hand.tree()


def with_leaves(tree, *parents):
    """More nodes, of a probability that leaves the path where it is."""
    for token, parent in enumerate(parents, 14):
        for name, value in (("parents", parent), ("ids", token), ("probs", 0.0), ("argmax", 7)):
            tree[name].append(value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["tree"].update(parents=[-1, -1, 2, 1, 1, 3]), "behind an earlier one"),
        (lambda data: data["tree"].update(parents=[-2, -1, 0, 1, 1, 3]), "behind an earlier one"),
        (lambda data: data["tree"].update(parents=[5, 0, 1, 2, 3, 4]), "behind an earlier one"),
        (lambda data: data["tree"]["ids"].append(4), "as many"),
        (lambda data: data["tree"]["probs"].pop(), "as many"),
        (lambda data: data["tree"].update(argmax=[]), "as many"),
        (lambda data: data["tree"].update(ids=[], parents=[], probs=[], argmax=[]), "at least one node"),
        (lambda data: data["tree"]["ids"].__setitem__(4, 3), "one token behind the same node"),
        (lambda data: data["tree"]["probs"].__setitem__(0, 1.5), "from 0 to 1"),
        (lambda data: data["tree"]["ids"].__setitem__(5, 7), "agrees furthest"),
        (lambda data: data["tree"]["probs"].__setitem__(1, 0.5), "agrees furthest"),
        (lambda data: data["tree"]["argmax"].__setitem__(1, 4), "agrees furthest"),
        (lambda data: data["tree"]["argmax"].__setitem__(5, 4), "target's choices"),
        (lambda data: data["sources"].__setitem__(0, "model"), "agrees furthest"),
        (lambda data: data.update(requested=2), "more tokens drafted"),
        (lambda data: data.pop("tree"), "without its tree"),
        (lambda data: with_leaves(data["tree"], 4, 6), "deeper"),
        (lambda data: with_leaves(data["tree"], 2, 2, 4), "more than 8 nodes"),
        (lambda data: with_leaves(data["tree"], 1), "more than 2 nodes behind one"),
        (lambda data: data["tree"]["ids"].__setitem__(0, 9), "behind a stop id"),
    ],
)  # fmt: skip
def test_trees_that_contradict_the_record_are_refused(change, message, hand):
    data = hand.tree().to_json()
    change(data["rounds"][0])
    data["vocabulary"] |= {str(token): "x" for token in range(20)}
    with pytest.raises(SchemaError, match=message):
        Trace.from_json(data)


def test_a_tree_where_none_is_drafted_is_refused(hand):
    for change in ({"tree": 0}, {"drafter": "model"}):
        data = hand.tree().to_json()
        data["config"] |= change
        with pytest.raises(SchemaError, match="drafts none"):
            Trace.from_json(data)


def test_a_round_with_phrases_says_what_happened(hand):
    """The worked case of Ouroboros: two phrase tokens and the correction, 7 tokens from one pass."""
    trace = hand.phrases()
    (round_,) = trace.rounds
    assert round_.committed == (0, 1, 2, 3, 4, 5, 19)
    assert (round_.accepted, round_.from_pool, round_.last) == (6, 3, "correction")
    assert [branch.agreed for branch in round_.branches] == [2, 1]
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace


def test_pearl_says_what_happened(hand):
    trace = hand.pearl()
    assert [len(round_.drafted) for round_ in trace.rounds] == [0, 2, 2, 0, 2]
    assert [round_.goes_on for round_ in trace.rounds] == [True, True, False, True, False]
    assert [len(round_.emitted) for round_ in trace.rounds] == [1, 3, 3, 1, 2]
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        ("phrases", lambda data: data["branches"][1].update(ids=[4, 5, 7]), "agrees furthest"),
        ("phrases", lambda data: data.update(branches=[]), "agrees furthest"),
        ("phrases", lambda data: data["sources"].__setitem__(4, "lookup"), "more tokens drafted"),
        ("phrases", lambda data: data["branches"][0]["argmax"].__setitem__(2, 18), "target's choices"),
        ("phrases", lambda data: data["branches"][1]["argmax"].__setitem__(0, 18), "target's choices"),
        ("phrases", lambda data: data["branches"].append(data["branches"][1]), "more phrases than 2"),
        ("phrases", lambda data: data["branches"][1].update(ids=[4, 17, 18, 18], argmax=[4, 5, 7, 7]), "longer than 3"),
        ("phrases", lambda data: data["branches"][1].update(ids=[], argmax=[]), "at least one token"),
        ("phrases", lambda data: data["branches"][1].update(ids=[4]), "at each of its tokens"),
        ("phrases", lambda data: data.update(blocks=[{"size": 7, "scores": [], "mean": None, "threshold": None, "passed": False}]), "blocks"),
        ("phrases", lambda data: data.update(ahead=[1]), "drafted ahead"),
        ("pearl", lambda data: data.update(ahead=[2, 2, 3]), "drafted ahead"),
        ("pearl", lambda data: data.update(ahead=[1, 2, 4]), "drafted ahead"),
        ("pearl", lambda data: data.update(ahead=[1, 2, 3, 4]), "drafted ahead"),
    ],
)  # fmt: skip
def test_phrases_and_tokens_ahead_that_contradict_the_record_are_refused(make, change, message, hand):
    data = getattr(hand, make)().to_json()
    change(data["rounds"][0])
    with pytest.raises(SchemaError, match=message):
        Trace.from_json(json.loads(json.dumps(data)))
