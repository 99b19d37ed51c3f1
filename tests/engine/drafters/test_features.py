"""Drafting with an EAGLE-3 head: the public layout, the states it is fed, and rounds that are the target's own text."""

import copy
import dataclasses
import json

import pytest
import torch
from heads import CONFIG, PROMPT, ROWS
from rounds import grid_rounds, stripped
from safetensors.torch import save_file

from explorer.config import ConfigError, DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.drafters.eagle import is_head, read_head, taps_of
from explorer.engine.drafters.features import FeatureModel
from explorer.engine.models.weights import WeightsError
from explorer.engine.pair import Pair
from explorer.engine.sampling import Sampler

EXACT = DecodeConfig(rule="exact", drafter="features", draft_length=4, max_new_tokens=24)
# What the public heads hold (the files of SafeAILab's and of SpecForge's heads), for d = 32, 4 heads, 2 key heads, MLP 48.
PUBLIC = {
    "d2t": (ROWS,), "t2d": (267,), "fc.weight": (32, 96), "lm_head.weight": (ROWS, 32), "norm.weight": (32,),
    "midlayer.hidden_norm.weight": (32,), "midlayer.input_layernorm.weight": (32,),
    "midlayer.post_attention_layernorm.weight": (32,), "midlayer.self_attn.q_proj.weight": (32, 64),
    "midlayer.self_attn.k_proj.weight": (16, 64), "midlayer.self_attn.v_proj.weight": (16, 64),
    "midlayer.self_attn.o_proj.weight": (32, 32), "midlayer.mlp.gate_proj.weight": (48, 32),
    "midlayer.mlp.up_proj.weight": (48, 32), "midlayer.mlp.down_proj.weight": (32, 48),
}  # fmt: skip


def public_weights(seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    weights = {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in PUBLIC.items()}
    weights |= {name: 1 + weights[name] for name in weights if "norm" in name}
    ids = torch.cat([torch.arange(0, 180, 2), torch.arange(260, 267)])
    weights["d2t"] = ids - torch.arange(ROWS)
    weights["t2d"] = torch.zeros(267, dtype=torch.bool).index_fill(0, ids, True)
    return weights


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    save_file(public_weights(), tmp_path / "model.safetensors")
    return tmp_path


# The layout ----------------------------------------------------------------------------------------------------------


def test_a_head_in_the_public_layout_loads(folder, make_model):
    target = make_model("llama", 0, num_hidden_layers=6)
    head = read_head(folder, target)
    assert is_head(folder)
    weights = public_weights()
    assert torch.equal(head.midlayer.self_attn.q_proj.weight, weights["midlayer.self_attn.q_proj.weight"])
    assert head.vocabulary.tolist() == [*range(0, 180, 2), *range(260, 267)]  # d2t holds offsets, not ids


def reference(weights, embedding, tokens, taps, steps, activation=torch.nn.functional.silu):
    """The published forward (SafeAILab/EAGLE, cnets.py), written out on its own: greedy chain of target ids after the text."""

    def norm(x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight

    def turn(x, position):  # [heads, 8]
        angle = position * 10000.0 ** (-torch.arange(0, 8, 2) / 8)
        cos, sin = angle.cos().repeat(2), angle.sin().repeat(2)
        return x * cos + torch.cat([-x[:, 4:], x[:, :4]], dim=1) * sin

    w = {name.removeprefix("midlayer."): tensor for name, tensor in weights.items()}
    keys, values, state = [], [], None
    text = list(tokens)
    for place in range(len(tokens) - 1 + steps - 1):
        hidden = taps[place] @ w["fc.weight"].T if place < len(taps) else state
        x = torch.cat(
            [norm(embedding[text[place + 1]], w["input_layernorm.weight"]), norm(hidden, w["hidden_norm.weight"])]
        )
        q = turn((w["self_attn.q_proj.weight"] @ x).view(4, 8), place)
        keys.append(turn((w["self_attn.k_proj.weight"] @ x).view(2, 8), place))
        values.append((w["self_attn.v_proj.weight"] @ x).view(2, 8))
        rows = []
        for number in range(4):
            k, v = (torch.stack([one[number // 2] for one in column]) for column in (keys, values))
            rows.append((k @ q[number] / 8**0.5).softmax(-1) @ v)
        hidden = hidden + w["self_attn.o_proj.weight"] @ torch.cat(rows)
        y = norm(hidden, w["post_attention_layernorm.weight"])
        gate = activation(w["mlp.gate_proj.weight"] @ y) * (w["mlp.up_proj.weight"] @ y)
        state = hidden + w["mlp.down_proj.weight"] @ gate
        if place >= len(taps) - 1:
            row = int((w["lm_head.weight"] @ norm(state, w["norm.weight"])).argmax())
            text.append(row + int(w["d2t"][row]))
    return text[len(tokens) :]


@torch.inference_mode()
@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_a_chain_is_that_of_the_published_forward(shape, folder, make_model, tokenizer):
    """Entry i joins token i + 1 with the state at token i; an off-by-one or ids read as offsets would draft something else."""
    target = make_model("llama", 0, num_hidden_layers=6)
    pair = Pair.of("public", target, target, tokenizer, head=read_head(folder, target))
    if shape.startswith("packed"):  # packed states, the head itself unpacked: no rounding between the two
        pair = dataclasses.replace(
            pair, target=Pair.of("public", target, target, tokenizer, target_form="float32").target
        )
    round_ = next(decode(pair, list(PROMPT), dataclasses.replace(EXACT, draft_length=5)))
    hidden = target(input_ids=torch.tensor([PROMPT[:-1]]), output_hidden_states=True).hidden_states
    taps = torch.cat([hidden[layer][0] for layer in taps_of(6)], dim=-1)
    assert list(round_.drafted) == reference(public_weights(), target.model.embed_tokens.weight, PROMPT, taps, 5)
    assert set(round_.sources) == {"features"}


@torch.inference_mode()
@pytest.mark.parametrize("packed", [False, True])
def test_the_activation_of_the_settings_is_taken(packed, folder, make_model, tokenizer):
    """It was silu whatever they said: a head trained with another drafted worse, for no reason that was told."""
    (folder / "config.json").write_text(json.dumps(CONFIG | {"hidden_act": "gelu"}))
    weights = public_weights(4)
    weights["fc.weight"] *= 0.1
    save_file(weights, folder / "model.safetensors")
    target = make_model("llama", 0, num_hidden_layers=6)
    form = "float32" if packed else None
    pair = Pair.of("public", target, target, tokenizer, head=read_head(folder, target), target_form=form)
    round_ = next(decode(pair, list(PROMPT), dataclasses.replace(EXACT, draft_length=5)))
    hidden = target(input_ids=torch.tensor([PROMPT[:-1]]), output_hidden_states=True).hidden_states
    taps = torch.cat([hidden[layer][0] for layer in taps_of(6)], dim=-1)
    chains = [
        reference(weights, target.model.embed_tokens.weight, PROMPT, taps, 5, activation)
        for activation in (torch.nn.functional.gelu, torch.nn.functional.silu)
    ]
    assert chains[0] != chains[1]
    assert list(round_.drafted) == chains[0]


@pytest.mark.parametrize(
    "change",
    [
        {"norm_output": True},
        {"fc_norm": True},
        {"sliding_window": 16},
        {"sliding_window": 16, "use_sliding_window": True},
        {"layer_types": ["sliding_attention"]},
        {"hidden_act": "from_the_future"},
        {"mlp_bias": True},
        {"eagle_config": {"norm_before_fc": True}},
        {"final_logit_softcapping": 30.0},
        {"partial_rotary_factor": 0.5},
        {"num_hidden_layers": 2},
    ],
)
def test_settings_that_are_not_done_are_refused_by_name(change, folder, make_model):
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    name = next(iter(change.get("eagle_config", change)))
    with pytest.raises(WeightsError, match=f"asks for what is not done here: {name} "):
        read_head(folder, make_model("llama", 0, num_hidden_layers=6))


@pytest.mark.parametrize(
    "change",
    [
        {"norm_output": False, "fc_norm": None, "sliding_window": None, "mlp_bias": False},
        {"sliding_window": 4096, "use_sliding_window": False},
        {"layer_types": ["full_attention"], "eagle_config": {"use_aux_hidden_state": True}},
    ],
)
def test_settings_that_change_nothing_are_no_reason(change, folder, make_model):
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    read_head(folder, make_model("llama", 0, num_hidden_layers=6))


def test_names_of_other_trainers_and_a_missing_output_table(folder, make_model):
    """speculators writes layers.0; a head that shares the target's output rows has none of its own."""
    target = make_model("llama", 0, num_hidden_layers=6)
    weights = {name.replace("midlayer.", "layers.0."): tensor for name, tensor in public_weights().items()}
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors")
    head = read_head(folder, target)
    assert torch.equal(head.lm_head.weight, target.get_output_embeddings().weight[head.vocabulary])


@pytest.mark.parametrize(
    ("change", "weights", "message"),
    [
        ({"hidden_size": 48, "target_hidden_size": 48}, {}, "width 48"),
        ({"draft_vocab_size": 98}, {}, "d2t|describes|ids"),
        ({}, {"fc.weight": torch.zeros(32, 64)}, "fc.weight"),
        ({}, {"d2t": torch.full((ROWS,), 250)}, "target has 267 rows"),
        ({}, {"midlayer.mlp.up_proj.bias": torch.zeros(48)}, "up_proj.bias"),
        ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 5]}}, {}, "states"),
        ({"transformer_layer_config": {}}, {}, "layout"),
    ],
)
def test_other_heads_are_refused(change, weights, message, folder, make_model):
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    save_file(public_weights() | weights, folder / "model.safetensors")
    with pytest.raises(WeightsError, match=message):
        read_head(folder, make_model("llama", 0, num_hidden_layers=6))


def test_layer_lists_of_both_conventions_are_read(folder, make_model):
    for named in ([2, 3, 3], [1, 2, 2]):
        (folder / "config.json").write_text(json.dumps(CONFIG | {"eagle_aux_hidden_state_layer_ids": named}))
        read_head(folder, make_model("llama", 0, num_hidden_layers=6))


# Rounds --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draft_length", [1, 3, 8])
@pytest.mark.parametrize("shape", ["llama", "qwen2", "mistral", "packed-llama", "packed-qwen2"])
def test_exact_is_plain_greedy(shape, draft_length, headed, plain_greedy_ids):
    pair = headed(shape)
    rounds = list(decode(pair, list(PROMPT), dataclasses.replace(EXACT, draft_length=draft_length)))
    assert [token for round_ in rounds for token in round_.emitted] == plain_greedy_ids(pair, PROMPT, 24)
    assert {source for round_ in rounds for source in round_.sources} == {"features"}


def test_some_drafts_are_kept_and_some_are_not(headed):
    """Else the test above says nothing about what happens behind a kept token."""
    rounds = list(decode(headed("llama"), list(PROMPT), EXACT))
    assert {0} < {round_.accepted for round_ in rounds}


@torch.inference_mode()
@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_entries_of_later_rounds_are_those_of_a_fresh_start(shape, headed):
    """States kept from round to round, rolled back and overwritten, must be those of one pass over the committed text."""
    pair = headed(shape)
    text = list(PROMPT)
    for round_ in decode(pair, list(PROMPT), EXACT):
        fresh = next(decode(pair, text, dataclasses.replace(EXACT, draft_length=max(1, len(round_.drafted)))))
        assert fresh.drafted[: len(round_.drafted)] == round_.drafted
        text += round_.emitted


@pytest.mark.parametrize("length", ["confidence", "entropy", "heuristic", "adaedl"])
def test_length_policies_steer_it(length, headed, plain_greedy_ids, record):
    pair = headed("llama")
    config = dataclasses.replace(EXACT, length=length, draft_length=8, threshold=0.4)
    trace = record(pair, PROMPT, config)
    assert list(trace.output_ids) == plain_greedy_ids(pair, PROMPT, 24)
    assert len({len(round_.drafted) for round_ in trace.rounds}) > 1
    assert trace.provenance.dtype.keys() == {"target", "draft", "head"}


def test_the_rounds_of_a_grid_are_those_of_separate_runs(headed):
    pair = headed("packed-llama")
    configs = [
        dataclasses.replace(EXACT, rule="fly", theta=theta, window=window, draft_length=6)
        for theta in (0.0, 0.1, 0.3, 1.2)
        for window in (0, 1)
    ]
    rounds, _ = grid_rounds(pair, PROMPT, configs)
    for config, mine in zip(configs, rounds):
        assert stripped(mine) == stripped(decode(pair, list(PROMPT), config)), config


def test_q_covers_the_whole_vocabulary_above_temperature_0(headed):
    """Sampling stays lossless only if q is what the token was drawn from, zero where the head has no row."""
    pair = headed("llama")
    head = copy.deepcopy(pair.head)
    head.outside = torch.arange(len(head.vocabulary)) % 3 == 0
    from explorer.engine.drafters.draft import Draft
    from explorer.engine.drafters.features import FeatureDrafter

    target = pair.target.open(taps=head.taps)
    with torch.inference_mode():
        target.prefill(torch.tensor(PROMPT[:-1]))
        drafter = FeatureDrafter(head, Sampler(1.0, 0, torch.device("cpu")), frozenset())
        drafter.observe(target)
        drafter.prefill(PROMPT[:-1])
        draft = Draft()
        drafter.extend(draft, PROMPT, 3)
    for token, prob, q in zip(draft.ids, draft.probs, draft.distributions, strict=True):
        assert q.shape == (pair.vocab_size,)
        assert q.sum() == pytest.approx(1, abs=1e-5)
        assert float(q[token]) == pytest.approx(prob)
        assert token % 3
        assert float(q[::3].sum()) == 0


def test_a_prompt_of_one_token_runs(headed, plain_greedy_ids):
    """The target has left no states yet: the first round drafts nothing."""
    pair = headed("packed-llama")
    rounds = list(decode(pair, PROMPT[:1], EXACT))
    assert rounds[0].drafted == ()
    assert len(rounds[1].drafted)
    assert [token for round_ in rounds for token in round_.emitted] == plain_greedy_ids(pair, PROMPT[:1], 24)


def test_what_it_cannot_do_is_refused(pair):
    for change in ({"length": "pacer"}, {"length": "survival"}, {"rule": "kl"}):
        with pytest.raises(ConfigError, match="feature-fed head"):
            DecodeConfig(drafter="features", **change)
    with pytest.raises(ConfigError, match="TARGET,HEAD"):
        next(decode(pair, list(PROMPT), EXACT))


def test_weights_are_counted(headed):
    head: FeatureModel = headed("packed-llama").head
    assert head.dtype_name == "int8 packed"
    assert head.weight_bytes > 0
