"""Row groups: their numbers, and coverage that holds in each of them."""

import math

import numpy as np
import pytest
import torch

from histreg import HistogramRegressor, InputError
from histreg.tabular import conformal
from histreg.tabular.row_groups import RowGroups, group_names
from tests.tabular.examples import TINY, frame
from tests.tabular.test_conformal import BINS, draw


def test_groups_are_numbered_in_alphabetical_order():
    groups = RowGroups.of(["b", "a", "b"], "column")
    assert groups.levels == ["a", "b"] and groups.codes.tolist() == [1, 0, 1]
    assert groups.codes_of(["a", "new", "b"]).tolist() == [0, 2, 1]


def test_equal_values_of_any_type_are_one_group():
    assert group_names(np.array([3.0, 2.5, np.nan]), 3) == ["3", "2.5", "missing"]
    assert group_names([3, 4], 2) == ["3", "4"]
    assert group_names(np.array(["3", None], dtype=object), 2) == ["3", "missing"]
    with pytest.raises(InputError, match=r"groups must have shape \(2,\), one per row"):
        group_names([1], 2)


def test_coverage_is_kept_in_every_group_over_many_draws(generator):
    """Exact in each group: within [c, c + 1 / (n + 1)] over calibration and test draws.

    2,000 draws of 29 rows and one test row in each of two groups, c = 0.8: a standard
    deviation of 0.009; four of them fail once in 16,000, for each of two groups. One
    threshold for both groups, whose errors differ by a factor of three, covers 0.95 and
    0.65 of them or so.
    """
    n, repeats, coverage = 29, 2000, 0.8
    d, y = draw(2 * repeats * (n + 1), generator)
    is_wide = torch.arange(len(y)) % 2 == 1
    y = torch.where(is_wide, d.mean + 3 * (y - d.mean), y).clamp(-6, 6)
    scores = conformal.scores(d, y, coverage).view(repeats, n + 1, 2)
    held = torch.zeros(2)
    alike = torch.zeros(2)
    for row in scores:
        t = conformal.growth(row[:n].flatten(), coverage)
        alike += row[n] <= t
        for group in (0, 1):
            held[group] += row[n, group] <= conformal.growth(row[:n, group], coverage)
    deviation = math.sqrt(coverage * (1 - coverage) / repeats)
    shares = held / repeats
    assert (shares > coverage - 4 * deviation).all()
    assert (shares < coverage + 1 / (n + 1) + 4 * deviation).all()
    assert abs(alike / repeats - coverage).min() > 0.05


def test_the_growth_of_a_row_is_that_of_its_group(generator):
    d, y = draw(60, generator)
    groups = RowGroups.of(["a", "b", "b"] * 20)
    calibration = conformal.Calibration([BINS], d.logits[:, None], y[:, None], groups)
    codes = groups.codes_of(["b", "a", "never seen"])
    (t,) = calibration.growths_of(0.8, "central", codes)
    of_b = conformal.scores(d, y, 0.8)[groups.codes == 1]
    assert t[0] == conformal.growth(of_b, 0.8) and t[2] == math.inf
    lower, upper = conformal.interval(d[:3], 0.8, "central", t)
    for i in range(3):
        alone = conformal.interval(d[i : i + 1], 0.8, "central", t[i].item())
        assert (lower[i], upper[i]) == alone
    with pytest.raises(InputError, match="groups must be given"):
        calibration.growths_of(0.8, "central", None)


@pytest.fixture(scope="module")
def fitted():
    X, y = frame(300)
    return HistogramRegressor(**TINY).fit(X[:150], y[:150]), X, y


def test_a_column_and_its_values_give_the_same_intervals(fitted, tmp_path):
    model, X, y = fitted
    test = X[:20]
    by_column = model.calibrate(X[150:], y[150:], groups="text").predict_interval(test)
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    by_value = model.calibrate(
        X[150:], y[150:], groups=X.text[150:].to_numpy()
    ).predict_interval(test, groups=test.text.to_numpy())
    for one, two, three in zip(
        by_column, by_value, again.predict_interval(test), strict=True
    ):
        assert np.array_equal(one, two) and np.array_equal(one, three)
    plain = model.calibrate(X[150:], y[150:]).predict_interval(test)
    assert not np.array_equal(plain[0], by_column[0])
    # Each group is calibrated as if the other were not there.
    of_x = X.text[150:] == "x"
    alone = model.calibrate(X[150:][of_x], y[150:][of_x]).predict_interval(test)
    rows = (test.text == "x").to_numpy()
    assert np.array_equal(alone[1][rows], by_column[1][rows])


def test_numbers_can_be_groups_and_new_ones_have_no_end(fitted):
    model, X, y = fitted
    parity = np.arange(150) % 2
    model.calibrate(X[150:], y[150:], groups=parity)
    lower, upper = model.predict_interval(X[:3], groups=[0, 1, 7])
    assert np.isfinite(lower[:2]).all() and lower[2] == -np.inf and upper[2] == np.inf
    assert model.predict(X[:3]).shape == (3,)  # needs no groups
    assert model.predict_all(X[:3], groups=[0, 1, 7]).interval(0.9)[0][2] == -np.inf


def test_wrong_groups_are_refused(fitted):
    model, X, y = fitted
    with pytest.raises(InputError, match="groups must name a column of the model"):
        model.calibrate(X, y, groups="nope")
    with pytest.raises(InputError, match=r"groups must have shape \(300,\)"):
        model.calibrate(X, y, groups=[1, 2])
    with pytest.raises(InputError, match="calibrate by groups needs X and y"):
        model.calibrate(groups="text")
    model.calibrate(X, y)
    with pytest.raises(InputError, match="groups must be None unless"):
        model.predict_interval(X, groups=np.zeros(300))
    model.calibrate(X, y, groups=np.zeros(300))
    with pytest.raises(InputError, match="groups must be given"):
        model.predict_interval(X)
