"""A forecast is its histograms, shifted and scaled: laws against one in units of y."""

import pytest
import torch

from histreg import Bins, Histogram
from histreg.forecasting import Forecast


@pytest.fixture
def forecast(generator) -> Forecast:
    logits = torch.randn(3, 2, 8, dtype=torch.float64, generator=generator)
    location = 100 * torch.randn(3, 2, dtype=torch.float64, generator=generator)
    scale = torch.rand(3, 2, dtype=torch.float64, generator=generator) + 0.5
    return Forecast(
        location, scale, Histogram(Bins.uniform(-3.0, 3.0, 8), logits=logits)
    )


def reference(forecast: Forecast, i: int, j: int) -> Histogram:
    borders = forecast.standard.bins.borders * forecast.scale[i, j]
    return Histogram(
        Bins(borders + forecast.location[i, j]), logits=forecast.standard.logits[i, j]
    )


READINGS = {
    "mean": lambda d: d.mean,
    "median": lambda d: d.median,
    "stddev": lambda d: d.stddev,
    "icdf": lambda d: d.icdf(0.3),
    "quantiles": lambda d: d.quantiles([0.1, 0.9])[1],
    "lower": lambda d: d.interval(0.8)[0],
    "upper": lambda d: d.interval(0.8, "shortest")[1],
    "cdf": lambda d: d.cdf(20.0),
    "prob": lambda d: d.prob(-20.0, float("inf")),
    "crps": lambda d: d.crps(20.0),
}


@pytest.mark.parametrize("name", READINGS)
def test_it_reads_like_a_histogram_in_units_of_y(forecast, name):
    read = READINGS[name]
    for i in range(3):
        for j in range(2):
            expected = read(reference(forecast, i, j))
            torch.testing.assert_close(read(forecast)[i, j], expected)
            torch.testing.assert_close(read(forecast[i])[j], expected)
            torch.testing.assert_close(read(forecast.histogram((i, j))), expected)


def test_the_density_is_that_of_a_histogram_in_units_of_y(forecast):
    y = forecast.median + 0.1
    expected = [
        [reference(forecast, i, j).log_prob(y[i, j]) for j in range(2)]
        for i in range(3)
    ]
    torch.testing.assert_close(forecast.log_prob(y), torch.tensor(expected).double())


def test_draws_lie_between_the_ends_of_the_bins(forecast, generator):
    draws = forecast.sample((50,), generator=generator)
    assert draws.shape == (50, 3, 2)
    z = (draws - forecast.location) / forecast.scale
    assert z.abs().max() <= 3.0 and z.std() > 0.5


def test_a_histogram_is_of_one_distribution(forecast):
    with pytest.raises(IndexError, match=r"one of \(3, 2\) distributions, got 1"):
        forecast.histogram(1)
