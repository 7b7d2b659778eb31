"""Labels of tables against numpy and SciPy."""

import numpy as np
import pytest
from scipy.stats import norm

from histreg.study.datasets import DATASETS, DataSet, Table, dataset
from histreg.study.measurements import Measurement
from tests.study.made_up import Alone


def measured(what, name=""):
    (outcome,) = Measurement.compute([Measurement(what, name)], Alone())
    return outcome


@pytest.fixture
def _even(monkeypatch):
    """A data set whose targets lie evenly on [0, 100], borders left out."""
    y = (np.arange(20_000) + 0.5) / 200
    data = DataSet(
        name="even",
        title="Even",
        homepage="",
        licence="",
        url=None,
        files=(),
        member="",
        sha256=None,
        n_rows=len(y),
        n_features=2,
        y_range=(0.0, 100.0),
        hidden=(4,),
        dropout=0.0,
        epochs=1,
        quirks="",
        parse=lambda _: Table(np.zeros((len(y), 2)), y, ("a", "b"), ""),
    )
    monkeypatch.setitem(DATASETS, "even", data)


# The label bias of even targets on [0, 100] in 100 bins, 10 of them padding on each
# side: the width is 1.25, and HL-OneBin is a quarter of it off. Checked in numpy.
LABEL_BIASES = {
    0.0: 0.3125,
    1 / 64: 0.297,
    1 / 16: 0.250,
    1 / 8: 0.188,
    1 / 4: 0.0738,
    1 / 2: 1.8e-3,
    4.0: 3.1e-3,
    8.0: 0.224,
    16.0: 2.46,
}


@pytest.mark.usefixtures("_even")
def test_even_targets_have_the_label_bias_of_the_table():
    outcome = measured("label-bias", "even")
    curves = outcome.curves
    found = dict(zip(curves["sigma_in_bins"], curves["label bias"], strict=True))
    assert outcome.metrics["width"] == 1.25
    for sigma, expected in LABEL_BIASES.items():
        # The table's digits, two or three.
        assert found[sigma] == pytest.approx(expected, rel=0.03)
    assert found[1.0] < 1e-6 and found[2.0] < 1e-6


@pytest.mark.usefixtures("_even")
def test_sigmas_run_over_eleven_powers_of_two_after_none():
    sigmas = measured("label-bias", "even").curves["sigma_in_bins"]
    assert sigmas == [0.0, *(2.0**power for power in range(-6, 5))]


def test_the_label_bias_of_repeated_targets_is_weighted_by_how_often_they_come():
    """Diabetes has ties; the mean is over all of its rows, by SciPy."""
    y, (low, high) = dataset("diabetes").load().y, dataset("diabetes").y_range
    assert len(np.unique(y)) < len(y)
    width = (high - low) / 80
    borders = low - 10 * width + width * np.arange(101)
    centers = (borders[1:] + borders[:-1]) / 2
    curves = measured("label-bias", "diabetes").curves
    for sigma, found in zip(curves["sigma_in_bins"], curves["label bias"], strict=True):
        if sigma == 0:
            index = np.floor((y - borders[0]) / width + 1e-9).astype(int)
            means = centers[index]
        else:
            cdf = norm.cdf((borders - y[:, None]) / (sigma * width))
            probs = np.diff(cdf) / (cdf[:, -1:] - cdf[:, :1])
            means = probs @ centers
        # Sums of a hundred products of order 100.
        assert found == pytest.approx(np.abs(means - y).mean(), rel=1e-9, abs=1e-12)


def test_the_density_of_targets_is_numpys_and_has_area_one():
    y = dataset("diabetes").load().y
    curves = measured("targets", "diabetes").curves
    density, borders = np.histogram(y, bins=30, density=True)
    np.testing.assert_allclose(curves["density"], density, rtol=1e-12)
    np.testing.assert_allclose(curves["borders"], borders, rtol=1e-12)
    area = np.sum(np.array(curves["density"]) * np.diff(curves["borders"]))
    assert area == pytest.approx(1)


def test_the_facts_of_diabetes_are_those_of_its_table():
    y = dataset("diabetes").load().y
    assert measured("targets", "diabetes").metrics == {
        "train rows": 354,  # 442 less a fifth, rounded down
        "test rows": 88,
        "features": 10,
        "low": 0,
        "high": 350,
        "smallest": 25,
        "largest": 346,
        "distinct": len(np.unique(y)),
    }
