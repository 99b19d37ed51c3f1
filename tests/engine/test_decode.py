"""The decoding loop on tiny random pairs, against transformers' own greedy generation and against single forwards."""

import dataclasses
import math

import pytest
import torch
from rounds import stripped

from explorer.config import DecodeConfig
from explorer.engine.decode import decode
from explorer.engine.models.model import LanguageModel
from explorer.engine.models.packed import PackedContext, PackedModel
from explorer.engine.recorder import plain
from explorer.prompts import PromptError
from explorer.trace import Baseline, Trace
from explorer.verdicts import Verdict

PLAIN = ("llama", "qwen2", "mistral", "gemma3")  # exact rows, padded rows, sliding window, both kinds of layers
SHAPES = (
    *PLAIN,
    "packed-llama",
    "packed-qwen2",
    "self-qwen2",
)  # laid out as the embedded pair is: float32 target, quantized draft
PROMPT = [39, 68, 75, 75, 78, 258, 82, 66, 66, 77, 260, 84, 11, 12]  # longer than the sliding windows
COUNT = 28
EXACT = DecodeConfig(rule="exact", draft_length=5, max_new_tokens=COUNT)
FLY = DecodeConfig(rule="fly", theta=0.2, window=2, draft_length=7, max_new_tokens=COUNT)


def run(pair, config, prompt=PROMPT):
    return list(decode(pair, list(prompt), config))


def ids_of(rounds) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


@pytest.fixture
def opened(monkeypatch):
    """Every context a run opens, with the length of its cache at its last close."""
    contexts = []

    def watch(kind):
        original = kind.open

        def open_(self, *arguments):
            context = original(self, *arguments)
            contexts.append(context)
            context.closed = False
            close = context.close

            def closing():
                context.closed = True
                close()

            context.close = closing
            return context

        monkeypatch.setattr(kind, "open", open_)

    watch(LanguageModel)
    watch(PackedModel)
    return contexts


@pytest.fixture(scope="module")
def greedy(make_pair, plain_greedy_ids):
    """Reference ids by shape and draft noise; the target's clearest token is never a coin toss."""
    known = {}

    def of(shape, noise=None):
        if (shape, noise) not in known:
            pair = make_pair(shape, noise)
            known[shape, noise] = plain_greedy_ids(pair, PROMPT, COUNT)
        return known[shape, noise]

    return of


# Exactness ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_references_are_no_near_ties(shape, make_pair, greedy):
    """What follows compares ids: it may only do so where rounding cannot decide an argmax."""
    pair, ids = make_pair(shape), greedy(shape)
    with torch.inference_mode():
        logits = pair.oracle(input_ids=torch.tensor([PROMPT + ids])).logits[0, len(PROMPT) - 1 : -1, : pair.vocab_size]
    top = logits.log_softmax(-1).topk(2).values
    assert (top[:, 0] - top[:, 1]).min() > 1e-3
    assert len(set(ids)) > 8, "a text that repeats itself tests little"


@pytest.mark.parametrize("draft_length", [*range(1, 11), 13, 17, 25])
@pytest.mark.parametrize("shape", SHAPES)
def test_exact_is_plain_greedy(shape, draft_length, make_pair, greedy):
    """Positions advanced by one instead of the kept count (transformers PR#30068), caches not rolled back, sliding windows
    broken once the context passes them (PR#48280), padded output rows that win an argmax."""
    rounds = run(make_pair(shape), dataclasses.replace(EXACT, draft_length=draft_length))
    assert ids_of(rounds) == greedy(shape)
    assert all(round_.requested == draft_length for round_ in rounds)


@pytest.mark.parametrize("shape", SHAPES)
def test_acceptance_is_partial(shape, make_pair):
    """The pairs of this suite keep nothing, some and all of a draft, so that every way of rolling back is walked."""
    kept = {
        (r.accepted, len(r.drafted))
        for k in (3, 5)
        for r in run(make_pair(shape), dataclasses.replace(EXACT, draft_length=k))
    }
    assert any(some == 0 and of for some, of in kept)
    assert any(0 < some < of for some, of in kept)
    assert any(some == of > 1 for some, of in kept)


@pytest.mark.parametrize("shape", SHAPES)
def test_autoregressive_is_plain_greedy_without_a_draft(shape, make_pair, greedy, opened):
    rounds = run(make_pair(shape), dataclasses.replace(EXACT, rule="autoregressive"))
    assert ids_of(rounds) == greedy(shape)
    assert all((r.drafted, r.requested, r.last, len(r.rows)) == ((), 0, "bonus", 1) for r in rounds)
    assert len(opened) == 1, "the draft model must not be opened"


@pytest.mark.parametrize("shape", PLAIN)
@pytest.mark.parametrize("draft_length", [1, 4, 25])
def test_a_draft_equal_to_the_target_keeps_all_and_adds_the_bonus(shape, draft_length, make_pair, greedy):
    """Self-drafting: an off-by-one in either cache shows here first (mlx-examples PR#149)."""
    rounds = run(make_pair(shape, noise=0.0), dataclasses.replace(EXACT, draft_length=draft_length))
    assert ids_of(rounds) == greedy(shape, 0.0)
    left = COUNT
    for round_ in rounds:
        assert len(round_.drafted) == min(draft_length, left - 1)
        assert round_.accepted == len(round_.drafted)
        assert round_.last == "bonus"
        left -= len(round_.committed)
    assert all(abs(math.log(p) - row.argmax_logprob) < 1e-4 for r in rounds for p, row in zip(r.draft_probs, r.rows))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "change",
    [
        {"theta": 1.2},
        {"theta": 1.2, "entropy": "top3"},
        {"theta": 0.0, "window": 5},
        {"theta": 0.0, "window": 5, "window_includes_mismatch": True},
        {"theta": 0.0, "window": 32},
    ],
    ids=str,
)
def test_fly_that_cannot_defer_is_exact(shape, change, make_pair, greedy):
    rounds = run(make_pair(shape), dataclasses.replace(EXACT, rule="fly", **change))
    assert ids_of(rounds) == greedy(shape)
    assert not any(Verdict.DEFERRED in round_.verdicts for round_ in rounds)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("entropy", ["normalized", "top3"])
def test_every_fly_token_is_the_drafts_or_the_targets_choice(shape, entropy, make_pair):
    """Every emitted token is the draft's or the target's argmax after exactly the emitted prefix; deferred ones differ."""
    pair = make_pair(shape)
    rounds = run(pair, dataclasses.replace(FLY, theta=0.1, window=1, entropy=entropy))
    deferred, sequence = 0, list(PROMPT)
    for round_ in rounds:
        with torch.inference_mode():
            for token, kind in zip(round_.emitted, round_.emitted_kinds):
                argmax = (
                    pair.oracle(input_ids=torch.tensor([sequence])).logits[0, -1, : pair.vocab_size].argmax().item()
                )
                assert (token == argmax) == (kind != "deferred")
                deferred += kind == "deferred"
                sequence.append(token)
    assert deferred, "this pair and setting must defer something"


# Caches -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("config", [EXACT, FLY, dataclasses.replace(EXACT, rule="autoregressive"), dataclasses.replace(FLY, temperature=0.8)], ids=lambda c: f"{c.rule}-{c.temperature}")  # fmt: skip
def test_after_every_round_the_caches_hold_the_committed_tokens(shape, config, make_pair, opened):
    """Target: all but the newest token. Draft: the same, or one less after a fully kept draft. The two alias only where the
    draft is the target in fewer bits (transformers PR#31644), and what the object says is what its tensors hold."""
    pair, length, all_kept = make_pair(shape), len(PROMPT), 0
    for round_ in decode(pair, list(PROMPT), config):
        length += len(round_.emitted)
        target, *draft = opened
        assert target.language_model is pair.target
        assert target.length == held(target) == length - 1
        for context in draft:
            assert context.language_model is pair.draft
            lag = (
                bool(round_.drafted)
                and round_.accepted == len(round_.drafted)
                and len(round_.emitted) == len(round_.committed)
            )
            all_kept += lag
            if (
                round_.drafted
            ):  # the last round may have room for the target's token alone, and no use for the draft's cache
                assert context.length == held(context) == length - 1 - (lag and not pair.drafts_for_itself)
            assert storage(context).isdisjoint(storage(target)) != pair.drafts_for_itself
    assert all_kept or config != EXACT, "this pair must keep whole drafts too"
    assert all(context.closed and context.length == 0 for context in opened)


def held(context) -> int:
    """Positions in the tensors themselves, the same in every layer; a packed context's buffer is longer than what it holds."""
    if isinstance(context, PackedContext):
        assert context.cache.entries.shape[1] >= context.length
        return context.length
    (lengths,) = {layer.keys.shape[-2] for layer in context._cache.layers}
    return lengths


def storage(context) -> set[int]:
    """Where the keys of a context lie in memory."""
    if isinstance(context, PackedContext):
        return {context.cache.entries.untyped_storage().data_ptr()}
    keys = [layer.keys for layer in context._cache.layers]
    return {tensor.untyped_storage().data_ptr() for tensor in keys}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "config", [EXACT, FLY, dataclasses.replace(FLY, draft_length=25)], ids=["exact", "fly", "long"]
)
@torch.inference_mode()
def test_one_forward_reproduces_what_was_recorded(shape, config, make_pair):
    """Kept rows from one forward over prompt + output, cut rows from one over their own prefix + draft."""
    pair = make_pair(shape)
    rounds = run(pair, config)
    whole = logprobs_of(pair, PROMPT + ids_of(rounds))
    for round_ in rounds:
        before = round_.length_before
        own = logprobs_of(pair, (PROMPT + ids_of(rounds))[:before] + list(round_.drafted))
        for position, row in enumerate(round_.rows):
            truth = own[before - 1 + position]
            compare(row, truth, [*round_.drafted, None][position], round_.replacement[position])
            if position < len(round_.emitted):
                compare(
                    row, whole[before - 1 + position], [*round_.drafted, None][position], round_.replacement[position]
                )


def logprobs_of(pair, ids) -> torch.Tensor:
    return pair.oracle(input_ids=torch.tensor([ids])).logits[0, :, : pair.vocab_size].double().log_softmax(-1)


def compare(row, truth, drafted, replacement):
    values, ids = truth.topk(8)
    assert row.argmax == ids[0]
    assert row.argmax_logprob == pytest.approx(values[0].item(), abs=1e-3)
    assert row.replacement_logprob == pytest.approx(truth[replacement].item(), abs=1e-3)
    if drafted is None:
        assert row.drafted_logprob is None
    else:
        assert row.drafted_logprob == pytest.approx(truth[drafted].item(), abs=1e-3)
    assert list(row.top_logprobs) == pytest.approx(values.tolist(), abs=1e-3)
    assert [truth[i].item() for i in row.top_ids] == pytest.approx(values.tolist(), abs=1e-3)
    p = truth.exp()
    assert row.entropy_normalized == pytest.approx((-(p * truth).sum() / math.log(len(p))).item(), abs=1e-3)
    assert row.entropy_top3 == pytest.approx((-(p * truth)[ids[:3]].sum()).item(), abs=1e-3)


@torch.inference_mode()
def test_draft_probabilities_are_the_drafts_own(make_pair):
    pair = make_pair("qwen2")
    rounds, sequence = run(pair, EXACT), list(PROMPT)
    for round_ in rounds:
        ids = sequence + list(round_.drafted)
        probs = pair.oracle_draft(input_ids=torch.tensor([ids])).logits[0, :, : pair.vocab_size].double().softmax(-1)
        for place, (token, prob) in enumerate(zip(round_.drafted, round_.draft_probs)):
            row = probs[len(sequence) - 1 + place]
            assert token == row.argmax()
            assert prob == pytest.approx(row.max().item(), abs=1e-4)
        sequence += round_.emitted


def test_padded_rows_are_never_chosen_or_counted(make_pair):
    """Qwen2.5 pads its table: rows beyond the tokenizer must not win an argmax, a draft, a top-8 place or any mass."""
    pair = make_pair("qwen2")
    assert pair.oracle.config.vocab_size > pair.vocab_size
    with torch.inference_mode():
        logits = pair.oracle(input_ids=torch.tensor([PROMPT])).logits[0]
    assert (logits.argmax(-1) >= pair.vocab_size).any(), "the padding must be tempting, or this tests nothing"
    for round_ in run(pair, dataclasses.replace(FLY, temperature=1.5, rule="exact")) + run(pair, FLY):
        mentioned = {
            *round_.drafted,
            *round_.replacement,
            *(i for row in round_.rows for i in (*row.top_ids, row.argmax)),
        }
        assert max(mentioned) < pair.vocab_size


# Runs beside and after each other ------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
def test_two_runs_in_a_row_are_equal(temperature, shape, make_pair):
    """Speculation that worked for the first request only (llama.cpp#19231)."""
    config = dataclasses.replace(FLY, temperature=temperature)
    assert stripped(run(make_pair(shape), config)) == stripped(run(make_pair(shape), config))


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("shape", ["mistral", "packed-qwen2"])
def test_interleaved_runs_do_not_disturb_each_other(temperature, shape, make_pair):
    pair, other = make_pair(shape), [70, 71, 72]
    configs = (
        dataclasses.replace(FLY, temperature=temperature),
        dataclasses.replace(EXACT, temperature=temperature, seed=5),
    )
    alone = [run(pair, configs[0]), run(pair, configs[1], other)]
    running = [decode(pair, list(PROMPT), configs[0]), decode(pair, other, configs[1])]
    together, going = ([], []), {0, 1}
    while going:
        for which in sorted(going):
            round_ = next(running[which], None)
            if round_ is None:
                going.discard(which)
            else:
                together[which].append(round_)
    assert [stripped(rounds) for rounds in together] == [stripped(rounds) for rounds in alone]


@pytest.mark.parametrize("shape", ["llama", "packed-llama"])
@pytest.mark.parametrize("rule", ["exact", "autoregressive"])
def test_closing_midway_frees_the_caches(rule, shape, make_pair, opened):
    """A visitor who leaves mid-run."""
    running = decode(make_pair(shape), list(PROMPT), dataclasses.replace(EXACT, rule=rule))
    next(running)
    assert not any(context.closed for context in opened)
    running.close()
    assert opened
    for context in opened:
        assert context.closed
        assert context.length == 0
        if isinstance(context, PackedContext):
            assert not context.cache.entries.numel()
        else:
            assert not context._cache.layers
    assert next(running, None) is None


def test_a_failure_midway_frees_the_caches(make_pair, opened, monkeypatch):
    """Out of memory in one run must not keep the memory of that run."""
    from explorer.engine.models.model import Context

    running = decode(make_pair("llama"), list(PROMPT), EXACT)
    next(running)

    def no_room(*_, **__):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(Context, "feed", no_room)
    with pytest.raises(torch.OutOfMemoryError):
        next(running)
    assert all(context.closed for context in opened)


def test_grad_mode_of_the_caller_is_untouched_between_rounds(make_pair):
    """inference_mode that leaks out of a generator breaks training in the same process."""
    for _ in decode(make_pair("llama"), list(PROMPT), EXACT):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_the_prompt_given_is_not_changed(make_pair):
    prompt = list(PROMPT)
    list(decode(make_pair("llama"), prompt, EXACT))
    assert prompt == PROMPT


# Budget and prompt ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draft_length", [1, 2, 3, 5, 8, 25])
@pytest.mark.parametrize("noise", [0.0, None])
def test_the_budget_never_overshoots(draft_length, noise, make_pair, greedy):
    """The released loop overshoots by up to K; a budget of one leaves no room to draft."""
    for budget in (1, 2, 3, 7, 8, 9, 20):
        rounds = run(
            make_pair("llama", noise), dataclasses.replace(EXACT, draft_length=draft_length, max_new_tokens=budget)
        )
        assert ids_of(rounds) == greedy("llama", noise)[:budget]
        assert all(round_.emitted == round_.committed for round_ in rounds)
    fly = dataclasses.replace(FLY, draft_length=draft_length, max_new_tokens=9, theta=0.0, window=0)
    assert len(ids_of(run(make_pair("llama", noise), fly))) == 9


def test_a_prompt_of_one_token_runs(make_pair, plain_greedy_ids):
    """Nothing is left to prefill."""
    pair = make_pair("qwen2")
    assert ids_of(run(pair, EXACT, [70])) == plain_greedy_ids(pair, [70], COUNT)


def test_prompts_that_cannot_run_are_refused(make_pair, opened):
    pair = make_pair("llama")
    limit = pair.oracle.config.max_position_embeddings
    config = dataclasses.replace(EXACT, max_new_tokens=56)
    for prompt, words in (
        ([], "the prompt is empty"),
        (
            [1] * (limit - 55),
            f"the prompt has {limit - 55} tokens and the budget is 56, together more than the target's context of {limit}",
        ),
        ([1, pair.vocab_size], f"0 to {pair.vocab_size - 1}"),
        ([-1], "must lie in the vocabulary"),
    ):
        with pytest.raises(PromptError) as error:
            next(decode(pair, prompt, config))
        assert words in str(error.value)
    assert not opened, "nothing runs"
    assert len(ids_of(run(pair, config, [1] * (limit - 56)))) == 56, "the last place of the context is usable"


# Records -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_every_run_is_a_valid_trace_that_reads_back_equal(shape, temperature, make_pair, record, tmp_path):
    pair = make_pair(shape)
    for rule, entropy in (("autoregressive", "normalized"), ("exact", "top3"), ("fly", "normalized"), ("fly", "top3")):
        config = dataclasses.replace(FLY, rule=rule, entropy=entropy, temperature=temperature)
        trace = record(pair, PROMPT, config)
        trace.save(tmp_path / "t.json")
        assert Trace.load(tmp_path / "t.json") == trace
        assert trace.stop.reason in ("budget", "stop_id")
        assert trace.text == pair.tokenizer.decode(
            [i for i in trace.output_ids if i not in pair.stop_ids], skip_special_tokens=False
        )


def test_a_run_stopped_by_the_user_is_a_partial_trace(make_pair, record, opened, tmp_path):
    trace = record(make_pair("llama"), PROMPT, EXACT, rounds=2)
    assert (trace.partial, trace.stop.reason, len(trace.rounds)) == (True, "user", 2)
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace
    assert all(context.closed for context in opened)


def test_the_baseline_is_the_targets_own_text(make_pair, record, greedy, tmp_path):
    """Baseline = plain greedy of the same engine, also for a sampled run, counted by ids."""
    pair = make_pair("mistral")
    config = dataclasses.replace(FLY, temperature=0.9, seed=3)
    reference = Baseline.of(decode(pair, PROMPT, plain(config)))
    assert list(reference.ids) == greedy("mistral")
    with torch.inference_mode():
        truth = logprobs_of(pair, PROMPT + list(reference.ids))
    expected = [truth[len(PROMPT) - 1 + place, token].item() for place, token in enumerate(reference.ids)]
    assert list(reference.logprobs) == pytest.approx(expected, abs=1e-3)
    trace = record(pair, PROMPT, config, reference)
    trace.save(tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json") == trace


def test_seconds_add_up(make_pair):
    """Time inside forwards is a part of the whole; the prefill belongs to the first round only."""
    rounds = run(make_pair("llama"), EXACT)
    assert rounds[0].seconds.prefill > 0
    assert all(round_.seconds.prefill == 0 for round_ in rounds[1:])
    for round_ in rounds:
        assert 0 < round_.seconds.forwards <= round_.seconds.total
