"""Windows: the bins within reach of y, and no others."""

import pickle

import pytest
import torch

from histreg import Bins, HistogramLoss, targets
from histreg._windows import GaussianWindows, TabulatedWindows
from histreg.targets import GaussianTarget, ProjectedTarget
from tests.references import rounding
from tests.registries import BINS, TARGETS

all_bins = pytest.mark.parametrize("bins", BINS.values(), ids=BINS)


@all_bins
@pytest.mark.parametrize("sigma_in_spans", [1e-3, 0.02, 0.3, 2.0])
def test_the_window_leaves_nothing_out(bins, sigma_in_spans, dtype):
    # Inside the bins "truncate" and "clip" are the same distribution, but the first is
    # evaluated over all bins and the second only within reach.
    sigma = sigma_in_spans * (bins.high - bins.low)
    y = torch.linspace(bins.low, bins.high, 101, dtype=torch.float64)
    y = y.to(dtype).clamp(bins.low, bins.high)
    windowed = targets.gaussian(y, bins, sigma=sigma)
    dense = targets.gaussian(y, bins, sigma=sigma, out_of_range="truncate")
    error = (windowed.double() - dense.double()).abs().max()
    assert error <= rounding(bins, sigma, dtype)


def test_the_window_is_narrow():
    bins = Bins.around(0.0, 1.0, n_bins=1000)
    windows = GaussianWindows(bins, 2 * bins.width, torch.float32, torch.device("cpu"))
    n, size = windows(torch.rand(7)).indices.shape
    assert n == 7 and size <= 24  # 5.5 sigmas to each side, 22 bins, and both ends


def test_tables_are_made_on_the_cpu_whatever_the_default_device():
    y = torch.tensor([0.5])
    expected = {name: target(y, BINS["uneven"]) for name, target in TARGETS.items()}
    with torch.device("meta"):
        for name in ("gaussian", "one_bin", "projected", "uniform"):
            assert torch.equal(TARGETS[name](y, BINS["uneven"]), expected[name])


def test_tables_do_not_grow_with_the_square_of_the_bins():
    bins = Bins.uniform(0, 1, 5000)
    loss = HistogramLoss(bins, sigma=0.05)  # windows of half the bins
    assert len(pickle.dumps(loss)) < 2**20


@all_bins
@pytest.mark.parametrize("target", [GaussianTarget(), ProjectedTarget()], ids=str)
def test_windows_of_a_table_are_those_computed(bins, target, dtype, generator):
    windows = target.windows(bins, dtype, torch.device("cpu"))
    y = torch.rand(50, generator=generator, dtype=torch.float64)
    y = (bins.low + y * (bins.high - bins.low)).clamp(bins.low, bins.high)
    tabulated = TabulatedWindows(windows, y.unique())
    some = y[torch.randint(50, (4, 5), generator=generator)]
    for found, expected in zip(tabulated(some), windows(some), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_y_that_is_not_in_the_table_is_computed():
    bins = BINS["even"]
    windows = GaussianTarget().windows(bins, torch.float32, torch.device("cpu"))
    tabulated = TabulatedWindows(windows, bins.centers)
    for y in (bins.borders, bins.centers[:3] + 0.01 * bins.width):
        for found, expected in zip(tabulated(y), windows(y), strict=True):
            assert torch.equal(found, expected)
