"""Length policies: when drafting stops, what is scored, and that none of it changes what exact verification commits."""

import dataclasses
import math

import pytest
import torch
from layers import Scripted

from explorer.config import POLICY_DEFAULTS, ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.draft import Draft
from explorer.engine.drafters.lengths import (
    AdaEDLLength,
    ConfidenceLength,
    EntropyLength,
    HeuristicLength,
    PacerLength,
    SurvivalLength,
    statistic,
)
from explorer.engine.models.model import LanguageModel, UnsupportedModel
from explorer.engine.models.packed import PackedModel
from explorer.trace import Trace

SHAPES = ("llama", "qwen2", "packed-llama", "packed-qwen2", "self-llama")
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]
PACER = DecodeConfig(rule="exact", length="pacer", draft_length=12, block_size=3, max_new_tokens=28)


def run(pair, config, prompt=PROMPT):
    return list(decode(pair, list(prompt), config))


def ids_of(rounds):
    return [token for round_ in rounds for token in round_.emitted]


# What it must never change -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("drafter", ["model", "model+lookup"])
@pytest.mark.parametrize("policy", ["pacer", "confidence", "entropy", "heuristic", "adaedl", "survival"])
@pytest.mark.parametrize("shape", SHAPES)
def test_exact_output_does_not_depend_on_the_policy(shape, policy, drafter, make_pair, with_scorer):
    plain = DecodeConfig(rule="autoregressive", max_new_tokens=28)
    pair = with_scorer(shape, lambda offset: 0.9 - 0.06 * offset)
    config = dataclasses.replace(PACER, length=policy, drafter=drafter, threshold=0.55)
    rounds = run(pair, config)
    assert ids_of(rounds) == ids_of(run(pair, plain))
    assert len({len(round_.drafted) for round_ in rounds}) > 1 or policy == "pacer", "the policy must do something"


@pytest.mark.parametrize("policy", ["pacer", "confidence", "entropy", "heuristic", "adaedl", "survival"])
def test_sampled_and_loose_runs_are_valid_traces(policy, with_scorer, record, tmp_path):
    for changes in ({"temperature": 0.8}, {"rule": "fly", "theta": 0.1, "window": 1}):
        config = dataclasses.replace(PACER, length=policy, **changes)
        trace = record(with_scorer("packed-llama", 0.6), PROMPT, config)
        trace.save(tmp_path / "t.json")
        assert Trace.load(tmp_path / "t.json") == trace
        assert any(round_.blocks for round_ in trace.rounds) == (policy in ("pacer", "adaedl", "survival"))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_draft_equal_to_the_target_commits_all_and_one_more(shape, with_scorer):
    """After a fully kept draft its last token was never fed: forgetting it shifts every later position by one, and only tau
    shows it."""
    rounds = run(with_scorer(shape.rpartition("-")[2], 0.7, noise=0.0), PACER)
    assert all(len(round_.committed) == len(round_.drafted) + 1 for round_ in rounds)


@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_caches_after_every_outcome(shape, with_scorer, monkeypatch):
    """Target: all but the newest token. Draft: the same, or one less after a fully kept draft; with n = 0, some, all."""
    contexts = []
    for kind in (LanguageModel, PackedModel):
        original = kind.open
        monkeypatch.setattr(
            kind, "open", lambda self, *a, original=original: contexts.append(original(self, *a)) or contexts[-1]
        )
    length, seen = len(PROMPT), set()
    for round_ in decode(with_scorer(shape, lambda offset: 0.8 - 0.1 * offset), list(PROMPT), PACER):
        length += len(round_.emitted)
        outcome = "all" if round_.accepted == len(round_.drafted) else "none" if not round_.accepted else "some"
        seen.add(outcome)
        if round_.drafted:
            assert [context.length for context in contexts] == [length - 1, length - 1 - (outcome == "all")]
    assert seen == {"all", "none", "some"}


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 12])
def test_the_budget_never_overshoots(budget, with_scorer):
    rounds = run(with_scorer("llama", 0.9), dataclasses.replace(PACER, max_new_tokens=budget))
    assert len(ids_of(rounds)) == budget
    assert all(round_.emitted == round_.committed for round_ in rounds)


# What PACER decides ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("t", "rho"), [(0.5, 1.1), (0.6, 1.05), (0.7, 1.1), (0.4, 1.2), (0.5, 1.0)])
@pytest.mark.parametrize("b", [2, 3, 4])
def test_certain_scores_draft_until_the_threshold_passes_one(t, rho, b, make_pair, with_stop_ids):
    """floor(ln(1/t) / ln rho) + 1 blocks pass, one more is drafted; without growth only K ends the draft."""
    pair = dataclasses.replace(with_stop_ids(make_pair("llama", 0.0)), scorers={"exact": Scripted(1.0)})
    config = dataclasses.replace(PACER, threshold=t, growth=rho, block_size=b, draft_length=40, max_new_tokens=100)
    passable = math.floor(math.log(1 / t) / math.log(rho)) + 1 if rho > 1 else math.inf
    rounds = run(pair, config)
    assert len(rounds[0].drafted) == min(40, (passable + 1) * b)


def test_hopeless_scores_draft_one_block(with_scorer):
    rounds = run(with_scorer("llama", 0.0), PACER)
    assert {len(round_.drafted) for round_ in rounds[:-1]} == {PACER.block_size}


def test_every_round_starts_from_the_first_threshold_and_compares_before_it_grows(with_scorer):
    """A threshold that is not reset makes every later round a fixed length; one that grows first is another policy."""
    config = dataclasses.replace(PACER, threshold=0.6, growth=1.1)
    rounds = run(with_scorer("llama", lambda offset: 0.9 - 0.05 * offset), config)
    assert len(rounds) > 2
    for round_ in rounds:
        scored = [block for block in round_.blocks if block.mean is not None]
        assert [block.threshold for block in scored] == pytest.approx([0.6 * 1.1**k for k in range(len(scored))])
        assert [block.passed for block in scored] == [block.mean >= block.threshold for block in scored]
        assert all(block.passed for block in scored[:-1]), "only the last block may fail"


def test_the_worked_round():
    """b = 4, t = .6, rho = 1.1: means .915, .830, .6375 against .600, .660, .726 pass, pass, fail; all 12 are sent."""
    scores = [0.97, 0.93, 0.9, 0.86, 0.9, 0.85, 0.8, 0.77, 0.75, 0.7, 0.6, 0.5]
    policy = PacerLength(dataclasses.replace(PACER, threshold=0.6, growth=1.1, block_size=4), Scripted(0))
    draft = Draft()
    while count := policy.next_block(draft):
        draft.scores += scores[len(draft) : len(draft) + count]
        draft.ids += [0] * count
    blocks = policy.blocks(draft)
    assert len(draft) == 12
    assert [block.mean for block in blocks] == pytest.approx([0.915, 0.83, 0.6375])
    assert [block.threshold for block in blocks] == pytest.approx([0.6, 0.66, 0.726])
    assert [block.passed for block in blocks] == [True, True, False]


def test_a_failed_block_is_sent_and_counts(with_scorer):
    """Its tokens are drafted already: tau counts those of them that are kept."""
    for round_ in run(with_scorer("llama", 0.0, noise=0.0), PACER)[:-1]:
        (block,) = round_.blocks
        assert not block.passed
        assert round_.accepted == block.size == len(round_.drafted)


def test_the_statistics_differ():
    """Match scores .99 .99 .05 .99: the mean hides the killer, the product does not."""
    scores = [0.99, 0.99, 0.05, 0.99]
    assert statistic(scores, "mean") == pytest.approx(0.755)
    assert statistic(scores, "min") == 0.05
    assert statistic(scores, "product") == pytest.approx(0.04851, abs=1e-5)
    assert statistic([0.99, 0.98, 0.05, 0.04], "mean") == pytest.approx(0.515)


def test_nothing_is_scored_where_nothing_is_left_to_decide(with_scorer, with_stop_ids):
    """At the end of the room, at K, and behind a stop id the rest of the draft stays unscored, and no padding enters a mean."""
    pair = with_scorer("llama", 1.0, noise=0.0)
    rounds = run(pair, dataclasses.replace(PACER, growth=1.0, draft_length=8, max_new_tokens=8))
    assert [block.size for block in rounds[0].blocks] == [3, 3, 1]
    assert [block.mean for block in rounds[0].blocks] == [1.0, 1.0, None]
    assert [len(round_) for round_ in pair.scorers["exact"].rounds] == [2]
    stop = rounds[0].drafted[4]
    assert stop not in rounds[0].drafted[:4]
    stopped = dataclasses.replace(with_stop_ids(pair, stop), scorers={"exact": Scripted(1.0)})
    (round_,) = run(stopped, dataclasses.replace(PACER, growth=1.0))
    assert round_.drafted == rounds[0].drafted[:5]
    assert [(block.size, block.mean) for block in round_.blocks] == [(3, 1.0), (2, None)]


def test_a_least_draft_length_overrules_low_scores(with_scorer):
    """FLy can defer nothing in a draft of W tokens."""
    rounds = run(with_scorer("llama", 0.0), dataclasses.replace(PACER, least_draft=5))
    assert len(rounds[0].drafted) == 6
    assert [block.passed for block in rounds[0].blocks] == [True, False]


@pytest.mark.parametrize("drafter", ["model", "model+lookup"])
@pytest.mark.parametrize("shape", ["llama", "packed-llama", "packed-qwen2"])
@torch.inference_mode()
def test_a_token_is_scored_on_the_state_that_produced_it(shape, drafter, with_scorer):
    """Not on the state it gives rise to, and not on one from before the final norm: the head must choose this very token."""
    pair = with_scorer(shape, 1.0)
    rounds = run(pair, dataclasses.replace(PACER, drafter=drafter))
    assert len(pair.scorers["exact"].rounds) >= len(rounds) - 1
    compared = 0
    for round_, blocks in zip(rounds, pair.scorers["exact"].rounds):
        if not blocks:  # the end of the budget left nothing to decide
            continue
        states = torch.cat(blocks)
        if isinstance(pair.draft, PackedModel):
            logits = torch.cat([pair.draft.head(state[None]) for state in states])
        else:
            logits = pair.oracle_draft.get_output_embeddings()(states)[:, : pair.vocab_size]
        probs, choice = logits.softmax(-1).max(-1)
        compared += len(choice)
        assert choice.tolist() == list(round_.drafted[: len(choice)])
        assert probs.tolist() == pytest.approx(
            round_.draft_probs[: len(choice)], abs=0.05
        )  # int8: one row rounds differently from several
    assert compared > 20


def test_one_transfer_to_the_host_per_block(with_scorer, monkeypatch):
    """Blocks exist so that the device need not be waited for at every token."""
    pair, waits = with_scorer("llama", 1.0), []
    for name in ("tolist", "item", "__bool__"):
        original = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor, name, lambda self, original=original, name=name: waits.append(name) or original(self)
        )
    from explorer.engine.drafters.draft import ModelDrafter
    from explorer.engine.sampling import Sampler

    drafter = ModelDrafter(pair.draft.open(True), Sampler(0.0, 0, pair.draft.device), frozenset())
    drafter.prefill(PROMPT[:-1])
    pair.scorers["exact"].reset()
    draft = Draft()
    waits.clear()
    with torch.inference_mode():
        drafter.extend(draft, list(PROMPT), 4, pair.scorers["exact"].score)
    assert len(draft.scores) == 4
    assert len(waits) <= 1


# What is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["pacer", "confidence", "entropy", "adaedl", "survival"])
def test_policies_that_need_a_draft_model_refuse_lookup_alone(policy):
    with pytest.raises(ConfigError, match=f"{policy} needs a draft model"):
        DecodeConfig(drafter="lookup", length=policy)
    assert DecodeConfig(drafter="lookup", length="heuristic")


@pytest.mark.parametrize("policy", ["pacer", "survival"])
def test_policies_that_read_scores_are_refused_without_a_layer(policy, make_pair):
    with pytest.raises(ConfigError, match=f"{policy} needs a PACER layer .* train one"):
        next(decode(make_pair("qwen2"), list(PROMPT), dataclasses.replace(PACER, length=policy)))


def test_states_of_other_families_are_refused(with_scorer):
    """Their heads may scale what they read: scores would be off without a word."""
    with pytest.raises(UnsupportedModel, match="gemma3"):
        next(decode(with_scorer("gemma3", 1.0), list(PROMPT), PACER))


# The others --------------------------------------------------------------------------------------------------------


def test_confidence_stops_after_the_token_it_doubts():
    policy, draft = ConfidenceLength(20, 0.4), Draft()
    assert policy.next_block(draft) == 1
    for prob, more in ((0.9, 1), (0.4, 1), (0.39, 0)):
        draft.ids.append(1)
        draft.probs.append(prob)
        assert policy.next_block(draft) == more


def test_entropy_is_that_of_svip(with_scorer):
    """sqrt(0.15 H) > 0.3: H above 0.6 nats."""
    policy, draft = EntropyLength(20, 0.3), Draft()
    for entropy, more in ((0.0, 1), (0.59, 1), (0.61, 0)):
        draft.ids.append(1)
        draft.entropies.append(entropy)
        assert policy.next_block(draft) == more


@torch.inference_mode()
def test_entropies_are_the_drafts_own(make_pair):
    from explorer.engine.drafters.draft import ModelDrafter
    from explorer.engine.sampling import Sampler

    pair = make_pair("qwen2")
    drafter = ModelDrafter(pair.draft.open(), Sampler(0.0, 0, pair.draft.device), frozenset(), entropies=True)
    drafter.prefill(PROMPT[:-1])
    draft = Draft()
    drafter.extend(draft, list(PROMPT), 4)
    logits = pair.oracle_draft(input_ids=torch.tensor([PROMPT + draft.ids])).logits[0, :, : pair.vocab_size]
    truth = torch.distributions.Categorical(logits=logits[len(PROMPT) - 1 : -1].double()).entropy()
    assert draft.entropies == pytest.approx(truth.tolist(), abs=1e-3)


def test_adaedl_stops_where_the_entropy_bounds_the_acceptance_below_its_threshold():
    """1 - sqrt(0.2 H) < 0.4: H above 1.8 nats. Each decision is recorded; the token that stops is sent too."""
    policy, draft = AdaEDLLength(20, 0.4), Draft()
    assert policy.next_block(draft) == 1
    for entropy, more in ((0.0, 1), (1.79, 1), (1.81, 0)):
        draft.ids.append(1)
        draft.entropies.append(entropy)
        assert policy.next_block(draft) == more
    blocks = policy.blocks(draft)
    assert [block.mean for block in blocks] == pytest.approx([1.0, 0.40167, 0.39834], abs=1e-5)
    assert [(block.threshold, block.passed) for block in blocks] == [(0.4, True), (0.4, True), (0.4, False)]
    draft.ids.append(1)
    assert [block.size for block in policy.blocks(draft)] == [1, 1, 1, 1], (
        "a token behind the last decision is undecided"
    )
    assert policy.blocks(draft)[-1].mean is None


def test_adaedls_threshold_follows_the_rounds():
    """From 0.4, K = 8. Average acceptance 0 -> 0.5 -> 0.25 -> 0.625 -> .8125 -> .90625 -> .953125, wanted 0.9; a step of 0.01 smoothed
    by 0.9 is 0.001. Above it a full draft leaves the threshold, a shorter one lowers it. An empty draft says nothing."""
    policy, seen = AdaEDLLength(8, 0.4), []
    for drafted, kept in ((4, 4), (4, 0), (4, 4), (4, 4), (8, 8), (0, 0), (4, 4)):
        policy.adapt(drafted, kept)
        policy.next_block(draft := Draft())
        draft.ids.append(1)
        draft.entropies.append(0.0)
        policy.next_block(draft)
        seen.append(policy.blocks(draft)[0].threshold)
    assert seen == pytest.approx([0.401, 0.402, 0.403, 0.404, 0.404, 0.404, 0.403])


def test_survival_is_the_product_of_all_scores_of_the_round():
    """1 - .9 * .9 = .19, 1 - .9 * .9 * .85 = .3115: the third token ends the draft at threshold 0.3, not before; the second
    round starts anew. At least two tokens are drafted whatever the first score says."""
    config = DecodeConfig(rule="exact", length="survival", threshold=0.3, block_size=1, least_draft=2, draft_length=20)
    policy = SurvivalLength(config, Scripted(0))
    for scores, sent in (([0.9, 0.9, 0.85, 0.9], 3), ([0.1, 0.99, 0.99], 2), ([1.0, 0.7, 0.999], 3)):
        draft = Draft()
        while policy.next_block(draft):
            draft.scores.append(scores[len(draft)])
            draft.ids.append(0)
        assert len(draft) == sent
        blocks = policy.blocks(draft)
        assert [block.mean for block in blocks] == pytest.approx([math.prod(scores[: n + 1]) for n in range(sent)])
        assert {block.threshold for block in blocks} == {0.7}
        assert [block.passed for block in blocks] == [True] * (sent - 1) + [False]


def test_the_heuristic_adds_two_or_takes_one():
    policy, lengths = HeuristicLength(10), []
    for drafted, kept in ((10, 9), (9, 0), (8, 8), (10, 10), (10, 3)):
        lengths.append(policy.next_block(Draft()))
        policy.adapt(drafted, kept)
    assert lengths == [10, 9, 8, 10, 10]
    for _ in range(20):
        policy.adapt(5, 0)
    assert policy.next_block(Draft()) == 1
    policy.adapt(0, 0)  # a lookup that found nothing
    assert policy.next_block(Draft()) == 1


def test_every_policy_has_its_own_starting_point():
    (choices,) = (f.metadata["choices"] for f in dataclasses.fields(DecodeConfig) if f.name == "length")
    assert set(POLICY_DEFAULTS) == set(choices)
    for name, settings in POLICY_DEFAULTS.items():
        DecodeConfig(length=name, **settings)
