"""Predictions: one run of the network, and every reading of it."""

import gc
import weakref

import numpy as np
import pytest

from histreg import HistogramRegressor
from histreg.errors import NoDistributionError
from histreg.tabular import model as model_module
from histreg.tabular.predictions import (
    Predictions,
    checked_levels,
    checked_thresholds,
)
from tests.tabular.passes import rows_seen

X = np.random.default_rng(0).normal(size=(300, 3))
FLAT = 3 * X[:, 0] + np.random.default_rng(1).normal(size=300)
Y = {
    "flat": FLAT,
    "column": FLAT[:, None],
    "two targets": np.stack([FLAT, 1000 - 10 * FLAT], axis=1),
}


@pytest.fixture(scope="module", params=Y)
def model(request):
    regressor = HistogramRegressor((8,), max_iter=2, n_estimators=2, random_state=0)
    return regressor.fit(X, Y[request.param])


@pytest.fixture(params=[False, True], ids=["as predicted", "calibrated"])
def fitted(request, model):
    """Yield a model whose 300 rows are five chunks."""
    patch = pytest.MonkeyPatch()
    patch.setattr(model_module, "CHUNK", 64)
    if request.param:
        columns = [0] if model.n_outputs_ == 1 else [0, 1]
        model.calibrate(X, Y["two targets"][:, columns])
    yield model
    model.model_.calibration = None
    patch.undo()


def test_every_reading_is_that_of_its_method(fitted):
    found = fitted.predict_all(X)
    for reading, method in {
        "mean": fitted.predict(X),
        "median": fitted.predict(X, "median"),
        "mode": fitted.predict(X, "mode"),
        "variance": fitted.predict_var(X),
    }.items():
        np.testing.assert_array_equal(getattr(found, reading), method)
    for alpha in (0.3, [0.1, 0.5, 0.999]):
        np.testing.assert_array_equal(
            found.quantiles(alpha), fitted.predict_quantiles(X, alpha)
        )
    for method in ("central", "shortest"):
        for coverage in (0.5, 0.9):
            np.testing.assert_array_equal(
                found.interval(coverage, method),
                fitted.predict_interval(X, coverage, method),
            )
    several = fitted.predict_interval(X, [0.5, 0.9])
    for end, ends in enumerate(several):
        assert ends.shape == (*found.mean.shape, 2)
        for j, coverage in enumerate((0.5, 0.9)):
            one = fitted.predict_interval(X, coverage)[end]
            np.testing.assert_array_equal(ends[..., j], one)
    for threshold in (1.0, [1.0] * fitted.n_outputs_):
        np.testing.assert_array_equal(
            found.prob_above(threshold), fitted.predict_proba_above(X, threshold)
        )


def test_the_distribution_is_the_one_that_is_read(fitted):
    found = fitted.predict_all(X)
    distributions = fitted.predict_dist(X)
    is_flat = not isinstance(distributions, tuple)
    means = np.stack(
        [d.mean for d in ((distributions,) if is_flat else distributions)], axis=1
    )
    np.testing.assert_array_equal(found.mean, means[:, 0] if is_flat else means)


def test_chunks_are_the_rows_in_their_order(fitted):
    parts = list(fitted.predict_in_chunks(X))
    assert [len(part.mean) for part in parts] == [64, 64, 64, 64, 44]
    for name in ("mean", "median"):
        whole = getattr(fitted.predict_all(X), name)
        np.testing.assert_array_equal(
            np.concatenate([getattr(part, name) for part in parts]), whole
        )


def test_all_readings_come_from_one_run_of_the_network(fitted):
    with rows_seen() as seen:
        found = fitted.predict_all(X)
        for _ in range(2):
            assert found.mean.shape == found.median.shape == found.mode.shape
            found.quantiles([0.1, 0.9])
            found.interval(0.9)
            found.interval(0.5, "shortest")
            found.prob_above(0.0)
    assert seen == [64] * 4 + [48]  # rows are filled up to multiples of 8


def test_a_chunk_is_gone_before_the_next_is_made(model, monkeypatch):
    """So memory is bounded, also while no garbage is collected."""
    monkeypatch.setattr(model_module, "READ_ROWS", 64)
    alive, most = weakref.WeakSet(), 0
    init = Predictions.__init__

    def counted(self, *args, **options):
        nonlocal most
        init(self, *args, **options)
        alive.add(self)
        most = max(most, len(alive))

    monkeypatch.setattr(Predictions, "__init__", counted)
    gc.disable()
    try:
        model.predict(X)
        model.predict_interval(X)
    finally:
        gc.enable()
    assert most == 1


def test_a_loss_on_numbers_has_a_mean_and_nothing_else():
    model = HistogramRegressor((8,), loss="l2", max_iter=2, random_state=0).fit(X, FLAT)
    (found,) = model.predict_in_chunks(X)
    np.testing.assert_array_equal(found.mean, model.predict(X))
    for reading in (
        lambda: found.median,
        lambda: found.quantiles(0.5),
        lambda: found.interval(0.9),
        lambda: found.prob_above(0.0),
        lambda: model.predict_all(X),
    ):
        with pytest.raises(NoDistributionError, match="a distribution needs a loss"):
            reading()


@pytest.mark.parametrize("alpha", [1.5, [0.5, np.nan], [[0.5]]])
def test_levels_outside_0_and_1_are_refused(alpha):
    with pytest.raises(ValueError, match=r"alpha must hold levels in \[0, 1\]"):
        checked_levels(alpha)


def test_thresholds_are_one_or_one_per_target():
    assert checked_thresholds(1, 3) == [1.0] * 3
    assert checked_thresholds([1, 2], 2) == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"one for each of the 2 targets.*\(3,\)"):
        checked_thresholds([1, 2, 3], 2)
    with pytest.raises(ValueError, match="threshold must not be NaN"):
        checked_thresholds([1, np.nan], 2)


def test_wrong_arguments_are_refused_before_the_network_is_run(model):
    with rows_seen() as seen:
        for predict in (
            lambda: model.predict(X, "average"),
            lambda: model.predict_quantiles(X, 2.0),
            lambda: model.predict_interval(X, 90),
            lambda: model.predict_interval(X, 0.9, "smallest"),
            lambda: model.predict_proba_above(X, np.nan),
        ):
            with pytest.raises(ValueError):
                predict()
    assert seen == []
