"""Forests as tensors: the values of scikit-learn's own trees."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesRegressor

from histreg import HistogramRegressor, InputError
from histreg.tabular.forest_model import (
    MOST_LEVELS,
    N_TREES,
    ForestModel,
    _rounded_down,
    fit_forest,
)
from tests.tabular.examples import nearly_exact
from tests.tabular.test_tree_model import rows


def test_each_tree_predicts_what_scikit_learns_does():
    inputs, y = rows(n=200)
    weight = torch.linspace(0.5, 2, 200)
    model, held_out = fit_forest(inputs, y, weight, (6,), seed=3)
    numbers = inputs.numbers.where(~inputs.numbers.isnan(), model.fill)
    features = torch.cat([numbers, inputs.codes], dim=1).numpy().astype(np.float32)
    forest = ExtraTreesRegressor(
        N_TREES, bootstrap=True, max_depth=MOST_LEVELS, random_state=3
    ).fit(features, y.numpy(), sample_weight=weight.double().numpy())
    expected = np.stack([tree.predict(features) for tree in forest.estimators_], axis=1)
    np.testing.assert_allclose(model(inputs), expected, rtol=1e-6)
    for i, seen in enumerate(forest.estimators_samples_):
        has_seen = np.isin(np.arange(200), seen)
        assert np.array_equal(held_out[:, i].isnan(), has_seen)
        assert torch.equal(held_out[~has_seen, i], model(inputs)[~has_seen, i])


def test_thresholds_in_single_precision_decide_alike():
    thresholds = np.random.default_rng(0).normal(size=1_000)
    rounded = _rounded_down(thresholds)
    assert rounded.dtype == np.float32 and (rounded <= thresholds).all()
    for x in (thresholds.astype(np.float32), np.nextafter(rounded, np.float32(9))):
        assert np.array_equal(x > thresholds, x > rounded)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("roots", 9, "roots of the forest must be numbers from 0 to 4"),
        ("columns", 2, "columns of the forest must be numbers from 0 to 1"),
        ("branches", -1, "branches of the forest must be numbers from 0 to 4"),
        ("values", torch.inf, "values of the forest must be finite"),
    ],
)
def test_damaged_forests_are_refused(name, value, message):
    model = ForestModel(2, (), n_trees=1, n_nodes=5, depth=2)
    model.check()
    getattr(model, name).fill_(value)
    with pytest.raises(InputError, match=message):
        model.check()


def test_a_forest_joins_where_targets_are_nearly_exact(tmp_path):
    X, y = nearly_exact(1_200, seed=0)
    X_new, y_new = nearly_exact(500, seed=1)
    options = {"hidden_layer_sizes": (16,), "max_iter": 3, "random_state": 0}
    models = [
        HistogramRegressor(**options, blend_with=names).fit(X, y)
        for names in ("auto", ("linear", "trees"))
    ]
    (blend,) = models[0].model_.blends
    assert "forest" in [part["kind"] for part in blend.described()]
    crps = [
        model.predict_dist(X_new).crps(torch.tensor(y_new)).mean() for model in models
    ]
    assert crps[0] < 0.9 * crps[1]
    models[0].save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert np.array_equal(again.predict(X_new), models[0].predict(X_new))


@pytest.mark.parametrize(("n", "noise"), [(300, 0.0), (1_200, 1.0)])
def test_a_forest_is_not_tried_on_few_or_noisy_rows(n, noise):
    X, y = nearly_exact(n, seed=0)
    y = y + noise * np.random.default_rng(1).normal(size=n)
    options = {"hidden_layer_sizes": (8,), "max_iter": 2, "random_state": 0}
    (blend,) = HistogramRegressor(**options).fit(X, y).model_.blends
    assert "forest" not in [part["kind"] for part in blend.described()]
