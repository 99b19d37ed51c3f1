"""Texts of a tiny pair, collected as the command does it, and hand-made ones."""

import pytest
import torch

PROMPTS = [[39, 68, 75, 75, 78, 258, 82], [66, 66, 77, 260, 84, 11, 12], [70, 71, 72], [5, 90, 14, 33, 8]]
LENGTH = 28


@pytest.fixture(scope="session")
def greedy_texts(make_pair, plain_greedy_ids):
    """Whole id sequences (prompt and the target's own greedy answer) with the prompts' lengths."""

    def build(shape):
        pair = make_pair(shape)
        return [(torch.tensor(p + plain_greedy_ids(pair, p, LENGTH, frozenset({1}))), len(p)) for p in PROMPTS]

    return build


@pytest.fixture(scope="session")
def collected(make_pair, greedy_texts):
    """The same texts with everything that collecting for the loose rule records."""
    from explorer.engine.models.model import LanguageModel
    from explorer.training.pacer.branches import draft_text, entropies, judge_branches

    def build(shape):
        pair, texts = make_pair(shape), []
        for ids, prompt_length in greedy_texts(shape):
            text = draft_text(pair.draft, ids, prompt_length, frozenset({1}))
            with torch.inference_mode():
                logits = pair.oracle(input_ids=ids[None]).logits[0, prompt_length - 1 : -1, : pair.vocab_size]
            text.entropies = entropies(logits)
            judge_branches(LanguageModel(pair.oracle, pair.vocab_size), text, lowest_theta=0.0)
            texts.append(text)
        return texts

    return build


@pytest.fixture(scope="session")
def hand_text():
    """A text of R rows whose draft agrees where `match` says, with random states of width d."""
    from explorer.training.pacer.data import BRANCH, DraftedText

    def build(match, d=16, seed=0):
        generator = torch.Generator().manual_seed(seed)
        match = torch.tensor(match, dtype=torch.bool)
        rows, branches = len(match), int((~match).sum())
        answer = torch.arange(rows) % 50 + 10
        random = lambda *size: torch.rand(*size, generator=generator)  # noqa: E731
        return DraftedText(
            torch.cat([torch.tensor([3, 4, 5]), answer]), 3, torch.where(match, answer, 7).int(), random(rows),
            random(rows, d).half(), random(rows, 2), torch.full((branches, BRANCH), 8).int(), random(branches, BRANCH),
            random(branches, BRANCH, d).half(), torch.full((branches, BRANCH), -1).int(), random(branches, BRANCH, 2),
        )  # fmt: skip

    return build
