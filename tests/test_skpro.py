"""The regressor in skpro: its estimator checks, and the same numbers."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skpro", reason="needs skpro: make test-skpro")

from skpro.utils import check_estimator

from histreg import HistogramRegressor, metrics
from histreg.skpro import HistogramProbaRegressor
from tests.pages import blocks
from tests.tabular.examples import TINY, frame

pytestmark = pytest.mark.filterwarnings("default")  # skpro's own


@pytest.fixture(scope="module")
def fitted():
    X, y = frame(120)
    X = X.astype({"kind": str})
    model = HistogramProbaRegressor(HistogramRegressor(**TINY))
    return model.fit(X, pd.DataFrame({"price": y})), X, y


def test_it_passes_skpros_estimator_checks():
    results = check_estimator(HistogramProbaRegressor, raise_exceptions=False)
    failed = {name: result for name, result in results.items() if result != "PASSED"}
    assert len(results) > 50 and not failed


def test_predictions_are_those_of_the_regressor(fitted):
    model, X, _ = fitted
    own = HistogramRegressor.predict_all(model.regressor_, X)
    assert np.array_equal(model.predict(X)["price"], own.mean)
    assert np.array_equal(model.predict_var(X)["price"], own.variance)
    quantiles = model.predict_quantiles(X, alpha=[0.1, 0.9])
    assert np.array_equal(quantiles, own.quantiles([0.1, 0.9]))
    assert quantiles.columns.tolist() == [("price", 0.1), ("price", 0.9)]


def test_skpros_distribution_is_the_predicted_one(fitted):
    model, X, y = fitted
    predicted = model.predict_proba(X[:20])
    own = model.regressor_.predict_dist(X[:20])
    np.testing.assert_allclose(predicted.mean()["price"], own.mean, rtol=1e-9)
    at = pd.DataFrame({"price": y[:20]}, index=X.index[:20])
    expected = own.cdf(np.asarray(at["price"]))
    np.testing.assert_allclose(predicted.cdf(at)["price"], expected, atol=1e-9)
    log_score = metrics.log_score(own, y[:20])
    np.testing.assert_allclose(-predicted.log_pdf(at)["price"], log_score, rtol=1e-6)


def test_several_targets_have_a_distribution_each():
    X, y = frame(60)
    both = pd.DataFrame({"a": y, "b": -2 * y})
    model = HistogramProbaRegressor(HistogramRegressor(**TINY))
    numbers = X[["a", "c"]]
    model.fit(numbers, both)
    assert model.predict(numbers).columns.tolist() == ["a", "b"]
    means = model.predict_proba(numbers).mean()
    np.testing.assert_allclose(means, model.predict(numbers), rtol=1e-9)


def test_the_code_of_the_guide_runs():
    X, y = frame(60)
    names = {"train": X[["a", "c"]], "test": X[["a", "c"]][:5], "y_train": pd.Series(y)}
    (code,) = blocks("docs/guide_table.md", "py")
    exec(code, names | {"HistogramRegressor": HistogramRegressor})
