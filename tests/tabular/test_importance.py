"""Importance: against scikit-learn's shuffling, and what must be zero."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.inspection import permutation_importance

from histreg import HistogramRegressor, InputError, metrics
from histreg.tabular import column_importance
from tests.tabular.examples import TINY, data, frame


@pytest.fixture(scope="module")
def fitted():
    X, y = frame(300)
    X["constant"] = 1.0
    return HistogramRegressor(**TINY).fit(X, y), X, y


def test_it_is_scikit_learns_permutation_importance(fitted):
    model, X, y = fitted
    ours = column_importance(model, X, y, n_repeats=20, random_state=0)
    theirs = permutation_importance(
        model, X, y, scoring=metrics.SCORERS["neg_crps"], n_repeats=20, random_state=1
    )
    # Independent shuffles of the same rows: means over 20 differ by their standard
    # errors. Six columns at five of them: a failure in 300,000 changes of the seed.
    spread = ours.by_repeat["CRPS"].std(axis=1, ddof=1)
    error = np.hypot(spread, theirs.importances_std) / np.sqrt(20)
    assert (abs(ours.values("CRPS") - theirs.importances_mean) <= 5 * error).all()
    assert list(ours.columns) == list(X.columns)
    assert ours.crps == pytest.approx(-metrics.SCORERS["neg_crps"](model, X, y))


def test_a_column_without_use_has_none(fitted):
    model, X, y = fitted
    found = column_importance(model, X, y, above=3.0, random_state=0)
    i = found.columns.index("constant")
    for name in ("CRPS", "mean", "spread", "P(y > 3)"):
        assert found.by_repeat[name][i].max() == 0 == found.errors[name][i]
    assert found.ranked()[0] == "a"


def test_the_change_of_the_mean_is_what_shuffling_changes():
    X, y = data(50)
    model = HistogramRegressor(**TINY).fit(X, y)
    found = column_importance(model, X, of="mean", n_repeats=1, random_state=7)
    shuffled = X.copy()
    shuffled[:, 0] = X[np.random.default_rng(7).permutation(50), 0]
    change = abs(model.predict(shuffled) - model.predict(X))
    assert found.values("mean")[0] == change.mean()
    assert found.errors["mean"][0] == pytest.approx(change.std(ddof=1) / np.sqrt(50))
    assert found.names == ["mean"] and found.crps is None


def test_a_group_of_all_columns_leaves_nothing(fitted):
    model, X, y = fitted
    every = column_importance(
        model, X, y, groups={"all": list(X.columns)}, random_state=0
    )
    assert every.columns == ("all",)
    alone = column_importance(model, X, y, random_state=0)
    assert every.values("CRPS")[0] > alone.values("CRPS").max()


def test_the_seed_decides_and_rows_can_be_fewer(fitted):
    model, X, y = fitted
    one, two = (
        column_importance(model, X, y, max_rows=50, n_repeats=2, random_state=3)
        for _ in range(2)
    )
    assert one.n_rows == 50
    assert np.array_equal(one.by_repeat["CRPS"], two.by_repeat["CRPS"])


def test_rows_and_plot_show_the_most_important_first(fitted):
    model, X, y = fitted
    found = column_importance(model, X, y, n_repeats=1, random_state=0)
    assert [row["column"] for row in found.rows()] == found.ranked()
    ax = found.plot(Figure().add_subplot(), max_columns=2)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels[::-1] == found.ranked()[:2]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths[::-1] == sorted(found.values())[::-1][:2]


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"n_repeats": 0}, "n_repeats must be a whole number of at least 1"),
        ({"of": ("mode",)}, "of must be one of 'mean', 'spread'"),
        ({"y": [1.0, 2.0]}, r"y must have shape \(300,\) like X, got \(2,\)"),
        ({"groups": {"g": ["no"]}}, "groups must name a column of the model"),
    ],
)
def test_bad_input_is_refused(fitted, given, sentence):
    model, X, y = fitted
    with pytest.raises(InputError, match=sentence):
        column_importance(model, X, **{"y": y, **given})


def test_two_targets_and_one_row_are_refused():
    X, y = data(40)
    model = HistogramRegressor(**TINY).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(InputError, match="one target, got 2 targets"):
        column_importance(model, X)
    model = HistogramRegressor(**TINY).fit(X, y)
    with pytest.raises(InputError, match="at least two rows to shuffle, got 1"):
        column_importance(model, X[:1])
