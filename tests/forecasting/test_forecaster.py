"""The forecaster: shapes, bad input, files, columns, and coverage on new values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone

from histreg import HistogramForecaster, HistogramRegressor, InputError
from tests import damage

QUICK = {"horizon": 3, "window": 8, "max_iter": 2, "n_estimators": 2, "n_bins": 30}
QUICK |= {"hidden_layer_sizes": (8,), "random_state": 0}


def wave(n: int, seed: int = 0) -> np.ndarray:
    noise = 0.3 * np.random.default_rng(seed).normal(size=n)
    return 10 + np.sin(np.arange(n) / 2) + noise


@pytest.fixture(scope="module")
def fitted() -> HistogramForecaster:
    return HistogramForecaster(**QUICK).fit(wave(120))


@pytest.fixture(scope="module")
def with_columns() -> HistogramForecaster:
    promotion = np.random.default_rng(0).random(120) < 0.2  # not seen in y before
    X = pd.DataFrame({"load": wave(120, 1), "promotion": promotion})
    y = wave(120) + 5 * X["promotion"]
    return HistogramForecaster(**QUICK, known=["promotion"]).fit(y, X)


def test_results_have_a_step_per_row(fitted):
    assert fitted.predict().shape == (3,)
    assert fitted.predict_quantiles().shape == (3, 9)
    assert fitted.predict_quantiles(alpha=0.5).shape == (3,)
    lower, upper = fitted.predict_interval(coverage=0.8)
    assert lower.shape == upper.shape == (3,) and (lower < upper).all()
    assert fitted.predict_dist().batch_shape == (3,)
    assert fitted.predict_dist().histogram(2).batch_shape == ()
    assert len(fitted.history_) == fitted.history_[-1].number <= 2


def test_several_series_have_a_column_each():
    y = np.stack([wave(120), 1000 * wave(120, 1)], axis=1)
    model = HistogramForecaster(**QUICK).fit(pl.DataFrame(y))
    assert model.predict().shape == (3, 2)
    assert model.predict_quantiles(alpha=[0.1, 0.9]).shape == (3, 2, 2)
    assert model.predict_interval()[0].shape == (3, 2)
    backtest = model.backtest(y, start=90)
    assert backtest.y.shape == backtest.lower.shape == (10, 3, 2)
    assert backtest.scores()["crps"].shape == (3,)


def test_the_forecast_follows_the_end_of_y(fitted):
    y = wave(120)
    np.testing.assert_array_equal(fitted.predict(), fitted.predict(y))
    np.testing.assert_array_equal(fitted.predict(y), fitted.predict(y[-8:]))
    assert not np.array_equal(fitted.predict(y), fitted.predict(y[:-1]))


def test_the_level_does_not_matter(fitted):
    raised = fitted.predict(wave(120) + 1e4)
    np.testing.assert_allclose(raised, fitted.predict() + 1e4, atol=1e-6)


def test_the_same_seed_gives_the_same_forecasts(fitted):
    again = clone(fitted).fit(pd.Series(wave(120)))
    np.testing.assert_array_equal(again.predict(), fitted.predict())
    other = clone(fitted).set_params(random_state=1).fit(wave(120))
    assert not np.array_equal(other.predict(), fitted.predict())


def test_a_column_known_ahead_is_used(with_columns):
    ahead = pd.DataFrame({"load": [np.nan] * 3, "promotion": [0, 0, 1]})
    plain = ahead.assign(promotion=0)
    difference = with_columns.predict(X=ahead) - with_columns.predict(X=plain)
    assert difference[2] > 3  # of 5
    assert np.abs(difference[:2]).max() < 1.5


def test_columns_are_given_with_y_or_for_the_steps_ahead(with_columns):
    n = 40
    X = pd.DataFrame({"load": wave(n + 3), "promotion": np.zeros(n + 3)})
    assert with_columns.predict(wave(n), X).shape == (3,)
    with pytest.raises(InputError, match="X must have 2 columns and a row for each"):
        with_columns.predict(wave(n), X[:n])  # the steps ahead are missing
    with pytest.raises(InputError, match="X must have the columns of fit"):
        with_columns.predict(wave(n), X[["promotion", "load"]])
    with pytest.raises(InputError, match="X must be finite"):
        with_columns.predict(wave(n), X.assign(promotion=np.nan))


def test_intervals_cover_new_values_of_the_same_process():
    y = wave(900)
    model = HistogramForecaster(**QUICK | {"max_iter": 8})
    backtest = model.backtest(y, start=500, step=1, coverage=0.8)
    scores = backtest.scores()
    # 398 windows, whose values repeat three times, calibrated by about as many: the
    # standard error of a step is below 0.04, so that one in 10,000 runs is beyond.
    assert scores["coverage"] == pytest.approx([0.8] * 3, abs=0.15)
    # The noise alone has 0.3 / sqrt(pi); eight noisy values are known, not the wave.
    assert scores["crps"].max() < 1.5 * 0.3 / np.sqrt(np.pi)


def test_a_backtest_uses_nothing_after_an_origin():
    y = wave(130)
    changed = y.copy()
    changed[115:] += 50.0
    options = {"start": 110, "step": 5, "refit": True}
    model = HistogramForecaster(**QUICK)
    before, after = (model.backtest(values, **options) for values in (y, changed))
    assert before.origins.tolist() == [110, 115, 120, 125]
    for i in (0, 1):
        assert torch.equal(before.forecasts[i].mean, after.forecasts[i].mean)
        np.testing.assert_array_equal(before.lower[i], after.lower[i])
    assert not torch.equal(before.forecasts[2].mean, after.forecasts[2].mean)
    assert not hasattr(model, "model_")


def test_a_backtest_goes_by_positions_whatever_the_index_is():
    hours = np.arange(130) / 2  # of which a slice such as [:110] takes all
    y = pd.Series(wave(130), hours)
    X = pd.DataFrame({"load": wave(130, 1)}, hours)
    model = HistogramForecaster(**QUICK)
    indexed = model.backtest(y, X, start=110)
    plain = model.backtest(y.to_numpy(), X.to_numpy(), start=110)
    np.testing.assert_array_equal(indexed.lower, plain.lower)


@pytest.mark.parametrize("n_series", [1, 2])
def test_all_recent_windows_are_those_of_training_at_first(n_series):
    y = np.stack([wave(140, seed) for seed in range(n_series)], axis=1)
    model = HistogramForecaster(**QUICK)
    whole, recent = (
        model.backtest(y, start=120, step=1, coverage=0.7, recent=many)
        for many in (None, 1000)
    )
    np.testing.assert_array_equal(recent.lower[0], whole.lower[0])
    np.testing.assert_array_equal(recent.upper[0], whole.upper[0])
    assert not np.array_equal(recent.upper[-1], whole.upper[-1])


def test_recent_windows_are_the_latest_whose_values_had_come():
    y = wave(160)
    y[130:] *= 2
    model = HistogramForecaster(**QUICK)
    backtest = model.backtest(y, start=120, step=10, coverage=0.6, recent=20)
    assert backtest.origins[3] == 150
    # The forecasts from origins 128 to 147, each with a window of 8 and a horizon of 3.
    fitted = model.fit(y[:120]).calibrate(y[120:150])
    lower, upper = fitted.predict_interval(y[:150], coverage=0.6)
    np.testing.assert_allclose(backtest.lower[3], lower)
    np.testing.assert_allclose(backtest.upper[3], upper)


def test_recent_windows_keep_the_coverage_where_errors_shrink():
    rng = np.random.default_rng(0)
    size = np.where(np.arange(1400) < 700, 1.0, 0.4)
    y = np.sin(np.arange(1400) / 2) + size * rng.normal(size=1400)
    model = HistogramForecaster(**QUICK)
    options = {"start": 700, "step": 1, "coverage": 0.8}
    shares = [
        model.backtest(y, **options, recent=recent).scores()["coverage"].mean()
        for recent in (None, 150)
    ]
    # Twenty standard errors apart: 0.4 of the width that covers 0.8 covers 0.99.
    assert shares[0] > 0.95
    assert shares[1] == pytest.approx(0.8, abs=0.06)


def test_calibration_replaces_that_of_training(fitted):
    model = clone(fitted).fit(wave(120))
    wide = wave(60) + np.random.default_rng(0).normal(size=60) * 2
    before = np.subtract(*model.predict_interval(coverage=0.5)[::-1])
    after = np.subtract(*model.calibrate(wide).predict_interval(coverage=0.5)[::-1])
    assert (after > 2 * before).all()
    np.testing.assert_array_equal(model.predict(), fitted.predict())


def test_too_few_windows_for_a_coverage_give_infinite_ends(fitted):
    model = clone(fitted).fit(wave(120)).calibrate(wave(15))
    lower, upper = model.predict_interval(coverage=0.9)
    assert np.isneginf(lower).all() and np.isposinf(upper).all()


def test_a_constant_series_stays_what_it_is():
    model = HistogramForecaster(**QUICK).fit(np.full(100, 7.0))
    assert model.predict() == pytest.approx([7.0] * 3, abs=0.01)


@pytest.mark.parametrize("power", [700, -700])
def test_forecasts_have_the_scale_of_the_series(fitted, power):
    scaled = HistogramForecaster(**QUICK).fit(wave(120) * 2.0**power)
    np.testing.assert_array_equal(scaled.predict(), fitted.predict() * 2.0**power)


@pytest.mark.parametrize(
    ("change", "y", "X", "message"),
    [
        ({"horizon": 0}, wave(99), None, "horizon must be a whole number of at least"),
        ({"window": 1}, wave(99), None, "window must be a whole number of at least 2"),
        ({"dropout": 1.0}, wave(99), None, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"known": [0]}, wave(99), None, "known must hold names or positions of the 0"),
        ({"known": "a"}, wave(99), None, "known must be a list of columns"),
        ({}, wave(20), None, "y must have at least 31 values for window=8, horizon=3"),
        ({}, [1.0, np.nan] * 50, None, "y must be finite, got 50 of 100"),
        ({}, np.zeros((5, 5, 5)), None, r"y must be one series of shape \(n,\)"),
        ({}, ["a"] * 99, None, "y must hold numbers"),
        ({}, wave(99), np.zeros((98, 1)), "X must have 1 columns and a row for each"),
        ({}, wave(99), np.zeros(99), "X must have"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, y, X, message):
    with pytest.raises(InputError, match=message):
        HistogramForecaster(**QUICK | change).fit(y, X)


def test_what_does_not_fit_the_training_is_refused(fitted):
    with pytest.raises(InputError, match="X must be None without y, because no column"):
        fitted.predict(X=np.zeros((3, 1)))
    with pytest.raises(InputError, match="at least window=8 values, got 5"):
        fitted.predict(wave(5))
    with pytest.raises(InputError, match=r"y must have shape \(n,\) as in fit"):
        fitted.predict(np.ones((20, 2)))
    with pytest.raises(InputError, match=r"window \+ horizon = 11 values, got 10"):
        fitted.calibrate(wave(10))
    with pytest.raises(InputError, match="start must leave horizon=3"):
        fitted.backtest(wave(60), start=58)
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        fitted.predict_interval(coverage=90)


def test_a_callback_that_raises_leaves_the_forecaster_as_it_was(fitted):
    def stop(_):
        raise KeyboardInterrupt

    model = clone(fitted).fit(wave(120)).set_params(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(wave(120, 1))
    np.testing.assert_array_equal(model.predict(), fitted.predict())


def test_a_loaded_forecaster_predicts_the_same(with_columns, tmp_path):
    with_columns.save(tmp_path / "model")
    loaded = HistogramForecaster.load(tmp_path / "model")
    ahead = pd.DataFrame({"load": [0.0] * 3, "promotion": [0, 1, 0]})
    for read in (
        lambda model: model.predict(X=ahead),
        lambda model: model.predict_interval(X=ahead),
        lambda model: model.predict_quantiles(wave(9), np.ones((12, 2))),
    ):
        np.testing.assert_array_equal(read(loaded), read(with_columns))
    options = loaded.get_params()
    assert options == with_columns.get_params() | {"hidden_layer_sizes": [8]}
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {
        ".json",
        ".safetensors",
    }


def test_a_forecaster_is_no_regressor(fitted, tmp_path):
    fitted.save(tmp_path)
    with pytest.raises(InputError, match="does not describe a histreg model"):
        HistogramRegressor.load(tmp_path)


def test_a_forecaster_replaces_a_regressor_in_its_folder(fitted, tmp_path):
    regressor = HistogramRegressor(max_iter=1, n_estimators=1, random_state=0)
    regressor.fit(np.arange(40.0).reshape(20, 2), np.arange(20.0)).save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    fitted.save(tmp_path)
    loaded = HistogramForecaster.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(), fitted.predict())
    assert len(list(tmp_path.iterdir())) == 2  # the weights of the regressor are gone


DAMAGES = {
    "no bins": lambda described, tensors: tensors.pop("bins"),
    "no options": lambda described, tensors: described.pop("options"),
    "another horizon": lambda described, tensors: described["options"].update(
        horizon=4
    ),
    "an unknown option": lambda described, tensors: described["options"].update(a=1),
    "a weight": lambda described, tensors: tensors["network.readout.bias"].fill_(
        np.inf
    ),
    "a scale": lambda described, tensors: tensors["residual_scale"].neg_(),
    "a column": lambda described, tensors: described.update(known=[7]),
    "the window": lambda described, tensors: tensors.update({"last.y": torch.zeros(3)}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_by_its_name(name, fitted, tmp_path):
    fitted.save(tmp_path)
    described, tensors = damage.read(tmp_path)
    described.pop("checksum")
    DAMAGES[name](described, tensors)
    damage.write(tmp_path, described, tensors)
    with pytest.raises(InputError, match=r"model\.json is damaged: "):
        HistogramForecaster.load(tmp_path)
