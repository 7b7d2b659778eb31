"""Rebinning: a head on other bins predicts what it predicted before."""

import copy
import math

import pytest
import torch

from histreg import Bins, HistogramHead, HistogramLoss


@pytest.mark.parametrize("n_targets", [None, 3])
def test_a_head_on_grown_bins_predicts_what_it_did(n_targets):
    # Logits that are Gaussian over the bins, of a mean that moves with the feature:
    # -(c - x)^2 / (2 s^2) is linear in x but for a term that no bin sees.
    bins, sigma = Bins.uniform(0.0, 10.0, 50), 0.6
    head = HistogramHead(1, bins, n_targets=n_targets, dtype=torch.float64)
    with torch.no_grad():
        head.linear.weight.copy_(
            (bins.centers / sigma**2).repeat(n_targets or 1).unsqueeze(-1)
        )
        head.linear.bias.copy_(
            (-(bins.centers**2) / 2 / sigma**2).repeat(n_targets or 1)
        )
    x = torch.linspace(3.0, 7.0, 9, dtype=torch.float64).unsqueeze(-1)
    before = head.distribution(x)
    parameters = list(head.parameters())
    for y, doublings in ((15.0, 1), (-5.0, 2)):
        head.rebin(head.bins.grown(y))
        assert head.bins.width == pytest.approx(bins.width * 2**doublings)
        after = head.distribution(x)
        # A Gaussian seen at centers w apart has a mean off by at most
        # 4 pi s^2 / w exp(-2 pi^2 s^2 / w^2), the first term of its theta function;
        # what lies five sigmas out, at the old ends, adds less than 3e-5.
        w = head.bins.width
        off = 4 * math.pi * sigma**2 / w * math.exp(-2 * (math.pi * sigma / w) ** 2)
        torch.testing.assert_close(
            after.mean, before.mean, rtol=0, atol=1.1 * off + 3e-5
        )
        # Its square averages to the square from the new center, and a constant.
        gaussian = (-((head.bins.centers - x) ** 2) / 2 / sigma**2).softmax(-1)
        gaussian = gaussian if n_targets is None else gaussian.unsqueeze(1)
        torch.testing.assert_close(
            after.probs, gaussian.expand_as(after.probs), rtol=0, atol=1e-5
        )
    assert all(a is b for a, b in zip(parameters, head.parameters(), strict=True))
    # Beyond the old ends, next to nothing.
    assert (after.cdf(0.0) < 1e-4).all() and (after.cdf(10.0) > 1 - 1e-4).all()


@pytest.mark.parametrize("borders", [[-1, 0, 0.5, 1, 1.2, 3], [0, 1, 2, 4, 8, 16]])
def test_rebinning_keeps_a_uniform_density_within_the_old_bins(borders):
    new = Bins(borders)
    old = Bins.uniform(0.0, 4.0, 5)
    head = HistogramHead(2, old, zero_init=True, dtype=torch.float64)
    head.rebin(new)
    d = head.distribution(torch.randn(4, 2, dtype=torch.float64))
    inside = new.centers[(new.centers > 0) & (new.centers < 4)]
    density = d.pdf(inside.unsqueeze(-1))
    torch.testing.assert_close(density, density[:1].expand_as(density))
    beyond = new.centers[new.centers > 4]
    if len(beyond):
        torch.testing.assert_close(d.pdf(beyond[0].item()), density[0] / 100)


@pytest.mark.parametrize("n_targets", [None, 3])
def test_given_features_grown_bins_predict_nearer_to_what_was_predicted(n_targets):
    bins = Bins.uniform(0.0, 10.0, 50)
    head = HistogramHead(4, bins, n_targets=n_targets, dtype=torch.float64)
    x = torch.randn(50, 4, dtype=torch.float64)
    with torch.no_grad():
        head.linear.weight.mul_(4)  # neighbours have nothing in common
    for y in (-12.0, 50.0, [-90.0, 90.0]):
        blind = copy.deepcopy(head)
        old, exact = head.bins, head.distribution(x).rebinned(head.bins.grown(y))
        head.rebin(exact.bins, x)
        blind.rebin(exact.bins)
        after = head.distribution(x)
        off, off_blind = (
            (d.probs - exact.probs).abs().sum(-1).mean()
            for d in (after, blind.distribution(x))
        )
        assert off < off_blind
        # What lies beyond: some for each end that moves, and no less each time. New
        # bins that reach over an old end have what was within.
        new = head.bins
        n_moved = (new.low < old.low) + (new.high > old.high)
        is_beyond = (new.centers > old.high) | (new.centers < old.low)
        beyond = after.probs[..., is_beyond].sum(-1).mean()
        assert 0.003 * n_moved < beyond < 0.01 * n_moved


@pytest.mark.parametrize("knows_features", [True, False])
@pytest.mark.parametrize("spacing", ["uniform", "sqrt", "log", "symlog", "quantile"])
def test_a_mean_does_not_run_away_with_bins_that_become_wide(spacing, knows_features):
    generator = torch.Generator().manual_seed(0)
    y = (1.5 * torch.randn(4000, generator=generator)).exp().double()
    old = Bins.of(y, spacing=spacing)
    # What is predicted is the histogram of y, whatever the features.
    probs = torch.bincount(old.index_of(y), minlength=old.n_bins) + 0.1
    probs = probs / probs.sum()
    head = HistogramHead(2, old, dtype=torch.float64)
    with torch.no_grad():
        head.linear.weight.zero_()
        head.linear.bias.copy_(probs.log())
    x = torch.randn(64, 2, generator=generator, dtype=torch.float64)
    new = old.grown(1.5 * y.max())
    exact = head.distribution(x).rebinned(new)
    head.rebin(new, x if knows_features else None)
    after = head.distribution(x)
    if knows_features:
        # A quarter of the width where mass lies, which is that of even bins and less
        # than the mean one of others; twice that, as 30 steps fit it.
        width = (exact.probs * new.widths.log()).sum(-1).exp().mean()
        assert (after.mean - exact.mean).abs().max() < 0.5 * width
        return
    beyond = new.centers > old.high
    added = (after.probs * (new.centers - exact.mean.unsqueeze(-1)))[:, beyond].sum(-1)
    # A hundredth of the end bin's density, less by the square of the widening. Twice
    # that, as the averages of logarithms within leave as little as half of the mass.
    widths = new.widths[beyond]
    masses = 0.01 * probs[-1] / old.widths[-1] * widths[0] ** 2 / widths
    allowed = 2 * (masses * (new.centers[beyond] - exact.mean[0])).sum()
    assert (added > 0).all() and (added < allowed).all()


def test_a_range_within_one_of_the_new_bins_is_moved_there():
    head = HistogramHead(2, Bins.uniform(-1.0, 1.0, 50), dtype=torch.float64)
    x = torch.randn(20, 2, dtype=torch.float64)
    head.rebin(head.bins.grown([-2000.0, 2000.0]), x)
    d = head.distribution(x)
    at = head.bins.index_of(torch.tensor([-1.0, 1.0]))
    assert d.probs[:, at[0] : at[1] + 1].sum(-1).min() > 0.98


def test_targets_with_their_own_bins_are_rebinned_each_by_its_own():
    columns = [Bins.uniform(0.0, 1.0, 32), Bins.uniform(-9.0, 9.0, 32)]
    new = [columns[0].grown(5.0), columns[1]]
    torch.manual_seed(0)
    together = HistogramHead(4, columns, dtype=torch.float64)
    alone = HistogramHead(4, columns[0], dtype=torch.float64)
    with torch.no_grad():
        alone.linear.weight.copy_(together.linear.weight[:32])
        alone.linear.bias.copy_(together.linear.bias[:32])
    second = together.linear.weight[32:].clone()
    together.rebin(new)
    alone.rebin(new[0])
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(together(x)[:, 0], alone(x))
    assert torch.equal(together.linear.weight[32:], second)


def test_head_and_loss_move_together():
    bins = Bins.uniform(0.0, 10.0, 50)
    head, loss = HistogramHead(4, bins), HistogramLoss(bins, sigma_in_bins=1.5)
    head.rebin(bins.grown(35.0))
    loss.rebin(head.bins)
    fresh = HistogramLoss(head.bins, sigma_in_bins=1.5)
    logits, y = head(torch.randn(6, 4)), torch.linspace(0.0, 40.0, 6)
    assert torch.equal(loss(logits, y), fresh(logits, y))
    assert loss.sigma == pytest.approx(fresh.sigma)
    restored = HistogramLoss(bins)
    restored.load_state_dict(loss.state_dict())
    assert restored.bins == head.bins
