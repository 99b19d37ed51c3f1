"""AUC and Brier on numbers worked by hand."""

import pytest
import torch

from explorer.training.common.metrics import auc, auc_within, brier


def test_auc_counts_pairs_and_halves_ties():
    assert auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])) == 0.75
    assert auc(torch.tensor([0.5, 0.5, 0.5]), torch.tensor([0, 1, 1])) == 0.5
    assert auc(torch.tensor([0.2, 0.9]), torch.tensor([1, 1])) is None


def test_a_table_of_offsets_knows_nothing_within_an_offset():
    """Alive labels fall with the offset, so the offset alone has a good AUC: a layer must beat it within each."""
    generator = torch.Generator().manual_seed(0)
    alive = (torch.rand(500, 12, generator=generator) < 0.8).cumprod(1)
    offsets = torch.arange(12).expand(alive.shape)
    table = 0.8 ** (offsets + 1.0)
    assert auc(table.flatten(), alive.flatten()) > 0.75
    assert auc_within(table.flatten(), alive.flatten(), offsets.flatten()) == 0.5
    seeing = table + 0.3 * alive
    assert auc_within(seeing.flatten(), alive.flatten(), offsets.flatten()) == 1.0


def test_within_weighs_groups_by_their_pairs():
    scores = torch.tensor([0.9, 0.1, 0.1, 0.9, 0.5])
    labels = torch.tensor([1, 0, 1, 0, 0])
    groups = torch.tensor([0, 0, 1, 1, 1])
    assert auc_within(scores, labels, groups) == pytest.approx((1.0 * 1 + 0.0 * 2) / 3)


def test_brier():
    scores, labels = torch.tensor([0.05, 0.55, 0.58, 1.0]), torch.tensor([0, 1, 0, 1])
    assert brier(scores, labels) == pytest.approx((0.05**2 + 0.45**2 + 0.58**2 + 0) / 4)
