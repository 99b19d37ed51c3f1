"""Drafting one round: what the target's next pass is to verify, made before the target has seen any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from explorer.config import DecodeConfig
from explorer.engine.drafters.draft import Draft, Drafter
from explorer.engine.drafters.lengths import LengthPolicy
from explorer.engine.drafters.pearl import Pipeline
from explorer.engine.drafters.phrases import Phrase, PhrasePool, candidates
from explorer.engine.drafters.trees import Node
from explorer.trace import Block


@dataclass(slots=True)
class Proposal:
    """The draft of one round and what is verified beside it. Of a tree, and of phrases, verification takes one path: only
    then does it become the end of the draft."""

    draft: Draft = field(default_factory=Draft)  # K tokens, a chain
    blocks: tuple[Block, ...] = ()  # the length policy's decisions
    nodes: Sequence[Node] = ()  # of a tree, where one is drafted in place of a chain
    phrases: Sequence[Phrase] = ()  # to try after the draft
    key: int = -1  # the token that they are tried after
    ahead: Draft = field(default_factory=Draft)  # PEARL: tokens after this draft, for the next pass

    @property
    def drafted(self) -> int:
        """Tokens of the drafter's own, which the length policy answers for."""
        return len(self.draft) - self.draft.from_pool


class Proposer:
    """One run's drafter, whatever it drafts: a chain block by block, a tree, or PEARL's tokens from the round before."""

    def __init__(
        self, drafter: Drafter | None, config: DecodeConfig, pool: PhrasePool | None, stop_ids: frozenset[int]
    ):
        """drafter: None drafts nothing (the target alone). pool: of phrases to try after the draft; None tries none."""
        self.drafter, self._config, self._pool, self._stop_ids = drafter, config, pool, stop_ids
        self._pipeline = Pipeline(config.draft_length) if drafter and config.schedule == "pearl" else None

    def propose(self, sequence: list[int], room: int, policy: LengthPolicy) -> Proposal:
        """Up to min(K, room) tokens after `sequence`, all committed ids, and the phrases to try after those."""
        config, most, proposal = self._config, min(self._config.draft_length, room), Proposal()
        if self._pipeline:  # what is verified now was drafted while the last pass ran
            proposal.draft, proposal.ahead = self._pipeline.draft(self.drafter, sequence, room)
        elif config.drafts_trees:
            proposal.nodes = self.drafter.tree(sequence, most, config.tree_width, config.tree) if room > 0 else ()
        else:
            proposal.draft = self._chain(sequence, most, policy)
        draft = proposal.draft
        proposal.blocks = policy.blocks(draft) if len(draft) else ()
        proposal.key = draft.ids[-1] if len(draft) else sequence[-1]
        if self._pool is not None:
            longest = min(config.phrase_length, room - len(draft))
            proposal.phrases = candidates(self._pool, proposal.key, config.phrases, longest, self._stop_ids)
        return proposal

    def _chain(self, sequence: list[int], room: int, policy: LengthPolicy) -> Draft:
        """Up to `room` tokens after `sequence`, block by block, until the policy ends the draft."""
        draft = Draft()
        while self.drafter and not draft.ended and len(draft) < room:
            count = min(policy.next_block(draft), room - len(draft))
            if count <= 0:
                break
            length_so_far = len(draft)
            more = length_so_far + count < room  # otherwise nothing is left to decide
            self.drafter.extend(draft, sequence, count, policy.score if more else None)
            if len(draft) == length_so_far:  # a lookup that found nothing
                break
        return draft

    def advance(self, match: Sequence[bool], replacement: Sequence[int]) -> None:
        """The target's pass is over: match [K] and its own choices [K + 1] say whether what PEARL drafted ahead stands."""
        if self._pipeline:
            self._pipeline.advance(match, replacement)

    def roll_back(self, length: int) -> None:
        """Keep the first `length` tokens of the sequence, and of PEARL's draft what stands after them."""
        if self.drafter and not (self._pipeline and self._pipeline.goes_on):
            self.drafter.roll_back(length)
