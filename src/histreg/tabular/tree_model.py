"""The tree model: gradient boosting by scikit-learn, kept as tensors.

Values become codes of at most 256 levels, once for all trees, and trees have one depth,
so that a prediction is a comparison of bytes, and a model is saved without pickle and
exported to ONNX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._numba import is_loaded
from histreg._threads import boosting_threads
from histreg.errors import InputError
from histreg.tabular.compiled_columns import level_loop
from histreg.tabular.compiled_trees import leaf_sums
from histreg.tabular.simple_models import Fitted, SimpleInputs, SimpleModel

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

N_LEVELS = 255  # codes of a number, next to 0 for a gap
ALWAYS_LEFT = 255  # no code is greater
PRIOR_ROWS = 5.0  # of the mean of all, in the mean of a label
DEPTHS = (4, 6)  # the second if the first could use more trees
MOST_TREES, TREES_AT_ONCE = 300, 50  # of each fold
UPPER_LEVELS = 3  # of a tree; 2 and 4 are slower
LEARNING_RATE = 0.08
MIN_ROWS_IN_LEAF = 5
CHUNK = 1_024  # rows at once; their decisions stay in the cache


class TreeModel(SimpleModel):
    """The sum of T trees of one depth D over coded columns.

    The columns are d numbers, then c labels for each of the G folds, since labels are
    ordered by their mean y in the rows that the trees of a fold have seen.

    Parameters
    ----------
    n_numbers : int
        d.
    n_codes : sequence of c ints
        Codes of each column of labels.
    n_folds : int
        G.
    n_trees : int
        T.
    depth : int
        D.
    """

    def __init__(
        self,
        n_numbers: int,
        n_codes: Sequence[int],
        n_folds: int,
        n_trees: int,
        depth: int,
    ) -> None:
        super().__init__()
        self.n_codes = tuple(n_codes)
        self.depth = depth
        self.borders: Tensor  # (d, 254), padded by infinity
        self.ranks: Tensor  # (G, sum of codes), of labels
        self.columns: Tensor  # (T, 2^D - 1), that the nodes look at
        self.thresholds: Tensor  # (T, 2^D - 1): greater codes go to the right
        self.values: Tensor  # (T, 2^D), of the leaves from left to right
        self.bias: Tensor  # ()
        n_nodes = 2**depth - 1
        parts = {
            "borders": ((n_numbers, N_LEVELS - 1), torch.float64),
            "ranks": ((n_folds, sum(n_codes)), torch.uint8),
            "columns": ((n_trees, n_nodes), torch.int32),
            "thresholds": ((n_trees, n_nodes), torch.uint8),
            "values": ((n_trees, n_nodes + 1), torch.float64),
            "bias": ((), torch.float64),
        }
        for name, (shape, dtype) in parts.items():
            self.register_buffer(name, torch.zeros(shape, dtype=dtype))

    def codes(self, inputs: SimpleInputs) -> Tensor:
        """Return the coded columns, (d + G c, n) uint8."""
        if is_loaded():
            levels = torch.empty(inputs.numbers.shape[::-1], dtype=torch.uint8)
            parts = (inputs.numbers, self.borders, levels)
            level_loop()(*(part.numpy() for part in parts))
            coded = [levels]
        else:
            numbers = inputs.numbers.T  # (d, n)
            places = torch.searchsorted(self.borders, numbers.contiguous()) + 1
            coded = [places.masked_fill(numbers.isnan(), 0).to(torch.uint8)]
        return torch.cat([*coded, *self.label_codes(inputs.codes)])

    def label_codes(self, codes: Tensor) -> list[Tensor]:
        """Return the coded columns of labels (n, c): G c times (1, n) uint8."""
        coded = []
        for ranks in self.ranks:
            by_column = ranks.split(self.n_codes) if self.n_codes else ()
            for own, labels in zip(by_column, codes.unbind(1), strict=True):
                coded.append(own.index_select(0, labels).unsqueeze(0))
        return coded

    def forward(self, inputs: SimpleInputs) -> Tensor:
        """Return predictions of shape (n,), float64."""
        n = len(inputs.numbers)
        add_leaves = leaf_sums()
        parts = []
        for start in range(0, n, CHUNK):
            rows = slice(start, start + CHUNK)
            codes = self.codes(SimpleInputs(*(part[rows] for part in inputs)))
            if add_leaves is None:
                parts.append(self._sum(codes))
            else:
                total = torch.zeros(codes.shape[1], dtype=torch.float64)
                nodes = (self.columns, self.thresholds, self.values)
                add_leaves(*(part.numpy() for part in (codes, *nodes, total)))
                parts.append(self.bias + total)
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def described(self) -> dict[str, int]:
        """Return the numbers of folds and trees, and the depth."""
        return {
            "n_folds": len(self.ranks),
            "n_trees": len(self.columns),
            "depth": self.depth,
        }

    def check(self) -> None:
        """Raise unless nodes look at columns that there are, at rising borders."""
        n_columns = len(self.borders) + len(self.ranks) * len(self.n_codes)
        if not ((self.columns >= 0) & (self.columns < max(n_columns, 1))).all():
            raise InputError(
                f"the trees must look at columns from 0 to {n_columns - 1}"
            )
        if not (self.borders[:, 1:] >= self.borders[:, :-1]).all():
            raise InputError("the borders of the trees' columns must be rising")
        if not (self.values.isfinite().all() and self.bias.isfinite()):
            raise InputError("the values of the trees must be finite")

    def _sum(self, codes: Tensor) -> Tensor:  # (n,)
        # All nodes of the upper levels are compared at once, which is cheaper than to
        # look up the one that a row has reached; below, there are too many.
        n_upper = min(UPPER_LEVELS, self.depth)
        upper = slice(0, 2**n_upper - 1)
        looked_at = codes.index_select(0, self.columns[:, upper].flatten())
        is_right = looked_at > self.thresholds[:, upper].flatten()[:, None]
        is_right = is_right.unflatten(0, (-1, upper.stop))  # (T, nodes, n)
        place = torch.zeros_like(is_right[:, 0], dtype=torch.int64)  # (T, n)
        for level in range(n_upper):
            nodes = is_right[:, 2**level - 1 : 2 ** (level + 1) - 1]
            place = 2 * place + nodes.gather(1, place.unsqueeze(1)).squeeze(1)
        # Row i of a column is at (column n + i) of the flat codes.
        n = codes.shape[1]
        flat, rows = codes.flatten(), torch.arange(n)
        columns = self.columns.flatten().to(torch.int64) * n
        thresholds = self.thresholds.flatten()
        trees = torch.arange(len(self.columns))[:, None]  # (T, 1)
        for level in range(n_upper, self.depth):
            node = place + (trees * self.columns.shape[1] + 2**level - 1)  # (T, n)
            entry = columns.index_select(0, node.flatten()).view_as(node) + rows
            code = flat.index_select(0, entry.flatten()).view_as(node)
            threshold = thresholds.index_select(0, node.flatten()).view_as(node)
            place = 2 * place + (code > threshold)
        leaf = place + trees * self.values.shape[1]
        values = self.values.flatten().index_select(0, leaf.flatten()).view_as(leaf)
        # In the order of the trees, as the compiled loop, so that a prediction does not
        # depend on which of them made it.
        return self.bias + values.cumsum(dim=0)[-1:].sum(dim=0)


def fit_trees(
    inputs: SimpleInputs,
    y: Tensor,
    weight: Tensor,
    folds: Tensor,
    n_codes: Sequence[int],
    *,
    seed: int,
) -> Fitted:
    """Boost trees on the rows outside of each fold, and average.

    The number of trees is the one with the lowest squared error on the folds left out,
    so that no rows are set aside for it. If nearly all `MOST_TREES` are used, there is
    more to learn than they hold: deeper trees are tried, and kept if their error is
    lower.

    Parameters
    ----------
    inputs : SimpleInputs of n rows
    y : Tensor of shape (n,), float64
    weight : Tensor of shape (n,)
    folds : Tensor of shape (n,), int64
    n_codes : sequence of int
        Codes of each column of labels.
    seed : int
        For the columns that a split may use.
    """
    n_numbers, n_folds = inputs.numbers.shape[1], int(folds.max()) + 1
    coder = TreeModel(n_numbers, n_codes, n_folds, 0, DEPTHS[0])
    coder.borders[:] = _borders(inputs.numbers)
    for fold, ranks in enumerate(coder.ranks):
        ranks[:] = _ranks(inputs.codes, y, weight * (folds != fold), n_codes)
    columns_of = [
        np.r_[:n_numbers, start : start + len(n_codes)]
        for start in (n_numbers + fold * len(n_codes) for fold in range(n_folds))
    ]
    codes = coder.codes(inputs).numpy().T  # (n, d + G c)
    boosted: _Boosted | None = None
    for depth in DEPTHS:
        deeper = _boosted(
            [codes[:, own] for own in columns_of],
            y.numpy(),
            weight.numpy().astype(np.float64),
            folds.numpy(),
            depth,
            seed,
        )
        if boosted is None or deeper.error < boosted.error:
            boosted = deeper
        if deeper.n_trees <= MOST_TREES - TREES_AT_ONCE:
            break
    assert boosted is not None  # there are depths
    n_trees, depth = boosted.n_trees, boosted.depth
    model = TreeModel(n_numbers, n_codes, n_folds, n_folds * n_trees, depth)
    model.borders, model.ranks = coder.borders, coder.ranks
    baselines = []
    for fold, (booster, own) in enumerate(
        zip(boosted.boosters, columns_of, strict=True)
    ):
        baselines.append(float(np.ravel(booster._baseline_prediction)[0]))
        for i, (tree,) in enumerate(booster._predictors[:n_trees]):
            row = fold * n_trees + i
            columns, thresholds, values = _perfect(tree.nodes, depth)
            model.columns[row] = torch.from_numpy(own[columns].astype(np.int32))
            model.thresholds[row] = torch.from_numpy(thresholds)
            model.values[row] = torch.from_numpy(values) / n_folds
    model.bias.fill_(sum(baselines) / n_folds)
    return Fitted(model, torch.from_numpy(boosted.held_out))


class _Boosted(NamedTuple):
    """The boosters of all folds; only their first trees are used."""

    boosters: list[HistGradientBoostingRegressor]
    depth: int
    n_trees: int  # of each
    error: float  # squared, of the rows held out
    held_out: NDArray[np.float64]  # (n,), each by the booster of the row's fold


def _boosted(
    codes: Sequence[NDArray[np.uint8]],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    folds: NDArray[np.int64],
    depth: int,
    seed: int,
) -> _Boosted:
    """Boost trees on the rows outside of each fold, given its codes (n, d + c)."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # slow to import

    boosters = [
        HistGradientBoostingRegressor(
            learning_rate=LEARNING_RATE,
            max_depth=depth,
            max_leaf_nodes=None,
            min_samples_leaf=MIN_ROWS_IN_LEAF,
            max_features=0.5,
            early_stopping=False,
            warm_start=True,
            random_state=seed + fold,
        )
        for fold in range(len(codes))
    ]
    by_stage = np.empty((MOST_TREES, len(y)))
    errors = np.full(MOST_TREES, np.inf)
    with boosting_threads(codes[0].size):
        for grown in range(0, MOST_TREES, TREES_AT_ONCE):
            stages = slice(grown, grown + TREES_AT_ONCE)
            for fold, (booster, own) in enumerate(zip(boosters, codes, strict=True)):
                is_in = folds == fold
                booster.set_params(max_iter=stages.stop)
                booster.fit(own[~is_in], y[~is_in], weight[~is_in])
                for stage, predicted in enumerate(booster.staged_predict(own[is_in])):
                    by_stage[stage, is_in] = predicted
            errors[stages] = ((by_stage[stages] - y) ** 2 * weight).mean(axis=1)
            if errors.argmin() < grown:
                break  # these did no better than fewer
    best = int(errors.argmin())
    return _Boosted(boosters, depth, best + 1, float(errors[best]), by_stage[best])


def _borders(numbers: Tensor) -> Tensor:  # (d, 254)
    """Return borders between the levels of each column (n, d): about equal counts."""
    borders = torch.full((numbers.shape[1], N_LEVELS - 1), torch.inf).to(torch.float64)
    for own, column in zip(borders, numbers.T, strict=True):
        values = column[~column.isnan()].sort().values
        levels = values.unique()
        if len(levels) > N_LEVELS:
            places = torch.linspace(0, len(values) - 1, N_LEVELS)
            levels = values[places.round().to(torch.int64)].unique()
        if len(levels) > 1:
            own[: len(levels) - 1] = levels[:-1] + levels.diff() / 2
    return borders


def _ranks(
    codes: Tensor, y: Tensor, weight: Tensor, n_codes: Sequence[int]
) -> Tensor:  # (sum of codes,) uint8
    """Return the rank of each label of each column by its mean y, within a byte."""
    weight = weight.to(torch.float64)
    mean = (y * weight).sum() / weight.sum()
    ranks = []
    for n, labels in zip(n_codes, codes.T, strict=True):
        total = torch.zeros(n, dtype=torch.float64).index_add(0, labels, weight)
        deviation = torch.zeros_like(total).index_add(0, labels, (y - mean) * weight)
        order = (deviation / (total + PRIOR_ROWS)).argsort(stable=True)
        rank = torch.empty(n, dtype=torch.int64)
        rank[order] = torch.arange(n) * min(n, N_LEVELS) // n
        ranks.append(rank.to(torch.uint8))
    return torch.cat(ranks) if ranks else torch.zeros(0, dtype=torch.uint8)


def _perfect(
    nodes: NDArray[np.void], depth: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float64]]:
    """Return a tree of scikit-learn as a full one: columns, thresholds and leaves.

    Below a leaf of less depth all rows go to the left.
    """
    columns = np.zeros(2**depth - 1, dtype=np.int64)
    thresholds = np.full(2**depth - 1, ALWAYS_LEFT, dtype=np.uint8)
    places = np.zeros(2 ** (depth + 1) - 1, dtype=np.int64)  # nodes, level by level
    for i in range(2**depth - 1):
        node = nodes[places[i]]
        left, right = 2 * i + 1, 2 * i + 2
        if node["is_leaf"]:
            places[left] = places[right] = places[i]
        else:
            columns[i] = node["feature_idx"]
            thresholds[i] = int(node["num_threshold"])  # codes are whole numbers
            places[left], places[right] = node["left"], node["right"]
    return columns, thresholds, nodes["value"][places[2**depth - 1 :]]
