"""Models are compared by cross-validation on the same rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from histreg import HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import compare
from histreg.tabular.comparison import _splits
from histreg.tabular.scores import row_scores_of_point

N = 240
SIMPLE = ("linear regression", "boosting", "constant")


def table(n=N):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b"], n)})
    X["day"] = pd.date_range("2024-01-01", periods=n)
    y = 3 * X["x"] + 5 * (X["kind"] == "b") + rng.normal(size=n)
    return X, y.to_numpy()


def test_a_linear_table_is_won_by_linear_regression():
    X, y = table()
    board = compare(X, y, SIMPLE, folds=3)
    assert [s.name for s in board.standings] == list(SIMPLE)
    assert board.n_rows == N
    by_name = {standing.name: standing for standing in board.standings}
    linear, constant = by_name["linear regression"], by_name["constant"]
    # CRPS of a normal with sigma 1 is 0.564; the constant's sigma is about 4.
    assert linear.scores.crps == pytest.approx(1 / np.sqrt(np.pi), rel=0.15)
    assert linear.scores.coverage == pytest.approx(0.9, abs=0.08)
    assert linear.scores.skill == pytest.approx(
        1 - linear.scores.crps / constant.scores.crps
    )
    assert constant.scores.skill == 0 and constant.verdict.best is None
    assert board.verdict is not None and board.verdict.best == "boosting"
    assert board.judged == board.standings[0].name
    assert "better than the best simple model, boosting" in str(board.verdict)
    polars = pl.DataFrame(X.to_dict("list"))
    again = compare(polars, y, SIMPLE, folds=3)
    assert [s.scores for s in again.standings] == [s.scores for s in board.standings]


def test_the_constant_is_the_distribution_of_the_training_targets():
    X, y = table()
    [standing] = compare(X, y, ["constant"], folds=2).standings
    expected = []
    for learn, test in _splits(N, 2, groups=None, times=None, seed=0):
        spread = np.abs(y[learn][:, None] - y[learn]).mean() / 2
        expected += [np.abs(y[learn] - one).mean() - spread for one in y[test]]
    assert standing.scores.crps == pytest.approx(np.mean(expected))


def test_estimators_of_any_kind_are_compared():
    X, y = table(120)
    X = X[["x"]]
    quick = HistogramRegressor(16, n_estimators=1, max_iter=2, random_state=0)
    models = {
        "ours": quick,
        "l2": HistogramRegressor(16, n_estimators=1, max_iter=2, loss="l2"),
        "theirs": LinearRegression(),
    }
    fitted = []
    board = compare(X, y, models, folds=2, on_fit=lambda *step: fitted.append(step))
    names = {standing.name for standing in board.standings}
    assert names == {"ours", "l2", "theirs", "constant"}
    assert fitted[:2] == [("ours", 1), ("l2", 1)] and len(fitted) == 8
    assert all(standing.fit_s > 0 for standing in board.standings)
    assert not hasattr(quick, "model_")


def test_models_with_a_distribution_are_scored_by_it():
    X, y = table()
    X = X[["x"]]
    quick = HistogramRegressor(16, n_estimators=1, max_iter=2, random_state=0)
    models = {
        "alone": quick,
        "piped": make_pipeline(FunctionTransformer(), quick),
        "doubled": TransformedTargetRegressor(
            quick, func=lambda y: 2 * y, inverse_func=lambda y: y / 2
        ),
        "l2": HistogramRegressor(16, n_estimators=1, max_iter=2, loss="l2"),
        "normal": make_pipeline(StandardScaler(), BayesianRidge()),
        "searched": GridSearchCV(BayesianRidge(), {"max_iter": [100]}, cv=2),
        "number": LinearRegression(),
    }
    board = compare(X, y, models, folds=2)
    found = {standing.name: standing for standing in board.standings}
    origins = {name: standing.distribution for name, standing in found.items()}
    assert origins == {
        **dict.fromkeys(("alone", "piped", "doubled"), "own"),
        "normal": "normal",
        **dict.fromkeys(("l2", "searched", "number", "constant"), "residuals"),
    }
    assert found["piped"].scores == found["alone"].scores
    assert found["doubled"].scores.crps == pytest.approx(
        found["alone"].scores.crps, rel=0.02
    )
    # y is normal around a line with two offsets: both describe it nearly alike.
    assert found["normal"].scores.crps == pytest.approx(
        found["number"].scores.crps, rel=0.05
    )
    assert found["normal"].scores.coverage > 0.85


def test_folds_keep_groups_together_and_time_in_order():
    groups = np.arange(60) % 7
    for learn, test in _splits(60, 3, groups=groups, times=None, seed=0):
        assert not set(groups[learn]) & set(groups[test])
    times = np.random.default_rng(0).permutation(60)
    tested = []
    for learn, test in _splits(60, 3, groups=None, times=times, seed=0):
        assert times[learn].max() < times[test].min()
        tested += test.tolist()
    assert len(tested) == len(set(tested)) == 45
    parts = [test for _, test in _splits(60, 3, groups=None, times=None, seed=0)]
    assert sorted(np.concatenate(parts)) == list(range(60))


def test_with_groups_and_order_results_are_of_those_splits():
    X, y = table(90)
    by_time = compare(X, y, ["constant"], folds=2, order=X["day"])
    assert by_time.n_rows == 60
    first, second = y[:30], y[30:60]
    expected = [
        row_scores_of_point(
            np.full(30, y[:k].mean()), y[k : k + 30], y[:k] - y[:k].mean()
        )
        for k in (30, 60)
    ]
    crps = np.mean([scores.crps.mean() for scores in expected])
    assert by_time.standings[0].scores.crps == pytest.approx(crps)
    assert len(first) == len(second)
    by_group = compare(X, y, ["constant"], folds=3, groups=np.arange(90) // 10)
    assert by_group.n_rows == 90


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"models": ["Nope"]}, "a model must be one of 'constant'.*got 'Nope'"),
        ({"models": ["os.nope"]}, "model 'os.nope' cannot be imported"),
        ({"models": "constant"}, "models must be a list of names, got 'constant'"),
        ({"groups": [1, 2]}, "groups must have a value for each of the 240 rows"),
        ({"groups": [1] * N}, "5 folds need at least 5 groups, got 1"),
        (
            {"groups": range(N), "order": range(N)},
            "groups and order cannot be combined",
        ),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    X, y = table()
    with pytest.raises(InputError, match=sentence):
        compare(X, y, **{"models": ["constant"], **options})
    with pytest.raises(InputError, match="X must be a data frame, got ndarray"):
        compare(np.zeros((5, 1)), np.zeros(5), ["constant"])
    with pytest.raises(InputError, match="y must hold a finite number"):
        compare(X, y * np.nan, ["constant"])
