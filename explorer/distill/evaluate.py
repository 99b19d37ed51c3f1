"""How often the draft agrees with the target, and what that makes of speculative rounds."""

from dataclasses import dataclass

import torch

from explorer.distill.data import Sequence, collate


@torch.inference_mode()
def matches(draft, sequences: list[Sequence]) -> list[list[bool]]:
    """For every answer token of every sequence: whether the draft's likeliest next token was the target's."""
    masks = []
    for sequence in sequences:
        batch = collate([sequence])
        states = draft.model(input_ids=batch.ids, use_cache=False).last_hidden_state[0, batch.rows]
        masks.append((draft.lm_head(states).argmax(-1) == batch.top_ids[:, 0]).tolist())
    return masks


def agreement(masks: list[list[bool]]) -> float:
    return sum(map(sum, masks)) / sum(map(len, masks))


@dataclass(frozen=True)
class Rounds:
    """Speculative rounds of `length` drafted tokens: how many reached and kept each draft position."""

    reached: list[int]
    kept: list[int]
    rounds: int

    @property
    def acceptance(self) -> list[float]:
        """Share kept of those that reached a position."""
        return [kept / max(1, reached) for kept, reached in zip(self.kept, self.reached, strict=True)]

    @property
    def mean_kept(self) -> float:
        return sum(self.kept) / max(1, self.rounds)


def simulate(masks: list[list[bool]], length: int) -> Rounds:
    """The rounds greedy exact decoding makes of greedy answers.

    Until its first mismatch a draft reads exactly the target's text, so its on-policy choices are the teacher-forced ones
    and the rounds follow from the match mask alone. The first answer token comes from the target's pass over the prompt.
    """
    reached, kept, rounds = [0] * length, [0] * length, 0
    for mask in masks:
        at = 1
        while at < len(mask):
            rounds += 1
            for position in range(min(length, len(mask) - at)):
                reached[position] += 1
                if not mask[at + position]:
                    break
                kept[position] += 1
            else:
                position = min(length, len(mask) - at)
            at += position + 1
    return Rounds(reached, kept, rounds)
