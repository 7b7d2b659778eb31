"""Predictors: that all learn, and are scored alike."""

import numpy as np
import pytest

from histreg.study.shapes import predictors
from histreg.study.shapes.predictions import Prediction
from histreg.study.shapes.predictors import PREDICTORS


@pytest.fixture(scope="module")
def heavy():
    """Return rows of which the first feature scales a lognormal target."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 3))
    return X, np.exp(2 * X[:, 0] + 0.3 * rng.normal(size=400))


@pytest.mark.parametrize(
    "name", ["auto bins", "l2 of logarithms", "HistGradientBoosting"]
)
def test_what_needs_no_other_package_learns_more_than_the_targets_alone(name, heavy):
    X, y = heavy
    told = PREDICTORS[name](X[:300], y[:300], 0)(X[300:]).scores(y[300:])
    alone = Prediction.of_residuals(np.zeros(100), y[:300]).scores(y[300:])
    assert told["test CRPS"] < 0.6 * alone["test CRPS"]
    assert 0.7 < told["test coverage 0.9"] <= 1
    assert {"test MAE", "test RMSE", "test MAE of the median"} <= told.keys()
    # Both rules for the CRPS differ by thousandths.
    by_quantiles = told["test CRPS by quantiles"]
    assert by_quantiles == pytest.approx(told["test CRPS"], rel=0.02)


@pytest.mark.parametrize("name", ["CatBoost", "NGBoost"])
def test_a_package_that_is_not_there_is_named(name, heavy, monkeypatch):
    def missing(package):
        raise ImportError(f"No module named {package!r}")

    monkeypatch.setattr(predictors, "import_module", missing)
    with pytest.raises(ValueError, match=r"must be installed, pip install 'histreg\["):
        PREDICTORS[name](*heavy, 0)


@pytest.mark.parametrize("name", ["CatBoost", "NGBoost"])
@pytest.mark.filterwarnings("ignore")  # of others about their own dependencies
def test_packages_of_others_are_scored_alike(name, heavy):
    pytest.importorskip(name.lower(), reason="comes with the extra peers")
    X, y = heavy
    told = PREDICTORS[name](X[:300], y[:300], 0)(X[300:]).scores(y[300:])
    ours = PREDICTORS["auto bins"](X[:300], y[:300], 0)(X[300:]).scores(y[300:])
    assert told.keys() == ours.keys()
