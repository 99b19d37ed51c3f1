"""Every combination of drafter, rule, length policy, schedule, phrases, tree and temperature: refused by the table, or it runs.

A round that breaks what a record promises raises while it is built (trace.py), so a run that is read back here keeps it.
"""

import dataclasses
import json
from functools import cache
from itertools import product

import pytest
from pairs import OraclePair
from rounds import grid_rounds, ids_of_rounds

from explorer.analysis.replay import replay
from explorer.config import ConfigError, DecodeConfig, knobs
from explorer.conflicts import CONFLICTS, Offers, refusals
from explorer.engine.decode import decode
from explorer.engine.drafters.pacer.layer import PreVerificationLayer, Shape
from explorer.engine.drafters.pacer.shipped import scorer_of
from explorer.errors import UserError
from explorer.messages import CATALOGUES
from explorer.sweep.grid import decode_grid
from explorer.trace import Trace

KNOBS = {knob.name: knob for knob in knobs()}
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 258, 82]
ROUNDS = 3
VALUES = {
    **{name: KNOBS[name].choices for name in ("drafter", "rule", "length", "schedule")},
    "phrases": (0, 2),
    "tree": (0, 3),
    "temperature": (0.0, 0.8),
}
SMALL = {
    "draft_length": 3,
    "block_size": 2,
    "phrase_length": 2,
    "phrase_window": 2,
    "tree_width": 2,
    "max_new_tokens": 8,
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """The knobs of one combination, not checked: what DecodeConfig refuses can be asked about as well."""

    values: dict

    def __getattr__(self, name):
        return self.values.get(name, KNOBS[name].default)


@cache
def combinations() -> tuple[dict, ...]:
    """The whole product, without those that differ only in knobs without effect."""
    found = {}
    for values in product(*VALUES.values()):
        one = dict(zip(VALUES, values))
        settings = Settings(one)
        key = tuple(value for name, value in one.items() if not KNOBS[name].unmet(settings))
        found.setdefault(key, one)
    return tuple(found.values())


def possible() -> list[DecodeConfig]:
    """What a pair that offers everything follows."""
    return [DecodeConfig(**one, **SMALL) for one in combinations() if not refusals(Settings(one))]


def with_layer(pair):
    """The pair with a random pre-verification layer."""
    layer = PreVerificationLayer(Shape("llama", pair.draft.width, 16, 4, 2, 8, 1e-5, 1e4)).eval()
    return dataclasses.replace(pair, scorers={"exact": scorer_of(layer, pair.draft, None)})


@pytest.fixture(scope="module")
def full(headed, with_judge_head):
    """A pair that offers everything."""
    pair = with_layer(with_judge_head(headed("llama")))
    assert pair.offers == Offers()
    return pair


@pytest.fixture(scope="module")
def crossed(make_model, tokenizer):
    """A pair whose draft counts its own tokens: bytes alone, in another order."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    chars = sorted(bytes_to_unicode().values(), reverse=True)
    backend = Tokenizer(models.BPE({char: index for index, char in enumerate(chars)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken("<|end|>", special=True, normalized=False)])
    own = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")
    return OraclePair.of("crossed", make_model("llama", 0), make_model("llama", 1), tokenizer, draft_tokenizer=own)


def test_the_product_is_the_whole_one():
    assert len(combinations()) > 2000
    assert 300 < len(possible()) < 600
    for name, values in VALUES.items():
        assert {getattr(config, name) for config in possible()} == set(values)


def test_what_the_table_says_is_what_a_configuration_refuses():
    """With the sentence of the table, the first of those that hold."""
    for one in combinations():
        reasons = refusals(Settings(one))
        if reasons:
            with pytest.raises(ConfigError) as refused:
                DecodeConfig(**one, **SMALL)
            assert str(refused.value) == str(reasons[0])
        else:
            DecodeConfig(**one, **SMALL)


def check_runs(pair, config, record):
    """A few rounds, as a record that is read back and judged again."""
    trace = record(pair, PROMPT, config, rounds=ROUNDS)
    assert 0 < sum(len(round_.emitted) for round_ in trace.rounds) <= config.max_new_tokens
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace
    if config.drafts:
        assert not any(round_.changed for round_ in replay(trace, config))


def test_what_is_not_refused_runs(full, record):
    for config in possible():
        try:
            check_runs(full, config, record)
        except Exception as error:
            raise AssertionError(f"{config}") from error


def test_a_pair_refuses_what_it_lacks_and_runs_the_rest(make_pair, crossed, headed, with_judge_head, record):
    """Two vocabularies, no layer, no head, no judge head, no masks: never anything but a sentence of the table."""
    pairs = {
        "bare": make_pair("llama"),
        "crossed": with_judge_head(crossed),
        "no masks": headed("mistral"),
    }
    for name, pair in pairs.items():
        ran = 0
        for config in possible():
            reasons = refusals(config, pair.offers)
            if reasons:
                with pytest.raises(ConfigError) as refused:
                    next(decode(pair, PROMPT, config))
                assert str(refused.value) == str(reasons[0]), (name, config)
            elif name != "bare":
                try:
                    check_runs(pair, config, record)
                except Exception as error:
                    raise AssertionError(f"{name}: {config}") from error
                ran += 1
        assert name == "bare" or ran > 30
        assert reasons or ran


def test_a_sweep_refuses_what_cannot_share_rounds_and_shares_the_rest(full):
    shared = []
    for config in (dataclasses.replace(one, max_new_tokens=3) for one in possible()):
        reasons = refusals(config, full.offers, "sweep")
        if reasons:
            with pytest.raises(ConfigError) as refused:
                next(decode_grid(full, PROMPT, [config]))
            assert str(refused.value) == str(reasons[0])
        else:
            shared.append(config)
    assert len(shared) > 50
    rounds, _ = grid_rounds(full, PROMPT, shared)
    for config, mine in zip(shared, rounds, strict=True):
        assert 0 < len(ids_of_rounds(mine)) <= config.max_new_tokens


# The table -----------------------------------------------------------------------------------------------------------


def test_every_row_names_knobs_their_values_and_a_sentence_in_both_languages():
    for row in CONFLICTS:
        for name, values in row.when.items():
            knob = KNOBS[name]
            assert (
                set(values) <= set(knob.choices) if knob.choices else all(knob.check(value) is None for value in values)
            )
        assert row.lacks in ("", *(field.name for field in dataclasses.fields(Offers)))
        gaps = dict.fromkeys(row.when, "x")
        for catalogue in CATALOGUES.values():
            assert catalogue[f"conflict.{row.code}"].format(**gaps)
    codes = [row.code for row in CONFLICTS]
    assert len(set(codes)) == len(codes)
    assert {f"conflict.{code}" for code in codes} == {code for code in CATALOGUES["en"] if code.startswith("conflict.")}
    assert issubclass(ConfigError, UserError)


def test_every_row_of_a_run_is_met_by_some_combination():
    """A row that never holds says nothing."""
    for row in CONFLICTS:
        settings = Settings(
            {name: values[0] if values else 1 for name, values in row.when.items()}
            | ({} if "rule" in row.when else {"rule": "exact"})
        )
        offers = dataclasses.replace(Offers(), **({row.lacks: False} if row.lacks else {}))
        assert row.code in {message.code.removeprefix("conflict.") for message in refusals(settings, offers, row.use)}
        if row.lacks:
            assert row.code not in {message.code.removeprefix("conflict.") for message in refusals(settings)}
