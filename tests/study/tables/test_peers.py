"""Peers: that all learn from labels and gaps, and are scored alike."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from histreg.study.shapes import predictors
from histreg.study.shapes.predictions import Prediction
from histreg.study.tables.execution import residuals_of
from histreg.study.tables.peers import OURS, PEERS, Peer
from histreg.tabular.regressor import HistogramRegressor
from tests.study.made_up import Alone
from tests.study.tables.examples import made_table

OF_OTHERS = (
    "catboost",
    "lightgbm",
    "xgboost",
    "quantile_forest",
    "ngboost",
    "pytabkit",
)


@pytest.fixture(scope="module")
def rows():
    X, y = made_table(200)
    return X[:150], y[:150], X[150:].reset_index(drop=True), y[150:]


def predicted(name, rows):
    """Return the prediction of a method, or skip the test if it is not installed."""
    peer = PEERS[name]
    if peer.package in OF_OTHERS:
        reason = f"{peer.package} comes with the extra peers"
        pytest.importorskip(peer.package, reason=reason, exc_type=ImportError)
    X, y, X_test, _ = rows
    result = peer.fit(X, y, 0)(X_test)
    if not peer.n_residual_folds:
        return result
    assert result.shape == (50,)
    return Prediction.of_residuals(result, residuals_of(peer, X, y, 0, Alone()))


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")  # of others about their own dependencies
def test_every_method_learns_from_labels_and_gaps(name, rows):
    y_test = rows[-1]
    scores = predicted(name, rows).scores(y_test)
    alone = predicted("constant", rows).scores(y_test)
    # Ours alone can be calibrated without more rows.
    calibrated = {name for name in scores if "calibrated" in name}
    assert scores.keys() - calibrated == alone.keys()
    assert bool(calibrated) == (name == OURS)
    assert all(map(np.isfinite, scores.values()))
    if name != "constant":
        assert scores["test CRPS by quantiles"] < 0.8 * alone["test CRPS by quantiles"]
        assert scores["test RMSE"] < 0.8 * alone["test RMSE"]


def test_ours_is_the_regressor_with_its_defaults(rows):
    X, y, X_test, _ = rows
    default = HistogramRegressor(random_state=3).fit(X, y)
    ours = PEERS[OURS].fit(X, y, 3)(X_test)
    assert_array_equal(ours.point, default.predict(X_test))


@pytest.mark.parametrize("name", ["HistGradientBoosting", "ridge regression"])
def test_labels_that_training_did_not_have_are_predicted_too(name, rows):
    X, y, X_test, _ = rows
    strange = X_test.assign(colour="never seen", town=None, gaps=np.nan)
    assert np.isfinite(PEERS[name].fit(X, y, 0)(strange)).all()


def test_the_constant_predicts_the_training_targets_alone(rows):
    _, y, _, _ = rows
    prediction = predicted("constant", rows)
    np.testing.assert_allclose(prediction.point, y.mean())
    low, high = prediction.intervals[0.9]
    np.testing.assert_allclose([low[0], high[0]], np.quantile(y, [0.05, 0.95]))
    np.testing.assert_allclose(prediction.median, np.median(y))


def test_a_package_that_is_missing_is_named(monkeypatch, rows):
    def missing(package):
        raise ImportError(f"No module named {package!r}")

    monkeypatch.setattr(predictors, "import_module", missing)
    named = [name for name, peer in PEERS.items() if peer.package in OF_OTHERS]
    assert len(named) == 10
    for name in named:
        with pytest.raises(ValueError, match=r"must be installed, pip install 'hist"):
            PEERS[name].fit(*rows[:2], 0)


def test_ours_comes_first_and_what_each_needs_is_a_package():
    assert next(iter(PEERS)) == OURS
    for peer in PEERS.values():
        if peer.package not in OF_OTHERS:
            importlib.import_module(peer.package)


@pytest.mark.parametrize(("n_folds", "n_residuals"), [(5, 103), (1, 21), (0, 0)])
def test_residuals_are_of_rows_that_were_held_out(n_folds, n_residuals):
    X, y = made_table(103)
    seen = []

    def fit(X, y, _):
        seen.append(len(y))
        return lambda rows: rows["a number [m]"].isin(X["a number [m]"]) * 1e6

    residuals = residuals_of(Peer(fit, "", n_folds), X, y, 0, Alone())
    assert len(residuals) == n_residuals and len(seen) == n_folds
    assert (np.abs(residuals) < 1e5).all()  # no row that was learnt from
    if n_folds == 5:
        np.testing.assert_allclose(np.sort(residuals), np.sort(y))
