"""Forecast runs on a small made-up series."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from histreg import HistogramHead, HistogramLoss
from histreg.study import datasets
from histreg.study.datasets import SERIES, Table
from histreg.study.forecasts import ForecastRun, ForecastTraining, Histograms, Numbers
from histreg.study.methods import L2, HLGauss
from histreg.study.streams import seed_of, stream
from histreg.study.windows import windows_of
from tests.study.made_up import Alone, Keeping, Memory

HL = HLGauss(2.0, n_bins=20, padding_in_bins=3.0)
SMALL = {"n_inputs": 8, "n_steps": 4, "batch_size": 16, "epochs": 3}
BOTH = pytest.mark.parametrize("method", [L2(), HL], ids=["l2", "HL-Gauss"])


def parse(content):  # noqa: ARG001
    moments = np.arange(420.0)
    noise = np.random.default_rng(0).normal(0, 0.1, (420, 7))
    x = np.sin(moments[:, None] / np.arange(2, 9)) + noise
    return Table(x, x[:, -1].copy(), tuple("abcdefg"), "made")


MADE = replace(
    SERIES["ETTh1"],
    name="made",
    files=(),  # so that there is no file to look for
    sha256=None,
    n_rows=420,
    rows_a_month=20,
    parse=parse,
)


@pytest.fixture(autouse=True)
def made(monkeypatch):
    monkeypatch.setitem(datasets.SERIES, "made", MADE)


def run_of(method, architecture="Linear", **changes):
    return ForecastRun("made", architecture, method, 1, **{**SMALL, **changes})


def computed(run, workplace=None):
    (outcome,) = ForecastRun.compute([run], workplace or Alone())
    return outcome


@BOTH
@pytest.mark.parametrize("subtracts_last", [False, True])
def test_a_linear_forecaster_is_trained_as_anybody_would(method, subtracts_last):
    run = run_of(method, subtracts_last=subtracts_last, epochs=1)
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
    torch.manual_seed(seed_of(1, "head", "Linear"))
    is_l2 = isinstance(method, L2)
    head = nn.Linear(8, 4) if is_l2 else HistogramHead(8, bins, n_targets=4)
    loss = F.mse_loss if is_l2 else HistogramLoss(bins)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-4, weight_decay=1e-4)
    order = torch.randperm(len(train), generator=stream(1, "order", 1))
    for index in order.split(16):
        x, target = pair(train, index)
        optimizer.zero_grad()
        loss(head(x), target).backward()
        optimizer.step()
    with torch.no_grad():
        x, target = pair(test, slice(None))
        found = head(x) if is_l2 else head.distribution(x).mean
    error = (found - target).double()
    metrics = computed(run).metrics
    assert metrics["test MSE"] == pytest.approx(error.square().mean().item(), rel=1e-5)
    assert metrics["test MAE"] == pytest.approx(error.abs().mean().item(), rel=1e-5)


@BOTH
def test_a_run_that_was_stopped_anywhere_goes_on_as_if_it_had_not_been(method):
    run = run_of(method, "GRU")
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


def test_bodies_of_both_losses_start_alike():
    rows = windows_of(MADE, MADE.load(), 8, 4)
    bodies = [
        ForecastTraining(run_of(method, "LSTM"), rows, None).network.body.state_dict()
        for method in (L2(), HL)
    ]
    for name, weights in bodies[0].items():
        assert torch.equal(weights, bodies[1][name])


def test_json_brings_a_run_back_with_its_key():
    for run in (run_of(L2()), run_of(HL, "LSTM", subtracts_last=True)):
        back = ForecastRun.from_json(json.loads(json.dumps(run.to_json())))
        assert back == run and back.key == run.key


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"architecture": "CNN"}, "architecture must be one of 'Linear'"),
    ],
)
def test_runs_that_make_no_sense_are_refused(changes, problem):
    with pytest.raises(ValueError, match=problem):
        run_of(L2(), **changes)


def test_objectives_read_what_they_are_trained_for():
    y = torch.tensor([[0.5, -0.5]])
    numbers = Numbers(2)
    assert numbers.loss(torch.tensor([[1.5, -0.5]]), y).item() == 0.5
    histograms = Histograms(2, HL, -1.0, 1.0)
    logits = torch.zeros(1, 2, 20)
    assert histograms.predict(logits)[0].tolist() == pytest.approx([0.0, 0.0])
    assert histograms.loss(logits, y).item() == pytest.approx(math.log(20))


def test_the_label_tells_what_differs_from_the_protocol():
    usual = ForecastRun("ETTh1", "GRU", L2(), 3)
    assert (usual.label, usual.changes) == ("ETTh1, GRU, l2, seed 3", [])
    changed = replace(usual, subtracts_last=True, epochs=2, learning_rate=3e-4)
    assert changed.changes == [
        *("last value subtracted", "epochs 2", "learning rate 0.0003")
    ]
    assert changed.label == f"{usual.label}, {', '.join(changed.changes)}"
