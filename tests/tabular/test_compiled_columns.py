"""Columns of numbers to ranks and scores in loops."""

import numpy as np
import pytest
import torch

from histreg.tabular import columns, tree_model
from histreg.tabular.columns import NumberScaling
from histreg.tabular.compiled_columns import (
    level_loop,
    score_loop,
    write_levels,
    write_scores,
)
from histreg.tabular.simple_models import SimpleInputs
from histreg.tabular.tree_model import TreeModel, _borders


def numbers(n=300):
    """Return columns: plain, with few values, constant, with gaps, all gaps."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n, 5))
    table[:, 1] = rng.integers(0, 3, n)
    table[:, 2] = 4.0
    table[::7, 3] = np.nan
    table[:, 4] = np.nan
    return table


def test_scores_have_the_same_bits_as_without_the_loop(monkeypatch):
    table = numbers()
    scaling = NumberScaling.of(table)
    beyond = np.concatenate([table, table * 3, scaling.knots.T.numpy()[:, [0] * 5]])
    beyond[-1] = np.inf
    found = {}
    for is_loaded in (True, False):
        monkeypatch.setattr(columns, "is_loaded", lambda value=is_loaded: value)
        found[is_loaded] = scaling(torch.from_numpy(beyond))
    assert torch.equal(found[True], found[False])
    assert found[True].std() > 0.3


def test_levels_have_the_same_bits_as_without_the_loop(monkeypatch):
    table = torch.from_numpy(numbers())
    model = TreeModel(5, (), 1, 0, 4)
    model.borders[:] = _borders(table)
    on_borders = model.borders.T[:60].nan_to_num(posinf=1e300)
    rows = torch.cat([table, table * 3, on_borders])
    inputs = SimpleInputs(rows, rows.float(), torch.zeros(len(rows), 0).long())
    found = {}
    for is_loaded in (True, False):
        monkeypatch.setattr(tree_model, "is_loaded", lambda value=is_loaded: value)
        found[is_loaded] = model.codes(inputs)
    assert torch.equal(found[True], found[False])
    assert found[True].max() > 200


@pytest.mark.parametrize("n_knots", [2, 3, 4, 9])
def test_what_is_compiled_are_the_loops_as_they_are_written(n_knots):
    table = numbers(20)
    rng = np.random.default_rng(1)
    knots, scores = np.sort(rng.normal(size=(2, 3, n_knots)))
    kept, flagged = np.array([0, 1, 3]), np.array([3])
    written = np.zeros((2, 20, 4), dtype=np.float32)
    for loop, out in zip((write_scores, score_loop()), written, strict=True):
        loop(table, kept, flagged, knots, scores, out)
    np.testing.assert_array_equal(*written)
    levels = np.zeros((2, 5, 20), dtype=np.uint8)
    borders = np.sort(rng.normal(size=(5, n_knots)))
    for loop, out in zip((write_levels, level_loop()), levels, strict=True):
        loop(table, borders, out)
    np.testing.assert_array_equal(*levels)
    expected = 1 + (table.T[:, :, None] > borders[:, None, :]).sum(axis=-1)
    expected[np.isnan(table.T)] = 0
    np.testing.assert_array_equal(levels[0], expected)
