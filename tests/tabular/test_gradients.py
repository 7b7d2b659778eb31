"""Gradients that are written out, against those of autograd in float64."""

import pytest
import torch
from torch.testing import assert_close

from histreg.bins import Bins
from histreg.tabular.fitting import measure_of
from histreg.tabular.gradients import (
    MOST_SIZES,
    ByAutograd,
    WrittenOut,
    gradients_of,
    weighted_mean,
)
from histreg.tabular.networks import Stack, TabularBody
from histreg.tabular.objectives import center_and_scale, objective_of, target_for
from histreg.tabular.training_rows import TrainingRows

M, N, D, K = 3, 12, 2, 20


def rows_with(generator, n_targets=1, n_codes=()):
    codes = [torch.randint(c, (N, 1), generator=generator) for c in n_codes]
    inputs = (
        torch.randn(N, D, generator=generator, dtype=torch.float64),
        torch.cat(codes, dim=1) if codes else torch.zeros(N, 0, dtype=torch.int64),
    )
    y = torch.rand(N, n_targets, generator=generator, dtype=torch.float64)
    weight = torch.rand(N, generator=generator, dtype=torch.float64)
    return TrainingRows(inputs, y, weight)


def stack_for(rows, generator, n_codes=(), **options):
    body = TabularBody(M, D, n_codes, generator=generator, **options)
    return Stack(body, rows.y.shape[1], K, generator=generator).double()


def measure_for(rows, target="gaussian"):
    bins = [Bins.around(0.0, 1.0, n_bins=K, sigma_in_bins=1.0)] * rows.y.shape[1]
    made = target_for(target, 1.0)
    objective = objective_of("histogram", bins, *center_and_scale(rows.y), made)
    return measure_of(objective, rows.y)


def gradients_by(kind, network, loss, rows, is_training):
    draws = torch.Generator().manual_seed(1)
    network.zero_grad()
    network.train()
    means = kind(network, loss, draws)(rows, is_training)
    found = {name: p.grad.clone() for name, p in network.named_parameters()}
    return means, found


def written_out(network, loss, draws):
    return WrittenOut(network, network.body, loss, draws)


@pytest.mark.parametrize(
    "options",
    [
        {"hidden_layer_sizes": (8, 8), "dropout": 0.0},
        {"hidden_layer_sizes": (8, 5), "dropout": 0.3},
        {"hidden_layer_sizes": (8,), "dropout": 0.1, "n_waves": 0},
        {"hidden_layer_sizes": (), "dropout": 0.1},
        {"hidden_layer_sizes": (8, 8), "dropout": 0.1, "n_codes": (3, 5)},
        {"hidden_layer_sizes": (), "n_codes": (4,)},
    ],
)
@pytest.mark.parametrize("target", ["gaussian", "one_bin", "uniform"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_they_are_those_of_autograd(options, target, n_targets, generator):
    rows = rows_with(generator, n_targets, options.get("n_codes", ()))
    network = stack_for(rows, generator, **options)
    measure = measure_for(rows, target)
    is_training = torch.rand(M, N, generator=generator) < 0.7
    is_training[1] = False  # a model that holds out all rows of the batch
    expected, wanted = gradients_by(
        ByAutograd, network, measure.loss, rows, is_training
    )
    means, found = gradients_by(
        written_out, network, measure.loss_with_gradient, rows, is_training
    )
    assert_close(means, expected)
    assert expected[1] == 0
    assert set(found) == set(wanted)
    for name in wanted:
        assert_close(found[name], wanted[name], rtol=1e-9, atol=1e-12, msg=name)
        assert wanted[name].abs().max() > 0, name


def test_a_frozen_body_has_no_gradient(generator):
    rows = rows_with(generator)
    network = stack_for(rows, generator, hidden_layer_sizes=(8, 8))
    measure = measure_for(rows)
    everyone = torch.ones(M, N, dtype=torch.bool)
    _, wanted = gradients_by(ByAutograd, network, measure.loss, rows, everyone)
    network.zero_grad()
    network.body.requires_grad_(False)
    draws = torch.Generator().manual_seed(1)
    written_out(network, measure.loss_with_gradient, draws)(rows, everyone)
    assert all(parameter.grad is None for parameter in network.body.parameters())
    assert_close(network.readout.weight.grad, wanted["readout.weight"])
    assert_close(network.readout.bias.grad, wanted["readout.bias"])


def test_they_do_not_depend_on_earlier_batches(generator):
    rows = rows_with(generator)
    network = stack_for(rows, generator, hidden_layer_sizes=(8,), dropout=0.0)
    gradients = written_out(network, measure_for(rows).loss_with_gradient, None)

    def of_first(n):
        some = TrainingRows(
            tuple(x[:n] for x in rows.inputs), rows.y[:n], rows.weight[:n]
        )
        gradients(some, torch.ones(M, n, dtype=torch.bool))
        return network.readout.weight.grad.clone()

    before = of_first(4)
    for n in range(1, MOST_SIZES + 3):
        of_first(n)
    assert torch.equal(of_first(4), before)


@pytest.mark.parametrize(
    "changes",
    [{"activation": "tanh"}, {"embedding_width": 4}],
    ids=["another activation", "a learnt embedding"],
)
def test_autograd_computes_what_is_not_written_out(changes, generator):
    rows = rows_with(generator)
    measure = measure_for(rows)
    plain = stack_for(rows, generator, hidden_layer_sizes=(8,))
    other = stack_for(rows, generator, hidden_layer_sizes=(8,), **changes)
    without = measure._replace(loss_with_gradient=None)
    censored = TrainingRows(rows.inputs, rows.y, rows.weight, rows.y + 1)
    assert isinstance(gradients_of(plain, rows, measure, None), WrittenOut)
    assert isinstance(gradients_of(other, rows, measure, None), ByAutograd)
    assert isinstance(gradients_of(plain, rows, without, None), ByAutograd)
    assert isinstance(gradients_of(plain, censored, measure, None), ByAutograd)


def test_a_weighted_mean_without_weights_is_zero():
    values = torch.tensor([[1.0, 3.0], [5.0, 7.0]])
    weight = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    assert weighted_mean(values, weight).tolist() == [2.5, 0.0]
