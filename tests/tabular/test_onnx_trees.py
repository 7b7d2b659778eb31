"""Trees and tables give the same numbers as ONNX's operator TreeEnsemble."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper

from histreg.tabular.columns import NumberScaling
from histreg.tabular.forest_model import fit_forest
from histreg.tabular.onnx_trees import (
    Ensembles,
    ensemble_of_forest,
    ensemble_of_tables,
    ensemble_of_trees,
    interpolated,
    interpolation,
    trees_columns,
)
from histreg.tabular.simple_models import SimpleInputs, folds_of
from histreg.tabular.tree_model import TreeModel, fit_trees


def run(ensemble, numbers):
    """Return the sums of leaves by ONNX Runtime: (n, c) -> (n, n_targets)."""
    numbers = numbers.to(ensemble.dtype).numpy()
    kind = helper.np_dtype_to_tensor_dtype(numbers.dtype)
    ensembles = Ensembles()
    ensembles.exported(ensemble, torch.from_numpy(numbers))
    stand_in = helper.make_node("Trees", ["x"], ["y"], domain="histreg", index=0)
    graph = helper.make_graph(
        [stand_in],
        "trees",
        [helper.make_tensor_value_info("x", kind, ["n", numbers.shape[1]])],
        [helper.make_tensor_value_info("y", kind, ["n", ensemble.n_targets])],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("histreg", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    ensembles.write(proto)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return torch.from_numpy(session.run(None, {"x": numbers})[0])


def rows(n=300, n_codes=6):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    numbers[:, 1] *= 1e-9
    numbers[::7, 0] = torch.nan
    codes = torch.randint(0, n_codes, (n, 1), generator=generator)
    y = numbers[:, 2] + (codes[:, 0] == 2) + numbers[:, 0].nan_to_num(nan=-2.0)
    return SimpleInputs(numbers, numbers.float(), codes), y


def test_boosted_trees_agree_also_on_borders_and_gaps():
    inputs, y = rows()
    folds = folds_of(len(y), torch.Generator().manual_seed(0))
    model, _ = fit_trees(inputs, y, torch.ones(len(y)), folds, (6,), seed=0)
    assert isinstance(model, TreeModel)
    borders = model.borders[:, :300].T.clamp(max=1e9)
    gaps = torch.full((4, 3), torch.nan, dtype=torch.float64)
    numbers = torch.cat([inputs.numbers, borders, gaps, 1e300 * torch.ones_like(gaps)])
    codes = torch.arange(len(numbers))[:, None] % 6
    probe = SimpleInputs(numbers, numbers.float(), codes)
    sums = run(ensemble_of_trees(model), trees_columns(model, probe))
    # The operator may add up the trees in another order.
    torch.testing.assert_close(
        model.bias + sums[:, 0], model(probe), rtol=0, atol=1e-13
    )
    assert model(probe).std() > 0.5


def test_trees_without_a_split_are_their_leaf():
    model = TreeModel(2, (), 1, 3, 4)
    model.thresholds.fill_(255)  # all rows go to the left
    model.values[:, 0] = torch.tensor([1.0, 2.0, 4.0])
    model.values[:, 1:] = torch.nan
    numbers = torch.tensor([[0.0, torch.nan], [5.0, -5.0]], dtype=torch.float64)
    assert run(ensemble_of_trees(model), numbers).flatten().tolist() == [7.0, 7.0]


def test_each_tree_of_a_forest_agrees():
    inputs, y = rows()
    y[:] = y.round()  # so that trees have different depths
    model, _ = fit_forest(inputs, y, torch.ones(len(y)), (6,), seed=0)
    values = run(ensemble_of_forest(model), model.features(inputs))
    assert torch.equal(values.double(), model(inputs))


def test_a_tree_of_a_forest_may_be_a_leaf():
    inputs, y = rows()
    model, _ = fit_forest(inputs, torch.ones_like(y), torch.ones(len(y)), (6,), seed=0)
    assert len(model.roots) == len(model.columns)
    values = run(ensemble_of_forest(model), model.features(inputs))
    assert torch.equal(values.double(), model(inputs))


@pytest.mark.parametrize("n_borders", [1, 2, 7, 12])
def test_tables_are_searched(n_borders):
    rng = np.random.default_rng(0)
    borders = np.sort(rng.integers(-4, 4, size=(2, n_borders)), axis=1).astype(float)
    entries = rng.normal(size=(2, 3, n_borders + 1))
    x = np.append(np.arange(-6, 6, 0.5), [np.inf, -np.inf])
    found = run(
        ensemble_of_tables(borders, entries), torch.from_numpy(np.stack([x, -x], 1))
    )
    for column, own in enumerate([x, -x]):
        place = np.searchsorted(borders[column], own, side="right")
        for j in range(3):
            expected = entries[column, j, place]
            np.testing.assert_array_equal(found[:, 3 * column + j], expected)


def test_scores_of_columns_have_the_same_bits():
    x = torch.randn(400, 3, dtype=torch.float64) * torch.tensor([1.0, 1e9, 1e-9])
    x[:, 0] = x[:, 0].round()  # fewer values than knots
    scaling = NumberScaling.of(x.numpy())
    probe = torch.cat([x, 3 * x, scaling.knots[:, :50].T])
    found = run(interpolation(scaling.knots.numpy(), scaling.scores.numpy()), probe)
    scores = interpolated(probe, found.unflatten(1, (-1, 4)))
    torch.testing.assert_close(
        scaling.with_gaps(scores, probe), scaling(probe), rtol=0, atol=0
    )


def test_functions_jump_where_points_repeat():
    points, levels = np.array([[0.0, 1.0, 1.0, 3.0]]), np.array([[0.0, 0.2, 0.6, 1.0]])
    x = torch.tensor([-1.0, 0.5, 0.999, 1.0, 2.0, 3.0, 9.0], dtype=torch.float64)
    found = run(interpolation(points, levels), x[:, None])
    expected = [0.0, 0.1, 0.1998, 0.6, 0.8, 1.0, 1.0]
    np.testing.assert_allclose(interpolated(x, found), expected, atol=1e-12)
