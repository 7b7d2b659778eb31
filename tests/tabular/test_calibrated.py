"""Calibrated distributions: the laws of a cdf, and the promise over many draws."""

import math

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram, HistogramRegressor, InputError
from histreg.tabular.calibrated import CalibratedDistribution, Correction
from histreg.tabular.conformal import Calibration
from tests.tabular.examples import TINY, counts, data, frame
from tests.tabular.test_conformal import BINS, draw


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_the_correction_goes_through_the_ranks():
    correction = Correction(numbers(0.2, 0.4, 0.9))
    # Through (0, 0), (0.2, 1/4), (0.4, 2/4), (0.9, 3/4) and (1, 1).
    torch.testing.assert_close(
        correction(numbers(0.0, 0.1, 0.2, 0.3, 0.65, 0.95, 1.0)),
        numbers(0.0, 0.125, 0.25, 0.375, 0.625, 0.875, 1.0),
    )
    low, high = correction.band(numbers(0.3, 0.4))
    assert low.tolist() == [0.25, 0.25] and high.tolist() == [0.5, 0.75]


def test_ties_share_their_ranks():
    tied = Correction(numbers(0.5, 0.5, 0.5))
    assert tied(numbers(0.5)).item() == 0.5
    assert tied(numbers(0.25)).item() == 0.125
    assert tied.inverse(numbers(0.3, 0.6)).tolist() == [0.5, 0.5]


def test_rows_beyond_the_bins_keep_their_share_there():
    halves = torch.full((4, 2), 0.5, dtype=torch.float64)
    d = Histogram(Bins([0.0, 0.5, 1.0]), probs=halves)
    correction = Correction.of(d, numbers(-1.0, 0.5, 0.75, 2.0))
    assert (correction.n, correction.n_below, correction.n_above) == (4, 1, 1)
    one = CalibratedDistribution(d[:1], [correction])
    assert one.cdf(0.5).item() == pytest.approx(2 / 5)
    found = one.quantiles([0.1, 0.4, 0.9])[:, 0].tolist()
    assert found == [-math.inf, 0.5, math.inf]
    assert one.cdf(-math.inf).item() == 0 and one.cdf(math.inf).item() == 1


@pytest.fixture
def calibrated(generator):
    d, y = draw(70, generator)
    known = Calibration([BINS], d.logits[:49, None], y[:49, None])
    return CalibratedDistribution.of(d[49:], known, 0, None)


def test_quantiles_invert_the_cdf(calibrated):
    levels = [0.05, 0.31, 0.5, 0.77, 0.95]
    for level, y in zip(levels, calibrated.quantiles(levels), strict=True):
        torch.testing.assert_close(
            calibrated.cdf(y), torch.full_like(y, level), rtol=0, atol=1e-9
        )


def test_the_cdf_rises_within_its_band(calibrated):
    values = [calibrated.cdf(float(y)) for y in np.linspace(-7, 7, 57)]
    assert bool((torch.stack(values).diff(dim=0) >= 0).all())
    for y in (-2.0, 0.1, 1.5):
        low, high = calibrated.bounds(y)
        cdf = calibrated.cdf(y)
        assert bool(((low <= cdf) & (cdf <= high)).all())
        assert bool((high - low <= 1 / 50 + 1e-12).all())
        torch.testing.assert_close(calibrated.prob_above(y), 1 - cdf)


def test_the_histogram_has_the_calibrated_cdf_at_the_borders(calibrated):
    histogram = calibrated.histogram()
    for border in BINS.borders[1:-1:7]:
        torch.testing.assert_close(
            histogram.cdf(border), calibrated.cdf(border), rtol=0, atol=1e-12
        )


def test_probability_below_a_quantile_is_kept_over_many_draws(generator):
    """Between floor((n + 1) q) / (n + 1) and ceil((n + 1) q) / (n + 1), exactly.

    3,000 draws of n = 24 rows and one test row: a standard deviation of at most 0.0091;
    four of them fail once in 16,000, for each of five levels. Of the predictions
    themselves, half as wide as they should be, the quantile at 0.05 has 0.2 below it.
    """
    n, repeats, levels = 24, 3000, (0.05, 0.3, 0.5, 0.84, 0.95)
    d, y = draw(repeats * (n + 1), generator)
    u = d.cdf(y).view(repeats, n + 1)
    below = torch.zeros(len(levels))
    for row in u:
        inner = Correction(row[:n].sort().values).inverse(numbers(*levels))
        below += row[n] <= inner
    for level, share in zip(levels, (below / repeats).tolist(), strict=True):
        room = 4 * math.sqrt(level * (1 - level) / repeats)
        assert math.floor(25 * level) / 25 - room < share
        assert share < math.ceil(25 * level - 1e-9) / 25 + room
    assert (d.cdf(y) <= 0.05).double().mean() > 0.15


def test_the_regressor_s_is_that_of_its_rows_and_groups(tmp_path):
    X, y = frame(200)
    model = HistogramRegressor(**TINY).fit(X[:100], y[:100])
    with pytest.raises(InputError, match="needs a calibrated model"):
        model.predict_calibrated(X)
    model.calibrate(X[100:], y[100:], groups="kind")
    model.save(tmp_path / "m")
    rare = model.predict_calibrated(X[:10])
    is_fancy = (X.kind[100:] == "fancy").to_numpy()
    alone = HistogramRegressor.load(tmp_path / "m")
    alone.calibrate(X[100:][is_fancy], y[100:][is_fancy])
    rows = (X.kind[:10] == "fancy").tolist()
    assert any(rows)
    expected = alone.predict_calibrated(X[:10]).quantiles([0.2, 0.8])
    assert torch.equal(rare.quantiles([0.2, 0.8])[:, rows], expected[:, rows])


def test_quantiles_of_counts_are_counts():
    X, y = counts(300, seed=0)
    model = HistogramRegressor(**TINY | {"blend_with": ["linear"]}).fit(X, y)
    model.calibrate(*counts(200, seed=1))
    assert model.model_.atoms is not None
    quantiles = model.predict_calibrated(X).quantiles([0.1, 0.5, 0.9])
    # The others lie between counts, where a little mass is left for unseen values.
    assert np.isin(quantiles, np.unique(y)).mean() > 0.95


def test_each_target_has_its_own():
    X, y = data(80)
    model = HistogramRegressor(**TINY).fit(X, np.stack([y, -y], axis=1))
    first, second = model.calibrate(X, np.stack([y, -y], axis=1)).predict_calibrated(X)
    assert first.cdf(0.0).shape == second.cdf(0.0).shape == (80,)
    with pytest.raises(InputError, match=r"levels in \[0, 1\]"):
        first.quantiles([1.5])
