"""The compiled loss: the same numbers as the plain formula, or not used."""

import copy
import math

import pytest
import torch

from histreg import Bins, HistogramLoss, targets
from histreg import _compiled as compiled

BINS = Bins.uniform(-6.0, 94.0, 100)  # ends that float32 can represent


def sample(generator, *, scale=1.0, offset=0.0):
    """Return logits (n, k) and y (n,) that reach to both ends of the bins."""
    y = BINS.low + (BINS.high - BINS.low) * torch.rand(500, generator=generator)
    y = y.clamp(BINS.low, BINS.high)
    y[:3] = torch.tensor([BINS.low, BINS.high, BINS.borders[40].item()])
    return torch.randn(500, 100, generator=generator) * scale + offset, y


@pytest.mark.parametrize("sigma_in_bins", [0.5, 2.0, 8.0])
@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (30, 0), (1, 1e4), (1, -1e4)])
def test_loss_and_gradient_are_those_of_float64(
    sigma_in_bins, scale, offset, generator
):
    logits, y = sample(generator, scale=scale, offset=offset)
    sigma = sigma_in_bins * BINS.width
    loss = compiled.compiled_gaussian(BINS, sigma)
    assert loss is not None
    found, gradient = loss("none", logits, y)

    wide = logits.double().requires_grad_()
    target_probs = targets.gaussian(y.double(), BINS, sigma=sigma)
    expected = -(target_probs * wide.log_softmax(-1)).sum(-1)
    # A softmax in float32 has logits to 6e-8 of their distance from the largest.
    torch.testing.assert_close(found.double(), expected.detach(), rtol=2e-6, atol=1e-6)
    (slope,) = torch.autograd.grad(expected.sum(), wide)
    assert (gradient.double() - slope).abs().max() <= 5e-7
    for reduction in ("mean", "sum"):
        value, _ = loss(reduction, logits, y)
        torch.testing.assert_close(value, getattr(found, reduction)())


def test_targets_are_interpolated_to_float32(generator):
    # Of equal logits the gradient is 1 / k - target.
    _, y = sample(generator)
    loss = compiled.compiled_gaussian(BINS, 2 * BINS.width)
    _, gradient = loss("none", torch.zeros(500, 100), y)
    exact = targets.gaussian(y.double(), BINS, sigma=2 * BINS.width)
    # At an end of the bins the target is twice the Gaussian: twice the stated 1.5e-8,
    # and three roundings of a probability of 0.38 in float32, 1.5e-8 each.
    error = (0.01 - gradient.double() - exact).abs().max()
    assert error <= 2 * 1.5e-8 + 3 * 1.5e-8


def test_the_module_gives_the_same_with_and_without(generator, monkeypatch):
    logits, y = sample(generator)
    logits.requires_grad_()

    def results():
        loss = HistogramLoss(BINS)
        value = loss(logits, y)
        return type(value.grad_fn).__name__, value, *torch.autograd.grad(value, logits)

    with_it = results()
    compiled.compiled_gaussian.cache_clear()
    monkeypatch.setattr(compiled, "is_installed", lambda: False)
    assert compiled.compiled_gaussian(BINS, 2 * BINS.width) is None
    without = results()
    compiled.compiled_gaussian.cache_clear()
    for found, expected in zip(with_it[1:], without[1:], strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


def test_a_second_derivative_and_a_second_backward_pass_are_the_plain_ones(generator):
    logits, y = sample(generator)
    logits = logits[:4].requires_grad_()
    loss = HistogramLoss(BINS)
    value = loss(logits, y[:4])
    first, again = (
        torch.autograd.grad(value, logits, retain_graph=True)[0] for _ in range(2)
    )
    torch.testing.assert_close(again, first)
    (slope,) = torch.autograd.grad(loss(logits, y[:4]), logits, create_graph=True)
    torch.testing.assert_close(slope, first)
    (curvature,) = torch.autograd.grad((slope**2).sum(), logits)
    wide = logits.detach().double().requires_grad_()
    (slope,) = torch.autograd.grad(loss(wide, y[:4]), wide, create_graph=True)
    (expected,) = torch.autograd.grad((slope**2).sum(), wide)
    torch.testing.assert_close(curvature.double(), expected, rtol=1e-4, atol=1e-9)


def test_samples_may_have_any_shape(generator):
    logits, y = sample(generator)
    loss = HistogramLoss(BINS, reduction="none")
    flat = loss(logits.requires_grad_(), y)
    shaped = loss(logits.view(5, 100, 100), y.view(5, 100))
    assert torch.equal(shaped.flatten(), flat)
    strided = loss(logits.t().contiguous().t(), y[::1])
    torch.testing.assert_close(strided, flat)


def test_y_outside_the_bins_is_clipped_and_counted_as_ever():
    loss = HistogramLoss(BINS, reduction="none")
    logits = torch.randn(3, 100, requires_grad=True)
    with pytest.warns(UserWarning, match="1 of 3 targets lie outside"):
        found = loss(logits, torch.tensor([50.0, 1e3, 20.0]))
    assert loss.n_clipped == 1
    expected = loss(logits, torch.tensor([50.0, BINS.high, 20.0]))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    with pytest.raises(ValueError, match="y must be finite"):
        loss(logits, torch.tensor([50.0, math.nan, 20.0]))


def test_bins_that_are_not_even_and_large_tables_are_left_alone():
    uneven = Bins([0.0, 1.0, 3.0, 4.0])
    assert compiled.compiled_gaussian(uneven, 1.0) is None
    assert compiled.compiled_gaussian(BINS, 1e-2 * BINS.width) is None
    far = Bins.uniform(1e12, 1e12 + 1.0, 10)  # borders are rounded
    assert compiled.compiled_gaussian(far, 0.2) is None


def test_a_module_is_copied_with_its_table(generator):
    logits, y = sample(generator)
    loss = HistogramLoss(BINS)
    value = loss(logits.requires_grad_(), y)
    assert torch.equal(copy.deepcopy(loss)(logits, y), value)


def test_the_gradient_of_a_mean_takes_part_in_a_longer_chain(generator):
    bins = Bins.around(0.0, 10.0)
    logits = torch.randn(8, 100, generator=generator, requires_grad=True)
    y = torch.rand(8, generator=generator) * 10
    loss = HistogramLoss(bins)
    (single,) = torch.autograd.grad(loss(logits, y), logits)
    (tripled,) = torch.autograd.grad(3 * loss(logits, y), logits)
    torch.testing.assert_close(tripled, 3 * single)
    (batched,) = torch.autograd.grad(
        loss(logits, y), logits, torch.tensor([1.0, 2.0]), is_grads_batched=True
    )
    torch.testing.assert_close(batched, torch.stack([single, 2 * single]))
    (by_sample,) = torch.autograd.grad(
        HistogramLoss(bins, reduction="none")(logits, y).mean(), logits
    )
    torch.testing.assert_close(single, by_sample)
