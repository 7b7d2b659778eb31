"""Models in files of skops, which hold no code."""

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from histreg import Bins, HistogramRegressor, InputError
from tests.tabular.examples import TINY, data, frame


@pytest.mark.parametrize("kind", ["frame", "stream", "own bins", "in a pipeline"])
def test_skops_writes_a_model_without_further_types_to_trust(kind):
    X, y = frame(80) if kind == "frame" else data(80)
    options = {"bins": Bins.of(y, n_bins=30)} if kind == "own bins" else {}
    model = HistogramRegressor(**TINY, **options)
    model.partial_fit(X, y) if kind == "stream" else model.fit(X, y).calibrate(X, y)
    estimator = model
    if kind == "in a pipeline":
        estimator = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    written = skops.io.dumps(estimator)
    (own,) = skops.io.get_untrusted_types(data=written)
    assert own == "histreg.tabular.regressor.HistogramRegressor"
    again = skops.io.loads(written, trusted=[own])
    assert np.array_equal(again.predict(X), estimator.predict(X))
    if kind == "in a pipeline":
        return
    assert repr(again.bins_) == repr(model.bins_)
    assert np.array_equal(again.predict_interval(X), model.predict_interval(X))
    if kind == "stream":  # it goes on as the other does
        again.partial_fit(X, y)
        assert np.array_equal(again.predict(X), model.partial_fit(X, y).predict(X))


def test_skops_writes_a_model_that_is_not_fitted():
    own = ["histreg.tabular.regressor.HistogramRegressor"]
    written = skops.io.dumps(HistogramRegressor(n_bins=40))
    assert skops.io.loads(written, trusted=own).n_bins == 40


def test_a_damaged_state_is_refused():
    model = HistogramRegressor(**TINY).fit(*data(60))
    state = model.__getstate__()
    text, weights = state["_saved"]
    for damaged in ([text, weights[:-9]], [b"{}", weights], [text], 3):
        with pytest.raises(InputError, match="the saved model is damaged"):
            HistogramRegressor().__setstate__({**state, "_saved": damaged})
