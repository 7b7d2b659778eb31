"""Predicted columns: their names and values."""

import numpy as np

from histreg import HistogramRegressor
from histreg.cli.predicted_columns import Asked, columns_of, predictions_as_json
from tests.tabular.examples import TINY, data


def test_columns_are_what_the_regressor_predicts():
    X, y = data(60)
    model = HistogramRegressor(**TINY).fit(X, y).calibrate(X, y)
    asked = Asked([0.8, 0.5], "shortest", [0.25], [3.0])
    found = columns_of(model.predict_all(X), "y", asked)
    assert list(found) == [
        *("y_mean", "y_lower_80", "y_upper_80", "y_lower_50", "y_upper_50"),
        *("y_q0.25", "y_above_3"),
    ]
    lower, _ = model.predict_interval(X, 0.5, "shortest")
    assert np.array_equal(found["y_lower_50"], lower)
    trusted = model.predict_calibrated(X)
    found = columns_of(model.predict_all(X), "y", asked._replace(calibrated=True))
    assert np.array_equal(found["y_q0.25"], trusted.quantiles([0.25])[0])
    assert np.array_equal(found["y_above_3"], trusted.prob_above(3.0))
    ends = (y - 1, y + 1)
    found = columns_of(model.predict_all(X), "y", Asked([0.9]), ends)
    assert found["y_lower_90"] is ends[0] and found["y_upper_90"] is ends[1]


def test_an_infinite_end_is_null_in_json():
    columns = {"y_mean": np.array([1.0, 2.5]), "y_upper_90": np.array([np.inf, 3.0])}
    assert predictions_as_json(columns, "y") == {
        "target": "y",
        "predictions": [
            {"y_mean": 1.0, "y_upper_90": None},
            {"y_mean": 2.5, "y_upper_90": 3.0},
        ],
    }
