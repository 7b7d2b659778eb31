"""Tilting: targets are tilted until their mean is y."""

import numpy as np
import pytest
import torch
from scipy import optimize, special

from histreg import Bins, HistogramLoss, targets
from tests.registries import BINS, TARGETS

all_bins = pytest.mark.parametrize("bins", BINS.values(), ids=BINS)


def tilted_by_root(probs: torch.Tensor, centers: torch.Tensor, y: float) -> np.ndarray:
    """Return p e^(lambda c), normalised, with the lambda at which its mean is y."""
    p, c = probs.numpy(), centers.numpy() - y
    p, c = p[p > 0], c[p > 0] / np.abs(c[p > 0]).min()

    def tilted(tilt: float) -> np.ndarray:
        return special.softmax(np.log(p) + tilt * c)

    tilt = optimize.brentq(lambda t: tilted(t) @ c, -800, 800, xtol=1e-15, rtol=1e-15)
    whole = np.zeros(len(probs))
    whole[probs.numpy() > 0] = tilted(tilt)
    return whole


@all_bins
@pytest.mark.parametrize("kind", ["gaussian over places", "uniform", "from_cdf"])
def test_a_tilt_is_the_one_whose_mean_is_y(kind, bins):
    inner = torch.lerp(bins.centers[:-1], bins.centers[1:], torch.tensor(0.3).double())
    probs = TARGETS[kind](inner, bins)
    found = targets.with_mean(probs, inner, bins)
    for p, y, tilted in zip(probs, inner, found, strict=True):
        expected = tilted_by_root(p, bins.centers, y.item())
        np.testing.assert_allclose(tilted, expected, rtol=1e-6, atol=1e-11)


SPACED = {
    "sqrt": Bins([float(i * i) for i in range(31)]),
    "log": Bins([1.5**i for i in range(-15, 16)]),
    "of 1e5 to 1": Bins([*range(15), *(15 + 1e5 * i for i in range(1, 15))]),
    "even": Bins.uniform(-3.0, 5.0, 30),
}


@pytest.mark.parametrize("bins", SPACED.values(), ids=SPACED)
@pytest.mark.parametrize("sigma_in_bins", [0.5, 2.0])
def test_the_mean_of_a_gaussian_that_keeps_it_is_y(bins, sigma_in_bins, dtype):
    y = torch.linspace(bins.centers[0], bins.centers[-1], 997, dtype=torch.float64)
    y = torch.cat([y, torch.lerp(bins.centers[:-1], bins.centers[1:], 0.4)])
    probs = targets.gaussian(
        y.to(dtype), bins, sigma_in_bins=sigma_in_bins, keeps_mean=True
    ).double()
    means = (probs * bins.centers).sum(-1)
    spread = (probs * (bins.centers - y[:, None]) ** 2).sum(-1).sqrt()
    # A y of float32 is itself rounded, and so are the probabilities of its target.
    rounding = {torch.float32: 1e-6, torch.float64: 1e-11}[dtype]
    assert ((means - y).abs() <= rounding * (spread + y.abs())).all()


@pytest.mark.parametrize("bins", SPACED.values(), ids=SPACED)
def test_loss_and_function_agree_on_a_target_that_keeps_its_mean(bins):
    y = torch.lerp(bins.centers[1:-2], bins.centers[2:-1], 0.25)
    logits = torch.randn(len(y), bins.n_bins, dtype=torch.float64)
    loss = HistogramLoss(bins, keeps_mean=True, reduction="none")(logits, y)
    probs = targets.gaussian(y, bins, sigma_in_bins=2.0, keeps_mean=True)
    slow = targets.with_mean(targets.gaussian(y, bins, sigma_in_bins=2.0), y, bins)
    torch.testing.assert_close(probs, slow, rtol=1e-9, atol=1e-12)
    expected = -(probs * logits.log_softmax(-1)).sum(-1)
    torch.testing.assert_close(loss, expected, rtol=1e-9, atol=1e-12)


def test_without_a_tilt_quantile_bins_ruin_the_mean():
    y = np.random.default_rng(0).lognormal(0, 1.5, 20000)
    bins = Bins.of(y, spacing="quantile")
    far = torch.tensor(50.0, dtype=torch.float64)
    plain = targets.gaussian(far, bins, sigma_in_bins=2.0)
    kept = targets.gaussian(far, bins, sigma_in_bins=2.0, keeps_mean=True)
    assert (plain * bins.centers).sum() > 60
    assert (kept * bins.centers).sum().item() == pytest.approx(50, rel=1e-11)


def test_a_y_beyond_the_last_center_is_moved_onto_it():
    bins = SPACED["log"]
    probs = targets.gaussian(
        torch.tensor([bins.high], dtype=torch.float64),
        bins,
        sigma_in_bins=2.0,
        keeps_mean=True,
    )
    assert (probs * bins.centers).sum().item() == pytest.approx(
        bins.centers[-1].item(), rel=1e-9
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_target_much_narrower_than_its_bin_is_that_bin(dtype):
    bins = Bins([0.0, 1.0, 2.0, 100.0, 101.0])
    y = torch.tensor([50.0, 51.0, 70.0], dtype=dtype)
    expected = torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=dtype).expand(3, -1)
    found = targets.gaussian(y, bins, sigma=0.1, keeps_mean=True)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(targets.with_mean(expected, y, bins), expected)


def test_means_are_kept_where_widths_leap():
    # The table of tilts starts beyond the root here, where nothing is left of a spread.
    bins = Bins.of([0.0, 1e-12, 1.0], spacing="quantile")
    y = bins.borders[40] + 0.8178 * bins.widths[40]
    probs = targets.gaussian(y, bins, sigma_in_bins=0.5, keeps_mean=True)
    assert (probs * bins.centers).sum().item() == pytest.approx(y.item(), rel=1e-6)
