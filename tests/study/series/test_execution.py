"""Forecast runs on a small made-up series."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from histreg import Histogram, HistogramHead, HistogramLoss
from histreg.study.engine.seeding import generator_for, seed_of
from histreg.study.methods import L2
from histreg.study.series.execution import ForecastTraining, Histograms, Numbers
from histreg.study.series.runs import READING, ForecastRun
from histreg.study.series.windows import windows_of
from tests.study.made_up import Alone, Keeping, Memory
from tests.study.series.examples import HL, MADE, run_of

BOTH = pytest.mark.parametrize("method", [L2(), HL], ids=["l2", "HL-Gauss"])


def computed(run, context=None):
    (outcome,) = ForecastRun.compute([run], context or Alone())
    return outcome


class PerStepByHand(nn.Module):
    """A projection, and a linear map of one number for each of its four steps."""

    def __init__(self, n_outputs):
        super().__init__()
        self.projection = nn.Linear(8, 4)
        self.maps = nn.ModuleList(nn.Linear(1, n_outputs) for _ in range(4))

    def forward(self, x):
        steps = self.projection(x).split(1, dim=1)
        outputs = [each(step) for each, step in zip(self.maps, steps, strict=True)]
        return torch.stack(outputs, dim=1).squeeze(-1)

    def start_as(self, head):
        """Take the weights of a projected head of ours."""
        projection, per_step = head
        self.projection.load_state_dict(projection.state_dict())
        for i, each in enumerate(self.maps):
            each.weight.data = per_step.weight.data[i, :, None].clone()
            each.bias.data = per_step.bias.data[i].clone()


@BOTH
@pytest.mark.parametrize("head", ["direct", "per-step", "shared", "dense"])
@pytest.mark.parametrize("subtracts_last", [False, True])
@pytest.mark.parametrize("first_weights", ["pytorch", "keras"])
def test_a_linear_forecaster_is_trained_as_anybody_would(
    method, head, subtracts_last, first_weights
):
    run = run_of(
        method,
        subtracts_last=subtracts_last,
        epochs=1,
        head=head,
        first_weights=first_weights,
        learning_rate=1e-2,
    )
    rows = windows_of(MADE, MADE.load(), 8, 4)
    train, test = rows["train"], rows["test"]

    def pair(windows, index):
        x, y, last = (
            each(index) for each in (windows.inputs, windows.targets, windows.last)
        )
        x = x[..., -1]
        return (x - last, y - last) if subtracts_last else (x, y)

    y = pair(train, slice(None))[1] if subtracts_last else train.y
    bins = HL.bins(y.min().item(), y.max().item())
    is_l2 = isinstance(method, L2)
    n_outputs = 1 if is_l2 else 20
    torch.manual_seed(seed_of(1, "head", "Linear"))
    if head == "direct":
        network = nn.Linear(8, 4) if is_l2 else HistogramHead(8, bins, n_targets=4)
    elif head == "shared":
        network = nn.Sequential(
            nn.Linear(8, 4), nn.Unflatten(1, (4, 1)), nn.Linear(1, n_outputs)
        )
    elif head == "dense":
        network = nn.Sequential(
            nn.Linear(8, 4),
            nn.Linear(4, 4 * n_outputs),
            nn.Unflatten(1, (4, n_outputs)),
        )
    else:
        network = PerStepByHand(n_outputs)
    ours = ForecastTraining(run, rows, None).network.head
    if head == "per-step":
        network.start_as(ours[0] if is_l2 else ours)
    elif first_weights == "keras":
        weights = ours.state_dict().values()
        network.load_state_dict(dict(zip(network.state_dict(), weights, strict=True)))

    def outputs_of(x):
        outputs = network(x)
        return outputs.reshape(len(x), 4) if is_l2 else outputs

    loss = F.mse_loss if is_l2 else HistogramLoss(bins)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=1e-4)
    order = torch.randperm(len(train), generator=generator_for(1, "order", 1))
    for index in order.split(16):
        x, target = pair(train, index)
        optimizer.zero_grad()
        loss(outputs_of(x), target).backward()
        optimizer.step()
    with torch.no_grad():
        x, target = pair(test, slice(None))
        outputs = outputs_of(x)
        predicted = outputs if is_l2 else Histogram(bins, logits=outputs).mean
    error = (predicted - target).double()
    metrics = computed(run).metrics
    assert metrics["test MSE"] == pytest.approx(error.square().mean().item(), rel=1e-4)
    assert metrics["test MAE"] == pytest.approx(error.abs().mean().item(), rel=1e-4)


@BOTH
@pytest.mark.parametrize("reading", [{}, READING], ids=["direct", "reading"])
def test_a_run_that_was_stopped_anywhere_goes_on_as_if_it_had_not_been(method, reading):
    run = run_of(method, "GRU", **reading)
    whole = computed(run)
    n_batches = -(-len(windows_of(MADE, MADE.load(), 8, 4)["train"]) // 16)
    # In the first epoch, at its end, and in the second.
    for stop_after in (3, n_batches, n_batches + 5):
        checkpoint = Memory()
        with pytest.raises(InterruptedError):
            computed(run, Keeping(checkpoint, stop_after))
        resumed = computed(run, Keeping(checkpoint))
        assert resumed.metrics == whole.metrics
        assert resumed.curves == whole.curves


def test_the_best_weights_are_kept_and_training_stops_by_patience():
    run = run_of(L2(), epochs=50, patience=2, learning_rate=0.3)
    outcome = computed(run)
    losses = outcome.curves["validation loss"]
    best = int(np.argmin(losses)) + 1
    assert outcome.metrics["best epoch"] == best
    assert outcome.metrics["epochs"] == len(losses) == best + 2 < 50


def squared_error_after(run, epochs):
    """Return the validation MSE of a network that was trained for so many epochs."""
    rows = windows_of(MADE, MADE.load(), run.n_inputs, run.n_steps)
    # Patience enough to get there, and the last epoch is taken as it is.
    longer = replace(run, epochs=epochs, patience=epochs)
    with torch.random.fork_rng():
        training = ForecastTraining(longer, rows, None)
        for _ in range(epochs):
            training.train_epoch(len(rows["train"]), lambda _: None)
    validation = rows["validation"]
    training.network.eval()
    with torch.no_grad():
        outputs = training.network(validation.inputs(slice(None)))
        predicted = training.objective.predict(outputs)
    error = predicted - validation.targets(slice(None))
    return error.double().square().mean().item()


@BOTH
def test_validation_by_mse_keeps_the_epoch_with_the_lowest_squared_error(method):
    run = run_of(
        method,
        head="per-step",
        validation="MSE",
        epochs=6,
        patience=6,
        learning_rate=0.1,
    )
    outcome = computed(run)
    errors = outcome.curves["validation MSE"]
    expected = [squared_error_after(run, epochs) for epochs in range(1, 7)]
    assert errors == pytest.approx(expected, rel=1e-5)
    assert outcome.metrics["best epoch"] == int(np.argmin(expected)) + 1
    assert len(outcome.curves["validation loss"]) == len(errors)


def test_the_criterion_decides_which_epoch_is_kept():
    # The loss of a histogram falls on while its mean gets worse: the first epochs
    # of a large step overshoot.
    runs = [
        run_of(HL, validation=criterion, epochs=8, patience=8, learning_rate=0.1)
        for criterion in ("loss", "MSE")
    ]
    by_loss, by_mse = map(computed, runs)
    assert by_loss.curves["validation loss"] == by_mse.curves["validation loss"]
    losses, errors = (by_mse.curves[f"validation {each}"] for each in ("loss", "MSE"))
    assert by_loss.metrics["best epoch"] == int(np.argmin(losses)) + 1
    assert by_mse.metrics["best epoch"] == int(np.argmin(errors)) + 1
    assert by_loss.metrics["best epoch"] != by_mse.metrics["best epoch"]
    assert "validation MSE" not in by_loss.curves


def test_for_l2_both_criteria_are_one():
    by_loss, by_mse = (
        computed(run_of(L2(), validation=criterion)) for criterion in ("loss", "MSE")
    )
    assert by_loss.metrics == by_mse.metrics


def test_divergence_is_noted():
    outcome = computed(run_of(L2(), learning_rate=1e30))
    assert outcome.diverged_at == 1
    assert outcome.metrics == {}


def test_a_histogram_has_scores_of_its_distribution():
    metrics = computed(run_of(HL, epochs=1)).metrics
    # Hardly trained, it is wide: all is covered, and CRPS is below the absolute error
    # of nothing known, which is the spread.
    assert metrics["test coverage 0.9"] >= metrics["test coverage 0.8"] > 0.8
    assert metrics["test CRPS"] > 0
    assert "test CRPS" not in computed(run_of(L2(), epochs=1)).metrics


@BOTH
def test_some_forecasts_are_kept_of_the_first_seed(method):
    run = run_of(method, epochs=1, subtracts_last=True)
    shown = computed(run).curves["forecasts"]
    rows = windows_of(MADE, MADE.load(), 8, 4)["test"]
    assert len(shown) == 3
    for each in shown:
        one = slice(each["window"], each["window"] + 1)
        truth = rows.targets(one)[0].tolist()
        assert each["truth"] == pytest.approx(truth, rel=1e-3)
        assert len(each["mean"]) == 4 and len(each["history"]) == 8
        if method == HL:
            low, high = each["quantiles"]["0.05"], each["quantiles"]["0.95"]
            ordered = zip(low, each["quantiles"]["0.5"], high, strict=True)
            assert all(a < b < c for a, b, c in ordered)
    assert "forecasts" not in computed(replace(run, seed=2)).curves
    json.dumps(shown)


def test_errors_by_step_average_to_the_metric():
    outcome = computed(run_of(L2(), epochs=1))
    by_step = outcome.curves["MSE by step"]
    assert len(by_step) == 4
    assert np.mean(by_step) == pytest.approx(outcome.metrics["test MSE"], rel=1e-3)


@pytest.mark.parametrize("first_weights", ["pytorch", "keras"])
@pytest.mark.parametrize("architecture", ["LSTM", "Transformer"])
def test_bodies_and_projections_of_both_losses_start_alike(architecture, first_weights):
    rows = windows_of(MADE, MADE.load(), 8, 4)
    numbers, histograms = (
        ForecastTraining(
            run_of(method, architecture, head="per-step", first_weights=first_weights),
            rows,
            None,
        ).network
        for method in (L2(), HL)
    )
    others = histograms.body.state_dict()
    for name, weights in numbers.body.state_dict().items():
        assert torch.equal(weights, others[name])
    assert torch.equal(numbers.head[0][0].weight, histograms.head[0].weight)


def test_first_weights_of_keras_are_those_of_the_whole_network():
    rows = windows_of(MADE, MADE.load(), 8, 4)
    run = run_of(HL, "LSTM", head="per-step", first_weights="keras")
    network = ForecastTraining(run, rows, None).network
    projection, head = network.head
    assert not projection.bias.any() and not head.bias.any()
    assert head.weight.abs().max() <= math.sqrt(6 / (1 + 20))
    assert (network.body.layers[0].bias_ih_l0[256:512] == 1).all()
    direct = replace(run, head="direct")
    assert not ForecastTraining(direct, rows, None).network.head.linear.bias.any()


def test_objectives_read_what_they_are_trained_for():
    y = torch.tensor([[0.5, -0.5]])
    numbers = Numbers(2)
    assert numbers.loss(torch.tensor([[1.5, -0.5]]), y).item() == 0.5
    histograms = Histograms(2, HL, -1.0, 1.0)
    logits = torch.zeros(1, 2, 20)
    assert histograms.predict(logits)[0].tolist() == pytest.approx([0.0, 0.0])
    assert histograms.loss(logits, y).item() == pytest.approx(math.log(20))
