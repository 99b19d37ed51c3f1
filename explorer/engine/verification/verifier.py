"""The target's side of a run: verify a proposal, read off what the record needs, and judge it by any rule."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from explorer.config import DecodeConfig
from explorer.conflicts import DIVERGENCE_RULES
from explorer.engine.drafters.proposal import Proposal
from explorer.engine.models.model import Context
from explorer.engine.models.packed import PackedContext
from explorer.engine.sampling import Sampler
from explorer.engine.verification.judge_head import JudgeHead
from explorer.engine.verification.measure import Readings, measure
from explorer.engine.verification.verify import verify
from explorer.trace import Branch, Round, Seconds, Tree, judge_rows
from explorer.verdicts import Judgement


class Verifier:
    """One run's target, open on its sequence."""

    def __init__(
        self,
        target: Context | PackedContext,
        sampler: Sampler,
        config: DecodeConfig,
        judge_head: JudgeHead | None,
        stop_ids: frozenset[int],
    ):
        """judge_head: of the target, where the rule asks one; every pass then keeps its final states."""
        self.target, self._sampler, self._config = target, sampler, config
        self._judge_head, self._stop_ids = judge_head, stop_ids

    def prefill(self, ids: list[int]) -> None:
        """Read the prompt without its last token."""
        self.target.prefill(self._tensor(ids))

    def verify(self, sequence: list[int], proposal: Proposal) -> VerifiedDraft:
        """One target pass over the last token of `sequence`, which the target has not read, and the K drafted ones."""
        target, draft = self.target, proposal.draft
        target.crop(len(sequence) - 1)  # where the draft worked in the target's own cache
        trunk = self._tensor([sequence[-1], *draft.ids])
        passed = verify(target, trunk, proposal, self._stop_ids)
        drafted = trunk[1:] if len(trunk) == len(draft) + 1 else self._tensor(draft.ids)
        q = torch.stack(draft.distributions[: len(draft)]).to(drafted.device) if draft.distributions else None
        outcome = self._sampler.verify(passed.logits, passed.argmax, drafted, q)
        # The row after a drafted token is the target's state after reading it.
        harmless = self._judge_head.scores(target.states[1:]) if self._judge_head else None
        reads_q = self._config.rule in DIVERGENCE_RULES
        readings = measure(passed.logits, passed.argmax, drafted, *outcome, q if reads_q else None, harmless)
        pairs = zip(draft.ids, readings.replacement)
        protected = tuple(bool({token, own} & self._stop_ids) for token, own in pairs)
        return VerifiedDraft(
            length_before=len(sequence),
            requested=self._config.draft_length if self._config.drafts else 0,
            proposal=proposal,
            branches=passed.branches,
            tree=passed.tree,
            readings=readings,
            protected=protected,
            vocab_size=target.language_model.vocab_size,
        )

    def roll_back(self, length: int) -> None:
        """Keep the first `length` tokens of the sequence."""
        self.target.crop(length)

    def _tensor(self, ids: list[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.long, device=self.target.language_model.device)


@dataclass(frozen=True, slots=True)
class VerifiedDraft:
    """A draft and the target's pass over it, before any rule has judged: everything of a round that no rule changes."""

    length_before: int  # committed tokens before the round, prompt included
    requested: int  # the draft length asked for
    proposal: Proposal  # its draft has K tokens, those of a phrase last
    branches: tuple[Branch, ...]  # the phrases that were tried
    tree: Tree | None  # the draft is the path through it
    readings: Readings
    protected: tuple[bool, ...]  # [K] a stop id is involved: never loosened
    vocab_size: int

    def judge(self, config: DecodeConfig) -> Judgement:
        """The verdicts of the rule that `config` names."""
        rows, match, _ = self.readings
        return judge_rows(match, rows[:-1], self.protected, config, self.vocab_size)

    def committed(self, judgement: Judgement) -> tuple[int, ...]:
        """The accepted drafted tokens and the target's own: a correction, or the bonus token."""
        accepted = judgement.accepted
        return (*self.proposal.draft.ids[:accepted], self.readings.replacement[accepted])

    def round(self, judgement: Judgement, emitted: tuple[int, ...], seconds: Seconds) -> Round:
        """The record; emitted: of the committed tokens those up to a stop."""
        draft, (rows, match, replacement) = self.proposal.draft, self.readings
        return Round(
            length_before=self.length_before,
            requested=self.requested,
            drafted=tuple(draft.ids),
            draft_probs=tuple(draft.probs),
            sources=tuple(draft.sources),
            rows=rows,
            match=match,
            replacement=replacement,
            protected=self.protected,
            verdicts=judgement.verdicts,
            committed=self.committed(judgement),
            emitted=emitted,
            blocks=self.proposal.blocks,
            branches=self.branches,
            ahead=tuple(self.proposal.ahead.ids),
            tree=self.tree,
            seconds=seconds,
            vocab_size=self.vocab_size,
        )
