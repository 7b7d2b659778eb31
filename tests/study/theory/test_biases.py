"""Biases and bounds against the numbers of the paper's appendix, and against numpy."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from histreg import theory
from histreg.study.measurements import Measurement
from histreg.study.theory import biases
from histreg.study.theory.biases import bias_by_text, bias_simulation, gaussian_fit
from tests.study.made_up import Alone


def measured(what, name=""):
    (outcome,) = Measurement.compute([Measurement(what, name)], Alone())
    return outcome


@pytest.fixture(scope="module")
def simulated():
    """Return Figure 13 with few of its points: it takes a second, not half a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(biases, "N_DISCRETIZED", 501)
        patch.setattr(biases, "N_TRUNCATED", 2_001)
        return bias_simulation("", Alone())


def discretization(outcome):
    curves = outcome.curves
    return np.array(curves["sigma_in_bins"]), np.array(curves["discretisation bias"])


def test_sigmas_are_even_in_their_logarithm(simulated):
    sigmas, _ = discretization(simulated)
    np.testing.assert_allclose(np.log(sigmas), np.linspace(-4, 2, 101), atol=1e-12)


def test_the_discretisation_bias_is_that_of_its_fourier_series(simulated):
    sigmas, biases = discretization(simulated)
    delta = np.linspace(0, 1, 501) - 0.5
    n = np.arange(1, 200)[:, None]
    signs = (-1.0) ** n / (np.pi * n)
    for sigma, bias in zip(sigmas, biases, strict=True):
        terms = np.sin(2 * np.pi * n * delta) * np.exp(-2 * (np.pi * n * sigma) ** 2)
        expected = np.abs((signs * terms).sum(axis=0)).mean()
        # What is left of sums of products of order one in float64.
        assert bias == pytest.approx(expected, rel=1e-9, abs=5e-16)


def test_the_discretisation_bias_is_negligible_from_the_sigmas_told(simulated):
    sigmas, biases = discretization(simulated)
    assert (biases[sigmas >= 0.88] < 1e-7).all()
    assert (biases[sigmas <= 0.85] > 1e-7).all()
    assert (biases[sigmas >= 1.30] <= 1e-15).all()


# Mean absolute bias by the padding in sigmas, of sigma 2; checked in numpy.
TRUNCATION_BIASES = {
    1.0: 0.148,
    1.5: 8.43e-2,
    2.0: 3.79e-2,
    2.5: 1.32e-2,
    3.0: 3.51e-3,
    3.5: 7.15e-4,
    4.0: 1.12e-4,
    4.5: 1.35e-5,
    5.0: 1.25e-6,
    5.5: 9.0e-8,
    6.0: 5.0e-9,
    7.0: 7.3e-12,
}


def test_the_truncation_bias_is_that_of_the_table(simulated):
    curves = simulated.curves
    found = dict(
        zip(curves["padding_in_sigmas"], curves["truncation bias"], strict=True)
    )
    assert list(found) == [1 + 0.5 * i for i in range(40)]
    for padding, expected in TRUNCATION_BIASES.items():
        # The table's digits; fewer points weigh its two ends more, by 1e-3.
        assert found[padding] == pytest.approx(expected, rel=0.01)
    assert all(bias < 5e-16 for padding, bias in found.items() if padding >= 8.5)


def test_the_fits_are_close_to_theory(simulated):
    told = simulated.metrics
    # (2 / pi^2) exp(-2 pi^2 sigma^2) is the first term of the series; the others,
    # which are there for small sigma, and the last few sigmas pull at it.
    assert told["discretisation factor"] == pytest.approx(2 / math.pi**2, rel=0.1)
    assert told["discretisation exponent"] == pytest.approx(-2 * math.pi**2, rel=0.01)
    # A truncated Gaussian's mean is off by its density at the end: exp(-x^2 / 2).
    assert told["truncation exponent"] == pytest.approx(-0.5, rel=0.02)


def test_the_surface_is_odd_and_has_slope_minus_one_for_small_sigma(simulated):
    surface = np.array(simulated.curves["surface bias"])  # (sigma, y)
    offsets = np.array(simulated.curves["surface offset"])
    sigmas = np.array(simulated.curves["surface sigma_in_bins"])
    assert surface.shape == (len(sigmas), len(offsets)) == (51, 51)
    assert (offsets[0], offsets[25], offsets[-1]) == (-0.5, 0.0, 0.5)
    # Kept in four digits.
    np.testing.assert_allclose(surface, -surface[:, ::-1], rtol=1e-3, atol=1e-15)
    np.testing.assert_allclose(surface[:, [0, 25, 50]], 0, atol=1e-15)
    middle = np.abs(offsets) < 0.4
    np.testing.assert_allclose(surface[0, middle], -offsets[middle], atol=1e-4)


@pytest.mark.slow
def test_the_whole_simulation_says_what_few_points_of_it_say(simulated):
    whole = bias_simulation("", Alone())
    for name in ("discretisation bias", "truncation bias"):
        np.testing.assert_allclose(
            whole.curves[name], simulated.curves[name], rtol=3e-3, atol=5e-16
        )
    assert np.shape(whole.curves["surface bias"]) == (51, 51)


@pytest.fixture(scope="module")
def by_text():
    """Return the set-up of the text with few of its points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(biases, "N_OF_TEXT", 1_001)
        return bias_by_text("", Alone())


def test_the_discretisation_over_100_bins_is_that_of_the_fourier_series(by_text):
    sigmas, found = discretization(by_text)
    y = np.linspace(0, 1, 1_001)
    delta = 100 * y % 1 - 0.5  # from the center of its bin, in bins
    n = np.arange(1, 200)[:, None]
    signs = (-1.0) ** n / (np.pi * n)
    for sigma, bias in zip(sigmas, found, strict=True):
        terms = np.sin(2 * np.pi * n * delta) * np.exp(-2 * (np.pi * n * sigma) ** 2)
        expected = np.abs((signs * terms).sum(axis=0)).mean()
        # y and borders are of the order of one, which is 100 bins, to 1e-16.
        assert bias == pytest.approx(expected, rel=1e-6, abs=5e-14)


@pytest.mark.parametrize("padding", [1.0, 3.0, 5.0])
def test_the_truncation_over_the_range_is_that_of_scipys_truncated_normal(
    by_text, padding
):
    at = by_text.curves["padding_in_sigmas"].index(padding)
    width = 1 / (100 - 4 * padding)  # the text's formula, k of 100 and sigma of 2 bins
    sigma, low = 2 * width, -2 * padding * width
    borders = low + width * np.arange(101)
    y = np.linspace(0, 1, 1_001)[:, None]
    probs = np.diff(stats.norm.cdf(borders, loc=y, scale=sigma), axis=1)
    probs /= probs.sum(axis=1, keepdims=True)
    means = probs @ (borders[:-1] + width / 2)
    expected = np.abs(means - y[:, 0]).mean()
    assert by_text.curves["truncation bias of range"][at] == pytest.approx(
        expected, rel=1e-6
    )
    assert by_text.curves["truncation bias"][at] == pytest.approx(
        expected / width, rel=1e-6
    )


def test_the_range_is_a_hundred_bins_of_the_discretisation(by_text):
    curves = by_text.curves
    np.testing.assert_allclose(
        np.array(curves["discretisation bias"]) / 100,
        curves["discretisation bias of range"],
    )


def test_in_units_of_the_range_the_papers_sigma_is_enough(by_text):
    sigmas = np.array(by_text.curves["sigma_in_bins"])
    of_range = np.array(by_text.curves["discretisation bias of range"])
    assert (of_range[sigmas > 0.8] < 1e-7).all()
    paddings = np.array(by_text.curves["padding_in_sigmas"])
    truncation = np.array(by_text.curves["truncation bias of range"])
    assert (truncation[paddings > 6] < 1e-7).all()


def test_a_fit_finds_the_factor_and_exponent_it_was_made_of():
    x = torch.linspace(0, 2, 9, dtype=torch.float64)
    assert gaussian_fit(x, 0.3 * torch.exp(-4 * x**2)) == pytest.approx((0.3, -4.0))


def test_the_squared_difference_is_below_both_bounds():
    curves = {k: np.array(v) for k, v in measured("bound").curves.items()}
    epsilon = curves["epsilon"]
    assert ((epsilon > 0) & (epsilon < 1)).all()
    # q at -1 and h with epsilon there, the rest at 1: means 2 (1 - epsilon) apart.
    np.testing.assert_allclose(curves["squared difference"], 4 * (1 - epsilon) ** 2)
    np.testing.assert_allclose(curves["Pinsker"], -2 * np.log(epsilon))
    np.testing.assert_allclose(curves["Bretagnolle-Huber"], 4 * (1 - epsilon))
    smaller = np.minimum(curves["Pinsker"], curves["Bretagnolle-Huber"])
    bound = theory.prediction_bound(-np.log(epsilon), low=-1.0, high=1.0)
    np.testing.assert_allclose(bound, smaller)
    assert (curves["squared difference"] <= smaller).all()


def test_the_bounds_cross_where_the_appendix_says():
    told = measured("bound").metrics
    crossing = told["crossing epsilon"]
    assert crossing == pytest.approx(0.2032, abs=5e-5)
    assert -math.log(crossing) == pytest.approx(1.5936, abs=5e-5)
    # There both bounds are equal.
    assert -2 * math.log(crossing) == pytest.approx(4 * (1 - crossing), rel=1e-12)
    assert told["useless epsilon"] == pytest.approx(math.exp(-2))
