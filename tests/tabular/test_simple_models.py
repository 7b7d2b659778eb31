"""Folds of simple models, and places between borders."""

import pytest
import torch

from histreg.tabular.simple_models import (
    AT_ONCE,
    N_FOLDS,
    aligned,
    folds_of,
    in_blocks,
)


@pytest.mark.parametrize("n", [1, 3, N_FOLDS, 23])
def test_folds_have_equal_numbers_of_rows_up_to_one(n):
    folds = folds_of(n, torch.Generator().manual_seed(0))
    counts = folds.bincount()
    assert len(counts) == min(n, N_FOLDS) and counts.sum() == n
    assert counts.max() - counts.min() <= 1
    assert torch.equal(folds, folds_of(n, torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("p", [9, 90])
def test_products_in_blocks_round_the_same_in_any_company(p):
    generator = torch.Generator().manual_seed(0)
    n = AT_ONCE + 77
    rows = torch.randn(n, p, dtype=torch.float64, generator=generator)
    matrix = torch.randn(400, p, dtype=torch.float64, generator=generator)

    def product(some):
        return in_blocks(lambda own: aligned(own) @ aligned(matrix).T, some)

    together = product(rows)
    torch.testing.assert_close(together, rows @ matrix.T)
    for some in (torch.arange(0), torch.arange(1), torch.arange(n - 1, 40, -3)):
        assert torch.equal(product(rows[some]), together[some])
