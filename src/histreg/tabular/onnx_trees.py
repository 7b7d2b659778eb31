"""Trees and tables as ONNX's operator TreeEnsemble, which visits one node a level.

A table of numbers between borders is a tree as well, one that searches by halves: ONNX
has no other operator that searches. While a model is exported, a call of
`Ensembles.exported` stands for the operator; its trees are written into the finished
file, because PyTorch's exporter takes no tensors as attributes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg.tabular.forest_model import ForestModel
from histreg.tabular.simple_models import SimpleInputs
from histreg.tabular.tree_model import ALWAYS_LEFT, TreeModel

ML_DOMAIN, ML_VERSION = "ai.onnx.ml", 5  # the first version with TreeEnsemble
STAND_IN_DOMAIN, STAND_IN = "histreg", "Trees"
NOT_LESS, GREATER = 2, 3  # the modes BRANCH_GTE and BRANCH_GT


class Ensemble(NamedTuple):
    """Trees whose leaves are added up for each target.

    A row goes to the first branch of a node if its number is greater than the split (in
    mode `NOT_LESS` also if it is equal), and to the second otherwise, as does NaN.

    Parameters
    ----------
    roots : ndarray of shape (T,), int64
        Nodes at which the trees begin.
    columns : ndarray of shape (N,), int64
        That the nodes look at.
    splits : ndarray of shape (N,), float32 or float64
        Of the type of the numbers that are compared.
    branches : ndarray of shape (N, 2), int64
        Numbers of nodes, or of leaves.
    to_leaf : ndarray of shape (N, 2), bool
        Which of the branches are leaves.
    values : ndarray of shape (L,)
        Of the leaves, of the type of the splits.
    targets : ndarray of shape (L,), int64
        To which the values are added.
    mode : int
    """

    roots: NDArray[np.int64]
    columns: NDArray[np.int64]
    splits: NDArray[np.floating[Any]]
    branches: NDArray[np.int64]
    to_leaf: NDArray[np.bool_]
    values: NDArray[np.floating[Any]]
    targets: NDArray[np.int64]
    mode: int = GREATER

    @property
    def n_targets(self) -> int:
        """The number of sums."""
        return int(self.targets.max(initial=0)) + 1

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers that go in and of those that come out."""
        return torch.float32 if self.splits.dtype == np.float32 else torch.float64


class Ensembles:
    """The trees of a model while it is exported, in the order of their calls."""

    def __init__(self) -> None:
        self._all: list[Ensemble] = []

    def exported(self, ensemble: Ensemble | None, numbers: Tensor) -> Tensor:
        """Return what stands for the sums of leaves: (n, c) -> (n, n_targets)."""
        assert ensemble is not None  # a part without trees has no call
        self._all.append(ensemble)
        return torch.onnx.ops.symbolic(
            f"{STAND_IN_DOMAIN}::{STAND_IN}",
            (numbers.to(ensemble.dtype),),
            {"index": len(self._all) - 1},
            dtype=ensemble.dtype,
            shape=(numbers.shape[0], ensemble.n_targets),
            version=1,
        )

    def write(self, proto: Any) -> None:
        """Replace the stand-ins in an ONNX ModelProto by the operator."""
        for node in proto.graph.node:
            if (node.domain, node.op_type) == (STAND_IN_DOMAIN, STAND_IN):
                [index] = [one.i for one in node.attribute if one.name == "index"]
                node.domain, node.op_type = ML_DOMAIN, "TreeEnsemble"
                del node.attribute[:]
                node.attribute.extend(_attributes(self._all[index]))
        kept = [one for one in proto.opset_import if one.domain != STAND_IN_DOMAIN]
        del proto.opset_import[:]
        proto.opset_import.extend(kept)
        if self._all:
            import_ml(proto)


def import_ml(proto: Any) -> None:
    """Let a ModelProto use ONNX's operators for machine learning."""
    from onnx import helper

    if not any(one.domain == ML_DOMAIN for one in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid(ML_DOMAIN, ML_VERSION))


def _attributes(ensemble: Ensemble) -> list[Any]:
    from onnx import helper, numpy_helper

    n = len(ensemble.columns)
    tensors = {
        "nodes_splits": ensemble.splits,
        "nodes_modes": np.full(n, ensemble.mode, dtype=np.uint8),
        "leaf_weights": ensemble.values,
    }
    numbers = {
        "tree_roots": ensemble.roots,
        "nodes_featureids": ensemble.columns,
        "nodes_truenodeids": ensemble.branches[:, 0],
        "nodes_falsenodeids": ensemble.branches[:, 1],
        "nodes_trueleafs": ensemble.to_leaf[:, 0].astype(np.int64),
        "nodes_falseleafs": ensemble.to_leaf[:, 1].astype(np.int64),
        "leaf_targetids": ensemble.targets,
    }
    return [
        helper.make_attribute("n_targets", ensemble.n_targets),
        *(
            helper.make_attribute(name, numpy_helper.from_array(values, name))
            for name, values in tensors.items()
        ),
        *(helper.make_attribute(name, ids.tolist()) for name, ids in numbers.items()),
    ]


def trees_columns(model: TreeModel, inputs: SimpleInputs) -> Tensor:
    """Return what boosted trees look at: numbers, codes of labels (n, d + G c)."""
    if not model.n_codes:
        return inputs.numbers
    coded = torch.cat(model.label_codes(inputs.codes))  # (G c, n)
    return torch.cat([inputs.numbers, coded.T.to(torch.float64)], dim=1)


def ensemble_of_trees(model: TreeModel) -> Ensemble:
    """Return boosted trees over `trees_columns`.

    A code of a number is greater than a threshold if and only if the number is greater
    than one border, so codes are not needed. Nodes that send all rows to the left are
    left out.
    """
    d, n_borders = model.borders.shape
    columns = model.columns.numpy().astype(np.int64)
    thresholds = model.thresholds.numpy().astype(np.int64)
    splits = thresholds.astype(np.float64)  # of labels
    is_number = columns < d
    if d:
        # Codes are 1 + the number of borders below; a gap has code 0.
        own, place = np.where(is_number, columns, 0), thresholds - 1
        border = model.borders.numpy()[own, place.clip(0, n_borders - 1)]
        splits = np.where(is_number, np.where(place < 0, -np.inf, border), splits)
    splits = np.where(thresholds == ALWAYS_LEFT, np.inf, splits)
    n_trees, n_nodes = columns.shape
    is_used = thresholds != ALWAYS_LEFT
    is_used[:, 0] = True  # a tree has a root
    # The node or leaf that a branch leads to, behind nodes that are not used: level by
    # level from below. Leaves have the numbers from n_nodes on.
    reached = np.tile(np.arange(2 * n_nodes + 1), (n_trees, 1))
    for node in range(n_nodes - 1, 0, -1):
        left = reached[:, 2 * node + 1]
        reached[:, node] = np.where(is_used[:, node], node, left)
    left, right = reached[:, 1::2], reached[:, 2::2]  # (T, nodes) each
    branches = np.stack([right, left], axis=-1)  # greater numbers go to the right
    to_leaf = branches >= n_nodes
    number = (is_used.ravel().cumsum() - 1).reshape(is_used.shape)  # of a used node
    trees = np.arange(n_trees)[:, None, None]
    leaves = trees * (n_nodes + 1) + branches - n_nodes
    nodes = number[trees, branches.clip(max=n_nodes - 1)]
    branches = np.where(to_leaf, leaves, nodes)[is_used]
    to_leaf = to_leaf[is_used]
    # Only leaves that are reached.
    kept, places = np.unique(branches[to_leaf], return_inverse=True)
    branches[to_leaf] = places
    return Ensemble(
        number[:, 0].astype(np.int64),
        columns[is_used],
        splits[is_used],
        branches,
        to_leaf,
        model.values.numpy().ravel()[kept],
        np.zeros(len(kept), dtype=np.int64),
    )


def ensemble_of_forest(model: ForestModel) -> Ensemble:
    """Return the trees of a forest over its features, each with its own target."""
    children = model.branches.numpy().astype(np.int64)  # (N, 2)
    nodes = np.arange(len(children))
    roots = model.roots.numpy().astype(np.int64)
    tree = np.searchsorted(roots, nodes, side="right") - 1  # of each node
    is_leaf = children[:, 1] == nodes
    is_node = ~is_leaf
    is_node[roots] = True  # also if it is a leaf
    place = np.where(is_leaf, is_leaf.cumsum(), is_node.cumsum()) - 1
    branches = children[is_node][:, ::-1]  # greater numbers go to the right
    return Ensemble(
        is_node.cumsum()[roots] - 1,
        model.columns.numpy().astype(np.int64)[is_node],
        model.thresholds.numpy()[is_node],
        place[branches],
        is_leaf[branches],
        model.values.numpy()[is_leaf],
        tree[is_leaf],
    )


def ensemble_of_tables(
    borders: NDArray[np.float64], entries: NDArray[np.float64]
) -> Ensemble:
    """Return the entries of tables between borders, one table for each column.

    Parameters
    ----------
    borders : ndarray of shape (d, b)
        Rising in each row. A number equal to a border is above it, NaN is below all.
    entries : ndarray of shape (d, e, b + 1)
        Of e tables with the same borders; the target of the j-th is e times the column
        plus j.
    """
    d, b = borders.shape
    n_entries = entries.shape[1]
    columns: list[int] = []
    splits: list[float] = []
    branches: list[tuple[int, int]] = []
    to_leaf: list[tuple[bool, bool]] = []

    def grow(column: int, tree: int, first: int, stop: int) -> tuple[int, bool]:
        """Add the nodes between two leaves; return the upper one, or the leaf."""
        if stop - first == 1:
            return tree * (b + 1) + first, True
        node, middle = len(columns), (first + stop) // 2
        columns.append(column)
        splits.append(borders[column, middle - 1])
        branches.append((0, 0))
        to_leaf.append((False, False))
        above, above_is_leaf = grow(column, tree, middle, stop)
        below, below_is_leaf = grow(column, tree, first, middle)
        branches[node], to_leaf[node] = (above, below), (above_is_leaf, below_is_leaf)
        return node, False

    trees = range(d * n_entries)
    roots = [grow(tree // n_entries, tree, 0, b + 1)[0] for tree in trees]
    return Ensemble(
        np.array(roots, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        np.array(splits),
        np.array(branches, dtype=np.int64),
        np.array(to_leaf),
        entries.ravel(),
        np.repeat(np.arange(d * n_entries), b + 1),
        NOT_LESS,
    )


def interpolation(points: NDArray[np.float64], levels: NDArray[np.float64]) -> Ensemble:
    """Return where piecewise linear functions begin and how they rise, by segment.

    For each of d columns there are four targets: the start and the length of the
    segment of a number, the level at its start, and the rise of the level in it.
    Before the first point and after the last the rise is 0.

    Parameters
    ----------
    points, levels : ndarrays of shape (d, q)
        Rising; the functions jump where points repeat.
    """
    lengths = np.diff(points)
    inner = np.stack(
        [
            points[:, :-1],
            np.where(lengths > 0, lengths, 1.0),
            levels[:, :-1],
            np.diff(levels),
        ],
        axis=1,
    )  # (d, 4, q - 1)
    ones, zeros = np.ones(len(points)), np.zeros(len(points))
    first = np.stack([points[:, 0], ones, levels[:, 0], zeros], axis=1)
    last = np.stack([points[:, -1], ones, levels[:, -1], zeros], axis=1)
    entries = np.concatenate([first[:, :, None], inner, last[:, :, None]], axis=2)
    return ensemble_of_tables(points, entries)


def interpolated(x: Tensor, segments: Tensor) -> Tensor:
    """Return functions of x (...), given their segments (..., 4) by `interpolation`."""
    start, length, level, rise = segments.unbind(dim=-1)
    return level + ((x - start) / length).clamp(0, 1) * rise
