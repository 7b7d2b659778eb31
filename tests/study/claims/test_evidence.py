"""Evidence: records by what was run, made by hand."""

import pytest

from histreg.study.catalogue import VALUE_GAMES, VALUE_HL
from histreg.study.claims import Evidence
from histreg.study.methods import L2, MDN, HLGauss, L2Noise, LinearRegression
from tests.study.made_up import (
    DIRECT,
    forecast_records,
    label_bias_record,
    tabular_records,
    value_records,
)

CHANGED = {"subtracts_last": True}


def test_parts_of_a_data_set_go_by_the_name_of_the_whole():
    evidence = Evidence([], ("ct", "song", "song-7000", "pole"))
    assert evidence.datasets_named("song", "pole") == ("song", "song-7000", "pole")
    assert evidence.datasets_named("bike") == ()


def test_values_are_those_of_the_protocol_and_its_changes():
    records = [
        *tabular_records("pole", L2(), [1.0, 2.0], train_MAE=[0.1, 0.2]),
        *tabular_records("pole", L2(), [3.0], changes={"corrupted": 0.5}),
        *tabular_records("pole", HLGauss(), [4.0]),
        *tabular_records("bike", L2(), [5.0]),
        *tabular_records("pole", L2(), [6.0], part="validation"),
    ]
    evidence = Evidence(records)
    assert evidence.values("pole", L2()) == {1: 1.0, 2: 2.0}
    assert evidence.values("pole", L2(), "train MAE") == {1: 0.1, 2: 0.2}
    assert evidence.values("pole", L2(), corrupted=0.5) == {1: 3.0}
    assert evidence.values("pole", L2(), corrupted=0.4) == {}
    assert evidence.values("pole", L2(), corrupted=0.0) == {1: 1.0, 2: 2.0}


def test_records_of_other_epochs_do_not_count():
    usual = tabular_records("pole", L2(), [1.0])
    fewer = tabular_records("pole", L2(), [9.0], changes={"epochs": 3})
    linear = tabular_records("pole", LinearRegression(), [7.0])
    assert Evidence(fewer).values("pole", L2()) == {}
    assert Evidence(usual + fewer).values("pole", L2()) == {1: 1.0}
    reduced = Evidence(usual + fewer + linear, epochs=3)
    assert reduced.values("pole", L2()) == {1: 9.0}
    # What has no epochs has none in a reduced study either.
    assert reduced.values("pole", LinearRegression()) == {1: 7.0}


def test_diverged_seeds_have_no_values():
    records = tabular_records("pole", L2(), [1.0, 2.0, 3.0], diverged=[2])
    assert Evidence(records).values("pole", L2()) == {1: 1.0, 3: 3.0}
    of = {"of": lambda record: record.outcome.metrics["test MAE"] + 1}
    assert Evidence(records).summaries("pole", L2(), **of) == {1: 2.0, 3: 4.0}
    assert Evidence(records).summaries("bike", L2(), **of) == {}


def of_mdn(n_components, level, **options):
    return tabular_records("pole", MDN(n_components), [level] * 5, **options)


GRID_OF_MDN = [
    each
    for n, test, validation in (
        (2, 5.0, 1.0),
        (4, 3.0, 2.0),
        (8, 1.0, 3.0),
        (16, 1.0, 3.0),
        (32, 1.0, 3.0),
    )
    for each in of_mdn(n, test) + of_mdn(n, validation, part="validation")
]


def test_a_tuned_method_is_chosen_on_validation_rows():
    records = GRID_OF_MDN + tabular_records("pole", L2Noise(0.1), [0.1] * 5)
    chosen = dict.fromkeys(range(1, 6), 5.0)
    assert Evidence(records).chosen("pole", "MDN") == chosen
    assert Evidence(records).chosen("bike", "MDN") == {}
    # Better validation rows of a run that is no part of the protocol choose nothing.
    for part in ("test", "validation"):
        records += of_mdn(4, 0.0, part=part, changes={"learning_rate": 0.01})
    assert Evidence(records).chosen("pole", "MDN") == chosen
    assert Evidence(records, epochs=3).chosen("pole", "MDN") == {}


@pytest.mark.parametrize("missing", [MDN(2), MDN(32)])
def test_of_an_unfinished_grid_nothing_is_chosen(missing):
    def is_missing(run):
        return (run.method, run.part, run.seed) == (missing, "validation", 5)

    records = [each for each in GRID_OF_MDN if not is_missing(each.run)]
    assert len(records) == len(GRID_OF_MDN) - 1
    assert Evidence(records).chosen("pole", "MDN") == {}


def test_a_measurement_is_found_by_what_and_on_what():
    record = label_bias_record("pole", [1.0], [2.0])
    evidence = Evidence([*tabular_records("pole", L2(), [1.0]), record])
    assert evidence.measurement("label-bias", "pole") is record
    assert evidence.measurement("label-bias", "ct") is None
    assert evidence.measurement("targets", "pole") is None


def test_series_are_looked_at_unless_other_data_sets_are_asked_for():
    everything = Evidence([])
    assert everything.series == ("ETTh1", "ETTh2", "ETTm1", "ETTm2")
    assert everything.tabular == ("ct", "song", "bike", "pole")
    some = Evidence([], ("ETTm1", "pole", "ETTh2"))
    assert some.series == ("ETTm1", "ETTh2")
    assert some.tabular == ("pole",)
    assert Evidence([], ("bike",)).series == ()


def test_games_are_those_of_the_catalogue_unless_data_sets_are_asked_for():
    assert Evidence([]).games == VALUE_GAMES
    some = Evidence([], ("Pong", "pole", "ETTh1", "Alien"))
    assert (some.games, some.series, some.tabular) == (
        ("Pong", "Alien"),
        ("ETTh1",),
        ("pole",),
    )
    assert Evidence([], ("bike",)).games == ()


def test_losses_on_a_game_are_those_of_the_protocol_or_of_the_epochs_asked_for():
    records = [
        *value_records("Pong", L2(), [0.1, 0.2, 0.3], diverged=[2]),
        *value_records("Pong", L2(), [0.4], target="textbook"),
        *value_records("Pong", L2(), [0.5], epochs=3),
        *value_records("Pong", VALUE_HL, [0.6, 0.7, 0.8]),
        *value_records("Pong", VALUE_HL, [0.9], epochs=3),
        *value_records("Alien", L2(), [0.1]),
    ]
    usual, longer = Evidence(records), Evidence(records, epochs=3)
    pair = usual.value_pair("Pong")
    assert pair.errors("test MAE") == {1: (0.1, 0.6), 3: (0.3, 0.8)}
    assert longer.value_pair("Pong").errors("test MAE") == {1: (0.5, 0.9)}
    assert usual.value_pair("Alien") is None is usual.value_pair("Qbert")


def test_a_forecaster_is_found_by_its_own_protocol():
    records = [
        *forecast_records("ETTh1", "GRU", L2(), [1.0, 9.0, 3.0], diverged=[2]),
        *forecast_records("ETTh1", "GRU", L2(), [4.0], changes={"epochs": 2}),
        *forecast_records("ETTh1", "GRU", L2(), [5.0], changes=CHANGED),
        *forecast_records("ETTh1", "GRU", L2(), [5.5], changes=DIRECT),
        *forecast_records("ETTh1", "GRU", L2(), [5.7], changes={"head": "dense"}),
        *forecast_records("ETTh1", "GRU", HLGauss(2.0), [6.0]),
        *forecast_records("ETTh2", "GRU", L2(), [7.0], own={"test MAE": [8.0]}),
    ]
    usual = Evidence(records)
    assert usual.forecasts("ETTh1", "GRU", L2(), "test MSE") == {1: 1.0, 3: 3.0}
    assert usual.forecasts("ETTh1", "LSTM", L2(), "test MSE") == {}
    assert usual.forecasts("ETTh2", "GRU", L2(), "test MAE") == {1: 8.0}
    reduced = Evidence(records, epochs=2)
    assert reduced.forecasts("ETTh1", "GRU", L2(), "test MSE") == {1: 4.0}
