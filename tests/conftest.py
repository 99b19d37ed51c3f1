"""Shared pieces of the suite: tiny random pairs over a byte-level tokenizer made here, and hand-made records.

Everything runs on the CPU with one thread, so that sums are formed in one order and the suite is repeatable.
"""

import copy
import math
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import hypothesis
import pytest

from explorer.config import DecodeConfig
from explorer.stops import Stop
from explorer.trace import Branch, Prompt, Provenance, Round, Row, Seconds, Trace, Tree, judge_rows, mentioned_ids

# Repeatable: examples do not depend on chance, on the speed of the machine, or on what an earlier run left behind.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("repeatable")

GOLDEN = Path(__file__).parent / "fly.jsonl"
RELAXED = Path(__file__).parent / "relaxed.jsonl"


# Tiny models --------------------------------------------------------------------------------------------------------

MERGES = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("an", "d"), ("Ġ", "the"), ("Ã", "©"), ("e", "r")]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@cache
def byte_tokenizer():
    """All 256 bytes, a few merges (one of two bytes of a character), three special tokens: 267 ids, <|im_end|> stops."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    vocab = {char: index for index, char in enumerate(bytes_to_unicode().values())}
    vocab |= {left + right: 256 + index for index, (left, right) in enumerate(MERGES)}
    backend = Tokenizer(models.BPE(vocab, MERGES))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


PEAK = 2.5
NOISE = {"qwen2": 0.02, "gemma3": 0.06}  # so that each shape keeps nothing, some and all of a draft
ROWS = {"qwen2": 320}  # more output rows than the tokenizer has tokens, as Qwen2.5 has


def tiny_model(shape: str, seed: int, **changes):
    """A random model with logits peaked enough for clear argmaxes. Windows are far shorter than the texts of the tests."""
    import torch
    import transformers as hf

    common = {
        "vocab_size": ROWS.get(shape, len(byte_tokenizer())), "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
        "initializer_range": 0.4, "bos_token_id": None, "eos_token_id": byte_tokenizer().eos_token_id, "pad_token_id": 264,
    }  # fmt: skip
    config_class, model_class, extra = {
        "llama": (hf.LlamaConfig, hf.LlamaForCausalLM, {"tie_word_embeddings": True}),
        "qwen2": (hf.Qwen2Config, hf.Qwen2ForCausalLM, {}),
        "mistral": (hf.MistralConfig, hf.MistralForCausalLM, {"sliding_window": 8, "head_dim": 8}),
        "gemma3": (
            hf.Gemma3TextConfig,
            hf.Gemma3ForCausalLM,
            {
                "sliding_window": 8,
                "head_dim": 8,
                "layer_types": ["sliding_attention", "full_attention"],
                "tie_word_embeddings": False,
            },
        ),
    }[shape]
    torch.manual_seed(seed)
    model = model_class(config_class(**{**common, **extra, **changes})).eval()
    with torch.no_grad():
        model.model.norm.weight += PEAK - 1  # the logits grow by this factor (Gemma counts from one)
    return model


@cache
def tiny_pair(shape: str = "llama", noise: float | None = None, seed: int = 0):
    """A pair whose draft is the target with noise on its weights (0: an equal copy), so that it is often right.

    `packed-SHAPE` is laid out for a CPU; `self-SHAPE` too, and both sides work in one cache as the embedded pair's do.
    `pair.oracle` and `pair.oracle_draft` are transformers' own models of the same weights.
    """
    import torch
    from pairs import OraclePair

    torch.set_num_threads(1)
    layout, _, family = shape.rpartition("-")
    if (
        noise is None
    ):  # the copy that reads the target's own cache is closer to it: more noise, so that it errs as often
        noise = NOISE.get(family, 0.03) * (1.5 if layout == "self" else 1)
    target = tiny_model(family, seed)
    draft = copy.deepcopy(target)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in draft.parameters():
            scale = parameter.std() if parameter.ndim > 1 else parameter.abs().mean()
            parameter += noise * scale * torch.randn(parameter.shape, generator=generator)
    pair = OraclePair.of(f"tiny-{shape}", target, draft, byte_tokenizer(), target_form="float32" if layout else None)
    return replace(pair, drafts_for_itself=pair.drafts_for_itself or layout == "self")


def pytest_collection_modifyitems(items):
    """Real weights first, so that one worker of two has them in memory; browser tests last, beside nothing that counts on its threads."""
    marked = lambda item, name: item.get_closest_marker(name) is not None  # noqa: E731
    items.sort(key=lambda item: (marked(item, "browser"), not marked(item, "real")))


@pytest.fixture(scope="session")
def tokenizer():
    return byte_tokenizer()


@pytest.fixture(scope="session")
def make_model():
    return tiny_model


@pytest.fixture(scope="session")
def make_pair():
    return tiny_pair


@pytest.fixture(scope="session")
def pair():
    return tiny_pair()


@pytest.fixture(scope="session")
def with_stop_ids():
    """The same weights under other stop ids."""

    def build(pair, *stop_ids: int):
        return replace(pair, stop_ids=frozenset(stop_ids))

    return build


@pytest.fixture(scope="session")
def with_judge_head():
    """The same weights with a random judge head, whose scores lie on both sides of 0.5."""

    def build(pair):
        import torch

        from explorer.engine.verification.judge_head import JudgeHead

        weight = torch.randn(pair.target.width, generator=torch.Generator().manual_seed(3))
        return replace(pair, judge_head=JudgeHead(weight / (PEAK * pair.target.width**0.5), torch.zeros(())))

    return build


@pytest.fixture(scope="session")
def plain_greedy_ids():
    """The oracle: transformers' own greedy generation, its near-ties too small for one rounding to be another's excuse."""
    import torch

    @torch.inference_mode()
    def generate(pair, prompt_ids, count: int, stop_ids=None) -> list[int]:
        stop_ids = pair.stop_ids if stop_ids is None else stop_ids
        rows = pair.oracle.get_output_embeddings().weight.shape[0]
        output = pair.oracle.generate(
            torch.tensor([list(prompt_ids)]), do_sample=False, max_new_tokens=count, eos_token_id=sorted(stop_ids) or None,
            pad_token_id=264, suppress_tokens=list(range(pair.vocab_size, rows)) or None, use_cache=True,
        )  # fmt: skip
        return output[0, len(prompt_ids) :].tolist()

    return generate


@pytest.fixture(scope="session")
def real_pair():
    """The embedded pair; the first use downloads and converts its weights."""
    from explorer.engine.load_pair import load_pair
    from explorer.engine.models.registry import default_pair

    return load_pair(default_pair(), device="cpu")


@pytest.fixture(scope="session")
def record():
    """A run as a trace: decode a prompt and build the record of what was yielded."""
    from explorer.engine.decode import decode
    from explorer.engine.recorder import Recorder

    def run(pair, prompt_ids, config, baseline=None, rounds: int | None = None, pool=None) -> Trace:
        recorder = Recorder(pair, Prompt(tuple(prompt_ids), pair.tokenizer.decode(list(prompt_ids))), config)
        running = decode(pair, list(prompt_ids), config, pool)
        for round_ in running:
            recorder.add(round_)
            if len(recorder.rounds) == rounds:
                running.close()
        return recorder.trace(baseline)

    return run


# Hand-made records --------------------------------------------------------------------------------------------------

STOP_ID = 9


def hand_row(argmax: int, drafted: int | None = None, normalized: float = 0.5, top3: float = 0.5) -> Row:
    """A row of the target: nats chosen so that a drafted argmax has the argmax's own log-probability."""
    top = (argmax, (argmax + 1) % 20, (argmax + 2) % 20)
    mine = {None: None, argmax: -0.25}.get(drafted, -1.5)
    return Row(argmax, -0.25, normalized, top3, top, (-0.25, -1.5, -2.75), -0.25, mine)


def hand_round(
    before: int, drafted: str | list, argmax: str | list, config: DecodeConfig, emit: int | None = None, entropy=0.5
) -> Round:
    """A greedy round from the drafted ids and the target's own choices, one longer; `emit` cuts what is emitted."""
    entropies = entropy if isinstance(entropy, list) else [entropy] * len(argmax)
    rows = tuple(hand_row(a, d, h, h) for a, d, h in zip(argmax, [*drafted, None], entropies))
    match = tuple(d == a for d, a in zip(drafted, argmax))
    protected = tuple(STOP_ID in (d, a) for d, a in zip(drafted, argmax))
    judgement = judge_rows(match, rows[:-1], protected, config)
    committed = (*drafted[: judgement.accepted], argmax[judgement.accepted])
    requested = 0 if config.rule == "autoregressive" else config.draft_length
    return Round(
        before, requested, tuple(drafted), (0.5,) * len(drafted), ("model",) * len(drafted), rows, match,
        tuple(argmax), protected, judgement.verdicts, committed, committed[:emit], (), Seconds(0.0, 0.25, 0.0, 0.5, 0.25, 0.5),
    )  # fmt: skip


def hand_trace(rounds, config: DecodeConfig, stop: Stop, baseline=None, prompt=(1, 2, 3)) -> Trace:
    prompt = Prompt(tuple(prompt), "abc")
    provenance = Provenance(
        "hand", "target", "draft", {"target": "t", "draft": "d"}, {"target": "float32", "draft": "float32"}, "CPU", 1,
        {"torch": "2"}, "2026-01-01T00:00:00+00:00",
    )  # fmt: skip
    ids = mentioned_ids(prompt, rounds, (STOP_ID,), baseline)
    vocabulary = {i: bytes([ord("a") + i]) for i in ids}
    return Trace(
        provenance, prompt, config, tuple(rounds), stop, (STOP_ID,), vocabulary, stop.reason == "user", baseline
    )


@pytest.fixture(scope="session")
def hand():
    """Builders of hand-made rounds and traces: ids below 20, id n is the n-th letter of the alphabet, id 9 stops."""

    class Hand:
        row, round, trace, stop_id = staticmethod(hand_row), staticmethod(hand_round), staticmethod(hand_trace), STOP_ID

        @staticmethod
        def valid(theta: float = 0.3) -> Trace:
            """Three rounds under FLy: one deferred and kept whole, one cut at the gate, one ended by a stop id in the draft."""
            config = DecodeConfig(theta=theta, window=1, draft_length=3, max_new_tokens=16)
            rounds = [
                hand_round(3, [4, 5, 6], [4, 7, 6, 8], config),
                hand_round(7, [10, 11, 12], [10, 13, 12, 14], config, entropy=[0.5, 0.1 + 0.2 - 0.1, math.pi / 4, 0.5]),
                hand_round(9, [4, STOP_ID], [4, STOP_ID, 5], config, emit=2),
            ]
            return hand_trace(rounds, config, Stop("stop_id"))

        @staticmethod
        def phrases() -> Trace:
            """One round: a b c d drafted; of d's phrases (e f g) and (e x y) the target, saying e f z, goes furthest with the first."""
            wide = DecodeConfig(rule="exact", draft_length=7, max_new_tokens=7)
            round_ = hand_round(3, [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 19, 7], wide)
            round_ = replace(
                round_,
                requested=4,
                sources=("model",) * 4 + ("phrase pool",) * 3,
                draft_probs=(0.5,) * 4 + (None,) * 3,
                branches=(Branch((4, 5, 6), (4, 5, 19)), Branch((4, 17, 18), (4, 5, 7))),
            )
            config = replace(wide, draft_length=4, phrases=2, phrase_length=3)
            return hand_trace([round_], config, Stop("budget"))

        @staticmethod
        def tree() -> Trace:
            """One round over a tree: a, b | a-c, b-d, b-e | b-d-g. The target says b, d, f: b and d are kept, g is refused."""
            wide = DecodeConfig(rule="exact", drafter="features", draft_length=3, max_new_tokens=3)
            round_ = hand_round(3, [1, 3, 6], [1, 3, 5, 10], wide)
            round_ = replace(
                round_,
                sources=("features",) * 3,
                draft_probs=(0.25, 0.375, 0.875),
                tree=Tree(
                    parents=(-1, -1, 0, 1, 1, 3),
                    ids=(0, 1, 2, 3, 4, 6),
                    probs=(0.625, 0.25, 0.5, 0.375, 0.5, 0.875),
                    argmax=(7, 3, 8, 5, 12, 10),
                ),
            )
            return hand_trace([round_], replace(wide, tree=8, tree_width=2), Stop("budget"))

        @staticmethod
        def pearl() -> Trace:
            """gamma 3: one token from pre-verify, three from each of two passes; then what was made ahead falls. Times as T_target = 3 T_draft."""
            config = DecodeConfig(rule="exact", schedule="pearl", draft_length=3, max_new_tokens=10)
            told = [
                ([], [1], (1, 2, 3)),
                ([2, 3], [2, 3, 4], (4, 5, 6)),
                ([5, 6], [5, 6, 7], (8, 10, 11)),
                ([], [8], (8, 10, 11)),
                ([10, 11], [10, 12, 13], ()),
            ]
            rounds, before = [], 3
            for drafted, argmax, ahead in told:
                round_ = hand_round(before, drafted, argmax, config)
                rounds.append(
                    replace(round_, ahead=ahead, seconds=Seconds(draft=float(len(ahead)), verify=3.0, forwards=3.0))
                )
                before += len(round_.emitted)
            return hand_trace(rounds, replace(config, max_new_tokens=before - 3), Stop("budget"))

    return Hand


@pytest.fixture(scope="session")
def golden():
    import json

    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def relaxed_cases():
    """Hand-worked cases of the loose rules other than FLy, as the input of cases.Case; `why` says what each is about."""
    import json

    return [json.loads(line) for line in RELAXED.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def command(capsys):
    """Run one command in this process: exit code, stdout, stderr."""
    from explorer.__main__ import main

    def call(*arguments: object):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:  # argparse
            code = stopped.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def refused(command):
    """Run a command that must be refused: exit 2 and one line, which is returned."""

    def call(*arguments: object) -> str:
        code, _, err = command(*arguments)
        assert code == 2, (code, err)
        assert len(err.strip().splitlines()) == 1, err
        assert "Traceback" not in err
        assert "<class" not in err
        return err.strip()

    return call
