"""The forest: extremely randomised trees, whose values are a distribution.

Each tree is grown on a bootstrap sample down to single rows, with random thresholds
(Geurts, Ernst and Wehenkel 2006), and predicts the y of a row that is much like the new
one. Where targets are nearly exact, the values of all trees are a narrower distribution
than any residuals of held-out rows. The trees that have not seen a training row predict
it, so that no folds are needed. It is kept as tensors: saved without pickle, and
exported to ONNX.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from histreg.errors import InputError
from histreg.tabular.simple_models import SimpleInputs, SimpleModel

N_TREES = 64
MOST_LEVELS = 32  # of a tree; one of 50,000 rows has about 30
CHUNK = 1_024  # rows at once


class ForestModel(SimpleModel):
    """T trees, with all their N nodes one after the other.

    Parameters
    ----------
    n_numbers : int
        d, columns of numbers.
    n_codes : sequence of c ints
        Codes of each column of labels.
    n_trees : int
        T.
    n_nodes : int
        N.
    depth : int
        The steps from a root to the farthest leaf.
    """

    def __init__(
        self,
        n_numbers: int,
        n_codes: Sequence[int],
        n_trees: int,
        n_nodes: int,
        depth: int,
    ) -> None:
        super().__init__()
        self.n_codes = tuple(n_codes)
        self.depth = depth
        self.fill: Tensor  # (d,), in place of gaps
        self.roots: Tensor  # (T,)
        self.columns: Tensor  # (N,), that the nodes look at
        self.thresholds: Tensor  # (N,): greater numbers go to the right
        self.branches: Tensor  # (N, 2), left and right; those of a leaf are itself
        self.values: Tensor  # (N,), of leaves
        parts = {
            "fill": ((n_numbers,), torch.float64),
            "roots": ((n_trees,), torch.int32),
            "columns": ((n_nodes,), torch.int32),
            "thresholds": ((n_nodes,), torch.float32),
            "branches": ((n_nodes, 2), torch.int32),
            "values": ((n_nodes,), torch.float32),
        }
        for name, (shape, dtype) in parts.items():
            self.register_buffer(name, torch.zeros(shape, dtype=dtype))

    def features(self, inputs: SimpleInputs) -> Tensor:
        """Return the numbers and labels that trees look at, (n, d + c) float32."""
        numbers = torch.where(inputs.numbers.isnan(), self.fill, inputs.numbers)
        # Squares in units of float32 would overflow beyond.
        largest = torch.finfo(torch.float32).max
        numbers = numbers.clamp(-largest, largest)
        return torch.cat([numbers.float(), inputs.codes.float()], dim=1)

    def forward(self, inputs: SimpleInputs) -> Tensor:
        """Return the value of each tree for each row, (n, T) float64."""
        features = self.features(inputs)
        return torch.cat([self._values(part) for part in features.split(CHUNK)])

    def _values(self, features: Tensor) -> Tensor:  # (n, T)
        node = self.roots.to(torch.int64).expand(features.shape[0], -1)
        columns = self.columns.to(torch.int64)
        children = self.branches.to(torch.int64).flatten()
        for _ in range(self.depth):
            number = features.gather(1, _at(columns, node))
            is_right = number > _at(self.thresholds, node)
            below = _at(children, 2 * node + is_right)
            if torch.equal(below, node):
                break
            node = below
        return _at(self.values, node).to(torch.float64)

    def described(self) -> dict[str, int]:
        """Return the numbers of trees and nodes, and the depth."""
        return {
            "n_trees": len(self.roots),
            "n_nodes": len(self.columns),
            "depth": self.depth,
        }

    def check(self) -> None:
        """Raise unless nodes look at columns and nodes that there are."""
        limits = {
            "roots": len(self.columns),
            "columns": max(1, len(self.fill) + len(self.n_codes)),
            "branches": len(self.columns),
        }
        for name, limit in limits.items():
            part = getattr(self, name)
            if not ((part >= 0) & (part < limit)).all():
                raise InputError(
                    f"the {name} of the forest must be numbers from 0 to {limit - 1}"
                )
        if not (self.values.isfinite().all() and self.fill.isfinite().all()):
            raise InputError("the values of the forest must be finite")


def fit_forest(
    inputs: SimpleInputs,
    y: Tensor,
    weight: Tensor,
    n_codes: Sequence[int],
    *,
    seed: int,
) -> tuple[ForestModel, Tensor]:
    """Grow a forest, and let trees predict the rows that they have not seen.

    Parameters
    ----------
    inputs : SimpleInputs of n rows
    y : Tensor of shape (n,), float64
    weight : Tensor of shape (n,)
    n_codes : sequence of int
        Codes of each column of labels.
    seed : int

    Returns
    -------
    model : ForestModel
    held_out : Tensor of shape (n, T), float64
        The value of each tree for each row, NaN of trees that have seen it.
    """
    from sklearn.ensemble import ExtraTreesRegressor  # slow to import

    coder = ForestModel(inputs.numbers.shape[1], n_codes, 0, 0, 0)
    coder.fill[:] = inputs.numbers.nanmedian(dim=0).values.nan_to_num(nan=0.0)
    features = coder.features(inputs)
    grown = ExtraTreesRegressor(
        N_TREES, bootstrap=True, max_depth=MOST_LEVELS, random_state=seed
    ).fit(features.numpy(), y.numpy(), sample_weight=weight.numpy().astype(np.float64))
    trees = [tree.tree_ for tree in grown.estimators_]
    sizes = [tree.node_count for tree in trees]
    depth = max(tree.max_depth for tree in trees)
    model = ForestModel(inputs.numbers.shape[1], n_codes, len(trees), sum(sizes), depth)
    model.fill[:] = coder.fill
    start = 0
    for i, tree in enumerate(trees):
        own = slice(start, start + tree.node_count)
        is_leaf = tree.children_left < 0
        children = np.stack([tree.children_left, tree.children_right], axis=1)
        children[is_leaf] = np.flatnonzero(is_leaf)[:, None]
        model.roots[i] = start
        model.columns[own] = torch.from_numpy(tree.feature.clip(0).astype(np.int32))
        model.thresholds[own] = torch.from_numpy(_rounded_down(tree.threshold))
        model.branches[own] = torch.from_numpy((children + start).astype(np.int32))
        model.values[own] = torch.from_numpy(tree.value[:, 0, 0].astype(np.float32))
        start = own.stop
    held_out = model(inputs)
    for i, seen in enumerate(grown.estimators_samples_):
        held_out[torch.from_numpy(np.unique(seen)), i] = torch.nan
    return model, held_out


def _rounded_down(numbers: np.ndarray) -> np.ndarray:
    """Return the largest float32 that are no greater than these float64.

    A float32 is greater than one of them if and only if it is greater than the other.
    """
    rounded = numbers.astype(np.float32)
    is_up = rounded > numbers
    rounded[is_up] = np.nextafter(rounded[is_up], np.float32(-np.inf))
    return rounded


def _at(table: Tensor, index: Tensor) -> Tensor:
    return table.index_select(0, index.flatten()).view_as(index)
