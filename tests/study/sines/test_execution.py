"""The runs on sines against a plain loop: one network, autograd, torch's own Adam."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from histreg.study.engine.seeding import generator_for
from histreg.study.networks.perceptrons import torch_default
from histreg.study.sines.execution import N_SHOWN, sine
from histreg.study.sines.runs import SineRun
from tests.study.made_up import Alone


def computed(*runs):
    return SineRun.compute(runs, Alone())


def plain(run):
    """Train one network as anybody would write it, in float64: its errors and fit."""
    layers, sizes = [], [1, *run.hidden, run.method.n_outputs]
    draws = generator_for(run.seed, "sines")
    for a, b in pairwise(sizes):
        linear = nn.Linear(a, b, dtype=torch.float64)
        bound = 1 / math.sqrt(a)
        with torch.no_grad():
            weight = torch.rand(a, b, generator=draws)
            bias = torch.rand(1, b, generator=draws)
            linear.weight.copy_(((2 * weight - 1) * bound).T)
            linear.bias.copy_(((2 * bias - 1) * bound)[0])
        layers += [linear, nn.LeakyReLU(0.01)]
    network = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(network.parameters(), lr=run.learning_rate)
    x = torch.from_numpy(np.linspace(-np.pi, np.pi, 501)[:-1, None])
    y = torch.sin(run.alpha * x[:, 0]) + run.beta
    low, high = run.value_range
    errors = []
    for iteration in range(run.iterations):
        outputs = network(x)
        predicted = low + run.method.predict(outputs) * (high - low)
        errors.append((predicted - y).square().mean().item())
        if iteration == run.iterations - 1:
            break  # the fit is that of the last error
        optimizer.zero_grad()
        run.method.loss(outputs, (y - low) / (high - low)).mean().backward()
        optimizer.step()
    grid = torch.from_numpy(np.linspace(-np.pi, np.pi, N_SHOWN)[:, None])
    with torch.no_grad():
        fit = low + run.method.predict(network(grid)) * (high - low)
    return errors, fit.tolist()


def test_there_are_500_points_from_minus_pi_to_just_below_pi():
    x, y = sine(10.0, 1.0)
    assert x.shape == (500, 1) and y.shape == (500,)
    assert x[0, 0].item() == pytest.approx(-math.pi)
    # Even steps of 2 pi / 500, so that the 501st would be pi.
    assert x[-1, 0].item() == pytest.approx(math.pi - 2 * math.pi / 500)
    np.testing.assert_allclose(y, np.sin(10 * x[:, 0].numpy()) + 1)


def test_without_noise_the_mean_square_of_a_sine_is_a_half():
    # Over whole periods, by symmetry.
    _, y = sine(20.0, 0.0)
    assert y.square().mean().item() == pytest.approx(0.5, rel=1e-12)
    assert y.mean().item() == pytest.approx(0.0, abs=1e-12)


def test_a_run_equals_a_plain_loop(run):
    errors, fit = plain(run)
    (outcome,) = computed(run)
    # Single precision, 6e-8 a product, through 12 steps of Adam.
    assert outcome.metrics["area"] == pytest.approx(np.mean(errors), rel=1e-5)
    assert outcome.metrics["final MSE"] == pytest.approx(errors[-1], rel=1e-5)
    # Curves are kept in four digits, every fifth iteration.
    assert outcome.curves["iteration"] == [0, 5, 10]
    assert outcome.curves["MSE"] == pytest.approx(errors[::5], rel=6e-4)
    assert outcome.curves["fit"] == pytest.approx(fit, rel=6e-4, abs=1e-4)


def test_a_run_does_not_depend_on_its_stack_mates(run):
    (alone,) = computed(replace(run, seed=2))
    among = computed(*(replace(run, seed=seed) for seed in (4, 2, 0)))[1]
    # Products of other shapes round differently, at 6e-8.
    assert among.metrics == pytest.approx(alone.metrics, rel=1e-5)
    assert among.curves["MSE"] == pytest.approx(alone.curves["MSE"], rel=6e-4)


def test_seeds_have_weights_of_their_own(run):
    first, second = computed(run, replace(run, seed=1))
    assert first.metrics["area"] != pytest.approx(second.metrics["area"], rel=1e-3)


def test_only_the_seed_that_is_drawn_keeps_its_fit(run):
    first, second = computed(run, replace(run, seed=1))
    assert len(first.curves["fit"]) == N_SHOWN
    assert "fit" not in second.curves


def test_a_run_that_leaves_the_finite_numbers_has_no_metrics(run):
    outcomes = computed(
        *(replace(run, learning_rate=1e30, seed=seed) for seed in (0, 1))
    )
    (fine,) = computed(run)
    for outcome in outcomes:
        assert outcome.diverged_at == 1  # the first evaluation after a step of 1e30
        assert outcome.metrics == {}
        assert all(map(math.isfinite, outcome.curves["MSE"]))
    assert outcomes[0].curves["MSE"] == fine.curves["MSE"][:1]


def test_a_training_that_is_lost_is_not_gone_on_with(run):
    context = Alone()
    SineRun.compute([replace(run, learning_rate=1e30)], context)
    assert context.shares == [1 / 12]


def test_every_update_is_reported(run):
    context = Alone()
    SineRun.compute([run], context)
    np.testing.assert_allclose(context.shares, np.arange(1, 12) / 12)


def test_a_diverging_seed_harms_no_other(run, monkeypatch):
    """Seed 1 starts from weights that are no numbers."""

    def spoilt(network, generators):
        torch_default(network, generators)
        for weight, _ in network.weights.of_model(1):
            weight.fill_(math.nan)

    (alone,) = computed(run)
    monkeypatch.setattr("histreg.study.sines.execution.torch_default", spoilt)
    fine, lost = computed(run, replace(run, seed=1))
    assert lost.diverged_at == 0
    assert fine.metrics == pytest.approx(alone.metrics, rel=1e-5)
