"""Many settings over one prompt: round by round what separate runs record, each distinct round computed once."""

import dataclasses

import pytest
from rounds import grid_rounds, stripped

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.packed import PackedModel
from explorer.engine.recorder import plain
from explorer.prompts import PromptError
from explorer.sweep.grid import decode_grid

SHAPES = (
    "llama", "qwen2", "mistral", "gemma3", "packed-llama", "packed-qwen2", "self-llama", "self-qwen2",
)  # fmt: skip
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
BASE = DecodeConfig(rule="fly", draft_length=6, max_new_tokens=20)


def grid(base=BASE, thetas=(0.0, 0.1, 0.2, 0.3, 0.5, 1.2), windows=(0, 1, 2, 3)) -> list[DecodeConfig]:
    return [dataclasses.replace(base, theta=theta, window=window) for theta in thetas for window in windows]


def check(pair, configs, prompt=PROMPT):
    """Every number of every round, not only the ids: a cache that holds another rounding would show in the entropies."""
    rounds, passes = grid_rounds(pair, prompt, configs)
    for config, mine in zip(configs, rounds):
        assert stripped(mine) == stripped(decode(pair, list(prompt), config)), config
    return rounds, passes


def distinct(configs, rounds) -> int:
    """Rounds with different texts before them, per draft length."""
    before = set()
    for config, mine in zip(configs, rounds):
        ids = ()
        for round_ in mine:
            before.add((config.draft_length, ids))
            ids += round_.emitted
    return len(before)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_setting_records_what_it_records_alone(shape, make_pair):
    """Rounds computed for another setting, caches rolled back behind a branch, drafts that read a cache of other rounding."""
    pair = make_pair(shape)
    configs = [
        *grid(),
        dataclasses.replace(BASE, rule="exact"),
        *grid(dataclasses.replace(BASE, entropy="top3"), (0.2, 0.6)),
        *grid(dataclasses.replace(BASE, window_includes_mismatch=True), (0.0, 0.2), (1, 2)),
        *grid(dataclasses.replace(BASE, draft_length=3), (0.0, 0.3), (0, 1)),
        plain(BASE),
    ]
    rounds, passes = check(pair, configs)
    assert passes == distinct(configs[:-1], rounds[:-1]) + len(rounds[-1])
    assert passes < sum(map(len, rounds)) / 2
    texts = {tuple(token for round_ in mine for token in round_.emitted) for mine in rounds}
    assert len(texts) > 3, "settings that all write one text test little"


@pytest.mark.parametrize("shape", ["llama", "packed-qwen2", "self-llama"])
@pytest.mark.parametrize(
    "change",
    [
        {"drafter": "lookup"},
        {"drafter": "model+lookup"},
        {"length": "confidence", "threshold": 0.5},
        {"length": "entropy", "threshold": 0.5},
        {"length": "heuristic"},
        {"max_new_tokens": 1},
        {"draft_length": 25},
        {"stop_strings": ("the", "\n")},
    ],
    ids=str,
)
def test_every_way_of_drafting_shares_rounds(change, shape, make_pair):
    """A policy that remembers rounds must remember those of its own branch."""
    pair, base = make_pair(shape), dataclasses.replace(BASE, **change)
    check(pair, grid(base, (0.0, 0.2, 0.5), (0, 2)), [*PROMPT, *PROMPT])


@pytest.mark.parametrize("shape", [pytest.param("llama", marks=pytest.mark.slow), "self-qwen2"])
def test_stop_ids_end_branches_apart(shape, make_pair, with_stop_ids):
    """Stop ids that some texts reach early and others never."""
    pair = make_pair(shape)
    rounds, _ = grid_rounds(pair, PROMPT, grid())
    emitted = {token for mine in rounds for round_ in mine for token in round_.emitted}
    for token in sorted(emitted)[:4]:
        check(with_stop_ids(pair, token), grid())


@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_a_prompt_of_one_token(shape, make_pair):
    check(make_pair(shape), grid(windows=(0, 2)), PROMPT[:1])


def test_settings_that_agree_cost_one_run(make_pair):
    pair, never = make_pair("packed-llama"), grid(thetas=(1.2,), windows=range(30))
    alone = list(decode(pair, list(PROMPT), never[0]))
    assert grid_rounds(pair, PROMPT, never)[1] == len(alone)


def test_sampling_is_refused(make_pair):
    with pytest.raises(ConfigError, match="temperature 0"):
        next(decode_grid(make_pair(), PROMPT, grid(dataclasses.replace(BASE, temperature=0.5))))


def test_prompts_are_checked(make_pair):
    with pytest.raises(PromptError, match="context of 256"):
        next(decode_grid(make_pair(), PROMPT * 20, grid()))


@pytest.mark.parametrize("shape", ["llama", "packed-llama", "self-llama"])
def test_closing_midway_frees_the_caches(shape, make_pair, monkeypatch):
    pair, contexts = make_pair(shape), []
    for kind in (LanguageModel, PackedModel):
        original = kind.open
        monkeypatch.setattr(kind, "open", lambda self, *a, f=original: contexts.append(f(self, *a)) or contexts[-1])
    running = decode_grid(pair, PROMPT, grid())
    next(running)
    assert all(context.length for context in contexts)
    running.close()
    assert len(contexts) == 2
    assert not any(context.length for context in contexts)


def test_one_live_cache_for_each_side(make_pair, monkeypatch):
    """Thirty settings must not hold thirty caches."""
    pair, opened = make_pair("packed-llama"), []
    original = PackedModel.open
    monkeypatch.setattr(PackedModel, "open", lambda self, *a: opened.append(self) or original(self, *a))
    grid_rounds(pair, PROMPT, grid())
    assert opened == [pair.target, pair.draft]
