"""The choice among the runs of experiments."""

from collections import Counter
from dataclasses import replace

import pytest

from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import DATA, EXPERIMENTS, experiment, selected
from histreg.study.datasets import DATASETS, dataset
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L2,
    MDN,
    LinearRegression,
)
from histreg.study.series.runs import ForecastRun
from histreg.study.tabular.runs import TabularRun

RUNS = experiment("overall-validation").runs


def test_nothing_asked_for_is_everything():
    assert selected(RUNS) == RUNS


def test_a_data_set_of_the_paper_gets_the_runs_it_has():
    expected = tuple(run for run in RUNS if run.dataset == "bike")
    assert set(selected(RUNS, datasets=["bike"])) == set(expected)
    assert len(selected(RUNS, datasets=["bike"])) == len(expected)


def test_data_sets_come_in_the_order_asked_for():
    found = selected(RUNS, datasets=["pole", "ct"])
    assert list(dict.fromkeys(run.dataset for run in found)) == ["pole", "ct"]
    assert len(found) == len(RUNS) / 2


@pytest.mark.parametrize("name", sorted(DATASETS.keys() - set(DATA)))
def test_a_data_set_that_the_paper_does_not_have_gets_a_protocol_of_its_own(name):
    found = selected(RUNS, datasets=[name])
    assert len(found) == len(RUNS) / 4
    data = dataset(name)
    for run in found:
        assert run.dataset == name
        if isinstance(run.method, LinearRegression):
            assert run.hidden == ()
        else:
            protocol = (run.epochs, run.hidden, run.dropout)
            assert protocol == (data.epochs, data.hidden, data.dropout)
    parts = Counter(run.part for run in found)
    assert parts == Counter(run.part for run in RUNS if run.dataset == "ct")


def test_a_series_gets_its_own_runs():
    runs = experiment("forecasts").runs
    found = selected(runs, datasets=["ETTm1"])
    assert set(found) == {run for run in runs if run.dataset == "ETTm1"}
    assert len(found) == 1 + 4 * 2 * 5


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("overall", "ETTh1"),
        ("rates", "ETTm2"),
        ("targets", "ETTh1"),
        ("label-bias", "ETTh1"),
        ("forecasts", "pole"),
        ("forecasts-of-change", "diabetes"),
        ("overall", "Pong"),
        ("targets", "Pong"),
        ("forecasts", "Pong"),
        ("values", "pole"),
        ("values-textbook", "ETTh1"),
    ],
)
def test_tables_series_and_games_have_none_of_each_others_runs(name, data):
    assert selected(experiment(name).runs, datasets=[data]) == ()


def test_of_tables_series_and_games_each_gets_what_it_can_have():
    names = ("projected", "forecasts", "values")
    found = selected(
        [run for name in names for run in experiment(name).runs],
        datasets=["pole", "ETTh1", "Pong"],
        methods=["HL-Gauss"],
        seeds=[1],
    )
    kinds = Counter((type(run), run.dataset) for run in found)
    assert kinds == {
        (TabularRun, "pole"): 1,
        (Measurement, "ETTh1"): 1,
        (ForecastRun, "ETTh1"): 4,
        (ValueRun, "Pong"): 1,
    }


def test_epochs_of_forecasts_are_at_most_those_asked_for():
    usual = experiment("forecasts").runs
    for run, before in zip(selected(usual, epochs=2), usual, strict=True):
        if isinstance(run, ForecastRun):
            assert run == replace(before, epochs=2)
            assert run.key != before.key
        else:
            assert run == before


def test_measurements_follow_the_data_sets():
    found = selected(experiment("label-bias").runs, datasets=["diabetes"])
    assert [(run.what, run.dataset) for run in found] == [("label-bias", "diabetes")]


@pytest.mark.parametrize("name", ["sines", "bias", "bound"])
def test_what_is_on_no_data_set_stays_whichever_are_asked_for(name):
    runs = experiment(name).runs
    assert selected(runs, datasets=["ETTh1"]) == runs
    assert selected(runs, datasets=["pole", "bike"]) == runs


def test_exchanged_bodies_and_corruption_go_along_to_another_data_set():
    for name in ("representation", "corruption"):
        on_ct = selected(experiment(name).runs, datasets=["ct"])
        moved = selected(experiment(name).runs, datasets=["diabetes"])
        for run, source in zip(moved, on_ct, strict=True):
            assert run.dataset == "diabetes"
            for what in ("method", "seed", "donor", "has_frozen_body", "corrupted"):
                assert getattr(run, what) == getattr(source, what)


def test_methods_are_chosen_by_their_names_with_all_their_settings():
    found = selected(RUNS, methods=["MDN", "l2"])
    assert {run.method for run in found} == {L2(), *map(MDN, (2, 4, 8, 16, 32))}


def test_what_has_no_method_stays_whichever_are_asked_for():
    runs = experiment("targets").runs
    assert selected(runs, methods=["l2"], seeds=[1]) == runs


def test_seeds_are_chosen():
    found = selected(RUNS, seeds=[2, 5])
    assert {run.seed for run in found} == {2, 5}
    assert len(found) == len(RUNS) * 2 / 5


def test_epochs_replace_those_of_networks_alone():
    before = selected(RUNS, datasets=["pole"])
    found = selected(RUNS, datasets=["pole"], epochs=7)
    assert len(found) == len(before)
    for run, usual in zip(found, before, strict=True):
        if isinstance(run.method, LinearRegression):
            assert run == usual
        else:
            assert run.epochs == 7
            assert run.key != usual.key
            assert run.moved_to("pole") == run


def test_the_protocols_own_epochs_are_no_change():
    assert selected(RUNS, datasets=["pole"], epochs=500) == selected(
        RUNS, datasets=["pole"]
    )


def test_other_epochs_go_along_to_another_data_set():
    run = TabularRun.of("ct", L2(), 1, epochs=7)
    assert run.moved_to("pole") == TabularRun.of("pole", L2(), 1, epochs=7)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"datasets": ["pole", "poles"]}, "--datasets must be one of .*'poles'"),
        ({"methods": ["HL-gauss"]}, "--methods must be one of .*'HL-gauss'"),
        ({"epochs": 0}, "--epochs must be a whole number of at least 1"),
        ({"epochs": 1.5}, "--epochs must be a whole number of at least 1"),
        ({"frames": 0}, "--frames must be a whole number of at least 1"),
        ({"rate": 0.0}, "--rate must be finite and positive"),
        ({"rate": float("nan")}, "--rate must be finite and positive"),
    ],
    ids=[
        *("datasets", "methods", "no epochs", "half an epoch"),
        *("no frames", "no rate", "rate that is no number"),
    ],
)
def test_what_is_not_there_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        selected(RUNS, **asked)


def test_forecasters_are_chosen_by_their_bodies():
    chosen = selected(EXPERIMENTS["forecasts"].runs, models=["GRU"], datasets=["ETTh1"])
    forecasts = [run for run in chosen if isinstance(run, ForecastRun)]
    assert {run.architecture for run in forecasts} == {"GRU"}
    assert len(forecasts) == 2 * 5
    assert len(chosen) == 11  # and what learns nothing


def test_games_can_be_run_at_the_size_of_the_paper_under_keys_of_their_own():
    usual = experiment("values-by-text").runs
    found = selected(usual, frames=10_000_000, epochs=3, rate=5e-4)
    assert found == tuple(
        replace(run, n_frames=10_000_000, epochs=3, learning_rate=5e-4) for run in usual
    )
    of_catalogue = {run.key for each in EXPERIMENTS.values() for run in each.runs}
    assert not {run.key for run in found} & of_catalogue


def test_the_protocols_own_frames_and_rate_are_no_change():
    usual = experiment("values").runs
    assert selected(usual, frames=250_000, rate=1e-4, epochs=1) == usual


def test_a_rate_replaces_that_of_networks_alone():
    before = selected(RUNS, datasets=["pole"])
    for run, usual in zip(
        selected(RUNS, datasets=["pole"], rate=0.5, frames=7), before, strict=True
    ):
        if isinstance(run.method, LinearRegression):
            assert run == usual
        else:
            assert run == replace(usual, learning_rate=0.5)


def test_runs_that_a_rate_makes_equal_are_one():
    found = selected(experiment("rates").runs, datasets=["pole"], rate=0.5)
    assert len(found) == len(set(found)) == 5 * 5 * 2  # methods, seeds, parts


@pytest.mark.parametrize("name", ["values", "values-textbook", "values-by-text"])
def test_runs_on_games_are_selected_by_name_also_on_games_of_ones_own_choice(name):
    runs = experiment(name).runs
    chosen = selected(runs, datasets=["Pooyan", "Pong"], seeds=[2])
    assert {run.dataset for run in chosen} == {"Pooyan", "Pong"}
    assert len(chosen) == 4
    assert {run.target for run in chosen} == {runs[0].target}
