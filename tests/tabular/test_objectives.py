"""Objectives: outputs, loss and reading agree."""

import math

import pytest
import torch
from scipy.stats import norm

from histreg import Bins, Histogram, losses, targets
from histreg._names import LOSSES
from histreg._windows import TabulatedWindows
from histreg.tabular.objectives import (
    ON_BOUNDS,
    center_and_scale,
    objective_of,
    target_for,
)
from histreg.targets import TARGETS, GaussianTarget

BINS = (Bins.around(0.0, 10.0, n_bins=40), Bins.around(-5e6, 5e6, n_bins=40))
WITH_DISTRIBUTION = [name for name in LOSSES if name not in ("l2", "l1")]


def data(generator, n=6):
    y = torch.rand(n, 2, generator=generator, dtype=torch.float64)
    return y * torch.tensor([10.0, 1e7]) - torch.tensor([0.0, 5e6])


def objective(name, y):
    return objective_of(
        name, BINS, *center_and_scale(y), GaussianTarget(sigma_in_bins=2.0)
    )


@pytest.mark.parametrize("name", LOSSES)
def test_every_objective_has_a_finite_loss_with_a_gradient(name, generator):
    y = data(generator)
    goal = objective(name, y)
    outputs = torch.randn(3, 6, 2, goal.n_outputs, generator=generator)
    outputs.requires_grad_()
    loss = goal.loss(outputs, y)
    assert loss.shape == (3, 6) and loss.isfinite().all()
    (gradient,) = torch.autograd.grad(loss.sum(), outputs)
    assert gradient.isfinite().all() and (gradient.abs().amax(dim=-1) > 0).all()
    assert goal.mean(outputs.detach()).shape == (6, 2)


@pytest.mark.parametrize("name", WITH_DISTRIBUTION)
def test_the_mean_is_that_of_the_distribution(name, generator):
    y = data(generator)
    goal = objective(name, y)
    outputs = torch.randn(3, 6, 2, goal.n_outputs, generator=generator)
    for i, bins in enumerate(BINS):
        d = goal.distribution(outputs, i)
        assert d.bins == bins and d.batch_shape == (6,)
        # An MDN's mass beyond the bins is put into the end bins.
        allowed = 1e-9 if name != "mdn" else 0.05
        span = bins.high - bins.low
        assert (goal.mean(outputs)[:, i] - d.mean).abs().max() < allowed * span


def test_a_stack_is_the_equal_mixture_of_its_models(generator):
    goal = objective("histogram", data(generator))
    outputs = torch.randn(3, 6, 2, 40, generator=generator, dtype=torch.float64)
    each = [Histogram(BINS[0], logits=one[:, 0]) for one in outputs]
    expected = Histogram.mixture(each)
    torch.testing.assert_close(goal.distribution(outputs, 0).probs, expected.probs)


def test_the_histogram_loss_is_that_of_the_targets(generator):
    y = data(generator)
    goal = objective("histogram", y)
    outputs = torch.randn(2, 6, 2, 40, generator=generator)
    parts = [
        losses.histogram_loss(
            outputs[:, :, i],
            targets.gaussian(y[:, i], bins, sigma=2 * bins.width)
            .float()
            .expand(2, 6, 40),
        )
        for i, bins in enumerate(BINS)
    ]
    torch.testing.assert_close(goal.loss(outputs, y), sum(parts) / 2)


def test_censored_targets_have_the_loss_of_a_bound(generator):
    y = data(generator)
    goal = objective("histogram", y)
    outputs = torch.randn(2, 6, 2, 40, generator=generator)
    other_end = torch.tensor([math.inf, math.nan, -math.inf]).repeat(4).view(6, 2)
    other_end[1, 1] = y[1, 1] + 3.0
    each = []
    for i, bins in enumerate(BINS):
        known = objective_of(
            "histogram", [bins], *center_and_scale(y[:, [i]]), goal.target
        ).loss(outputs[:, :, [i]], y[:, [i]])
        d = Histogram(bins, logits=outputs[:, :, i].double())
        end = other_end[:, i]
        below = torch.where(end == -math.inf, -math.inf, y[:, i])
        above = torch.where(end == -math.inf, y[:, i], end.nan_to_num(0, math.inf))
        prob = d.prob(torch.minimum(below, above), torch.maximum(below, above))
        each.append(torch.where(end.isnan(), known, -prob.log().float()))
    torch.testing.assert_close(goal.loss(outputs, y, other_end), sum(each) / 2)


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in ON_BOUNDS])
def test_other_losses_do_not_know_what_to_do_with_a_bound(name, generator):
    y = data(generator)
    goal = objective(name, y)
    with pytest.raises(ValueError, match='censored targets need loss="histogram"'):
        goal.loss(torch.zeros(1, 6, 2, goal.n_outputs), y, y + 1)


def test_the_error_of_a_censored_target_is_how_far_the_mean_lies_outside():
    goal = objective_of(
        "l2", BINS[:1], torch.zeros(1), torch.ones(1, dtype=torch.float64), None
    )
    outputs = torch.full((1, 5, 1, 1), 2.0)  # means of 2
    y = torch.tensor([[5.0], [5.0], [1.0], [0.5], [-3.0]], dtype=torch.float64)
    ends = torch.tensor([[math.nan], [math.inf], [math.inf], [-math.inf], [1.5]])
    assert goal.error(outputs, y).tolist() == [[3.0, 3.0, 1.0, 1.5, 5.0]]
    found = goal.error(outputs, y, ends.double()).tolist()
    assert found == [[3.0, 3.0, 0.0, 1.5, 0.5]]


@pytest.mark.parametrize("name", ["l2", "softmax_mean_l2", "softmax_mean_l1", "crps"])
def test_losses_on_numbers_do_not_depend_on_the_units_of_y(name, generator):
    y = data(generator)[:, :1]
    scaled = Bins(1000.0 * BINS[0].borders + 7)
    a = objective_of(name, BINS[:1], *center_and_scale(y), None)
    b = objective_of(name, [scaled], *center_and_scale(1000 * y + 7), None)
    outputs = torch.randn(2, 6, 1, a.n_outputs, generator=generator)
    torch.testing.assert_close(
        a.loss(outputs, y), b.loss(outputs, 1000 * y + 7), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", ["l2", "l1"])
def test_one_number_is_no_distribution(name, generator):
    y = data(generator)
    goal = objective(name, y)
    with pytest.raises(AttributeError, match="a distribution needs a loss"):
        goal.distribution(torch.zeros(1, 6, 2, 1), 0)
    # Zero outputs of a standardised y: the mean of y.
    expected = y.mean(dim=0).expand(6, 2)
    torch.testing.assert_close(goal.mean(torch.zeros(1, 6, 2, 1)), expected)


def test_a_mixture_of_one_gaussian_has_its_masses():
    y = torch.tensor([[0.0], [10.0]], dtype=torch.float64)  # mean 5, spread 5
    goal = objective_of("mdn", BINS[:1], *center_and_scale(y), None)
    outputs = torch.zeros(1, 1, 1, 3, 5, dtype=torch.float64)
    outputs[..., 0, 1:] = -1000.0  # all weight on the first component
    d = goal.distribution(outputs.flatten(-2), 0)
    sigma = 5 * (torch.tensor(2.0, dtype=torch.float64).log().item() + 0.01)
    borders = BINS[0].borders.numpy()
    for i in (10, 20, 30):
        mass = norm.cdf(borders[i + 1], 5, sigma) - norm.cdf(borders[i], 5, sigma)
        assert d.probs[0, i].item() == pytest.approx(mass, rel=1e-6)


@pytest.mark.parametrize("name", TARGETS)
def test_targets_by_name_are_probabilities(name, generator):
    y = data(generator)[:, 0]
    probs = target_for(name, sigma_in_bins=0.5).probs(y, BINS[0])
    torch.testing.assert_close(probs.sum(dim=-1), torch.ones(6, dtype=torch.float64))


def test_the_scale_of_a_constant_is_one():
    y = torch.full((1000, 1), 1e9 / 3, dtype=torch.float64)
    center, scale = center_and_scale(y)
    assert scale.item() == 1 and center.item() == pytest.approx(1e9 / 3)


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="loss must be one of 'histogram'"):
        objective_of("l3", BINS, torch.zeros(2), torch.ones(2))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_center_and_scale_survive_extreme_units(size):
    y = size * torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    center, scale = center_and_scale(y)
    assert center.item() == pytest.approx(2 * size)
    assert scale.item() == pytest.approx((2 / 3) ** 0.5 * size)


def test_tables_of_several_targets_share_one_budget(monkeypatch):
    monkeypatch.setattr(losses, "MOST_TABULATED", 1000)
    bins = Bins.around(0.0, 1.0, n_bins=50)
    y = torch.rand(30, 2, dtype=torch.float64)  # 30 windows of 24 bins: 720 entries
    for m, is_tabulated in ((1, True), (2, False)):
        zero, one = torch.zeros(m).double(), torch.ones(m).double()
        target = target_for("gaussian", 2.0)
        objective = objective_of("histogram", [bins] * m, zero, one, target)
        prepared = objective.prepared_for(y[:, :m])
        windows = prepared._target_losses[0].windows(torch.float32, y.device)
        assert isinstance(windows, TabulatedWindows) == is_tabulated
