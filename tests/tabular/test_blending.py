"""Blends: residuals, weights and sharpness, against slow references."""

import itertools

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram, InputError
from histreg.tabular.blending import (
    SPREAD_MASS,
    Blend,
    Part,
    Residuals,
    averaging_gain,
    best_weights,
    n_divided_for,
    sharpened,
)
from histreg.tabular.border_scores import BorderScore
from histreg.tabular.linear_model import LinearModel
from histreg.tabular.simple_models import Fitted, SimpleInputs
from histreg.tabular.stacking import _Target
from histreg.tabular.tree_model import TreeModel


def normal(mean, sigma, bins):
    """Return the masses of normal distributions, (n,) -> (n, k)."""
    z = (bins.borders - mean[:, None]) / sigma
    cdf = torch.special.ndtr(z)
    return cdf.diff(dim=1) / cdf.diff(dim=1).sum(dim=1, keepdim=True)


def test_residuals_around_a_prediction_are_interpolated():
    torch.manual_seed(0)
    values = torch.randn(40, dtype=torch.float64)
    residuals = Residuals.of(values, torch.ones(40))
    bins = Bins.around(-6.0, 6.0)
    predicted = torch.tensor([-1.0, 2.5], dtype=torch.float64)
    inner = (np.arange(16) + 0.5) / 16
    levels = np.concatenate([[0], inner, [1]])
    points = residuals.points.numpy()
    quantiles = np.quantile(values, inner, method="inverted_cdf")
    np.testing.assert_array_equal(points[1:-1], quantiles)
    scale = torch.tensor([1.0, 0.5], dtype=torch.float64)
    probs = residuals.probs(predicted, scale, bins.borders)
    for row, center, by in zip(probs, predicted, scale, strict=True):
        cdf = np.interp((bins.borders - center) / by, points, levels)
        expected = (1 - SPREAD_MASS) * np.diff(cdf) + SPREAD_MASS / bins.n_bins
        np.testing.assert_allclose(row, expected, atol=1e-12)


def test_whole_number_weights_of_residuals_are_copies():
    values = torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
    copies = torch.tensor([3.0, -1.0, -1.0, 2.0], dtype=torch.float64)
    weighted = Residuals.of(values, torch.tensor([1.0, 2.0, 1.0]))
    assert torch.equal(weighted.points, Residuals.of(copies, torch.ones(4)).points)


def test_weights_are_the_best_of_a_fine_grid():
    torch.manual_seed(0)
    bins = Bins.around(-4.0, 4.0)
    center = torch.randn(300, dtype=torch.float64)
    y = center + 0.3 * torch.randn(300, dtype=torch.float64)
    parts = torch.stack(
        [
            normal(center + 0.3 * torch.randn(300), 0.3, bins),
            normal(center + 0.4 * torch.randn(300), 0.4, bins),
            normal(torch.zeros(300), 1.0, bins),
        ]
    )
    score = BorderScore(bins)
    weight = torch.full((300,), 1 / 300, dtype=torch.float64)
    weights = best_weights(parts, y, weight, score)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()

    def value(shares):
        mixture = sum(w * part for w, part in zip(shares, parts, strict=True))
        return score(mixture, y).mean().item()

    grid = np.linspace(0, 1, 41)
    best = min(
        value((a, b, 1 - a - b))
        for a, b in itertools.product(grid, grid)
        if a + b <= 1 + 1e-9
    )
    assert value(weights.tolist()) <= best + 1e-4 * best
    assert 0.2 < weights[0] < 0.9  # not a corner


def test_sharpening_multiplies_the_log_odds():
    torch.manual_seed(0)
    probs = torch.rand(5, 30, dtype=torch.float64).softmax(dim=-1)
    torch.testing.assert_close(sharpened(probs, torch.tensor(1.0)), probs)
    sharp = sharpened(probs, torch.tensor(2.5, dtype=torch.float64))
    odds = torch.logit(probs.cumsum(dim=-1)[:, :-1])
    torch.testing.assert_close(
        torch.logit(sharp.cumsum(dim=-1)[:, :-1]), 2.5 * odds, rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(sharp.sum(dim=-1), torch.ones(5).double())
    one = torch.zeros(1, 4, dtype=torch.float64)
    one[0, 2] = 1
    assert torch.equal(sharpened(one, torch.tensor(3.0)), one)


def test_small_masses_on_both_sides_keep_their_digits():
    bins = Bins.around(-12.0, 12.0)
    probs = normal(torch.zeros(1, dtype=torch.float64), 1.0, bins)
    probs = (probs + probs.flip(-1)) / 2
    sharp = sharpened(probs, torch.tensor(1.5, dtype=torch.float64))
    torch.testing.assert_close(sharp, sharp.flip(-1), rtol=1e-6, atol=0)


def fitted_blend(sigma_of_networks):
    """Return a blend of networks with one part that predicts the truth plus noise."""
    torch.manual_seed(0)
    bins = Bins.around(-40.0, 40.0)
    center = 10 * torch.randn(2000, dtype=torch.float64)
    y = center + 3 * torch.randn(2000, dtype=torch.float64)
    networks = Histogram(bins, probs=normal(center, sigma_of_networks, bins))
    model = LinearModel(1, 0, ())
    residuals = Residuals.of((y - y.mean()) / 10, torch.ones(2000))
    blend = Blend([Part(model, residuals)], center=0.0, scale=10.0)
    zeros = torch.full((2000,), (y.mean() / 10).item(), dtype=torch.float64)
    blend.fit(networks, [zeros], y, torch.ones(2000))
    return blend, networks, zeros, y


@pytest.mark.parametrize(("sigma", "is_sharper"), [(5.0, True), (3.0, False)])
def test_wide_networks_are_sharpened_and_useless_models_left_out(sigma, is_sharper):
    blend, networks, zeros, y = fitted_blend(sigma)
    assert blend.weights.tolist() == [1, 0]
    assert (blend.sharpness > 1.2) if is_sharper else (0.8 < blend.sharpness < 1.2)
    kept = blend.without_unused()
    assert len(kept.parts) == 0 and kept.sharpness == blend.sharpness
    geometry = blend.geometry(networks.bins)
    mixed = blend.mixed(networks.probs, [zeros], geometry)
    again = kept.mixed(networks.probs, [], geometry)
    torch.testing.assert_close(again, mixed)
    crps = Histogram(networks.bins, probs=mixed).crps(y).mean()
    assert crps <= networks.crps(y).mean() + 1e-3


def test_a_blend_is_described_and_built_again():
    parts = [
        Part(LinearModel(3, 4, (5,)), Residuals(7)),
        Part(TreeModel(3, (5,), 2, 6, 3), Residuals(9)),
        Part(None, Residuals(8)),
    ]
    blend = Blend(parts, center=2.0, scale=3.0, n_divided=4)
    again = Blend.of_description(blend.described(), 3, 4, (5,), 4)
    assert again.n_divided == 4
    shapes = {name: tensor.shape for name, tensor in blend.state_dict().items()}
    assert shapes == {n: tensor.shape for n, tensor in again.state_dict().items()}
    again.load_state_dict(blend.state_dict())
    assert (again.center, again.scale) == (2, 3)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weights", torch.tensor([0.5, 0.6]), "sum to 1"),
        ("weights", torch.tensor([1.5, -0.5]), "positive"),
        ("sharpness", torch.tensor(0.0), "sharpness.*positive"),
        ("scale", torch.tensor(torch.nan), "center and scale"),
        ("parts.0.residuals.points", torch.tensor([0.0, 2.0, 1.0]), "rising"),
    ],
)
def test_damaged_blends_are_refused(name, value, message):
    model = LinearModel(1, 0, ())
    model.scale.fill_(1)
    blend = Blend([Part(model, Residuals(3))])
    blend.check()
    blend.state_dict()[name].copy_(value)
    with pytest.raises(InputError, match=message):
        blend.check()


def test_a_distribution_is_that_of_the_parts():
    blend = Blend([])
    bins = Bins.around(0.0, 1.0)
    networks = Histogram(bins, logits=torch.randn(4, bins.n_bins).double())
    nothing = SimpleInputs(
        torch.zeros(4, 0).double(), torch.zeros(4, 0), torch.zeros(4, 0).long()
    )
    d = blend.distribution(networks, nothing)
    torch.testing.assert_close(d.probs, networks.probs)
    fine = Blend([], n_divided=4).distribution(networks, nothing)
    assert fine.bins == bins.divided(4)
    y = torch.linspace(-0.1, 1.1, 4).double()
    torch.testing.assert_close(fine.cdf(y), networks.cdf(y))


def test_the_networks_mean_can_be_narrower_than_a_bin():
    torch.manual_seed(0)
    bins = Bins.around(0.0, 1.0)
    y = torch.rand(2000, dtype=torch.float64)
    predicted = y + 1e-3 * torch.randn(2000, dtype=torch.float64)
    # Its mean is nearly exact, but its spread that of three bins.
    wide = Histogram(bins, probs=normal(predicted, 3 * bins.widths[0], bins))
    target = _Target(wide, 0.0, 1.0, y, [Fitted(None, wide.mean)])
    assert target.n_divided == 8
    blend, predicted = target.blend(torch.ones(2000), 8, gain=1.0)
    assert blend.weights[1] > 0.9
    assert target.mixed(blend, predicted).crps(y).mean() < 0.2 * wide.crps(y).mean()
    assert target.mixed(blend, predicted).crps(y).mean() < 0.5 * bins.widths[0]


def test_bins_are_divided_until_residuals_are_two_bins_wide():
    bins = Bins.around(0.0, 88.0)  # of width 1
    y = torch.linspace(0, 88, 101, dtype=torch.float64)
    for size, n in [(3.0, 1), (2.0, 1), (1.9, 2), (0.9, 4), (0.4, 8), (0.01, 8)]:
        residuals = size * (1 - 2 * (torch.arange(101) % 2)).double()
        assert n_divided_for([residuals], y, bins) == n
        assert n_divided_for([3 + residuals.abs(), residuals], y, bins) == n
    tails = Bins.of(y, tails="exponential")
    assert n_divided_for([torch.zeros(101).double()], y, tails) == 1


def test_the_gain_of_averaging_falls_with_the_rows():
    gains = [averaging_gain(n) for n in (30, 300, 3_000, 10**6)]
    assert gains == sorted(gains, reverse=True) and 1 < gains[-1] < gains[0] < 1.2
