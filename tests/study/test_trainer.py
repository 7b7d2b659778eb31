"""The trainer against a plain loop: one network, autograd, torch's own Adam."""

import json
import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from histreg.networks import dropout
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    Brier,
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
    L1SoftmaxMean,
    L2Clipping,
    L2Moments,
    L2MultiTask,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
)
from histreg.study.streams import stream
from histreg.study.trainer import Rows, Training, recorded_epochs, train

METHODS = [
    L2(),
    L2Noise(0.1),
    L2Clipping(0.05),
    L2Clipping(0.2),
    L1(),
    MDN(2),
    MDN(3),
    L2SoftmaxPerBin(n_bins=20, padding_in_bins=2.0),
    L2SoftmaxMean(n_bins=20, padding_in_bins=2.0),
    L2SoftmaxMean(n_bins=20, padding_in_bins=5.0),
    L1SoftmaxMean(n_bins=20, padding_in_bins=2.0),
    Brier(n_bins=20, padding_in_bins=2.0),
    HLOneBin(n_bins=20, padding_in_bins=2.0),
    HLOneBin(shift_in_bins=0.5, n_bins=20, padding_in_bins=2.0),
    HLUniform(0.1, n_bins=20, padding_in_bins=2.0),
    HLProjected(n_bins=30, padding_in_bins=3.0),
    HLGauss(n_bins=20, padding_in_bins=2.0),
    HLGauss(2.0, n_bins=30, padding_in_bins=3.0),
    HLGaussAnnealed(0.5, n_bins=20, padding_in_bins=2.0, annealed_share=0.6),
    HLGaussAnnealed(n_bins=20, padding_in_bins=2.0),
    L2MultiTask(0.0, n_bins=20, padding_in_bins=2.0),
    L2MultiTask(0.3, n_bins=20, padding_in_bins=2.0),
    L2Moments(3),
]
TRAINING = Training((8, 8, 8), 0.1, epochs=4, learning_rate=1e-2, batch_size=16)
RANGE = (-5.0, 15.0)
SEED = 3


def made_up(n: int, generator: torch.Generator) -> Rows:
    x = torch.randn(n, 5, generator=generator, dtype=torch.float64)
    y = 5 + 3 * x[:, 0] + x[:, 1] * x[:, 2]
    return Rows(x, y.clamp(*RANGE))


@pytest.fixture
def rows(generator):
    return made_up(70, generator)  # the last batch is a small one


@pytest.fixture
def test_rows(generator):
    return made_up(33, generator)


def plain(method, rows: Rows, test_rows: Rows) -> dict[str, float]:
    """Train one network as anybody would write it, in float64."""
    layers, sizes = [], [5, *TRAINING.hidden, method.n_outputs]
    body, head = stream(SEED, "body"), stream(SEED, "head", method.n_outputs)
    for i, (a, b) in enumerate(pairwise(sizes)):
        linear = nn.Linear(a, b, dtype=torch.float64)
        is_head = i == len(sizes) - 2
        drawn = torch.rand(a, b, generator=head if is_head else body)
        with torch.no_grad():
            linear.weight.copy_(((2 * drawn - 1) * math.sqrt(3 / a)).T)
            linear.bias.zero_()
        layers += [linear] if is_head else [linear, nn.ReLU()]
    network = nn.Sequential(*layers)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2, eps=1e-7)
    low, high = RANGE
    for epoch in range(1, TRAINING.epochs + 1):
        order = torch.randperm(len(rows.y), generator=stream(SEED, "order", epoch))
        draws = stream(SEED, "dropout", epoch)
        is_annealed = isinstance(method, HLGaussAnnealed)
        now = method.at(epoch, TRAINING.epochs) if is_annealed else method
        noise = torch.randn(
            len(rows.y), generator=stream(SEED, "noise", epoch)
        ).double()
        for i, index in enumerate(order.split(TRAINING.batch_size)):
            x = dropout(rows.x[index], TRAINING.dropout, generator=draws)
            y = (rows.y[index] - low) / (high - low)
            y = y + getattr(method, "noise_sd", 0.0) * noise[16 * i :][: len(y)]
            optimizer.zero_grad()
            now.loss(network(x), y).mean().backward()
            if math.isfinite(method.max_gradient_norm):
                clip(network, method.max_gradient_norm)
            optimizer.step()
    metrics = {}
    for name, each in {"train": rows, "test": test_rows}.items():
        with torch.no_grad():
            predicted = low + method.predict(network(each.x)) * (high - low)
        error = predicted - each.y
        metrics[f"{name} MAE"] = error.abs().mean().item()
        metrics[f"{name} RMSE"] = error.square().mean().sqrt().item()
    return metrics


def clip(network: nn.Module, largest: float) -> None:
    """Clip without the 1e-6 that ``clip_grad_norm_`` adds to the norm."""
    slopes = [each.grad for each in network.parameters()]
    norm = torch.cat([each.flatten() for each in slopes]).norm()
    for each in slopes:
        each.mul_((largest / norm).clamp(max=1.0))


def trained(methods, rows, test_rows, **options):
    options = {"dtype": torch.float64, "seed": SEED, "value_range": RANGE} | options
    training = options.pop("training", TRAINING)
    return train(methods, rows, {"test": test_rows}, training, **options)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.label)
def test_a_stack_of_all_methods_equals_plain_loops(method, rows, test_rows):
    fit = trained(METHODS, rows, test_rows)[METHODS.index(method)]
    # Twenty steps in float64: products of other shapes round differently, at 1e-16.
    expected = plain(method, rows, test_rows)
    for name, value in expected.items():
        assert fit.metrics[name] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.label)
def test_a_run_does_not_depend_on_its_stack_mates(method, rows, test_rows):
    alone = trained([method], rows, test_rows)[0]
    among = trained(METHODS[::-1], rows, test_rows)[METHODS[::-1].index(method)]
    for name, value in alone.metrics.items():
        assert among.metrics[name] == pytest.approx(value, rel=1e-10)


def test_in_single_precision_stack_mates_change_rounding_only(rows, test_rows):
    methods = [L2(), HLGauss(n_bins=20, padding_in_bins=2.0), MDN(2)]
    for method in methods:
        alone = trained([method], rows, test_rows, dtype=torch.float32)[0]
        among = trained(methods, rows, test_rows, dtype=torch.float32)
        fit = among[methods.index(method)]
        # 20 steps of Adam amplify 6e-8 a product; a longer training would do so more.
        assert fit.metrics["test MAE"] == pytest.approx(
            alone.metrics["test MAE"], rel=1e-3
        )


def test_a_diverging_model_is_noted_and_harms_no_other(rows, test_rows):
    class Explosive(L2):
        @property
        def group(self):
            return ("explosive",)

        @classmethod
        def criterion(cls, methods, targets):
            criterion = super().criterion(methods, targets)
            gradient = criterion.gradient

            def explode(outputs, batch, out):
                gradient(outputs, batch, out)
                out.fill_(math.nan)

            criterion.gradient = explode
            return criterion

    alone = trained([HLGauss()], rows, test_rows)[0]
    exploded, fine = trained([Explosive(), HLGauss()], rows, test_rows)
    assert exploded.diverged_at == 1
    assert exploded.metrics == {}
    assert fine.diverged_at is None
    assert fine.metrics["test MAE"] == pytest.approx(
        alone.metrics["test MAE"], rel=1e-10
    )


class Memory:
    """A checkpoint in memory."""

    def __init__(self):
        self.kept = None

    def load(self):
        return self.kept

    def is_due(self):
        return True

    def save(self, tensors, notes):
        notes = json.loads(json.dumps(notes))
        self.kept = {k: v.clone() for k, v in tensors.items()}, notes


def stop_after(epoch):
    def on_epoch(done):
        if done == epoch:
            raise InterruptedError

    return on_epoch


def stopped(methods, rows, test_rows, epoch=2):
    """Return the checkpoints of a training that was stopped."""
    checkpoints = [Memory() for _ in methods]
    with pytest.raises(InterruptedError):
        trained(
            methods,
            rows,
            test_rows,
            checkpoints=checkpoints,
            on_epoch=stop_after(epoch),
        )
    return checkpoints


def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(rows, test_rows):
    whole = trained(METHODS, rows, test_rows)
    epochs = []
    resumed = trained(
        METHODS,
        rows,
        test_rows,
        checkpoints=stopped(METHODS, rows, test_rows),
        on_epoch=epochs.append,
    )
    assert epochs == [3]  # and the fourth, which is the last
    # The same products in the same order: equal to the last bit.
    assert [fit.metrics for fit in resumed] == [fit.metrics for fit in whole]
    assert [fit.curves for fit in resumed] == [fit.curves for fit in whole]


def test_a_network_goes_on_in_other_company(rows, test_rows):
    whole = trained(METHODS, rows, test_rows)
    checkpoints = stopped(METHODS, rows, test_rows)
    some = [13, 2, 5]
    epochs = []
    resumed = trained(
        [METHODS[i] for i in some],
        rows,
        test_rows,
        checkpoints=[checkpoints[i] for i in some],
        on_epoch=epochs.append,
    )
    assert epochs == [3]
    for i, fit in zip(some, resumed, strict=True):
        assert fit.metrics == pytest.approx(whole[i].metrics, rel=1e-10)


def test_networks_of_different_epochs_begin_again(rows, test_rows):
    two = METHODS[:2]
    first = stopped(two, rows, test_rows, epoch=1)
    second = stopped(two, rows, test_rows, epoch=2)
    epochs = []
    resumed = trained(
        two,
        rows,
        test_rows,
        checkpoints=[first[0], second[1]],
        on_epoch=epochs.append,
    )
    assert epochs == [1, 2, 3]
    whole = trained(two, rows, test_rows)
    assert [fit.metrics for fit in resumed] == [fit.metrics for fit in whole]


def test_a_finished_training_is_not_asked_to_stop(rows, test_rows):
    epochs = []
    trained([L2()], rows, test_rows, on_epoch=epochs.append)
    assert epochs == [1, 2, 3]


def test_curves_end_with_the_metrics(rows, test_rows):
    (fit,) = trained([HLGauss()], rows, test_rows)
    assert fit.curves["epoch"] == recorded_epochs(TRAINING.epochs)
    assert {name: curve[-1] for name, curve in fit.curves.items()} == {
        "epoch": TRAINING.epochs,
        **fit.metrics,
    }


@pytest.mark.parametrize("epochs", [1, 2, 7, 150, 1000])
def test_recorded_epochs_begin_with_the_first_and_end_with_the_last(epochs):
    recorded = recorded_epochs(epochs)
    assert recorded[0] == 1
    assert recorded[-1] == epochs
    assert len(recorded) <= 24


def test_two_layers_of_different_depth_work(rows, test_rows):
    training = Training((6,), 0.0, epochs=2, learning_rate=1e-2, batch_size=32)
    (fit,) = trained([L2()], rows, test_rows, training=training)
    assert math.isfinite(fit.metrics["test MAE"])
