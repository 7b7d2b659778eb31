"""Folds of simple models, and places between borders."""

import pytest
import torch

from histreg.tabular.simple_models import (
    AT_ONCE,
    N_FOLDS,
    aligned,
    folds_of,
    in_blocks,
    n_below,
)


@pytest.mark.parametrize("n", [1, 3, N_FOLDS, 23])
def test_folds_have_equal_numbers_of_rows_up_to_one(n):
    folds = folds_of(n, torch.Generator().manual_seed(0))
    counts = folds.bincount()
    assert len(counts) == min(n, N_FOLDS) and counts.sum() == n
    assert counts.max() - counts.min() <= 1
    assert torch.equal(folds, folds_of(n, torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("by_search", [True, False])
def test_borders_below_a_value_are_counted(by_search):
    borders = torch.tensor([0.0, 1.0, 1.0, 3.0])
    values = torch.tensor([[-1.0, 0.0, 1.0], [2.0, 3.0, 4.0]])
    count = n_below(borders, values, by_search=by_search)
    assert count.tolist() == [[0, 0, 1], [3, 3, 4]]
    count = n_below(borders, values, or_equal=True, by_search=by_search)
    assert count.tolist() == [[0, 1, 3], [3, 4, 4]]
    own = torch.stack([borders, borders + 2])  # of each row its own
    count = n_below(own, values, by_search=by_search)
    assert count.tolist() == [[0, 0, 1], [0, 1, 3]]


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
