"""Length policies: when drafting stops. They see the draft's side only, never the target's view of the round they steer."""

from __future__ import annotations

from typing import Protocol

from explorer.config import DecodeConfig
from explorer.engine.draft import Draft


class LengthPolicy(Protocol):
    """Decides, block by block, how many more tokens to draft."""

    def next_block(self, draft: Draft) -> int:
        """How many tokens to draft next; 0 ends the draft."""


class FixedLength:
    """Always K tokens, in one block."""

    def __init__(self, length: int):
        self.length = length

    def next_block(self, draft: Draft) -> int:
        return self.length - len(draft)


def make_length_policy(config: DecodeConfig) -> LengthPolicy:
    """The policy that `config.length` names."""
    return FixedLength(config.draft_length)
