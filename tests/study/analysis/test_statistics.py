"""Statistics over seeds, by hand and against numpy."""

import math

import pytest

from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import (
    best_on_validation,
    best_settings,
    of_any_rate,
    settings_of,
    settings_over_seeds,
    validated_settings,
)
from histreg.study.atari.runs import ValueRun
from histreg.study.methods import L2, MDN, HLGauss, L2Noise
from histreg.study.series.runs import ForecastRun
from tests.study.made_up import (
    forecast_records,
    naive_record,
    sine_record,
    tabular_records,
    value_records,
)


def test_a_setting_is_a_method_on_a_data_set_over_its_seeds():
    records = [
        *tabular_records("pole", L2(), [1.0, 2.0, 3.0], train_MAE=[0.1, 0.3, 0.2]),
        *tabular_records("bike", L2(), [30.0]),
        *tabular_records("pole", L2Noise(0.1), [2.0]),
        *tabular_records("pole", L2Noise(0.01), [4.0]),
    ]
    # In any order: seeds need not lie together.
    found = settings_of(records[::2] + records[1::2])
    by_place = {(each.dataset, each.method): each for each in found}
    assert len(by_place) == len(found) == 4
    estimates = by_place["pole", L2()].estimates
    assert estimates["test MAE"] == Estimate.of([1.0, 2.0, 3.0])
    assert estimates["train MAE"].mean == pytest.approx(0.2)
    assert by_place["pole", L2Noise(0.01)].estimates["test MAE"].mean == 4.0
    assert by_place["bike", L2()].estimates["test MAE"].mean == 30.0


def test_parts_are_told_apart():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("pole", L2(), [9.0], part="validation"),
    ]
    (on_test,) = settings_of(records)
    (on_validation,) = settings_of(records, part="validation")
    assert on_test.estimates["test MAE"].mean == 1.0
    assert on_validation.estimates["validation MAE"].mean == 9.0
    assert "test MAE" not in on_validation.estimates


def test_diverged_seeds_are_counted_and_not_averaged():
    (found,) = settings_of(
        tabular_records("pole", L2(), [1.0, 99.0, 3.0], diverged=[2])
    )
    assert found.n_diverged == 1
    assert found.estimates["test MAE"] == Estimate.of([1.0, 3.0])


def test_a_seed_whose_errors_are_not_finite_has_diverged():
    records = tabular_records("pole", L2(), [1.0, math.inf, math.nan, 3.0])
    (setting,) = settings_of(records)
    assert setting.n_diverged == 2
    assert setting.values("test MAE") == {1: 1.0, 4: 3.0}


def test_if_all_seeds_diverged_nothing_is_estimated():
    (found,) = settings_of(tabular_records("pole", L2(), [1.0, 2.0], diverged=[1, 2]))
    assert found.n_diverged == 2
    assert found.estimates == {}


def test_records_of_other_kinds_are_passed_over():
    assert settings_of([sine_record()]) == []


def chosen(records, metric="test MAE"):
    return [
        (each.dataset, each.method)
        for each in best_settings(settings_of(records), metric)
    ]


def test_of_a_tuned_method_the_setting_of_lowest_mean_is_kept():
    records = [
        *tabular_records("pole", MDN(2), [1.0, 3.0]),
        *tabular_records("pole", MDN(4), [2.9, 0.1]),  # 1.5, though its first is worse
        *tabular_records("pole", MDN(8), [2.0, 2.0]),
    ]
    assert chosen(records) == [("pole", MDN(4))]


def test_the_choice_depends_on_the_metric():
    records = [
        *tabular_records("pole", MDN(2), [1.0], test_RMSE=[5.0]),
        *tabular_records("pole", MDN(4), [2.0], test_RMSE=[4.0]),
    ]
    assert chosen(records) == [("pole", MDN(2))]
    assert chosen(records, "test RMSE") == [("pole", MDN(4))]


def test_each_data_set_and_each_method_has_a_choice_of_its_own():
    records = [
        *tabular_records("pole", MDN(2), [1.0]),
        *tabular_records("pole", MDN(4), [2.0]),
        *tabular_records("bike", MDN(2), [40.0]),
        *tabular_records("bike", MDN(4), [30.0]),
        *tabular_records("pole", L2Noise(0.1), [7.0]),
        *tabular_records("pole", L2Noise(0.2), [6.0]),
    ]
    expected = [("pole", MDN(2)), ("bike", MDN(4)), ("pole", L2Noise(0.2))]
    assert chosen(records) == expected


def test_of_a_method_that_is_not_tuned_all_settings_are_kept():
    records = [
        *tabular_records("pole", HLGauss(), [1.0]),
        *tabular_records("pole", HLGauss(2.0), [2.0]),
    ]
    assert chosen(records) == [("pole", HLGauss()), ("pole", HLGauss(2.0))]


def test_a_setting_without_all_its_seeds_does_not_win():
    records = [
        *tabular_records("pole", MDN(2), [0.1, 0.1]),
        *tabular_records("pole", MDN(4), [1.0, 1.0, 1.0]),
    ]
    assert chosen(records) == [("pole", MDN(4))]


def test_a_setting_of_which_a_seed_diverged_does_not_win():
    records = [
        *tabular_records("pole", MDN(2), [0.1, 0.1, 0.1, 0.1], diverged=[4]),
        *tabular_records("pole", MDN(4), [1.0, 1.0, 1.0]),
    ]
    assert chosen(records) == [("pole", MDN(4))]


def test_if_every_setting_diverged_none_is_chosen():
    records = [
        *tabular_records("pole", MDN(2), [0.1, 0.1], diverged=[1]),
        *tabular_records("pole", MDN(4), [1.0, 1.0], diverged=[1, 2]),
    ]
    assert chosen(records) == []


def test_on_validation_rows_another_setting_may_win_and_its_test_rows_are_told():
    records = [
        *tabular_records("pole", L2(), [3.0]),
        *tabular_records("pole", MDN(2), [1.0]),
        *tabular_records("pole", MDN(4), [2.0]),
        *tabular_records("pole", MDN(2), [0.9], part="validation"),
        *tabular_records("pole", MDN(4), [0.8], part="validation"),
    ]
    assert chosen(records) == [("pole", L2()), ("pole", MDN(2))]
    plain, tuned = validated_settings(records)
    assert (plain.method, tuned.method) == (L2(), MDN(4))
    assert tuned.estimates["test MAE"].mean == 2.0


def test_without_validation_rows_no_tuned_method_is_told():
    records = [
        *tabular_records("pole", L2(), [3.0]),
        *tabular_records("pole", MDN(2), [1.0]),
    ]
    assert [each.method for each in validated_settings(records)] == [L2()]


def at_rate(rate, method, errors, part):
    changes = {"learning_rate": rate}
    return tabular_records("pole", method, errors, part=part, changes=changes)


def test_over_rates_and_settings_one_of_each_method_is_chosen():
    records = [
        *at_rate(1e-3, MDN(2), [0.9], "validation"),
        *at_rate(1e-2, MDN(4), [0.5], "validation"),
        *at_rate(1e-2, MDN(2), [0.7], "validation"),
        *at_rate(1e-3, HLGauss(), [0.3], "validation"),
        *at_rate(1e-2, HLGauss(), [0.4], "validation"),
        *at_rate(1e-2, MDN(4), [2.0], "test"),
        *at_rate(1e-3, MDN(2), [1.0], "test"),
        *at_rate(1e-3, L2(), [3.0], "test"),
    ]
    chosen = best_on_validation(records, of_any_rate)
    told = [(run.method, run.learning_rate, run.part) for run in chosen]
    assert told == [(MDN(4), 1e-2, "test"), (HLGauss(), 1e-3, "test")]
    assert [each.run.part for each in chosen.values()] == ["validation"] * 2
    # l2, which nothing was chosen for, is not told, though it is not tuned.
    found = validated_settings(records, of_any_rate)
    assert [(each.method, each.estimates["test MAE"].mean) for each in found] == [
        (MDN(4), 2.0)
    ]


def test_nothing_is_chosen_of_a_setting_that_diverged_without_rivals():
    records = tabular_records("pole", MDN(2), [1.0], part="validation", diverged=[1])
    assert best_on_validation(records) == {}


def test_a_method_that_is_not_tuned_is_kept_with_and_without_probes():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("pole", L2(), [2.0], changes={"probes": ("sensitivity",)}),
    ]
    assert len(best_settings(settings_of(records), "test MAE")) == 2


def forecasts_of(records):
    return settings_over_seeds(records, ForecastRun)


def test_a_forecast_setting_is_a_model_and_a_loss_on_a_series_over_its_seeds():
    changed = {"subtracts_last": True}
    records = [
        *forecast_records("ETTh1", "GRU", L2(), [1.0, 2.0], own={"test MAE": [5, 7]}),
        *forecast_records("ETTh1", "GRU", L2(), [3.0], changes=changed),
        *forecast_records("ETTh1", "GRU", HLGauss(), [4.0]),
        *forecast_records("ETTh1", "LSTM", L2(), [5.0]),
        *forecast_records("ETTh2", "GRU", L2(), [6.0, 8.0]),
    ]
    # In any order: seeds need not lie together.
    found = forecasts_of(records[::2] + records[1::2])
    assert len(found) == 5
    by_place = {
        (e.run.dataset, e.run.architecture, e.run.method, e.run.subtracts_last): e
        for e in found
    }
    usual = by_place["ETTh1", "GRU", L2(), False].estimates
    assert usual["test MSE"] == Estimate.of([1.0, 2.0])
    assert usual["test MAE"] == Estimate.of([5.0, 7.0])
    means = {place: each.estimates["test MSE"].mean for place, each in by_place.items()}
    assert means == {
        ("ETTh1", "GRU", L2(), False): 1.5,
        ("ETTh1", "GRU", L2(), True): 3.0,
        ("ETTh1", "GRU", HLGauss(), False): 4.0,
        ("ETTh1", "LSTM", L2(), False): 5.0,
        ("ETTh2", "GRU", L2(), False): 7.0,
    }


def test_forecast_settings_come_as_they_appear():
    records = [
        *forecast_records("ETTh2", "LSTM", L2(), [1.0]),
        *forecast_records("ETTh1", "Linear", L2(), [1.0]),
        *forecast_records("ETTh2", "GRU", L2(), [1.0]),
    ]
    found = [each.run.architecture for each in forecasts_of(records)]
    assert found == ["LSTM", "Linear", "GRU"]


def test_records_that_are_no_forecasts_are_passed_over():
    records = [naive_record("ETTh1"), *tabular_records("pole", L2(), [1.0])]
    assert forecasts_of(records) == []
    assert settings_of(forecast_records("ETTh1", "GRU", L2(), [1.0])) == []


@pytest.mark.parametrize(
    ("changes", "diverged", "label"),
    [
        ({}, (), "GRU, HL-Gauss"),
        ({"subtracts_last": True}, (), "GRU, HL-Gauss, last value subtracted"),
        ({"epochs": 2}, (), "GRU, HL-Gauss, epochs 2"),
        ({"head": "dense"}, (), "GRU, HL-Gauss, dense head"),
        ({}, (2,), "GRU, HL-Gauss, 1 diverged"),
    ],
)
def test_the_label_of_a_forecast_tells_what_is_not_as_usual(changes, diverged, label):
    (setting,) = forecasts_of(
        forecast_records(
            *("ETTh1", "GRU", HLGauss(), [1.0, 9.0, 3.0]),
            changes=changes,
            diverged=diverged,
        )
    )
    assert setting.label == label
    kept = [1.0, 3.0] if diverged else [1.0, 9.0, 3.0]
    assert setting.estimates["test MSE"] == Estimate.of(kept)


def test_a_value_setting_is_a_loss_on_a_game_over_its_seeds():
    records = [
        *value_records("Pong", L2(), [0.1, 0.3], test_rmse=[0.5, 0.5]),
        *value_records("Pong", L2(), [0.4], target="textbook"),
        *value_records("Pong", HLGauss(), [0.5, 0.5], diverged=[2]),
        *value_records("Alien", L2(), [0.6]),
        *tabular_records("pole", L2(), [1.0]),
    ]
    found = settings_over_seeds(records[::2] + records[1::2], ValueRun)
    by_place = {(e.run.dataset, e.run.method, e.run.target): e for e in found}
    assert len(by_place) == len(found) == 4
    usual = by_place["Pong", L2(), "arrival"]
    assert usual.estimates["test MAE"] == Estimate.of([0.1, 0.3])
    assert usual.estimates["test RMSE"].mean == 0.5
    assert by_place["Pong", HLGauss(), "arrival"].n_diverged == 1
    assert settings_of(value_records("Pong", L2(), [1.0])) == []
