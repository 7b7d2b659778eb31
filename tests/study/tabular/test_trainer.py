"""The trainer against a plain loop: one network, autograd, torch's own Adam."""

import math
import subprocess
import sys
from itertools import pairwise

import pytest
import torch
from torch import nn

from histreg.study.catalogue import OVERALL
from histreg.study.engine.instructions import workers_without_avx512
from histreg.study.engine.seeding import generator_for
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
    NetworkMethod,
)
from histreg.study.tabular.runs import Training
from histreg.study.tabular.trainer import Examples, Start, recorded_epochs, train
from histreg.tabular.networks import dropout
from tests.study.made_up import Memory

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


def made_up(n: int, generator: torch.Generator) -> Examples:
    x = torch.randn(n, 5, generator=generator, dtype=torch.float64)
    y = 5 + 3 * x[:, 0] + x[:, 1] * x[:, 2]
    return Examples(x, y.clamp(*RANGE))


@pytest.fixture
def rows(generator):
    return made_up(70, generator)  # the last batch is a small one


@pytest.fixture
def test_rows(generator):
    return made_up(33, generator)


def plain(
    method,
    rows: Examples,
    test_rows: Examples,
    start: Start = Start(),  # noqa: B008
) -> dict[str, float]:
    """Train one network as anybody would write it, in float64."""
    layers, sizes = [], [5, *TRAINING.hidden, method.n_outputs]
    body, head = (
        generator_for(SEED, "body"),
        generator_for(SEED, "head", method.n_outputs),
    )
    for i, (a, b) in enumerate(pairwise(sizes)):
        linear = nn.Linear(a, b, dtype=torch.float64)
        is_head = i == len(sizes) - 2
        drawn = torch.rand(a, b, generator=head if is_head else body)
        with torch.no_grad():
            linear.weight.copy_(((2 * drawn - 1) * math.sqrt(3 / a)).T)
            linear.bias.zero_()
        layers += [linear] if is_head else [linear, nn.ReLU()]
    network = nn.Sequential(*layers)
    if start.body is not None:
        put_body(network, start.body)
    trained = network[-1] if start.is_frozen else network
    optimizer = torch.optim.Adam(trained.parameters(), lr=1e-2, eps=1e-7)
    low, high = RANGE
    for epoch in range(1, TRAINING.epochs + 1):
        order = torch.randperm(
            len(rows.y), generator=generator_for(SEED, "order", epoch)
        )
        draws = generator_for(SEED, "dropout", epoch)
        is_annealed = isinstance(method, HLGaussAnnealed)
        now = method.at(epoch, TRAINING.epochs) if is_annealed else method
        noise = torch.randn(
            len(rows.y), generator=generator_for(SEED, "noise", epoch)
        ).double()
        for i, index in enumerate(order.split(TRAINING.batch_size)):
            x = dropout(rows.x[index], TRAINING.dropout, generator=draws)
            y = (rows.y[index] - low) / (high - low)
            y = y + getattr(method, "noise_sd", 0.0) * noise[16 * i :][: len(y)]
            optimizer.zero_grad()
            now.loss(network(x), y).mean().backward()
            if math.isfinite(method.max_gradient_norm):
                clip(trained, method.max_gradient_norm)
            optimizer.step()
    metrics = {}
    for name, each in {"train": rows, "test": test_rows}.items():
        with torch.no_grad():
            predicted = low + method.predict(network(each.x)) * (high - low)
        error = predicted - each.y
        metrics[f"{name} MAE"] = error.abs().mean().item()
        metrics[f"{name} RMSE"] = error.square().mean().sqrt().item()
    return metrics


def put_body(network: nn.Sequential, body: torch.Tensor) -> None:
    """Write weights, (inputs, outputs), and biases of the layers below the head."""
    at = 0
    with torch.no_grad():
        for linear in [each for each in network if isinstance(each, nn.Linear)][:-1]:
            for part in (linear.weight.T, linear.bias):
                part.copy_(body[at : at + part.numel()].view(part.shape))
                at += part.numel()
    assert at == len(body)


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


PAPER_NETWORKS = {
    "Pole": (49, (24,) * 3),
    "Bike": (16, (64,) * 4),
    "CT": (384, (192,) * 4),
}


def compare_companies(name: str) -> None:
    """Assert that each method has the same numbers alone, in a pair and among all."""
    n_inputs, hidden = PAPER_NETWORKS[name]
    x = torch.randn(300, n_inputs, generator=torch.Generator().manual_seed(0))
    rows = Examples(x, (5 + 3 * x[:, 0]).clamp(*RANGE).double())
    training = Training(hidden, 0.05, epochs=3, learning_rate=1e-3, batch_size=256)
    methods = [method for method in OVERALL if isinstance(method, NetworkMethod)]
    options = {"training": training, "dtype": torch.float32}
    together = trained(methods, rows, rows, **options)
    for method, among in zip(methods, together, strict=True):
        alone, beside = trained([method], rows, rows, **options)[0], methods[0]
        pair = trained([beside, method], rows, rows, **options)[1]
        for fit in (among, pair):
            assert fit.metrics == alone.metrics, method.label
            assert torch.equal(fit.body, alone.body), method.label


@pytest.mark.parametrize("name", PAPER_NETWORKS)
def test_the_papers_networks_do_not_depend_on_their_stack_mates_by_a_bit(name):
    code = (
        "import torch; torch.set_num_threads(1);"
        "from tests.study.tabular.test_trainer import compare_companies;"
        f"compare_companies({name!r})"
    )
    with workers_without_avx512():
        subprocess.run([sys.executable, "-c", code], check=True)


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


def stop_after(epoch):
    def on_epoch(done):
        if done == epoch:
            raise InterruptedError

    return on_epoch


def stopped(methods, rows, test_rows, epoch=2, **options):
    """Return the checkpoints of a training that was stopped."""
    checkpoints = [Memory() for _ in methods]
    with pytest.raises(InterruptedError):
        trained(
            methods,
            rows,
            test_rows,
            checkpoints=checkpoints,
            on_epoch=stop_after(epoch),
            **options,
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


# Of each kind of start one, and one that is clipped.
STARTED = [
    L2(),
    L2Clipping(0.05),
    HLGauss(n_bins=20, padding_in_bins=2.0),
    MDN(2),
    L1(),
]


@pytest.fixture
def starts(generator):
    body = torch.randn(5 * 8 + 8 + 2 * (64 + 8), generator=generator).double() / 3
    return [
        Start(body, is_frozen=True),
        Start(body, is_frozen=True),
        Start(body),
        Start(is_frozen=True),
        Start(),
    ]


def test_bodies_put_in_or_frozen_equal_plain_loops(rows, test_rows, starts):
    fits = trained(STARTED, rows, test_rows, starts=starts)
    for method, start, fit in zip(STARTED, starts, fits, strict=True):
        expected = plain(method, rows, test_rows, start)
        for name, value in expected.items():
            assert fit.metrics[name] == pytest.approx(value, rel=1e-10)


def test_a_frozen_body_stays_to_the_last_bit_while_the_head_learns(
    rows, test_rows, starts
):
    fits = trained(STARTED, rows, test_rows, starts=starts)
    assert torch.equal(fits[0].body, starts[0].body)
    assert torch.equal(fits[1].body, starts[0].body)
    assert not torch.equal(fits[2].body, starts[2].body)
    losses = [fit.curves["train loss"] for fit in fits]
    assert all(curve[-1] < curve[0] for curve in losses)


def test_a_body_that_is_drawn_and_frozen_is_the_same_for_all_methods(rows, test_rows):
    frozen = [Start(is_frozen=True) for _ in METHODS]
    fits = trained(METHODS, rows, test_rows, starts=frozen)
    assert all(torch.equal(fit.body, fits[0].body) for fit in fits)


def test_the_body_of_a_fit_is_all_but_its_head(rows, test_rows):
    fit = trained([HLGauss()], rows, test_rows)[0]
    assert fit.body.shape == (5 * 8 + 8 + 2 * (64 + 8),)
    other = trained([L2()], rows, test_rows)[0]
    assert other.body.shape == fit.body.shape
    assert not torch.equal(other.body, fit.body)


def test_a_training_with_starts_that_was_stopped_goes_on_as_if_it_had_not_been(
    rows, test_rows, starts
):
    whole = trained(STARTED, rows, test_rows, starts=starts)
    checkpoints = stopped(STARTED, rows, test_rows, starts=starts)
    # The body comes from the checkpoint; that it is frozen must be told again.
    told = [Start(is_frozen=each.is_frozen) for each in starts]
    epochs = []
    resumed = trained(
        STARTED,
        rows,
        test_rows,
        starts=told,
        checkpoints=checkpoints,
        on_epoch=epochs.append,
    )
    assert epochs == [3]
    assert [fit.metrics for fit in resumed] == [fit.metrics for fit in whole]
    for a, b in zip(resumed, whole, strict=True):
        assert torch.equal(a.body, b.body)
