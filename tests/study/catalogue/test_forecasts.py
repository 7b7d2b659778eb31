"""The forecasts of the catalogue against the paper."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from histreg.study.catalogue import (
    FORECAST_HL,
    experiment,
)
from histreg.study.datasets import SERIES
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L2,
    HLGauss,
)
from histreg.study.series.runs import ForecastRun, reading_of


def trained(name):
    return [run for run in experiment(name).runs if isinstance(run, ForecastRun)]


def test_forecasts_are_of_four_models_by_two_losses_on_four_series():
    runs = trained("forecasts")
    places = Counter((run.dataset, run.architecture, run.method) for run in runs)
    assert set(places) == set(
        product(
            ("ETTh1", "ETTh2", "ETTm1", "ETTm2"),
            ("Linear", "LSTM", "GRU", "Transformer"),
            (L2(), HLGauss(2.0, n_bins=100, padding_in_bins=6.0)),
        )
    )
    assert set(places.values()) == {5}
    assert {run.seed for run in runs} == {1, 2, 3, 4, 5}


def test_forecasts_have_the_protocol_of_the_paper():
    for run in trained("forecasts"):
        assert (run.epochs, run.patience, run.batch_size) == (10, 3, 32)
        assert (run.learning_rate, run.weight_decay) == (1e-4, 1e-4)
        assert (run.n_inputs, run.n_steps) == (96, 96)
        assert not run.subtracts_last and run.changes == []


@pytest.mark.parametrize(
    "name",
    [
        *("forecasts", "forecasts-per-step"),
        *("forecasts-direct", "forecasts-of-change"),
    ],
)
def test_forecasts_have_beside_them_what_learns_nothing(name):
    others = set(experiment(name).runs) - set(trained(name))
    assert others == {Measurement("naive", each) for each in SERIES}


def test_bins_of_forecasts_leave_three_sigmas_beside_the_targets():
    bins = FORECAST_HL.bins(-2.0, 3.0)
    sigma = FORECAST_HL.sigma_in_bins * bins.width
    assert FORECAST_HL.sigma_in_bins == 2 and bins.n_bins == 100
    assert (-2.0 - bins.low, bins.high - 3.0) == pytest.approx((3 * sigma, 3 * sigma))


def test_forecasts_per_step_are_the_linear_ones_with_another_head():
    per_step = trained("forecasts-per-step")
    usual = [run for run in trained("forecasts") if run.architecture == "Linear"]
    assert [replace(run, head="shared") for run in per_step] == usual
    assert {tuple(run.changes) for run in per_step} == {("per-step head",)}
    searched = set(experiment("forecast-readings").runs)
    assert {run for run in per_step if run.seed == 1} <= searched


def test_pooled_forecasts_are_those_of_networks_with_another_head():
    pooled = trained("forecasts-pooled")
    usual = [run for run in trained("forecasts") if run.architecture != "Linear"]
    assert [replace(run, head="over-time") for run in pooled] == usual
    assert {tuple(run.changes) for run in pooled} == {("shared head",)}


def test_direct_forecasts_are_the_same_without_a_projection():
    direct = trained("forecasts-direct")
    read = [replace(run, **reading_of(run.architecture)) for run in direct]
    assert read == trained("forecasts")
    assert {tuple(run.changes) for run in direct} == {
        ("direct head", "PyTorch weights", "stopped by loss")
    }


def test_forecasts_of_change_are_the_direct_ones_with_the_last_value_subtracted():
    changed = trained("forecasts-of-change")
    usual = [replace(run, subtracts_last=False) for run in changed]
    assert usual == trained("forecasts-direct")
    assert {run.changes[0] for run in changed} == {"last value subtracted"}


def test_readings_are_all_heads_first_weights_and_criteria_of_linear_forecasters():
    runs = experiment("forecast-readings").runs
    heads = ("direct", "per-step", "shared", "dense")
    weights = ("pytorch", "keras")
    found = Counter(
        (run.dataset, run.method.name, run.head, run.first_weights, run.validation)
        for run in runs
    )
    histograms = product(SERIES, ["HL-Gauss"], heads, weights, ["loss", "MSE"])
    numbers = product(SERIES, ["l2"], heads, weights, ["MSE"])  # its loss is the MSE
    assert set(found) == {*histograms, *numbers}
    assert len(runs) == len(found) == 4 * (16 + 8)
    assert {(run.architecture, run.seed) for run in runs} == {("Linear", 1)}
    assert all(run.is_of_paper for run in runs)


def test_the_reading_that_is_used_is_one_of_those_that_were_searched():
    searched = set(experiment("forecast-readings").runs)
    used = {
        run
        for run in trained("forecasts")
        if run.architecture == "Linear" and run.seed == 1
    }
    assert used <= searched
