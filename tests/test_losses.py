"""Losses: one number per sample, in log space, never broadcasting."""

import copy
import io
import math
import shutil
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load, save
from torch.autograd import gradcheck, gradgradcheck
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.func import grad, vmap

from histreg import (
    Bins,
    Histogram,
    HistogramLoss,
    InputError,
    _windows,
    losses,
    targets,
)
from tests.references import kaplan_meier
from tests.registries import BINS, HISTOGRAM_LOSSES, LOSS_BINS, LOSSES, case

all_losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
all_kinds = pytest.mark.parametrize(
    "options", HISTOGRAM_LOSSES.values(), ids=HISTOGRAM_LOSSES
)


# --- laws of every loss


@all_losses
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3)])
def test_a_loss_is_one_number_per_sample(loss, shape, generator, dtype, close):
    out, y = case(generator, *shape, dtype=dtype)
    values = loss(out, y)
    assert values.shape == shape
    flat = loss(out.reshape(-1, 12), y.reshape(-1))
    close(values.reshape(-1), flat)


@all_losses
def test_gradients_are_those_of_finite_differences(loss, generator):
    out, y = case(generator, 4)
    assert gradcheck(lambda out: loss(out, y), out.requires_grad_())
    assert gradgradcheck(lambda out: loss(out, y), out)


@all_losses
def test_a_loss_refuses_to_broadcast(loss, generator):
    out, y = case(generator, 6)
    for wrong in (y.unsqueeze(-1), y.unsqueeze(0), y[:5], y[0]):
        with pytest.raises(ValueError, match="must have shape"):
            loss(out, wrong)


@all_losses
def test_a_loss_works_under_vmap(loss, generator):
    out, y = case(generator, 5)
    torch.testing.assert_close(vmap(loss)(out, y), loss(out, y))


@all_losses
def test_float32_agrees_with_float64(loss, generator):
    out, y = case(generator, 50)
    single = loss(out.float(), y.float())
    torch.testing.assert_close(single.double(), loss(out, y), rtol=1e-4, atol=1e-5)


SOFTMAX_LOSSES = [name for name in LOSSES if name not in ("l2", "l1", "mdn")]


@pytest.mark.parametrize("name", SOFTMAX_LOSSES)
def test_adding_a_constant_to_the_logits_changes_nothing(name, generator):
    out, y = case(generator, 7)
    torch.testing.assert_close(LOSSES[name](out + 50.0, y), LOSSES[name](out, y))


# What each loss elicits: the functional of the data that its minimiser predicts.
def minimise(loss, n_outputs, y, steps=400):
    out = torch.zeros(n_outputs, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([out], max_iter=steps, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        value = loss(out.expand(len(y), -1), y).mean()
        value.backward()
        return value

    optimizer.step(closure)
    return out.detach()


@pytest.mark.parametrize(
    ("name", "functional"),
    [
        ("l2", lambda out: out[0]),
        ("softmax_mean_l2", lambda out: Histogram(LOSS_BINS, logits=out).mean),
        # A Gaussian target well inside the bins has the mean of y itself.
        ("histogram_loss", lambda out: Histogram(LOSS_BINS, logits=out).mean),
        ("brier", lambda out: Histogram(LOSS_BINS, logits=out).mean),
        ("mdn", lambda out: losses.mdn_mean(out[:9].unflatten(-1, (3, 3)))),
    ],
)
def test_the_minimiser_predicts_the_mean_of_the_data(name, functional):
    y = torch.tensor([0.9, 1.0, 1.3], dtype=torch.float64)
    out = minimise(LOSSES[name], 12, y)
    assert functional(out).item() == pytest.approx(y.mean().item(), abs=2e-3)


@pytest.mark.parametrize(
    ("name", "functional"),
    [
        ("l1", lambda out: out[0]),
        ("softmax_mean_l1", lambda out: Histogram(LOSS_BINS, logits=out).mean),
    ],
)
def test_the_minimiser_of_an_absolute_error_predicts_the_median(name, functional):
    y = torch.tensor([0.2, 1.0, 1.9], dtype=torch.float64)
    out = minimise(LOSSES[name], 12, y)
    assert functional(out).item() == pytest.approx(1.0, abs=0.02)


def test_the_minimiser_of_crps_puts_half_the_mass_below_the_median():
    y = torch.linspace(-0.7, 2.2, 61, dtype=torch.float64)
    out = minimise(LOSSES["crps"], 12, y)
    d = Histogram(LOSS_BINS, logits=out)
    assert d.median.item() == pytest.approx(y.median().item(), abs=0.05)
    # Nearly uniform data: each level is met, not only the median.
    assert d.icdf(0.1).item() == pytest.approx(y.quantile(0.1).item(), abs=0.1)


def test_the_literal_per_bin_loss_has_the_wrong_mean():
    # Spec I3: with centers on [-0.125, 1.125], y = 0.1 gives a mean of 0.94.
    bins = Bins.preset("tabular", 0.0, 1.0)

    def loss(out, y):
        return losses.softmax_per_bin_l2(out, y, bins)

    for y, mean in ((0.1, 0.94), (0.5, 1.04)):
        out = minimise(loss, 100, torch.tensor([y], dtype=torch.float64), steps=3000)
        found = Histogram(bins, logits=out).mean.item()
        assert found == pytest.approx(mean, abs=0.01)


# --- values at points computed by hand


def test_histogram_loss_by_hand(dtype, close):
    logits = torch.tensor([0.0, math.log(3.0)], dtype=dtype)  # h = 1/4, 3/4
    target_probs = torch.tensor([0.5, 0.5], dtype=dtype)
    expected = -0.5 * math.log(0.25) - 0.5 * math.log(0.75)
    close(losses.histogram_loss(logits, target_probs), expected)


def test_the_gradient_is_the_prediction_minus_the_target(generator):
    logits, y = case(generator, 4)
    logits.requires_grad_()
    target_probs = targets.gaussian(y, LOSS_BINS, sigma=0.5)
    total = losses.histogram_loss(logits, target_probs).sum()
    (gradient,) = torch.autograd.grad(total, logits)
    torch.testing.assert_close(gradient, logits.softmax(-1) - target_probs)


def test_the_loss_is_the_entropy_plus_the_divergence(generator):
    logits, y = case(generator, 9)
    p = targets.gaussian(y, LOSS_BINS, sigma=0.5)
    entropy = torch.special.entr(p).sum(-1)
    divergence = (p * (p.log() - logits.log_softmax(-1))).sum(-1)
    loss = losses.histogram_loss(logits, p)
    torch.testing.assert_close(loss, entropy + divergence)
    assert bool((loss >= entropy).all())
    torch.testing.assert_close(losses.histogram_loss(p.log(), p), entropy)


def test_a_huge_logit_does_not_overflow(dtype):
    logits = torch.tensor([1e4, -1e4], dtype=dtype)
    loss = losses.histogram_loss(logits, torch.tensor([0.0, 1.0], dtype=dtype))
    assert loss == 2e4


def test_the_other_losses_by_hand(dtype, close):
    bins = Bins([0.0, 2.0, 4.0])  # centers 1 and 3
    logits = torch.tensor([0.0, math.log(3.0)], dtype=dtype)  # h = 1/4, 3/4, mean 2.5
    y = torch.tensor(2.0, dtype=dtype)
    close(losses.l2(torch.tensor(5.0, dtype=dtype), y), 9.0)
    close(losses.l1(torch.tensor(-5.0, dtype=dtype), y), 7.0)
    close(losses.softmax_mean_l2(logits, y, bins), 0.25)
    close(losses.softmax_mean_l1(logits, y, bins), 0.5)
    close(losses.softmax_per_bin_l2(logits, y, bins), (0.25 - 2) ** 2 + (2.25 - 2) ** 2)
    target_probs = torch.tensor([1.0, 0.0], dtype=dtype)
    close(losses.brier(logits, target_probs), 0.75**2 + 0.75**2)
    # F rises from 0 to 1/4 on [0, 2], to 1 on [2, 4]: 2/3 (1/16) + 2/3 (9/16).
    close(losses.crps(logits, y, bins), 2 / 3 * (1 / 16) + 2 / 3 * (9 / 16))


def test_the_loss_of_a_bound_by_hand(dtype, close):
    bins = Bins([0.0, 1.0, 3.0, 4.0])
    logits = torch.tensor([0.1, 0.4, 0.5], dtype=dtype).log()
    for y, above in (
        (-1e300, 1.0),
        (0.0, 1.0),
        (0.25, 0.075 + 0.9),
        (1.0, 0.9),
        (2.5, 0.1 + 0.5),
        (3.0, 0.5),
        (3.9, 0.5),  # the last bin stands for all that is greater
        (4.0, 0.5),
        (1e300, 0.5),
    ):
        y = torch.tensor(y, dtype=torch.float64)
        close(losses.survival_loss(logits, y, bins), -math.log(above))


@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_the_loss_of_a_bound_is_that_of_the_distribution(bins, generator):
    logits = 3 * torch.randn(60, bins.n_bins, generator=generator, dtype=torch.float64)
    last = bins.borders[-2].item()
    y = torch.linspace(bins.low, last, 60, dtype=torch.float64)
    tail = Histogram(bins, logits=logits).prob(y, math.inf)
    torch.testing.assert_close(losses.survival_loss(logits, y, bins), -tail.log())


@pytest.mark.parametrize("name", [name for name in BINS if BINS[name].n_bins > 2])
def test_the_loss_of_an_interval_is_that_of_the_distribution(name, generator):
    bins = BINS[name]  # end bins stand for all that is beyond
    logits = 3 * torch.randn(60, bins.n_bins, generator=generator, dtype=torch.float64)
    first, last = bins.borders[1].item(), bins.borders[-2].item()
    ends = first + (last - first) * torch.rand(
        2, 60, generator=generator, dtype=torch.float64
    )
    lower, upper = ends.sort(dim=0).values
    lower[:10], upper[10:20] = -math.inf, math.inf
    prob = Histogram(bins, logits=logits).prob(lower, upper)
    found = losses.interval_loss(logits, lower, upper, bins)
    torch.testing.assert_close(found, -prob.log())


def test_intervals_beyond_the_bins_and_very_narrow_ones_have_a_finite_loss(dtype):
    logits = torch.zeros(5, 12, dtype=dtype, requires_grad=True)
    lower = torch.tensor([-math.inf, -1e30, 1e30, 0.5, -math.inf], dtype=torch.float64)
    upper = torch.tensor([-1e30, -1e29, math.inf, 0.5, math.inf], dtype=torch.float64)
    upper[3] = torch.nextafter(lower[3], upper[2])
    loss = losses.interval_loss(logits, lower, upper, LOSS_BINS)
    # One bin of twelve, and the whole line.
    assert loss[[0, 1, 2]].tolist() == pytest.approx([math.log(12)] * 3)
    assert loss[3].isfinite() and loss[4] == 0
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert gradient.isfinite().all()


def test_intervals_must_not_be_empty():
    one = torch.ones(())
    with pytest.raises(InputError, match="lower must be below upper"):
        losses.interval_loss(torch.zeros(12), one, one, LOSS_BINS)
    loss = HistogramLoss(LOSS_BINS)
    with pytest.raises(InputError, match="upper must not be less than y"):
        loss(torch.zeros(12), one, upper=one - 1)
    with pytest.raises(InputError, match="give censored or upper, got both"):
        loss(torch.zeros(12), one, upper=one, censored=one > 2)


def test_the_module_takes_upper_ends(generator):
    logits, y = case(generator, 6)
    upper = y.clone()
    upper[1], upper[2], upper[3] = math.inf, math.nan, y[3] + 0.5
    y[4], upper[4] = -math.inf, 0.25
    loss = HistogramLoss(LOSS_BINS, reduction="none")
    found = loss(logits, y, upper=upper)
    known = [0, 2, 5]
    assert torch.equal(found[known], loss(logits[known], y[known]))
    rest = [1, 3, 4]
    expected = losses.interval_loss(logits[rest], y[rest], upper[rest], LOSS_BINS)
    assert torch.equal(found[rest], expected)


def test_a_bound_that_is_far_from_all_mass_has_a_finite_loss(dtype):
    logits = torch.zeros(12, dtype=dtype)
    logits[0] = 1e4
    logits.requires_grad_()
    for y in (2.5, 3.0, 1e30):
        loss = losses.survival_loss(logits, torch.tensor(y), LOSS_BINS)
        assert 9990 < loss.item() <= 1e4
        (gradient,) = torch.autograd.grad(loss, logits)
        assert gradient[0] == 1 and gradient.sum().abs() < 1e-6 and gradient[-1] < 0


def test_gradients_reach_a_bound_also_where_it_is_a_border():
    bins = Bins([0.0, 1.0, 2.0, 3.0])
    logits = torch.zeros(3, dtype=torch.float64)
    y = torch.tensor([-1.0, 0.5, 1.0, 2.0, 2.5], dtype=torch.float64)
    y.requires_grad_()
    loss = losses.survival_loss(logits.expand(5, 3), y, bins)
    (gradient,) = torch.autograd.grad(loss.sum(), y)
    # Density over tail, h / w / P(Y > y), and none where the bound has no effect.
    assert gradient.isfinite().all()
    assert gradient[1].item() == pytest.approx((1 / 3) / (2.5 / 3))
    assert gradient[0] == 0 and gradient[-1] == 0


def kaplan_meier_case(generator, n=400):
    """Return bins, times of events in their middles and of censoring on borders."""
    bins = Bins.uniform(0.0, 8.0, 16)
    rate = torch.full((n,), 0.25, dtype=torch.float64)
    event = torch.distributions.Exponential(rate).icdf(
        torch.rand(n, generator=generator, dtype=torch.float64)
    )
    limit = 8 * torch.rand(n, generator=generator, dtype=torch.float64)
    censored = limit < event
    event = bins.centers[bins.index_of(event)]
    limit = bins.borders[bins.index_of(limit)]
    return bins, torch.where(censored, limit, event), censored


def test_free_logits_converge_to_the_kaplan_meier_estimator(generator):
    # One group, no smoothing: the loss is the likelihood whose maximum is that of
    # Kaplan and Meier (1958), exactly if all that censors lies on borders.
    bins, y, censored = kaplan_meier_case(generator)
    assert 0.3 < censored.double().mean() < 0.6
    loss = HistogramLoss(bins, "one_bin", reduction="none")
    found = minimise(lambda out, y: loss(out, y, censored=censored), 16, y, steps=2000)
    survival = Histogram(bins, logits=found).prob(bins.borders, math.inf)
    expected = kaplan_meier(y.numpy(), censored.numpy(), bins.borders.numpy())
    np.testing.assert_allclose(survival, expected, atol=1e-4)


def test_ignoring_which_are_censored_would_not(generator):
    bins, y, censored = kaplan_meier_case(generator)
    expected = kaplan_meier(y.numpy(), censored.numpy(), bins.borders.numpy())
    found = minimise(HistogramLoss(bins, "one_bin", reduction="none"), 16, y)
    survival = Histogram(bins, logits=found).prob(bins.borders, math.inf)
    assert np.abs(survival.numpy() - expected).max() > 0.1


def test_censored_exponential_times_have_their_likelihood():
    # Exponential of rate 1 in bins of 0.05: masses in closed form, and so the loss:
    # of an event in its bin, of a bound on a border, of one within a bin.
    bins = Bins.uniform(0.0, 40.0, 800)
    lower, upper = bins.borders[:-1], bins.borders[1:]
    mass = torch.exp(-lower) - torch.exp(-upper)
    y = torch.tensor([0.525, 1.5, 2.525], dtype=torch.float64)
    censored = torch.tensor([False, True, True])
    loss = HistogramLoss(bins, "one_bin", reduction="none")
    found = loss(mass.log().expand(3, 800), y, censored=censored)
    middle = (math.exp(-2.5) + math.exp(-2.55)) / 2
    expected = [-math.log(math.exp(-0.5) - math.exp(-0.55)), 1.5, -math.log(middle)]
    # What lies above 40 is 4e-18 of all.
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_mdn_is_the_likelihood_of_torchs_mixture(generator):
    parameters = torch.randn(7, 3, 4, generator=generator, dtype=torch.float64)
    y = torch.randn(7, generator=generator, dtype=torch.float64)
    weights, means, spreads = parameters.unbind(-2)
    mixture = MixtureSameFamily(
        Categorical(logits=weights), Normal(means, F.softplus(spreads) + 1e-2)
    )
    torch.testing.assert_close(losses.mdn(parameters, y), -mixture.log_prob(y))
    torch.testing.assert_close(losses.mdn_mean(parameters), mixture.mean)


def test_an_offset_of_a_million_does_not_hurt_the_loss_on_the_mean():
    # Compared in float32 about zero, where everything is exact enough.
    logits = torch.randn(20)
    near, far = Bins.uniform(0.0, 10.0, 20), Bins.uniform(1e6, 1e6 + 10.0, 20)
    y = torch.tensor(3.25, dtype=torch.float64)
    torch.testing.assert_close(
        losses.softmax_mean_l2(logits, y + 1e6, far),
        losses.softmax_mean_l2(logits, y, near),
        rtol=1e-4,
        atol=1e-5,
    )


# --- the module


@all_kinds
@pytest.mark.parametrize("bins", [LOSS_BINS, BINS["even, hundred"]], ids=["12", "100"])
def test_the_module_is_the_loss_against_the_target_vectors(options, bins, dtype):
    k = bins.n_bins
    logits = torch.randn(40, k, dtype=dtype)
    # On borders, at the ends and inside.
    y = torch.linspace(bins.low, bins.high, 40, dtype=torch.float64).to(dtype)
    y = y.clamp(bins.low, bins.high)
    target = options.get("target", "gaussian")
    if target == "gaussian":
        sigma = options.get("sigma", 2 * bins.width)
        target_probs = targets.gaussian(y, bins, sigma=sigma)
    elif target == "uniform":
        target_probs = targets.uniform(y, bins, epsilon=options["epsilon"])
    elif target == "projected":
        target_probs = targets.projected(y, bins)
    elif target == "one_bin":
        target_probs = targets.one_bin(y, bins)
    else:
        target_probs = target(y, bins)
    if options.get("keeps_mean"):
        target_probs = targets.with_mean(target_probs, y, bins)
    expected = -(target_probs * logits.log_softmax(-1)).sum(-1)
    loss = HistogramLoss(bins, **options, reduction="none")
    tolerance = {torch.float32: 2e-6, torch.float64: 1e-12}[dtype]
    torch.testing.assert_close(
        loss(logits, y), expected, rtol=tolerance, atol=tolerance
    )


@all_kinds
def test_the_module_differentiates_twice(options, generator):
    logits, y = case(generator, 3)
    loss = HistogramLoss(LOSS_BINS, **options)
    assert gradcheck(lambda out: loss(out, y), logits.requires_grad_())
    assert gradgradcheck(lambda out: loss(out, y), logits)


@all_kinds
def test_the_module_works_under_vmap_and_func_grad(options, generator):
    logits, y = case(generator, 6)
    loss = HistogramLoss(LOSS_BINS, **options)
    mapped = vmap(grad(loss))(logits, y)
    total = HistogramLoss(LOSS_BINS, **options, reduction="sum")
    (expected,) = torch.autograd.grad(total(logits.requires_grad_(), y), logits)
    torch.testing.assert_close(mapped, expected)


@all_kinds
@pytest.mark.parametrize("bins", [LOSS_BINS, BINS["uneven"]], ids=["even", "uneven"])
def test_the_module_compiles_without_a_graph_break(options, bins, generator):
    if not bins.is_uniform and options.get("target", "gaussian") == "gaussian":
        options = {"sigma": 0.5, **options}
    torch.compiler.reset()
    loss = HistogramLoss(bins, **options)
    logits, y = case(generator, 8, dtype=torch.float32, k=bins.n_bins)
    logits.requires_grad_()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    value, expected = compiled(logits, y), loss(logits, y)
    torch.testing.assert_close(value, expected)
    (gradient,) = torch.autograd.grad(value, logits)
    (reference,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(gradient, reference)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="inductor needs a C++ compiler")
@all_kinds
def test_the_module_compiles_to_code(options, generator):
    torch.compiler.reset()
    loss = HistogramLoss(LOSS_BINS, **options)
    logits, y = case(generator, 8, dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own
        value = torch.compile(loss, fullgraph=True)(logits, y)
    torch.testing.assert_close(value, loss(logits, y), rtol=1e-5, atol=1e-6)


@all_kinds
def test_autocast_evaluates_the_loss_in_float32(options, generator):
    logits, y = case(generator, 16, dtype=torch.float32)
    linear = torch.nn.Linear(12, 12)
    loss = HistogramLoss(LOSS_BINS, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = linear(logits)
        assert half.dtype == torch.bfloat16
        value = loss(half, y)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, loss(half.float(), y))


@all_losses
@pytest.mark.parametrize("y_dtype", [torch.float32, torch.float64])
def test_a_loss_has_the_dtype_of_what_the_network_gave(loss, y_dtype, generator):
    for dtype, expected in (
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ):
        out, y = case(generator, 4, dtype=torch.float64)
        if loss in (LOSSES["l2"], LOSSES["l1"]):
            continue  # plain arithmetic: torch's own rules
        assert loss(out.to(dtype), y.to(y_dtype)).dtype == expected


@all_kinds
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_module_takes_targets_in_half_precision(options, dtype, generator):
    logits, y = case(generator, 4)
    logits, y = logits.float().requires_grad_(), y.to(dtype)
    loss = HistogramLoss(LOSS_BINS, **options)
    torch.testing.assert_close(loss(logits, y), loss(logits, y.float()))


@all_kinds
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_module_has_the_dtype_of_the_logits(options, dtype, generator):
    logits, y = case(generator, 4)
    value = HistogramLoss(LOSS_BINS, **options)(logits.to(dtype), y)
    assert value.dtype == (torch.float32 if dtype == torch.bfloat16 else dtype)


@all_kinds
def test_a_nan_that_cannot_be_refused_gives_nan(options):
    loss = HistogramLoss(LOSS_BINS, **options, reduction="none")
    y = torch.tensor([0.2, math.nan])
    assert vmap(loss)(torch.zeros(2, 12), y).isnan().tolist() == [False, True]
    torch.compiler.reset()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    assert compiled(torch.zeros(2, 12), y).isnan().tolist() == [False, True]


@all_kinds
def test_the_module_works_where_the_tensors_are_without_being_moved(options):
    # As nn.MSELoss does.
    loss = HistogramLoss(LOSS_BINS, **options)
    value = loss(torch.zeros(3, 12, device="meta"), torch.zeros(3, device="meta"))
    assert value.device.type == "meta"
    assert loss(torch.zeros(3, 12), torch.zeros(3)).isfinite()


# --- censored targets, in the module


def censored_case(generator, n=9, **options):
    logits, y = case(generator, n, **options)
    return logits, y, torch.arange(n) % 3 == 1


@all_kinds
def test_censored_targets_have_the_loss_of_a_bound_and_others_their_own(
    options, generator
):
    logits, y, censored = censored_case(generator, dtype=torch.float32)
    loss = HistogramLoss(LOSS_BINS, **options, reduction="none")
    found = loss(logits, y, censored=censored)
    assert torch.equal(found[~censored], loss(logits, y)[~censored])
    expected = losses.survival_loss(logits, y, LOSS_BINS)
    assert torch.equal(found[censored], expected[censored])
    weight = torch.rand(9, generator=generator) + 0.1
    mean = HistogramLoss(LOSS_BINS, **options)(logits, y, weight, censored)
    torch.testing.assert_close(mean, (found * weight).sum() / weight.sum())


@all_kinds
def test_gradients_of_targets_that_are_not_censored_are_as_ever(options, generator):
    logits, y, censored = censored_case(generator, dtype=torch.float32)
    logits.requires_grad_()
    loss = HistogramLoss(LOSS_BINS, **options, reduction="sum")
    (found,) = torch.autograd.grad(loss(logits, y, censored=censored), logits)
    (expected,) = torch.autograd.grad(loss(logits, y), logits)
    assert torch.equal(found[~censored], expected[~censored])
    assert not torch.equal(found[censored], expected[censored])


@all_kinds
def test_the_module_differentiates_twice_with_censored_targets(options, generator):
    logits, y, censored = censored_case(generator, 3)
    loss = HistogramLoss(LOSS_BINS, **options)

    def of(out):
        return loss(out, y, censored=censored)

    assert gradcheck(of, logits.requires_grad_())
    assert gradgradcheck(of, logits)


@all_kinds
def test_censored_targets_work_under_vmap_and_func_grad(options, generator):
    logits, y, censored = censored_case(generator, 6)
    loss = HistogramLoss(LOSS_BINS, **options)
    mapped = vmap(grad(lambda out, y, flag: loss(out, y, None, flag)))(
        logits, y, censored
    )
    total = HistogramLoss(LOSS_BINS, **options, reduction="sum")
    value = total(logits.requires_grad_(), y, censored=censored)
    (expected,) = torch.autograd.grad(value, logits)
    torch.testing.assert_close(mapped, expected)


@all_kinds
def test_censored_targets_compile_without_a_graph_break(options, generator):
    torch.compiler.reset()
    loss = HistogramLoss(LOSS_BINS, **options)
    logits, y, censored = censored_case(generator, dtype=torch.float32)
    logits.requires_grad_()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    value = compiled(logits, y, censored=censored)
    expected = loss(logits, y, censored=censored)
    torch.testing.assert_close(value, expected)
    (gradient,) = torch.autograd.grad(value, logits)
    (reference,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(gradient, reference)


@all_kinds
def test_autocast_evaluates_censored_targets_in_float32(options, generator):
    logits, y, censored = censored_case(generator, dtype=torch.float32)
    linear = torch.nn.Linear(12, 12)
    loss = HistogramLoss(LOSS_BINS, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = linear(logits)
        value = loss(half, y, censored=censored)
    assert half.dtype == torch.bfloat16 and value.dtype == torch.float32
    torch.testing.assert_close(value, loss(half.float(), y, censored=censored))


def test_censored_targets_of_several_columns_have_their_own_bins(generator):
    columns = [Bins.uniform(0.0, 1.0, 20), Bins.uniform(-500.0, 500.0, 20)]
    logits = torch.randn(6, 2, 20, generator=generator)
    y = torch.stack([torch.rand(6), torch.rand(6) * 900 - 450], dim=-1)
    censored = torch.rand(6, 2, generator=generator) < 0.5
    found = HistogramLoss(columns, reduction="none")(logits, y, censored=censored)
    for i, bins in enumerate(columns):
        alone = HistogramLoss(bins, reduction="none")
        expected = alone(logits[:, i], y[:, i], censored=censored[:, i])
        assert torch.equal(found[:, i], expected)


def test_a_nan_bound_is_refused_where_it_can_be_seen():
    loss = HistogramLoss(LOSS_BINS, reduction="none")
    y, censored = torch.tensor([0.2, math.nan]), torch.tensor([True, True])
    with pytest.raises(ValueError, match="y must be finite"):
        loss(torch.zeros(2, 12), y, censored=censored)
    found = vmap(lambda out, y, flag: loss(out, y, None, flag))(
        torch.zeros(2, 12), y, censored
    )
    assert found.isnan().tolist() == [False, True]


def test_flags_that_are_not_bool_are_refused():
    with pytest.raises(TypeError, match=r"censored must hold bool, got torch\.int64"):
        HistogramLoss(LOSS_BINS)(
            torch.zeros(2, 12), torch.zeros(2), censored=torch.tensor([0, 1])
        )


def test_a_callable_gets_y_as_the_choice_for_outside_wants_it():
    seen = []

    def target(y, bins):
        seen.append(y.tolist())
        return targets.one_bin(y, bins)

    logits, y = torch.zeros(1, 12), torch.tensor([9.0])
    with pytest.warns(UserWarning, match="outside the bins"):
        HistogramLoss(LOSS_BINS, target)(logits, y)
    HistogramLoss(LOSS_BINS, target, out_of_range="truncate")(logits, y)
    assert seen == [[3.0], [9.0]]
    with pytest.raises(ValueError, match="y must lie within the bins"):
        HistogramLoss(LOSS_BINS, target, out_of_range="error")(logits, y)


def test_bins_of_a_loss_cannot_be_exchanged_behind_its_tables():
    with pytest.raises(AttributeError):
        HistogramLoss(LOSS_BINS).bins = BINS["even"]


def test_gradients_reach_y_and_target_probs_if_they_ask_for_them(generator):
    logits, y = case(generator, 4)
    loss = HistogramLoss(LOSS_BINS)
    assert gradcheck(lambda y: loss(logits, y), y.requires_grad_())
    p = torch.rand(4, 12, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda p: losses.histogram_loss(logits, p), p)


def test_weights_do_not_change_the_dtype(generator):
    logits, y = case(generator, 3, dtype=torch.float32)
    weight = torch.ones(3, dtype=torch.float64)
    for reduction in ("mean", "sum", "none"):
        loss = HistogramLoss(LOSS_BINS, reduction=reduction)
        assert loss(logits, y, weight).dtype == torch.float32


def test_reductions_and_weights(generator):
    logits, y = case(generator, 3, 2)
    weight = torch.tensor([[1.0, 2.0], [0.0, 3.0], [1.0, 1.0]], dtype=torch.float64)
    each = HistogramLoss(LOSS_BINS, reduction="none")(logits, y)
    total, mean = (HistogramLoss(LOSS_BINS, reduction=name) for name in ("sum", "mean"))
    torch.testing.assert_close(total(logits, y), each.sum())
    torch.testing.assert_close(mean(logits, y), each.mean())
    torch.testing.assert_close(total(logits, y, weight), (each * weight).sum())
    torch.testing.assert_close(mean(logits, y, weight), (each * weight).sum() / 8)
    none = HistogramLoss(LOSS_BINS, reduction="none")(logits, y, weight)
    torch.testing.assert_close(none, each * weight)


@pytest.mark.filterwarnings("ignore:.*outside the bins")
@all_kinds
@given(y=st.floats(-1e300, 1e300))
def test_the_loss_is_finite_with_a_gradient_for_every_y(options, y):
    # A target outside the range that gave a zero vector had loss 0 and no gradient.
    logits = torch.zeros(1, 12, dtype=torch.float64, requires_grad=True)
    value = HistogramLoss(LOSS_BINS, **options)(
        logits, torch.tensor([y], dtype=torch.float64)
    )
    (gradient,) = torch.autograd.grad(value, logits)
    assert value.item() == pytest.approx(math.log(12), rel=1e-9)
    assert bool(gradient.isfinite().all())
    assert gradient.abs().sum() > 1e-3


def test_clipped_targets_are_counted_and_reported_once():
    loss = HistogramLoss(LOSS_BINS)
    logits, y = torch.zeros(4, 12), torch.tensor([-5.0, 0.0, 1.0, 99.0])
    with pytest.warns(
        UserWarning, match=r"2 of 4 targets lie outside the bins \[-1, 3"
    ):
        loss(logits, y)
    loss(logits, y)  # warnings are errors here
    assert loss.n_clipped == 4
    inside = HistogramLoss(LOSS_BINS)
    inside(logits, torch.tensor([-1.0, 0.0, 1.0, 3.0]))
    assert inside.n_clipped == 0


def test_the_loss_of_a_state_is_that_of_its_saver():
    saved = HistogramLoss(Bins.around(5.0, 6.0), sigma_in_bins=1.5)
    restored = HistogramLoss(Bins.around(0.0, 1.0))
    restored.load_state_dict(saved.state_dict())
    assert restored.bins == saved.bins and restored.sigma == saved.sigma
    logits, y = torch.randn(5, 100), torch.rand(5) + 5
    assert torch.equal(restored(logits, y), saved(logits, y))


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    loss = HistogramLoss(BINS["even"])
    for other in (
        HistogramLoss(Bins.uniform(0, 1, 20)),
        HistogramLoss(BINS["even"], "one_bin"),
        HistogramLoss([BINS["even"]] * 2),
    ):
        with pytest.raises(ValueError, match="the saved state must"):
            loss.load_state_dict(other.state_dict())
        assert loss.bins == BINS["even"] and loss.sigma == 0.5


def test_printing_the_loss_tells_its_settings():
    assert "sigma_in_bins=2.0, out_of_range=clip" in str(HistogramLoss(BINS["even"]))
    assert "sigma=0.5, out_of_range=clip" in str(HistogramLoss(BINS["even"], sigma=0.5))
    assert "epsilon=0.2" in str(HistogramLoss(BINS["even"], "uniform", epsilon=0.2))


def test_a_smoothing_in_bins_has_no_one_sigma_on_uneven_ones():
    assert HistogramLoss(BINS["uneven"], sigma=0.5).sigma == 0.5
    with pytest.raises(ValueError, match="width needs bins of equal width"):
        HistogramLoss(BINS["uneven"]).sigma  # noqa: B018


def test_each_target_may_have_its_own_sigma():
    columns = [BINS["uneven"], Bins(BINS["uneven"].borders * 1e6)]
    loss = HistogramLoss(columns, sigma=[0.5, 0.5e6], reduction="none")
    y = torch.tensor([[0.7, 0.7e6]], dtype=torch.float64)
    first, second = loss(torch.randn(6).expand(1, 2, 6), y)[0]
    assert first.item() == pytest.approx(second.item(), rel=1e-6)


def test_sigma_may_be_an_array_or_a_tensor():
    for sigma in (np.array([0.1, 0.2]), torch.tensor([0.1, 0.2]), (0.1, 0.2)):
        loss = HistogramLoss([LOSS_BINS] * 2, sigma=sigma)
        assert loss.sigma == pytest.approx([0.1, 0.2])
    assert isinstance(HistogramLoss(LOSS_BINS, sigma=torch.tensor(0.1)).sigma, float)


def test_the_loss_on_the_mean_survives_a_wide_bin():
    bins = Bins(np.geomspace(1e-4, 1e4, 101))
    logits = torch.full((1, 100), -1e4)
    logits[0, 0] = 0.0
    y = torch.tensor([3e-4])
    expected = 3e-4 - bins.centers[0].item()
    found = losses.softmax_mean_l1(logits, y, bins).item()
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_warning_points_at_the_line_that_called():
    loss = HistogramLoss(LOSS_BINS)
    several = HistogramLoss([LOSS_BINS] * 2)
    with pytest.warns(UserWarning, match="outside the bins") as caught:
        loss(torch.zeros(1, 12), torch.tensor([99.0]))
        several(torch.zeros(1, 2, 12), torch.full((1, 2), 99.0))
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_the_state_goes_through_files_without_pickle():
    model = torch.nn.ModuleDict({"loss": HistogramLoss(BINS["even"])})
    copy_ = torch.nn.ModuleDict({"loss": HistogramLoss(Bins.uniform(0, 1, 16))})
    copy_.load_state_dict(load(save(model.state_dict())))
    assert copy_["loss"].bins == BINS["even"]
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    other = HistogramLoss(Bins.uniform(0, 1, 16))
    state = torch.load(buffer, weights_only=True)
    other.load_state_dict({"_extra_state": state["loss._extra_state"]})
    assert other.bins == BINS["even"]


def test_casting_the_module_does_not_round_its_bins():
    loss = HistogramLoss(BINS["far away"])
    logits, y = torch.randn(4, 20), torch.full((4,), 1e6 + 3.3, dtype=torch.float64)
    before = loss(logits, y)
    for cast in (loss.half(), loss.to(torch.bfloat16), copy.deepcopy(loss)):
        assert torch.equal(cast(logits, y), before)
        assert cast.bins == BINS["far away"]


@all_kinds
def test_the_module_follows_to_a_device(options):
    # A table left on the CPU cannot meet a tensor on the device without values.
    loss = HistogramLoss(LOSS_BINS, **options).to("meta")
    logits = torch.zeros(3, 12, device="meta", requires_grad=True)
    value = loss(logits, torch.zeros(3, device="meta"))
    assert value.device.type == "meta" and value.shape == ()
    value.backward()
    back = loss.to_empty(device="cpu")
    logits, y = torch.randn(3, 12), torch.rand(3)
    expected = HistogramLoss(LOSS_BINS, **options)(logits, y)
    assert torch.equal(back(logits, y), expected)


@all_kinds
def test_a_device_without_float64_gets_float32(options, monkeypatch):
    logits, y = torch.randn(9, 12), torch.linspace(-1, 3, 9)
    expected = HistogramLoss(LOSS_BINS, **options)(logits, y)
    for module in ("bins", "_windows", "targets", "losses"):
        monkeypatch.setattr(f"histreg.{module}.float64_on", lambda _: torch.float32)
    # Tables that were made before are of float64, and those of now must not stay.
    anew = _windows.gaussian_windows.__wrapped__
    monkeypatch.setattr("histreg.targets.gaussian_windows", anew)
    loss = HistogramLoss(LOSS_BINS, **options)
    torch.testing.assert_close(loss(logits, y), expected, rtol=1e-4, atol=1e-5)


def test_several_targets_have_their_own_bins(generator):
    columns = [Bins.uniform(0.0, 1.0, 20), Bins.uniform(-500.0, 500.0, 20)]
    logits = torch.randn(6, 2, 20, generator=generator)
    y = torch.stack([torch.rand(6), torch.rand(6) * 900 - 450], dim=-1)
    together = HistogramLoss(columns, reduction="none")
    apart = [HistogramLoss(bins, reduction="none") for bins in columns]
    expected = [apart[i](logits[:, i], y[:, i]) for i in range(2)]
    torch.testing.assert_close(together(logits, y), torch.stack(expected, dim=-1))
    other = HistogramLoss([Bins.uniform(0.0, 2.0, 20)] * 2)
    other.load_state_dict(together.state_dict())
    assert other.bins == tuple(columns) and other.sigma == together.sigma


def test_a_network_learns_the_line_it_is_shown(generator):
    # The point of it all, in two seconds: logits from features, mean close to y.
    x = torch.rand(512, 1, generator=generator)
    y = 3 * x.squeeze(-1) - 1
    bins = Bins.of(y)
    network = torch.nn.Sequential(
        torch.nn.Linear(1, 32), torch.nn.ReLU(), torch.nn.Linear(32, 100)
    )
    loss = HistogramLoss(bins)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(300):
        optimizer.zero_grad()
        loss(network(x), y).backward()
        optimizer.step()
    error = (Histogram(bins, logits=network(x)).mean - y).abs().mean()
    assert error < 0.05  # of a range of 3


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda b: HistogramLoss(b, "gauss"), "target must be one of 'gaussian'"),
        (lambda b: HistogramLoss(b, reduction="avg"), "reduction must be one of"),
        (lambda b: HistogramLoss(b, out_of_range="x"), "out_of_range must be one of"),
        (lambda b: HistogramLoss(b, sigma=0.0), "sigma must be finite and positive"),
        (lambda b: HistogramLoss(b, sigma_in_bins=-1), "sigma_in_bins must be finite"),
        (lambda b: HistogramLoss(b, sigma=1.0, sigma_in_bins=1.0), "either sigma or"),
        (lambda b: HistogramLoss(b, "one_bin", sigma=1.0), "neither with others"),
        (lambda b: HistogramLoss(b, sigma=[1.0, 2.0]), r"one per target \(1\)"),
        (lambda b: HistogramLoss(b, "uniform"), "epsilon must be given with target"),
        (lambda b: HistogramLoss(b, epsilon=0.1), "epsilon must be given with target"),
        (lambda b: HistogramLoss(b, "uniform", epsilon=2.0), r"lie in \[0, 1\]"),
        (lambda b: HistogramLoss(b, "one_bin", keeps_mean=True), '"projected" keeps'),
        (lambda b: HistogramLoss(b, "projected", keeps_mean=False), "keeps the mean"),
        (lambda b: HistogramLoss([b, BINS["two"]]), r"n_bins, got \[2, 12\]"),
        (
            lambda b: HistogramLoss(b)(torch.zeros(3, 12), torch.zeros(3, 1)),
            r"y must have shape \(3,\) for these logits, got shape \(3, 1\)",
        ),
        (
            lambda b: HistogramLoss(b)(torch.zeros(3, 11), torch.zeros(3)),
            "logits must have 12 entries in the last dimension",
        ),
        (
            lambda b: HistogramLoss(b)(
                torch.zeros(3, 12), torch.zeros(3), torch.zeros(1)
            ),
            "weight must have shape",
        ),
        (
            lambda b: HistogramLoss(b)(
                torch.zeros(2, 12), torch.zeros(2), torch.zeros(2)
            ),
            "weight must be finite, non-negative and not all zero",
        ),
        (
            lambda b: HistogramLoss(b)(
                torch.zeros(2, 12), torch.zeros(2), censored=torch.tensor([True])
            ),
            r"censored must have shape \(2,\) like y, got shape \(1,\)",
        ),
        (
            lambda b: HistogramLoss(b)(
                torch.zeros(2, 12), torch.zeros(2), torch.tensor([-1.0, 1.0])
            ),
            "got values from -1 to 1",
        ),
        (
            lambda b: HistogramLoss([b, b])(torch.zeros(3, 12), torch.zeros(3)),
            r"shape \(..., 2, 12\) for 2 targets",
        ),
        (
            lambda b: HistogramLoss(b)(torch.zeros(1, 12), torch.tensor([math.nan])),
            "y must be finite, got 1 of 1",
        ),
        (
            lambda b: HistogramLoss(b)(torch.zeros(1, 12), torch.tensor([math.inf])),
            "the first inf",
        ),
        (
            lambda b: HistogramLoss(b, out_of_range="error")(
                torch.zeros(1, 12), torch.tensor([9.0])
            ),
            "y must lie within the bins",
        ),
        (
            lambda b: losses.mdn(torch.zeros(5, 2, 4), torch.zeros(5)),
            r"shape \(..., 3, m\)",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        make(LOSS_BINS)
    assert "\n" not in str(error.value)


def test_logits_must_be_floating_point():
    with pytest.raises(
        TypeError, match=r"logits must be floating point, got torch\.int"
    ):
        HistogramLoss(LOSS_BINS)(torch.zeros(2, 12, dtype=torch.int64), torch.zeros(2))


def test_bins_must_be_bins():
    for wrong in ([1.0, 2.0], 100, []):
        with pytest.raises(TypeError, match="bins must be a Bins or a sequence of Bi"):
            HistogramLoss(wrong)


@pytest.mark.parametrize("name", ["logits", "y", "weight", "censored"])
def test_arrays_are_refused_by_name(name):
    arguments = [torch.zeros(3, 12), torch.zeros(3), torch.ones(3), torch.ones(3) > 0]
    wrong = ["logits", "y", "weight", "censored"].index(name)
    arguments[wrong] = arguments[wrong].numpy()
    with pytest.raises(TypeError, match=f"{name} must be a Tensor, got ndarray"):
        HistogramLoss(LOSS_BINS)(*arguments)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    "target",
    [
        targets.GaussianTarget(),
        targets.OneBinTarget(),
        targets.UniformTarget(0.1),
        targets.ProjectedTarget(),
        targets.FunctionTarget(lambda y, bins: targets.gaussian(y, bins, sigma=0.4)),
    ],
    ids=lambda target: type(target).__name__,
)
def test_networks_that_share_y_have_the_losses_of_each(target, is_known, generator):
    y = torch.rand(7, generator=generator, dtype=torch.float64) * 5 - 2
    known = y.flip(0) if is_known else None
    loss = losses.TargetLoss(target, LOSS_BINS, training_y=known)
    logits = torch.randn(3, 7, 12, generator=generator, requires_grad=True)
    probs = target.probs(y, LOSS_BINS).float()
    expected = [losses.histogram_loss(one, probs) for one in logits]
    found = loss(logits, y)
    torch.testing.assert_close(found, torch.stack(expected))
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    torch.testing.assert_close(gradient, logits.softmax(-1) - probs, rtol=0, atol=1e-6)


def test_a_table_of_too_many_windows_is_not_made(generator):
    y = torch.rand(7, generator=generator)
    loss = losses.TargetLoss(
        targets.GaussianTarget(), LOSS_BINS, training_y=y, max_entries=10
    )
    windows = loss.windows(torch.float32, torch.device("cpu"))
    assert not isinstance(windows, _windows.TabulatedWindows)
