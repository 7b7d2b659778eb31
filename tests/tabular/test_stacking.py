"""Stacking: held-out predictions, and blends that are chosen by them."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeCV

from histreg import HistogramRegressor, InputError
from histreg.tabular.blending import SHARPNESSES
from histreg.tabular.stacking import held_out_histograms
from histreg.tabular.training_rows import rows_of
from tests.tabular.examples import BLENDED, SMALL, data


def test_rows_are_predicted_by_networks_that_have_not_seen_them():
    X, y = data(60)
    model = HistogramRegressor(**SMALL, n_estimators=2).fit(X, y)
    table = model._table(X)
    rows = rows_of(table, y[:, None], np.ones(60))
    rows = rows.with_inputs(model.model_.inputs(rows.inputs), torch.device("cpu"))
    held_out = torch.zeros(2, 60, dtype=torch.bool)
    held_out[0, :20] = held_out[1, 10:30] = True
    chosen = torch.tensor([5, 15, 25])
    (d,) = held_out_histograms(model.model_, rows, held_out, chosen)
    with torch.no_grad():
        probs = model.model_.sharp(*rows.inputs)[:, chosen, 0].double().softmax(-1)
    expected = torch.stack([probs[0, 0], probs[:, 1].mean(dim=0), probs[1, 2]])
    torch.testing.assert_close(d.probs, expected)


def linear_data(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9))
    return X, X @ np.arange(9) + rng.normal(size=n)


def test_on_a_small_linear_table_it_is_as_good_as_ridge_regression():
    from sklearn.linear_model import RidgeCV

    X, y = linear_data(208, seed=0)
    X_new, y_new = linear_data(1000, seed=1)
    model = HistogramRegressor((32,), max_iter=20, random_state=0).fit(X, y)
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X, y)
    errors = [np.abs(one.predict(X_new) - y_new).mean() for one in (model, ridge)]
    assert errors[0] < 1.05 * errors[1]
    alone = HistogramRegressor((32,), max_iter=20, random_state=0, blend_with=())
    alone.fit(X, y)
    crps = [
        one.predict_dist(X_new).crps(torch.tensor(y_new)).mean()
        for one in (model, alone)
    ]
    assert crps[0] < 0.8 * crps[1]
    lower, upper = model.predict_interval(X_new, 0.9)
    assert 0.84 < ((lower <= y_new) & (y_new <= upper)).mean() < 0.96


def test_steps_are_left_to_trees():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 4))
    y = np.sign(X[:, 0]) * 3 + (X[:, 1] > 0.3) * 5 + 0.1 * rng.normal(size=400)
    options = {"hidden_layer_sizes": (8,), "max_iter": 3, "random_state": 0}
    blend = HistogramRegressor(**options).fit(X, y).model_.blends[0]
    kinds = [part["kind"] for part in blend.described()]
    assert "trees" in kinds
    assert blend.weights[1 + kinds.index("trees")] > 0.5


@pytest.mark.parametrize(
    "options",
    [{"blend_with": ()}, {"loss": "crps"}, {"early_stopping": False}],
)
def test_networks_may_stay_alone(options):
    X, y = data(100)
    assert HistogramRegressor(**BLENDED | options).fit(X, y).model_.blends is None


@pytest.mark.parametrize("n", [8, 15, 25])
def test_a_handful_of_rows_is_predicted_nearly_as_well_as_by_ridge_regression(n):
    errors, covered = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 500, 3))
        y = X[:, 0] + 0.5 * rng.normal(size=n + 500)
        model = HistogramRegressor(random_state=0).fit(X[:n], y[:n])
        ridge = RidgeCV().fit(X[:n], y[:n])
        errors.append(
            [np.abs(own.predict(X[n:]) - y[n:]).mean() for own in (model, ridge)]
        )
        lower, upper = model.predict_interval(X[n:], 0.9)
        covered.append(np.mean((lower <= y[n:]) & (y[n:] <= upper)))
    ours, linear = np.mean(errors, axis=0)
    assert ours < 1.3 * linear  # networks alone: 1.4 to 1.7 times
    assert np.mean(covered) > 0.6  # networks that never stop: 0.2 to 0.3


def test_few_or_censored_rows_are_left_to_the_networks():
    X, y = data(4)
    assert HistogramRegressor(**BLENDED).fit(X, y).model_.blends is None
    X, y = data(100)
    one_network = HistogramRegressor(**BLENDED, n_estimators=1).fit(
        X, y
    )  # holds out 10
    assert one_network.model_.blends is None
    model = HistogramRegressor(**BLENDED).fit(X, y, censored=y > np.median(y))
    assert model.model_.blends is None


def test_training_on_forgets_the_blend():
    X, y = data(100)
    model = HistogramRegressor(**BLENDED).fit(X, y)
    assert model.model_.blends is not None and model.model_.held_out is not None
    model.partial_fit(X, y)
    assert model.model_.blends is None and model.model_.held_out is None


def test_validation_rows_calibrate_without_rows_set_aside():
    X, y = data(600)
    X_new, y_new = data(2000, seed=1)
    model = HistogramRegressor(**BLENDED).fit(X, y)
    before = model.predict_quantiles(X_new)
    assert model.calibrate() is model
    assert np.array_equal(model.predict_quantiles(X_new), before)
    # Five networks together are better than the ones that predicted held-out rows, so
    # intervals hold rather more than they promise.
    for coverage, most in ((0.5, 0.62), (0.9, 0.95)):
        lower, upper = model.predict_interval(X_new, coverage)
        covered = ((lower <= y_new) & (y_new <= upper)).mean()
        assert coverage - 0.03 < covered < most


def test_calibrate_without_rows_needs_predictions_of_a_fit():
    X, y = data(100)
    model = HistogramRegressor(**SMALL).fit(X, y)
    with pytest.raises(InputError, match="which this model does not have"):
        model.calibrate()
    with pytest.raises(InputError, match="both X and y, or neither"):
        model.calibrate(X)


@pytest.mark.parametrize(("n_networks", "is_chosen"), [(1, True), (3, False)])
def test_sharpness_allows_for_networks_that_are_averaged(n_networks, is_chosen):
    X, y = data(400)
    model = HistogramRegressor(**BLENDED | {"n_estimators": n_networks}).fit(X, y)
    (blend,) = model.model_.blends
    assert bool((blend.sharpness == SHARPNESSES).any()) == is_chosen
