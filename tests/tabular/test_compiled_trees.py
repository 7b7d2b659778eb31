"""The sum of many trees in one loop."""

import numpy as np
import pytest
import torch

from histreg.tabular import compiled_trees, tree_model
from histreg.tabular.compiled_trees import BLOCK, add_leaves, leaf_sums
from histreg.tabular.simple_models import SimpleInputs
from histreg.tabular.tree_model import TreeModel


def trees(depth, n_trees=7, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    n_nodes = 2**depth - 1
    columns = rng.integers(0, n_columns, (n_trees, n_nodes)).astype(np.int32)
    thresholds = rng.integers(0, 256, (n_trees, n_nodes)).astype(np.uint8)
    values = rng.normal(size=(n_trees, n_nodes + 1))
    return columns, thresholds, values


def walked(codes, columns, thresholds, values):
    """Return the sum of one row's leaves, node by node."""
    total = 0.0
    for own_columns, own_thresholds, own_values in zip(
        columns, thresholds, values, strict=True
    ):
        low, high, node = 0, len(own_values), 0  # the leaves below the node
        while high - low > 1:
            is_right = codes[own_columns[node]] > own_thresholds[node]
            low, high = (
                ((low + high) // 2, high) if is_right else (low, (low + high) // 2)
            )
            node = 2 * node + 1 + is_right
        total += own_values[low]
    return total


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("n", [1, BLOCK, BLOCK + 3])
def test_every_row_gets_the_sum_of_its_leaves(depth, n):
    codes = np.random.default_rng(1).integers(0, 256, (4, n)).astype(np.uint8)
    forest = trees(depth)
    expected = [walked(codes[:, i], *forest) for i in range(n)]
    for loop in (add_leaves, leaf_sums()):
        total = np.zeros(n)
        loop(codes, *forest, total)
        np.testing.assert_allclose(total, expected, rtol=1e-13)


def test_a_model_predicts_the_same_without_numba(monkeypatch):
    model = TreeModel(3, (), 1, 7, 4)
    columns, thresholds, values = trees(4, n_columns=3)
    model.columns[:] = torch.from_numpy(columns)
    model.thresholds[:] = torch.from_numpy(thresholds)
    model.values[:] = torch.from_numpy(values)
    model.borders[:] = torch.linspace(-2, 2, 254)
    model.bias.fill_(5.0)
    numbers = torch.randn(
        300, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    inputs = SimpleInputs(
        numbers, numbers.float(), torch.zeros(300, 0, dtype=torch.int64)
    )
    predicted = model(inputs)
    monkeypatch.setattr(tree_model, "leaf_sums", lambda: None)
    np.testing.assert_array_equal(model(inputs), predicted)
    assert predicted.std() > 0.5


def test_without_numba_there_is_no_compiled_loop(monkeypatch):
    monkeypatch.setattr(compiled_trees, "is_installed", lambda: False)
    assert leaf_sums.__wrapped__() is None
