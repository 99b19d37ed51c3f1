"""Models that read a text anew once it is longer than the one they were first trained on.

LongRoPE has two tables of rotary frequencies, one for texts of at most `original_max_position_embeddings` tokens and one for longer
ones. Keys of one table mean nothing to queries of the other, so the families named here read the whole text again where it grows
over that length (arXiv 2402.13753; `prepare_inputs_for_generation` of transformers' Phi-3). What is taken back from a longer text is
read again as well.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

from explorer.engine.models.model import Context, LanguageModel, longest_text, table_switch

FAMILIES = ("phi3", "phi4_multimodal", "phimoe")


def rereads(model: PreTrainedModel) -> bool:
    """Whether transformers' generation reads a text of this model anew where its rotary tables change."""
    return model.config.model_type in FAMILIES and table_switch(model.config) is not None


class RereadingModel(LanguageModel):
    """A LanguageModel of which `rereads` holds: both tables are used, each for texts of its length."""

    def __init__(self, model: PreTrainedModel, vocab_size: int):
        """Arguments and errors as LanguageModel."""
        super().__init__(model, vocab_size)
        self.switch = table_switch(model.config)
        self.context_limit = longest_text(model.config)

    def _context(self, states: bool, taps: tuple[int, ...]) -> RereadingContext:
        return RereadingContext(self, states, taps)


class RereadingContext(Context):
    """A Context whose every row is that of one forward over the text so far, whichever table that takes."""

    def __init__(self, model: RereadingModel, states: bool = False, taps: tuple[int, ...] = ()):
        super().__init__(model, states, taps)
        self._ids = torch.empty(0, dtype=torch.long, device=model.device)  # of the text, held or to be read again
        self._held_long = False  # whether the cache was made with the table of long texts

    def prefill(self, ids: Tensor) -> None:
        """Feed ids [n] whose predictions nobody needs: the head is not computed."""
        if len(ids):
            super().prefill(self._with_stale(ids))

    def feed(self, ids: Tensor, rows: int) -> Tensor:
        """Feed ids [n] and return float32 logits [rows, V] of the last `rows` of them."""
        first = self.language_model.switch - len(self._ids)  # the first of ids that makes the text a long one
        if not 0 < first < len(ids) or first <= len(ids) - rows:
            return self._feed_one_table(ids, rows)
        short = self._feed_one_table(ids[:first], rows - (len(ids) - first))
        states, tapped = self.states, self.tapped
        long = self._feed_one_table(ids[first:], len(ids) - first)
        if states is not None:
            self.states = torch.cat([states, self.states])
        if tapped is not None:
            self.tapped = torch.cat([tapped, self.tapped])
        return torch.cat([short, long])

    def crop(self, length: int) -> None:
        """Take tokens back so that at most `length` are held."""
        super().crop(length)
        self._ids = self._ids[:length]

    def close(self) -> None:
        """Free the cache."""
        super().close()
        self._ids = self._ids[:0]

    def _feed_one_table(self, ids: Tensor, rows: int) -> Tensor:
        logits = super().feed(self._with_stale(ids), rows)
        if self.tapped is not None:
            self.tapped = self.tapped[-len(ids) :]
        return logits

    def _with_stale(self, ids: Tensor) -> Tensor:
        """What has to be fed for ids to be read: they alone, or the whole text where the cache is of the other table."""
        before, self._ids = len(self._ids), torch.cat([self._ids, ids])
        is_long = len(self._ids) > self.language_model.switch
        if before and is_long != self._held_long:
            super().close()
            before = 0
        self._held_long = is_long
        return self._ids[before:]
