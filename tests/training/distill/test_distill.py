"""Distillation on a tiny random target."""

import itertools
import json
import random
from dataclasses import asdict

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from explorer.engine.drafters.eagle import read_head, taps_of
from explorer.engine.drafters.features import FeatureModel
from explorer.errors import UserError
from explorer.training.common.answers import Answer, answer_batch
from explorer.training.common.progress import finish
from explorer.training.common.prompts import Exclusion, seed_prompts
from explorer.training.distill import draft_files, train_head
from explorer.training.distill.chains import read_texts
from explorer.training.distill.data import collate, epoch, read_shard, write_shard
from explorer.training.distill.evaluate import Figures, evaluate, matches, simulate
from explorer.training.distill.head_files import build_head, write_head
from explorer.training.distill.train_draft import (
    DraftObjective,
    DraftRecipe,
    build_draft,
    label_states,
    train,
    trained_state,
)

STOP = 1


@pytest.fixture(scope="module")
def target():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=128, tie_word_embeddings=True, initializer_range=0.2, eos_token_id=STOP, pad_token_id=STOP,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def write_answers(target, count: int = 12, max_new: int = 12, seed: int = 0) -> list[Answer]:
    rng = random.Random(seed)
    prompts = [[rng.randrange(2, 96) for _ in range(rng.randint(2, 9))] for _ in range(count)]
    temperatures = [0.7 if i % 4 == 3 else 0.0 for i in range(count)]
    target.set_attn_implementation("grouped")
    answers = answer_batch(target, prompts, temperatures, max_new, STOP, torch.Generator().manual_seed(seed))
    target.set_attn_implementation("sdpa")
    return answers


@pytest.fixture(scope="module")
def shards(target, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    paths = [folder / f"shard-{i:05}.safetensors" for i in range(3)]
    for seed, path in enumerate(paths):
        write_shard(path, write_answers(target, seed=seed))
    return paths


@torch.inference_mode()
def test_batched_answers_are_the_targets_own_greedy_text(target):
    """Padding, the grouped attention or the dropping of finished rows must not change what a row reads."""
    for answer in write_answers(target)[:3]:
        logits = target(input_ids=torch.tensor([answer.prompt + answer.ids])).logits[0, len(answer.prompt) - 1 : -1]
        assert logits.argmax(-1).tolist() == answer.ids
        expected = logits.log_softmax(-1).gather(1, torch.stack(answer.top_ids))
        torch.testing.assert_close(torch.stack(answer.top_logprobs), expected, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(target.lm_head(torch.stack(answer.states)), logits, atol=1e-4, rtol=1e-4)


def test_answers_end_at_the_stop_token_or_the_budget(target):
    for answer in write_answers(target, count=30, max_new=40):
        assert STOP not in answer.ids[:-1]
        assert len(answer.ids) == 40 or answer.ids[-1] == STOP


def test_shards_come_back_as_written(target, tmp_path):
    answers = write_answers(target)
    write_shard(tmp_path / "shard-00000.safetensors", answers)
    sequences = read_shard(tmp_path / "shard-00000.safetensors")
    assert [s.ids.tolist() for s in sequences] == [a.prompt + a.ids for a in answers]
    assert [s.is_greedy for s in sequences][:3] == [True] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["shard-00000.safetensors"]


def test_label_rows_predict_the_answers(shards):
    """An off-by-one here would train the draft on its own input."""
    sequences = read_shard(shards[0])[:3]
    batch = collate(sequences)
    after = torch.tensor([s.ids.tolist() + [0] * (batch.ids.shape[1] + 1 - len(s.ids)) for s in sequences])[
        :, 1:
    ].flatten()
    assert after[batch.rows].tolist() == batch.top_ids[:, 0].tolist()


def test_an_epoch_holds_every_sequence_once(shards):
    sequences = read_shard(shards[0])
    groups = epoch(sequences, 64, seed=3)
    assert sorted(id(s) for group in groups for s in group) == sorted(map(id, sequences))
    assert len(groups) > 1


def test_draft_made_of_all_layers_is_the_target(target, shards):
    draft = build_draft(target, (0, 1, 2, 3)).eval()
    assert all(all(mask) for mask in matches(draft, read_shard(shards[0])[:3]))


def test_both_stages_reduce_their_loss_on_a_repeated_batch(target, shards):
    sequences = read_shard(shards[0])
    batch = collate(sequences)
    for stage in ("regression", "distribution"):
        torch.manual_seed(0)
        draft = build_draft(target, (0, 3))
        objective = DraftObjective(draft, torch.cat([s.top_ids for s in sequences]).long())
        optimizer = torch.optim.AdamW([p for p in draft.parameters() if p.requires_grad], lr=3e-3)
        losses = []
        for _ in range(4):
            loss = getattr(objective, stage)(label_states(draft, batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.9 * losses[0], (stage, losses)


def test_embeddings_and_head_stay_the_targets(target, shards, tmp_path):
    draft = build_draft(target, (0, 3))
    finish(train(draft, shards[1:], read_shard(shards[0]), tmp_path, DraftRecipe((0, 3), tokens=600, batch=128)))
    assert torch.equal(draft.lm_head.weight, target.lm_head.weight)
    assert not torch.equal(draft.model.norm.weight, target.model.norm.weight)
    assert set(trained_state(draft)) == {name for name in draft.state_dict() if "layers" in name or "norm" in name}


def test_resumed_training_gives_the_same_weights(target, shards, tmp_path, killed_at_save):
    recipe = DraftRecipe((0, 3), tokens=1500, batch=128)

    def run(name: str, recipe: DraftRecipe = recipe) -> dict[str, torch.Tensor]:
        draft = build_draft(target, recipe.layers)
        finish(train(draft, shards[1:], read_shard(shards[0]), tmp_path / name, recipe, save_every=3))
        return trained_state(draft)

    whole = run("whole")
    with killed_at_save(2):
        run("parts")
    resumed = run("parts")
    for name, tensor in whole.items():
        assert torch.equal(tensor, resumed[name]), name
    with pytest.raises(UserError, match="another recipe"):
        run("parts", DraftRecipe((0, 3), tokens=1501, batch=128))


def test_rounds_follow_from_the_match_masks():
    """By hand, K = 2: token 0 is the target's; 1 1 | bonus, 0 | correction, 1 0 | correction, 1."""
    mask = [False, True, True, False, False, True, False, True]
    assert simulate([mask], 2) == (4, [4, 2], [3, 1])
    assert simulate([[True] * 9], 8) == (1, [1] * 8, [1] * 8)
    assert simulate([[]], 2) == (0, [0, 0], [0, 0])


def test_written_draft_reads_back(target, shards, tmp_path):
    draft = build_draft(target, (1, 2)).eval()
    held_out = read_shard(shards[0])
    target.save_pretrained(tmp_path / "target")
    figures = evaluate(draft, held_out, 4)
    counters = {"shards": [2, 3], "answers": 2, "answer_tokens": 5, "read": 10, "steps": 1}
    runs = [asdict(DraftRecipe((1, 2))) | counters, asdict(DraftRecipe((1, 2), seed=2)) | counters]
    draft_files.write(draft, tmp_path / "draft", tmp_path / "target", runs, figures)
    assert sorted(path.name for path in (tmp_path / "draft").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    assert json.loads((tmp_path / "draft" / "config.json").read_text())["num_hidden_layers"] == 2
    card = (tmp_path / "draft" / "README.md").read_text()
    assert "layers 1 and 2" in card
    assert "--start runs/distill/1" in card
    assert json.loads(json.dumps(runs)) == draft_files.read_runs(tmp_path / "draft")
    again = draft_files.read(target, tmp_path / "draft")
    for name, tensor in trained_state(draft).items():
        assert torch.equal(tensor.bfloat16().float(), trained_state(again)[name])
    (tmp_path / "draft" / "config.json").write_text('{"num_hidden_layers": 3}')
    with pytest.raises(UserError, match="does not fit"):
        draft_files.read(target, tmp_path / "draft")


def test_figures():
    figures = Figures(tokens=8, agreement=0.5, rounds=4, reached=[4, 3], kept=[3, 1])
    assert figures.mean_kept == 1.0
    assert figures.acceptance == [0.75, pytest.approx(1 / 3)]


def test_seed_prompts_are_distinct_and_repeatable():
    prompts = list(itertools.islice(seed_prompts(random.Random(5)), 900))
    assert len(set(prompts)) == 900
    assert prompts == list(itertools.islice(seed_prompts(random.Random(5)), 900))
    assert not any("{n" in prompt or "{word" in prompt for prompt in prompts)


def test_excluded_prompts_are_recognised(tmp_path):
    path = tmp_path / "exclude.jsonl"
    path.write_text(
        '{"prompt": "Write a poem about a green frog that lives in a well."}\n\n{"prompt": "Name ten rivers."}\n'
    )
    excluded = Exclusion([path])
    assert "Please write a poem about a green frog" in excluded
    assert "name TEN rivers" in excluded
    assert "Explain how rivers are formed in the mountains." not in excluded
    assert "Write a letter to a friend." not in Exclusion([])


# The feature-fed head --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep_target():
    """Deep enough for three taps."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=128, tie_word_embeddings=True, initializer_range=0.2, eos_token_id=STOP, pad_token_id=STOP,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def deep_texts(deep_target, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    paths = [folder / f"shard-{i:05}.safetensors" for i in range(3)]
    for seed, path in enumerate(paths):
        write_shard(path, write_answers(deep_target, seed=seed))
    return [read_texts(deep_target, path, folder / "tapped") for path in paths]


@torch.inference_mode()
def test_collected_states_are_the_inputs_of_the_tapped_layers(deep_target, deep_texts):
    """In batches of padded texts, and read back from the file; bfloat16 is what is kept."""
    for text in deep_texts[0][:4]:
        hidden = deep_target(input_ids=text.ids[None, :-1].long(), output_hidden_states=True).hidden_states
        wanted = torch.cat([hidden[layer][0] for layer in taps_of(6)], dim=-1)
        assert torch.dist(text.tapped.float(), wanted) < 0.02 * wanted.norm()


@torch.inference_mode()
def test_a_chain_of_training_is_that_of_drafting(deep_target, deep_texts):
    """The unrolled steps must make what the drafter makes round by round, or training would be for another task."""
    head = build_head(deep_target, deep_texts[0]).eval()
    model = FeatureModel(head, deep_target, 96)
    text = next(text for text in deep_texts[1] if text.sequence.is_greedy)
    expected = []
    for at in range(text.sequence.prompt_length, len(text.ids)):
        context, right = model.open(), 0
        state = context.feed(text.ids[1:at].long(), context.fuse(text.tapped[: at - 1].float()))[-1:]
        while right < 4 and at + right < len(text.ids):
            token = model.vocabulary[context.logits(state).argmax(-1)]
            if int(token) != int(text.ids[at + right]):
                break
            right += 1
            state = context.feed(token, state)
        expected.append(right)
    assert train_head.depths(head, deep_target, [text], 4) == [expected]
    assert any(expected)


def test_a_head_learns_is_written_and_reads_back(deep_target, deep_texts, tmp_path):
    torch.manual_seed(0)
    texts, held_out = deep_texts[1] + deep_texts[2], deep_texts[0]
    head = build_head(deep_target, texts)
    before = train_head.evaluate(head.eval(), deep_target, texts, 4)
    recipe = train_head.HeadRecipe(tokens=3000, batch=256, chain=3, noise=0.0, rate=2e-3)
    counters = finish(train_head.train(head.train(), deep_target, texts, held_out, tmp_path / "work", recipe))
    after = train_head.evaluate(head.eval(), deep_target, texts, 4)
    assert after.agreement > before.agreement
    assert counters["read"] >= 3000
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "model.safetensors").write_bytes(b"weights")
    runs = [asdict(recipe) | counters | {"shards": [1, 2], "held_out": 1}]
    write_head(head, tmp_path / "head", tmp_path / "target", runs, after)
    again = read_head(tmp_path / "head", deep_target)
    assert torch.equal(again.fc.weight.float(), head.fc.weight.bfloat16().float())
    assert torch.equal(again.lm_head.weight, deep_target.lm_head.weight[head.vocabulary])
    assert json.loads((tmp_path / "head" / "config.json").read_text())["architectures"] == ["LlamaForCausalLMEagle3"]
    with pytest.raises(UserError, match="another recipe"):
        finish(train_head.train(head, deep_target, texts, held_out, tmp_path / "work", train_head.HeadRecipe(tokens=1)))


def test_resumed_training_of_a_head_gives_the_same_weights(deep_target, deep_texts, tmp_path, killed_at_save):
    recipe = train_head.HeadRecipe(tokens=1200, batch=128, chain=2)

    def run(name: str) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        head = build_head(deep_target, deep_texts[1])
        finish(train_head.train(head.train(), deep_target, deep_texts[1], deep_texts[0], tmp_path / name, recipe, 2))
        return head.state_dict()

    whole = run("whole")
    with killed_at_save(2):
        run("parts")
    resumed = run("parts")
    assert all(torch.equal(tensor, resumed[name]) for name, tensor in whole.items())
