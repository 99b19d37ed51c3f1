"""A pair at work on one sequence: the steps of a round that need its models, and where their time goes."""

from __future__ import annotations

from explorer.config import DecodeConfig
from explorer.engine.drafters.lengths import LengthPolicy
from explorer.engine.drafters.phrases import PhrasePool
from explorer.engine.drafters.proposal import Proposal, Proposer
from explorer.engine.make_drafter import make_drafter
from explorer.engine.pair import Pair
from explorer.engine.sampling import Sampler
from explorer.engine.timing import RoundClock
from explorer.engine.verification.verifier import VerifiedDraft, Verifier
from explorer.trace import Seconds
from explorer.verdicts import Judgement


class OpenPair:
    """Both models of a pair, open on one sequence: draft after it, let the target verify that, roll back."""

    def __init__(self, pair: Pair, config: DecodeConfig, pool: PhrasePool | None = None):
        """pool: phrases to begin with. Raises ConfigError where the pair lacks what `config` needs."""
        config.check_with(pair.offers)
        alone = not config.drafts
        self._pool = None
        if (config.phrases or config.drafter == "model+phrases") and not alone:
            self._pool = PhrasePool(config.phrase_length, pair.stop_ids) if pool is None else pool
        sampler, head = Sampler(config.temperature, config.seed, pair.target.device), pair.judge_head_for(config.rule)
        target = pair.open_target(not alone and config.drafter == "features", states=head is not None)
        drafter = None if alone else make_drafter(pair, target, config, sampler, self._pool)
        self.target, self.drafter = target, drafter
        self._proposer = Proposer(drafter, config, self._pool, pair.stop_ids)
        self._verifier = Verifier(target, sampler, config, head, pair.stop_ids)
        self._clock = RoundClock(pair.target.device)
        self._forward_seconds = 0.0  # of all rounds that are over

    def prefill(self, ids: list[int]) -> None:
        """Read the prompt without its last token, which seeds the first round."""
        self._clock.resume()
        self._verifier.prefill(ids)
        self._show_states()
        if self.drafter:
            self.drafter.prefill(ids)
        self._clock.count("prefill")

    def draft(self, sequence: list[int], room: int, policy: LengthPolicy) -> Proposal:
        """Up to min(K, room) tokens after `sequence`, whose last token neither side has read."""
        self._clock.resume()
        scored = policy.seconds
        proposal = self._proposer.propose(sequence, room, policy)
        self._clock.count("draft", preverify=policy.seconds - scored)
        return proposal

    def verify(self, sequence: list[int], proposal: Proposal) -> VerifiedDraft:
        """One target pass over the last token of `sequence` and what was proposed after it."""
        verified = self._verifier.verify(sequence, proposal)
        self._show_states()
        self._proposer.advance(verified.readings.match, verified.readings.replacement)
        self._clock.count("verify")
        return verified

    def collect_phrases(self, verified: VerifiedDraft, judgement: Judgement, output: list[int], new: int) -> None:
        """Fill the phrase pool from a round; output: the text so far, whose last `new` tokens the round emitted."""
        if self._pool is None:
            return
        proposal = verified.proposal
        if judgement.cut is not None:
            self._pool.salvage(proposal.draft.ids, verified.readings.match, judgement.cut)
        self._pool.correct(proposal.key, verified.branches)
        self._pool.read(output, new)

    def roll_back(self, length: int) -> None:
        """Keep the first `length` tokens of the sequence in both caches."""
        self._verifier.roll_back(length)
        self._proposer.roll_back(length)

    def end_round(self) -> Seconds:
        """Where the time of the round went that is over now."""
        forwards = self.target.forward_seconds + (self.drafter.forward_seconds if self.drafter else 0.0)
        seconds = self._clock.end_round(forwards - self._forward_seconds)
        self._forward_seconds = forwards
        return seconds

    def close(self) -> None:
        """Free both caches."""
        self.target.close()
        if self.drafter:
            self.drafter.close()

    def _show_states(self) -> None:
        """Show the drafter the target's states of its last pass, where it asked for them."""
        if self.target.tapped is not None:
            self.drafter.observe(self.target)
