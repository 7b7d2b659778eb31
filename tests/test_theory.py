"""Theory: statements T1 to T14, with the reference values of the specification.

That statements hold is tested over the registry of `histreg.study.theory.theorems`;
what follows are closed forms and reference values of its own.
Where a number is compared, its source is named: "spec" is the specification of the
paper's facts, whose values were computed independently in NumPy.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from histreg import PRESETS, Bins, Histogram, losses, targets, theory
from histreg.study.claims.theory import TOLERANCES
from histreg.study.theory.theorems import CHECKS, gradient_bound
from tests.registries import BINS


def mean_of(probs: torch.Tensor, bins: Bins) -> torch.Tensor:
    return (probs * bins.centers).sum(-1)


# --- All statements, over the registry that the study measures them by


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_statement_of_the_paper_holds_within_its_tolerance(check):
    numbers = check()
    violated = {k: v for k, v in numbers.items() if not v <= TOLERANCES[k]}
    assert numbers and not violated


def test_the_gradient_bound_is_not_vacuous():
    assert gradient_bound()["T3 largest gradient over the bound"] > 0.1


# --- T2: the loss


@pytest.mark.parametrize(
    ("sigma_in_bins", "floor"),
    [(0.5, 0.8696), (1.0, 1.4590), (2.0, 2.1224), (4.0, 2.8078)],  # spec T2
)
def test_t2_the_smallest_loss_is_the_entropy_of_a_wider_normal(sigma_in_bins, floor):
    assert theory.entropy_floor(sigma_in_bins) == pytest.approx(floor, abs=5e-5)
    bins = Bins.uniform(0.0, 100.0, 100)
    y = torch.linspace(49.5, 50.5, 101, dtype=torch.float64)
    p = targets.gaussian(y, bins, sigma=sigma_in_bins)
    entropy = torch.special.entr(p).sum(-1)
    spread = 1e-4 if sigma_in_bins >= 1 else 0.01
    assert (entropy - theory.entropy_floor(sigma_in_bins)).abs().max() < spread


def test_t2_the_authors_run_on_bowling_ended_on_the_floor():
    # Their stored notebook: HL 2.122431 at the end, sigma = 2 bins.
    assert theory.entropy_floor(2.0) == pytest.approx(2.122431, abs=5e-5)


def test_t2_the_smallest_loss_of_projected_is_a_binary_entropy():
    bins = Bins.uniform(0.0, 10.0, 10)
    p = targets.projected(torch.tensor(3.75, dtype=torch.float64), bins)
    expected = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    assert torch.special.entr(p).sum().item() == pytest.approx(expected)


# --- T6, T7, T10: discretisation


@pytest.mark.parametrize(
    ("sigma", "mean", "largest"),
    [  # spec T6, width 1
        (0.02, 0.234, 0.444),
        (0.1, 0.170, 0.2855),
        (0.2, 0.0919, 0.1451),
        (0.3, 3.43e-2, 5.39e-2),
        (0.4, 8.60e-3, 1.353e-2),
        (0.5, 1.456e-3, 2.289e-3),
        (0.6, 1.66e-4, 2.61e-4),
        (0.7, 1.28e-5, 2.01e-5),
        (0.8, 6.60e-7, 1.04e-6),
        (0.9, 2.30e-8, 3.62e-8),
        (1.0, 5.42e-10, 8.52e-10),
        (1.2, 9.2e-14, 1.4e-13),
    ],
)
def test_t6_reference_values(sigma, mean, largest):
    delta = torch.linspace(-0.5, 0.5, 20001, dtype=torch.float64)
    bias = theory.discretization_bias(delta, sigma=sigma, width=1.0).abs()
    # The references have two to four digits.
    assert bias.mean().item() == pytest.approx(mean, rel=0.01)
    assert bias.max().item() == pytest.approx(largest, rel=0.03)


def test_t6_the_series_agree_where_they_change_over_and_scale_with_the_width():
    delta = torch.linspace(-0.5, 0.5, 99, dtype=torch.float64)
    for sigma in (0.29, 0.31):
        a, b = (
            theory.discretization_bias(delta, sigma=sigma, width=1.0, series=series)
            for series in ("cdf", "fourier")
        )
        torch.testing.assert_close(a, b, rtol=0, atol=1e-15)
    wide = theory.discretization_bias(delta * 40, sigma=0.3 * 40, width=40.0)
    torch.testing.assert_close(
        wide, 40 * theory.discretization_bias(delta, sigma=0.3, width=1.0)
    )


def test_t7_the_bound_is_nearly_reached_and_one_bin_reaches_it():
    bias = theory.discretization_bias(0.499, sigma=1e-4, width=1.0)
    assert abs(bias.item()) > 0.498
    bins = Bins.uniform(0.0, 4.0, 4)
    y = torch.tensor([2.0], dtype=torch.float64)
    one_bin = theory.label_bias(y, bins, targets.one_bin(y, bins))
    assert one_bin.item() == theory.bias_bound(bins) == 0.5


def test_t7_the_bound_holds_on_uneven_bins_for_one_bin_targets():
    bins = BINS["uneven"]
    y = torch.linspace(bins.low, bins.high, 500, dtype=torch.float64)
    bias = theory.label_bias(y, bins, targets.one_bin(y, bins))
    assert bias.abs().max() <= theory.bias_bound(bins)


def simulated_discretization(sigmas):
    """Return the mean absolute bias of the authors' simulation (spec T10)."""
    # They have 10,001 points; a fifth of them has the same mean to four digits.
    y = torch.linspace(0, 1, 2001, dtype=torch.float64)
    bins = Bins(torch.arange(-100, 102, dtype=torch.float64))
    # "truncate" evaluates all bins, from distances between y and each border; the
    # window measures from the first bin, 100 away, which costs 3e-15.
    options = {"out_of_range": "truncate"}
    means = []
    for sigma in sigmas:
        p = targets.gaussian(y, bins, sigma=sigma, **options)
        means.append(theory.label_bias(y, bins, p).abs().mean())
    return torch.stack(means)


def test_t10_discretisation_simulation():
    sigmas = torch.exp(torch.linspace(-4, 2, 101, dtype=torch.float64)).tolist()
    bias = simulated_discretization(sigmas).numpy()
    sigmas = np.array(sigmas)
    assert (bias[sigmas >= 0.88] < 1e-7).all()
    assert (bias[(sigmas >= 1.30) & (sigmas < 3)] <= 1e-15).all()
    # Log-least-squares fit of A exp(B s^2) to the first 72: spec A 0.213, B -19.79.
    # Towards one-bin targets the bias becomes minus the place in the bin.
    delta = torch.tensor([-0.3, 0.1, 0.3], dtype=torch.float64)
    limit = theory.discretization_bias(delta, sigma=math.exp(-4), width=1.0)
    torch.testing.assert_close(limit, -delta)
    slope, intercept = np.polyfit(sigmas[:72] ** 2, np.log(bias[:72]), 1)
    assert math.exp(intercept) == pytest.approx(0.213, abs=0.002)
    assert slope == pytest.approx(-19.79, abs=0.02)


def test_t10_truncation_simulation():
    y = torch.linspace(0, 1, 2001, dtype=torch.float64)
    reference = {  # spec T10, sigma = 2 widths
        1: 0.148,
        1.5: 8.43e-2,
        2: 3.79e-2,
        2.5: 1.32e-2,
        3: 3.51e-3,
        3.5: 7.15e-4,
        4: 1.12e-4,
        4.5: 1.35e-5,
        5: 1.25e-6,
        5.5: 9.0e-8,
        6: 5.0e-9,
        7: 7.3e-12,
        8: 4.0e-15,
    }
    found = []
    for padding, expected in reference.items():
        borders = torch.arange(-2 * padding, 2 + 2 * padding, dtype=torch.float64)
        bins = Bins(borders)
        p = targets.gaussian(y, bins, sigma=2.0, out_of_range="truncate")
        bias = theory.label_bias(y, bins, p).abs().mean().item()
        # Near 1e-15 a few units in the last place of y count.
        assert bias == pytest.approx(expected, rel=0.01, abs=1e-15)
        found.append(bias)
    slope, intercept = np.polyfit(np.array(list(reference)) ** 2, np.log(found), 1)
    assert slope == pytest.approx(-0.496, abs=0.005)  # spec, over paddings to 8.5
    # From 8.5 sigmas on only rounding is left.
    for padding in (8.5, 10, 20.5):
        borders = torch.arange(-2 * padding, 2 + 2 * padding, dtype=torch.float64)
        p = targets.gaussian(y, Bins(borders), sigma=2.0, out_of_range="truncate")
        assert theory.label_bias(y, Bins(borders), p).abs().mean() < 1e-15
    assert math.exp(intercept) == pytest.approx(0.284, abs=0.05)


def test_truncation_bias_is_scipys_truncated_normal():
    y = torch.linspace(-1.0, 2.0, 13, dtype=torch.float64)
    for sigma in (0.1, 1.0, 50.0):
        expected = [
            stats.truncnorm((-1 - z) / sigma, (2 - z) / sigma, z, sigma).mean() - z
            for z in y.tolist()
        ]
        bias = theory.truncation_bias(y, low=-1.0, high=2.0, sigma=sigma)
        np.testing.assert_allclose(bias, expected, rtol=1e-8, atol=1e-10)


def test_truncation_bias_of_fine_bins_is_the_bias_of_the_target():
    bins = Bins.uniform(0.0, 1.0, 5000)
    y = torch.linspace(0, 1, 21, dtype=torch.float64)
    torch.testing.assert_close(
        theory.label_bias(y, bins, targets.gaussian(y, bins, sigma=0.2)),
        theory.truncation_bias(y, low=0.0, high=1.0, sigma=0.2),
        rtol=1e-5,
        atol=1e-8,
    )


# --- T11: presets


@pytest.mark.parametrize(
    ("name", "mean", "largest"),
    [  # spec T11, 20,001 points of the range, in widths
        ("recommended", 1.26e-4, 9.05e-3),
        ("atari", 3.1e-6, 2.73e-4),
        ("tabular", 5.4e-10, 8.5e-10),
        ("negligible", 1.1e-10, 1.2e-8),
    ],
)
def test_t11_total_bias_of_the_presets(name, mean, largest):
    bins = Bins.preset(name, 0.0, 1.0)
    y = torch.linspace(0, 1, 20001, dtype=torch.float64)
    costs = theory.explain(bins, PRESETS[name].sigma_in_bins * bins.width, y)
    # Two digits in the reference.
    assert costs.mean_label_bias / bins.width == pytest.approx(mean, rel=0.05)
    assert costs.max_label_bias / bins.width == pytest.approx(largest, rel=0.05)


def test_t11_at_eight_and_a_half_sigmas_only_rounding_is_left():
    # Spec: mean 1e-15, max 1.5e-14, in widths.
    bins = Bins.around(0.0, 1.0, padding_in_sigmas=8.5)
    y = torch.linspace(0, 1, 20001, dtype=torch.float64)
    costs = theory.explain(bins, 2 * bins.width, y)
    assert costs.max_label_bias / bins.width < 5e-14


def test_t11_the_edge_bias_is_the_hazard_of_the_padding():
    for name in ("recommended", "atari"):
        bins = Bins.preset(name, 0.0, 1.0)
        padding = PRESETS[name].padding_in_sigmas
        sigma = PRESETS[name].sigma_in_bins * bins.width
        edge = theory.truncation_bias(0.0, low=bins.low, high=bins.high, sigma=sigma)
        expected = sigma * stats.norm.pdf(padding) / stats.norm.cdf(padding)
        assert edge.item() == pytest.approx(expected, rel=1e-6)


# --- T12: the prediction bound


def test_t12_the_shift_invariant_form_is_never_larger():
    kl = torch.linspace(0, 5, 50, dtype=torch.float64)
    for low, high in ((-1.0, 3.0), (-1.0, 1.0), (100.0, 101.0)):
        ours = theory.prediction_bound(kl, low=low, high=high)
        papers = theory.prediction_bound(kl, low=low, high=high, shift_invariant=False)
        assert bool((ours <= papers).all())


def test_t12_the_papers_example():
    # q = point mass at -1; h = eps at -1 and 1 - eps at 1 (Figure 12).
    eps = torch.linspace(0.001, 0.999, 999, dtype=torch.float64)
    kl = -eps.log()
    gap = 4 * (1 - eps) ** 2
    pinsker, bretagnolle_huber = 2 * kl, 4 * (1 - eps)
    bound = theory.prediction_bound(kl, low=-1.0, high=1.0)
    torch.testing.assert_close(bound, torch.minimum(pinsker, bretagnolle_huber))
    assert bool((gap <= bound).all())
    # Pinsker is the smaller iff KL < 1.5936 and exceeds 4 iff eps < e^-2 (spec).
    assert torch.equal(pinsker < bretagnolle_huber, kl < 1.5936)
    assert torch.equal(pinsker > 4, eps < math.exp(-2))
    assert bool((bretagnolle_huber < 4).all())


def test_t12_a_trained_histogram_is_bounded_by_its_loss(generator):
    bins = Bins.around(0.0, 1.0)
    y = torch.rand(100, generator=generator, dtype=torch.float64)
    p = targets.gaussian(y, bins, sigma=2 * bins.width)
    logits = torch.randn(100, 100, generator=generator, dtype=torch.float64) * 3
    kl = losses.histogram_loss(logits, p) - torch.special.entr(p).sum(-1)
    gap = (mean_of(p, bins) - Histogram(bins, logits=logits).mean) ** 2
    assert bool(
        (gap <= theory.prediction_bound(kl, low=bins.low, high=bins.high)).all()
    )


# --- T13: maximum entropy


def test_t13_the_exponentiated_payoff_is_the_gaussian_target():
    tau, y = 0.04, 0.3
    z = np.linspace(-3, 4, 200001)
    density = np.exp(-((z - y) ** 2) / (2 * tau))
    density /= density.sum() * (z[1] - z[0])
    bins = Bins.uniform(-3.0, 4.0, 70)
    index = bins.index_of(torch.tensor(z)).numpy()
    masses = np.bincount(index, weights=density * (z[1] - z[0]), minlength=70)
    p = targets.gaussian(torch.tensor(y).double(), bins, sigma=math.sqrt(tau))
    np.testing.assert_allclose(p, masses, atol=2e-4)  # of the Riemann sum


# --- T14: label bias on data


@pytest.mark.parametrize(
    ("sigma_in_bins", "expected"),
    [  # spec T14: y uniform on [0, 100], preset tabular
        (1 / 64, 0.297),
        (1 / 16, 0.250),
        (1 / 8, 0.188),
        (1 / 4, 0.0738),
        (1 / 2, 1.8e-3),
        (3, 1.2e-4),
        (4, 3.1e-3),
        (6, 0.055),
        (8, 0.224),
        (16, 2.46),
    ],
)
def test_t14_label_bias_has_a_valley_in_sigma(sigma_in_bins, expected):
    bins = Bins.preset("tabular", 0.0, 100.0)
    y = torch.linspace(0, 100, 20001, dtype=torch.float64)
    costs = theory.explain(bins, sigma_in_bins * bins.width, y)
    assert costs.mean_label_bias == pytest.approx(expected, rel=0.04)


def test_t14_the_valley_is_empty_and_one_bin_is_a_quarter_width():
    bins = Bins.preset("tabular", 0.0, 100.0)
    y = torch.linspace(0, 100, 20001, dtype=torch.float64)
    for sigma_in_bins in (1.0, 2.0):
        assert (
            theory.explain(bins, sigma_in_bins * bins.width, y).mean_label_bias < 1e-6
        )
    one_bin = theory.label_bias(y, bins, targets.one_bin(y, bins)).abs().mean()
    assert one_bin.item() == pytest.approx(0.3125, rel=1e-3)


@pytest.mark.parametrize(
    ("k", "gaussian", "one_bin"),
    [  # spec T14: padding 12.5 and sigma 1.25 fixed in units of y
        (10, 2.13, 3.13),
        (20, 0.575, 1.56),
        (30, 0.143, 1.04),
        (50, 3.6e-3, 0.625),
        (100, 7e-10, 0.3125),
        (200, 0.0, 0.156),
    ],
)
def test_t14_label_bias_falls_with_the_number_of_bins(k, gaussian, one_bin):
    bins = Bins.uniform(-12.5, 112.5, k)
    y = torch.linspace(0, 100, 20001, dtype=torch.float64)
    p = targets.gaussian(y, bins, sigma=1.25)
    bias = theory.label_bias(y, bins, p).abs().mean().item()
    assert bias == pytest.approx(gaussian, rel=0.04, abs=1e-12)
    bias = theory.label_bias(y, bins, targets.one_bin(y, bins)).abs().mean().item()
    assert bias == pytest.approx(one_bin, rel=0.01)


# --- explain


def test_explain_tells_each_cost():
    bins = Bins.around(0.0, 1.0)
    sigma = 2 * bins.width
    y = torch.cat([torch.linspace(0, 1, 999), torch.tensor([5.0])]).double()
    costs = theory.explain(bins, sigma, y)
    assert costs.share_outside == 1 / 1000
    assert costs.loss_floor == pytest.approx(theory.entropy_floor(2.0), abs=5e-3)
    assert costs.discretization_bias < 1e-15
    # Clipping 5 to the end of the bins is by far the largest; truncation adds to it.
    assert costs.max_label_bias == pytest.approx(5 - bins.high, rel=0.01)
    inside = theory.explain(bins, sigma, y[:-1])
    assert inside.max_label_bias == pytest.approx(inside.truncation_bias, rel=0.05)
    assert inside.sd_of_y == pytest.approx(12**-0.5, rel=0.01)
    text = str(costs)
    assert len(text.splitlines()) == 10
    for words in ("discretisation", "truncation", "outside", "smoothing", "loss"):
        assert words in text


def test_explain_says_what_smoothing_adds_to_the_variance():
    # A perfect fit to one y has just the variance that smoothing put there: sigma^2,
    # w^2 / 12 from moving mass to the bins, w^2 / 12 from its spread within them.
    bins = Bins.uniform(-50.0, 50.0, 100)
    added = theory.explain(bins, 2.0, [0.3]).variance_added
    assert added == pytest.approx(4 + 1 / 6, rel=1e-9)


def test_the_smallest_loss_is_measured_on_the_targets():
    # At a tenth of a bin the closed form no longer holds.
    bins = Bins.uniform(0.0, 10.0, 10)
    y = torch.linspace(2.0, 8.0, 61, dtype=torch.float64)
    p = targets.gaussian(y, bins, sigma=0.1)
    expected = -(p * p.clamp(min=1e-300).log()).sum(-1).mean().item()
    costs = theory.explain(bins, 0.1, y)
    assert costs.loss_floor == pytest.approx(expected, rel=1e-9)
    assert abs(costs.loss_floor - theory.entropy_floor(0.1)) > 0.02


def test_explain_takes_many_y_in_turns(monkeypatch):
    y = torch.linspace(-0.2, 1.1, 1000, dtype=torch.float64)
    whole = theory.explain(Bins.around(0, 1), 0.02, y)
    split = torch.Tensor.split
    monkeypatch.setattr(torch.Tensor, "split", lambda self, _: split(self, 7))
    parts = theory.explain(Bins.around(0, 1), 0.02, y)
    assert parts.max_label_bias == pytest.approx(whole.max_label_bias, rel=1e-12)
    assert parts.mean_label_bias == pytest.approx(whole.mean_label_bias, rel=1e-12)
    assert parts.loss_floor == pytest.approx(whole.loss_floor, rel=1e-12)
    assert parts.variance_added == pytest.approx(whole.variance_added, rel=1e-12)


@pytest.mark.parametrize("sigma", [1e2, 1e6, 1e8, 1e12])
def test_truncation_bias_of_a_huge_sigma_is_the_way_to_the_middle(sigma):
    y = torch.tensor([0.0, 0.2, 0.5, 0.9], dtype=torch.float64)
    bias = theory.truncation_bias(y, low=0.0, high=1.0, sigma=sigma)
    torch.testing.assert_close(bias, 0.5 - y, rtol=1e-4, atol=1e-12)


def test_extreme_ranges_and_sigmas_do_not_raise():
    assert theory.prediction_bound(1.0, low=0.0, high=1e200).item() == math.inf
    bias = theory.truncation_bias([0.0, 0.5], low=0.0, high=1.0, sigma=1e-310)
    assert bias.abs().max() < 1e-29
    bins = Bins.of([0.0, 1e200])
    assert theory.explain(bins, bins.width, [0.0, 1e200]).variance_added == math.inf


def test_a_divergence_rounded_below_zero_is_zero():
    assert theory.prediction_bound(-4.8e-7, low=0.0, high=1.0).item() == 0.0


def test_explain_of_uneven_bins_and_of_y_all_outside():
    costs = theory.explain(BINS["uneven"], 0.5, [0.0, 1.0])
    assert costs.discretization_bias is None and costs.truncation_bias is None
    assert "no closed form" in str(costs)
    outside = theory.explain(BINS["uneven"], 0.5, [99.0])
    assert outside.share_outside == 1.0 and outside.mean_label_bias > 99 - 4.5
    even = theory.explain(Bins.uniform(0.0, 1.0, 10), 0.1, [99.0])
    assert even.truncation_bias == 0.0  # none of these y has one


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: theory.discretization_bias(0.6, sigma=1.0, width=1.0),
            "offset must lie within half a width",
        ),
        (
            lambda: theory.discretization_bias(0.1, sigma=0.0, width=1.0),
            "sigma must be finite and positive",
        ),
        (
            lambda: theory.discretization_bias(0, sigma=1, width=1, series="taylor"),
            "series must be one of",
        ),
        (
            lambda: theory.truncation_bias(3.0, low=0.0, high=1.0, sigma=1.0),
            r"y must lie within \[0, 1\]",
        ),
        (
            lambda: theory.prediction_bound(-1.0, low=0.0, high=1.0),
            "kl must not be negative",
        ),
        (
            lambda: theory.prediction_bound(1.0, low=1.0, high=1.0),
            "low must be below high",
        ),
        (
            lambda: theory.label_bias([0.0], BINS["two"], torch.zeros(2)),
            "target_probs must have shape",
        ),
        (lambda: theory.entropy_floor(0.0), "sigma_in_bins must be finite"),
        (lambda: theory.explain(BINS["two"], 1.0, []), "the number of y must be"),
        (
            lambda: theory.explain(BINS["two"], 1.0, [1.0, math.nan]),
            "y must be finite, got 1 of 2",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        make()
    assert "\n" not in str(error.value)


def test_an_explanation_tells_what_uniform_bins_do_not_resolve():
    y = np.random.default_rng(0).lognormal(0, 1.5, 5000)
    even = theory.explain(Bins.of(y), None, y, sigma_in_bins=2.0)
    # The median is 1 and the largest some hundreds: most of y is in the first bins.
    assert even.share_unresolved > 0.5 and even.resolving_spacing == "log"
    assert 'spacing="log" would tell apart' in str(even)
    logs = theory.explain(Bins.of(y, spacing="log"), None, y, sigma_in_bins=2.0)
    assert logs.share_unresolved == 0 and logs.resolving_spacing is None
    assert logs.max_label_bias < 1e-9 and logs.sigma is None
    assert "sigma_in_bins=2, 5000 y" in str(logs)


def test_an_explanation_names_no_spacing_that_does_not_help():
    y = np.random.default_rng(3).lognormal(0, 0.4, 500)
    even = theory.explain(Bins.of(y), None, y, sigma_in_bins=2.0)
    assert even.share_unresolved > 0 and even.resolving_spacing == "sqrt"
    chosen = Bins.of(y, spacing=even.resolving_spacing)
    assert theory.explain(chosen, None, y, sigma_in_bins=2.0).share_unresolved == 0
    few = Bins.of(y, n_bins=13, spacing="quantile")
    told = theory.explain(few, None, y, sigma_in_bins=2.0)
    assert told.share_unresolved > 0 and told.resolving_spacing is None


def test_an_explanation_is_of_the_targets_of_the_loss_on_uneven_bins_too():
    y = np.random.default_rng(0).lognormal(0, 1, 500)
    bins = Bins.of(y, spacing="log")
    for options in ({"sigma": 0.3}, {"sigma": None, "sigma_in_bins": 2.0}):
        told = theory.explain(bins, y=y, **options)
        assert told.max_label_bias < 1e-9 and told.truncation_bias is None


def test_an_explanation_of_bins_with_tails():
    y = np.random.default_rng(0).lognormal(0, 1, 2000)
    bins = Bins.of(y, spacing="log", tails=("clip", "gpd"))
    told = theory.explain(bins, 0.3, y)
    assert told.share_outside == 0 and told.share_unresolved == 0
    # All of a tail is its mean, so the bias there is the distance to it.
    in_tail = y[y >= bins.borders[-2].item()]
    expected = np.abs(in_tail - bins.centers[-1].item()).max()
    assert told.max_label_bias == pytest.approx(expected, rel=1e-6)


def test_sigma_in_bins_is_sigma_on_equal_ones():
    bins, y = Bins.around(0.0, 1.0), np.linspace(0.0, 1.0, 101)
    in_bins = theory.explain(bins, None, y, sigma_in_bins=2.0)
    assert replace(in_bins, sigma_in_bins=None) == theory.explain(
        bins, 2 * bins.width, y
    )
    with pytest.raises(ValueError, match="give either sigma or sigma_in_bins"):
        theory.explain(bins, None, y)
