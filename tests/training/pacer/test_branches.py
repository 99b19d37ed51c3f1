"""Branches beside a trunk: the packing mask, and that packed is what separate runs are."""

import dataclasses

import pytest
import torch

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.draft import Draft, ModelDrafter
from explorer.engine.models.model import LanguageModel
from explorer.engine.sampling import Sampler
from explorer.training.distill import generate  # noqa: F401  registers the grouped attention
from explorer.training.pacer.branches import (
    branch_states,
    branched,
    draft_text,
    entropies,
    judge_branches,
    pack_text,
    recompute_states,
)
from explorer.training.pacer.data import BRANCH, accepted, draft_at

SHAPES = ("llama", "qwen2", "packed-llama", "packed-qwen2")


def test_the_mask_of_the_specification():
    """Trunk of 4, a draft of 2 after trunk token 1, another after token 2: rows are queries."""
    packed = branched(torch.arange(4), [(1, torch.tensor([10, 11])), (2, torch.tensor([20, 21]))])
    assert packed.ids.tolist() == [0, 1, 2, 3, 10, 11, 20, 21]
    assert packed.positions.tolist() == [0, 1, 2, 3, 2, 3, 3, 4]
    rows = ["10000000", "11000000", "11100000", "11110000", "11001000", "11001100", "11100010", "11100011"]
    assert ["".join(str(int(v)) for v in row) for row in packed.visible] == rows
    assert packed.starts == (4, 6)


def separate_states(model, text):
    """Every row and branch of a text from a run of its own, without any mask."""

    def states(ids):
        return model.base_model(input_ids=ids[None]).last_hidden_state[0]

    rows = states(text.ids)[text.prompt_length - 1 : -1]
    branches = []
    for leaf, ids in zip(text.leaves.tolist(), text.branch_ids):
        ids = torch.cat([text.choices[leaf, None], ids[ids >= 0]]).long()
        trunk = text.ids[: text.prompt_length + leaf]
        own = states(torch.cat([trunk, ids]))[len(trunk) : len(trunk) + min(len(ids), BRANCH)]
        branches.append(own)
    return rows, branches


def assert_packed_is_separate(model, text, atol):
    rows, branches = recompute_states(model, text)
    expected_rows, expected = separate_states(model, text)
    torch.testing.assert_close(rows, expected_rows, atol=atol, rtol=0)
    assert len(expected) > 0
    for mine, own, ids in zip(branches, expected, text.branch_ids):
        count = int((ids >= 0).sum())
        torch.testing.assert_close(mine[:count], own[:count], atol=atol, rtol=0)


@pytest.mark.parametrize("shape", ["llama", "qwen2"])
@torch.inference_mode()
def test_packed_is_separate(shape, make_pair, collected):
    for text in collected(shape):
        assert_packed_is_separate(make_pair(shape).oracle_draft, text, 1e-4)


@pytest.mark.parametrize("shape", ["llama", "qwen2"])
@torch.inference_mode()
def test_a_plain_causal_mask_would_be_wrong(shape, make_pair, collected):
    """What the test above would not see if branches could not tell each other apart."""
    model, text = make_pair(shape).oracle_draft, collected(shape)[0]
    packed = pack_text(text)
    states = model.base_model(input_ids=packed.ids[None]).last_hidden_state[0]
    wrong = branch_states(text, packed, states)[1]
    assert (wrong[-1] - recompute_states(model, text)[1][-1]).abs().max() > 0.1


@pytest.mark.real
@torch.inference_mode()
def test_packed_is_separate_on_the_real_draft():
    """Hidden states of every branch within 1e-4, in float32, on the embedded pair's model."""
    from explorer.engine.load_pair import load_pair
    from explorer.engine.models.registry import default_pair

    pair = load_pair(default_pair(), device="cpu", dtype="float32")
    prompt = list(pair.encode("Repeat these words: river, stone, cloud.").ids)
    rounds = decode(pair, prompt, DecodeConfig(rule="autoregressive", max_new_tokens=16))
    ids = torch.tensor(prompt + [token for round_ in rounds for token in round_.emitted])
    text = draft_text(pair.draft, ids, len(prompt), frozenset())
    for leaf in (2, 7, 11):  # a model that drafts for itself never leaves the trunk: make it
        text.choices[leaf] = 1000 + leaf
    text.branch_ids = torch.randint(0, 40000, (3, BRANCH), generator=torch.Generator().manual_seed(0)).int()
    assert_packed_is_separate(pair.draft.model, text, 1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_branches_are_what_the_drafter_drafts(shape, make_pair, collected):
    """From every row: the tokens of a run's own draft, their probabilities and the states they were chosen from."""
    pair, quantized = make_pair(shape), shape.startswith("packed")
    agree = total = 0
    for text in collected(shape)[:2]:
        for row in range(0, 20, 3):
            known = text.ids[: text.prompt_length + row].tolist()
            drafter = ModelDrafter(pair.draft.open(True), Sampler(0.0, 0, pair.draft.device), frozenset({1}))
            seen, draft = [], Draft()
            drafter.prefill(known[:-1])
            drafter.extend(draft, known, 7, lambda states, probs, seen=seen: seen.append(states) or probs)
            round_ = draft_at(text, row, 7)
            size = min(len(round_), len(draft))
            agree += int(round_.ids[0]) == draft.ids[0]  # in int8 one row rounds differently from several
            total += 1
            if not quantized:
                assert round_.ids.tolist()[:size] == draft.ids[:size]
                assert round_.probs.tolist()[:size] == pytest.approx(draft.probs[:size], abs=1e-3)
                torch.testing.assert_close(round_.states[:size].float(), seen[0][:size], atol=1e-2, rtol=1e-2)
    assert agree >= (0.7 if quantized else 1.0) * total


def test_nothing_is_drafted_behind_a_stop_id(make_pair, greedy_texts):
    """Not behind one inside a branch, nor where the draft's own choice beside the text is one."""
    pair, (ids, prompt_length) = make_pair("llama"), greedy_texts("llama")[0]
    free = draft_text(pair.draft, ids, prompt_length, frozenset())
    inside, first = int(free.branch_ids[0, 3]), int(free.choices[free.leaves[1]])
    text = draft_text(pair.draft, ids, prompt_length, frozenset({inside, first}))
    for leaf, branch, whole in zip(text.leaves, text.branch_ids, free.branch_ids):
        tokens = [int(text.choices[leaf]), *whole.tolist()]
        end = next((i for i, token in enumerate(tokens) if token in (inside, first)), len(tokens))
        assert branch.tolist() == [token if i < end else -1 for i, token in enumerate(tokens[1:])]
    assert (text.branch_ids[1] == -1).all()


@pytest.mark.parametrize("shape", ["llama", "qwen2"])
def test_stored_states_are_those_recomputed_from_ids(shape, make_pair, collected):
    for text in collected(shape):
        rows, branches = recompute_states(make_pair(shape).oracle_draft, text)
        torch.testing.assert_close(text.states.float(), rows, atol=2e-2, rtol=1e-2)
        real = text.branch_ids >= 0
        torch.testing.assert_close(text.branch_states.float()[real], branches[real], atol=2e-2, rtol=1e-2)


@pytest.mark.parametrize("rule", [{"rule": "exact"}, {"rule": "fly", "theta": 0.1, "window": 1}, {"rule": "fly", "theta": 0.3, "window": 2, "entropy": "top3"}], ids=str)  # fmt: skip
@pytest.mark.parametrize("shape", ["llama", "qwen2"])
def test_labels_are_what_the_engine_keeps(shape, rule, make_pair, with_stop_ids, collected):
    """One round of a real run from any row: same draft, same number kept."""
    pair, deferred = with_stop_ids(make_pair(shape), 1), 0
    for text in collected(shape):
        for row in range(0, 20, 2):
            config = DecodeConfig(**rule, draft_length=6, max_new_tokens=12)
            real = next(decode(pair, text.ids[: text.prompt_length + row].tolist(), config))
            round_ = draft_at(text, row, 6)
            assert round_.ids.tolist() == list(real.drafted)
            assert accepted(round_, config, frozenset({1})) == real.accepted
            deferred += real.accepted > round_.agreed
    assert deferred or rule["rule"] == "exact"


def test_entropies_are_both_of_the_trace(make_pair):
    from explorer.engine.verification.measure import measure

    logits = torch.randn(5, make_pair("llama").vocab_size) * 3
    rows, _, _ = measure(
        logits.clone(), logits.argmax(-1), torch.tensor([1, 2, 3, 4]), torch.zeros(4).bool(), logits.argmax(-1)
    )
    expected = [[row.entropy_normalized, row.entropy_top3] for row in rows]
    assert torch.allclose(entropies(logits), torch.tensor(expected), atol=1e-5)


def test_a_branch_that_is_a_stop_id_alone_can_be_asked(make_pair, collected):
    """The attention that writes answers in batches takes a single row for a step of decoding and reads the mask itself."""
    pair, text = make_pair("llama"), dataclasses.replace(collected("llama")[0])
    text.entropies = torch.zeros_like(text.entropies)
    text.entropies[text.leaves[0]] = 1
    text.branch_ids = text.branch_ids.clone()
    text.branch_ids[0] = -1
    text.branch_targets = torch.full_like(text.branch_targets, -1)
    pair.oracle.set_attn_implementation("grouped")
    try:
        judge_branches(LanguageModel(pair.oracle, pair.vocab_size), text, 0.5)
    finally:
        pair.oracle.set_attn_implementation("sdpa")
    assert (text.branch_targets == -1).all()


def test_a_target_only_model_can_be_asked_too(make_pair, collected):
    """Where the target was asked about a branch its answer is that of a run over trunk and branch."""
    pair, text = make_pair("llama"), collected("llama")[0]
    model, branch = LanguageModel(pair.oracle, pair.vocab_size), 0
    leaf, ids = int(text.leaves[branch]), text.branch_ids[branch]
    count = int((ids >= 0).sum())
    known = torch.cat([text.ids[: text.prompt_length + leaf], text.choices[leaf, None].long(), ids[:count].long()])
    with torch.inference_mode():
        logits = model.open().feed(known, rows=count + 1)[:-1]
    assert text.branch_targets[branch, :count].tolist() == logits.argmax(-1).tolist()
    torch.testing.assert_close(text.branch_entropies[branch, :count], entropies(logits), atol=1e-3, rtol=1e-3)
