"""How often the draft agrees with the target, and what that makes of speculative rounds."""

from dataclasses import dataclass

import torch

from explorer.training.distill.data import StoredAnswer, collate


@dataclass(frozen=True)
class Figures:
    """Agreement over all answer tokens, and rounds of `len(reached)` drafted tokens over the greedy answers."""

    tokens: int
    agreement: float
    rounds: int
    reached: list[int]  # rounds that came to judge each draft position
    kept: list[int]

    @property
    def acceptance(self) -> list[float]:
        """Share kept of those that reached a position."""
        return [kept / max(1, reached) for kept, reached in zip(self.kept, self.reached, strict=True)]

    @property
    def markdown(self) -> str:
        """As a section of a model card."""
        positions = "\n".join(
            f"| {i} | {share:.3f} | {n} |"
            for i, (share, n) in enumerate(zip(self.acceptance, self.reached, strict=True), 1)
        )
        return f"""## Figures
On {self.tokens:,} held-out answer tokens: next-token agreement {self.agreement:.3f}. Speculative rounds of {len(self.kept)} drafted tokens over the
greedy ones of these answers: {self.mean_kept:.2f} kept on average ({self.rounds:,} rounds). These
prompts come from the same templates as the training prompts: expect less on others.

| draft position | kept, of those that reached it | reached |
|---|---|---|
{positions}"""

    @property
    def mean_kept(self) -> float:
        return sum(self.kept) / max(1, self.rounds)

    def describe(self) -> str:
        return (
            f"next-token agreement {self.agreement:.3f} over {self.tokens} tokens; mean kept {self.mean_kept:.2f} of {len(self.kept)} "
            f"in {self.rounds} rounds; acceptance by position {' '.join(f'{share:.2f}' for share in self.acceptance)}"
        )


def evaluate(draft, sequences: list[StoredAnswer], length: int) -> Figures:
    masks = matches(draft, sequences)
    tokens = sum(map(len, masks))
    return Figures(
        tokens,
        agreement(masks),
        *simulate([mask for mask, s in zip(masks, sequences, strict=True) if s.is_greedy], length),
    )


@torch.inference_mode()
def matches(draft, sequences: list[StoredAnswer]) -> list[list[bool]]:
    """For every answer token of every sequence: whether the draft's likeliest next token was the target's."""
    masks = []
    for sequence in sequences:
        batch = collate([sequence])
        states = draft.model(input_ids=batch.ids, use_cache=False).last_hidden_state[0, batch.rows]
        masks.append((draft.lm_head(states).argmax(-1) == batch.top_ids[:, 0]).tolist())
    return masks


def agreement(masks: list[list[bool]]) -> float:
    return sum(map(sum, masks)) / sum(map(len, masks))


def simulate(masks: list[list[bool]], length: int) -> tuple[int, list[int], list[int]]:
    """Rounds, and how many reached and accepted each draft position, of greedy exact decoding of greedy answers.

    Until its first mismatch a draft reads exactly the target's text, so its on-policy choices are the teacher-forced ones
    and the rounds follow from the match masks alone.
    """
    return rounds_of([run_lengths(mask) for mask in masks], length)


def run_lengths(mask: list[bool]) -> list[int]:
    """For every place of a mask: how many in a row are true from there on."""
    runs, run = [], 0
    for match in reversed(mask):
        run = run + 1 if match else 0
        runs.append(run)
    return runs[::-1]


def rounds_of(depths: list[list[int]], length: int) -> tuple[int, list[int], list[int]]:
    """Rounds, and how many reached and kept each draft position, from how many drafts are right after every place.

    The first answer token comes from the target's pass over the prompt.
    """
    rounds, reached, kept = 0, [0] * length, [0] * length
    for depth in depths:
        at = 1
        while at < len(depth):
            room = min(length, len(depth) - at)
            run = min(depth[at], room)
            for position in range(min(run + 1, room)):
                reached[position] += 1
            for position in range(run):
                kept[position] += 1
            rounds += 1
            at += run + 1
    return rounds, reached, kept
