"""Tables of forecasts, of records made by hand."""

import pytest

from histreg.report.experiment_tables import tables_of
from histreg.study.catalogue import EXPERIMENTS, FORECAST_HL, selected
from histreg.study.methods import L2
from tests.report.examples import RECORDS, forecasts
from tests.report.reading import one, rows
from tests.study.made_up import forecast_records, naive_record

OF_DIRECT = "direct head, PyTorch weights, stopped by loss"
READ_AS = "shared head, Keras weights"


def column(table, name, metric):
    """Return the cell of a forecaster, and those of the paper beside it."""
    at = table.header.index(metric) - 1
    return rows(table)[name][at : at + 3]


def test_what_learns_nothing_stands_above_the_models():
    table = one("forecasts", RECORDS["forecasts"])
    assert [row[0] for row in table.rows] == [
        *("last value", "mean of inputs", "zero"),
        *("Linear, l2", "Linear, HL-Gauss"),
    ]
    # Errors, places for the paper's, places for what a distribution has.
    assert rows(table)["mean of inputs"] == (
        *("0.0600", "", "", "0.6000", "", ""),
        *("", "", ""),
    )
    assert column(table, "zero", "test MAE")[0] == "19.0000"
    assert column(table, "last value", "test MSE")[0] == "0.0700"


def test_the_papers_number_is_beside_ours_with_the_difference_in_joint_errors():
    table = one("forecasts", RECORDS["forecasts"])
    assert table.header[:4] == ("forecaster", "test MSE", "paper", "apart")
    # Ours 0.06 and 0.08: an error of 0.01, of which the interval of two numbers has
    # 12.706. Theirs 0.07105 with a half interval of 0.001022, which of five is 2.776
    # errors. -0.00105 over the root of 0.01² + 0.00037² is -0.105.
    assert column(table, "Linear, l2", "test MSE") == (
        "0.0700 ± 0.1271",
        "0.0711 ± 0.0010",
        "-0.1",
    )
    # Ours 0.3 and 0.5; theirs 0.5548 with 0.003119: -0.1548 over 0.1.
    assert column(table, "Linear, HL-Gauss", "test MAE") == (
        "0.4000 ± 1.2706",
        "0.5548 ± 0.0031",
        "-1.5",
    )


def test_what_is_far_from_the_papers_number_is_marked():
    # 0.1, exactly, is 0.02895 above: 79 of the paper's errors, 0.000368 each.
    records = forecast_records("ETTh1", "Linear", L2(), [0.1, 0.1])
    cells = column(one("forecasts", records), "Linear, l2", "test MSE")
    assert cells == ("0.1000 ± 0.0000", "0.0711 ± 0.0010", "+78.6*")


def test_of_one_seed_it_is_not_told_how_far_apart():
    records = forecast_records("ETTh1", "Linear", L2(), [0.1])
    cells = column(one("forecasts", records), "Linear, l2", "test MSE")
    assert cells == ("0.1000", "0.0711 ± 0.0010", "")


def test_histograms_have_the_scores_of_their_distributions_and_numbers_none():
    table = one("forecasts", RECORDS["forecasts"])
    assert table.header[-3:] == ("test CRPS", "test coverage 0.8", "test coverage 0.9")
    assert rows(table)["Linear, HL-Gauss"][-3:] == (
        "0.2000 ± 1.2706",
        "0.7500 ± 0.6353",
        "0.9000 ± 0.0000",
    )
    assert rows(table)["Linear, l2"][-3:] == ("", "", "")


def test_forecasts_of_change_say_so_and_the_paper_has_none_of_them():
    table = one("forecasts-of-change", RECORDS["forecasts-of-change"])
    assert table.title == "Forecasts of the change from the last value: ETTh1"
    assert table.header == (
        *("forecaster", "test MSE", "test MAE"),
        *("test CRPS", "test coverage 0.8", "test coverage 0.9"),
    )
    found = rows(table)
    changes = f"last value subtracted, {OF_DIRECT}"
    assert found[f"GRU, l2, {changes}"][:2] == ("0.0700 ± 0.1271",) * 2
    assert found[f"GRU, HL-Gauss, {changes}"][2] == "0.2000 ± 1.2706"
    assert found["mean of inputs"] == ("0.0600", "0.6000", "", "", "")
    assert not any("paper" in note for note in table.notes)


def test_other_readings_say_so_and_have_the_papers_number_beside_them():
    table = one("forecasts-direct", RECORDS["forecasts-direct"])
    assert table.title == "Forecasts without a projection: ETTh1"
    # -0.4714 over the root of 0.01² + 0.00754² is -37.65.
    assert column(table, f"GRU, l2, {OF_DIRECT}", "test MSE") == (
        "0.0700 ± 0.1271",
        "0.5414 ± 0.0209",
        "-37.6*",
    )


def test_readings_stand_below_the_papers_numbers_the_nearest_first():
    # In any order: columns are sorted.
    mse, mae = tables_of("forecast-readings", RECORDS["forecast-readings"][::-1])
    assert mse.title == "Linear forecasts, by the reading of the text: test MSE"
    assert mae.title.endswith(": test MAE")
    assert mse.header == (
        *("reading", "ETTh1 l2", "ETTh1 HL-Gauss", "ETTh2 l2", "ETTh2 HL-Gauss"),
        "distance",
    )
    # |log| of each cell: 0.0149, 0.0068, 0.0149 and 0.0266, a quarter of it 0.0158;
    # stopped by loss 0.0149, 0.3486, 0.0149 and 0.3042, 0.1707. Of ETTh1 alone 0.1690
    # and 0.1479, or 0.1690 and 0.1786 by loss: at least 0.0792 and 0.0869.
    assert mse.rows == [
        ("the paper", "0.0711", "0.3826", "0.1624", "0.3389", ""),
        (f"{READ_AS}, stopped by MSE", "0.0700", "0.3800", "0.1600", "0.3300", "1.6 %"),
        (
            f"{READ_AS}, stopped by loss",
            *("0.0700", "0.2700", "0.1600", "0.2500", "17.1 %"),
        ),
        (
            "direct head, PyTorch weights, stopped by MSE",
            *("0.0600", "0.3300", "", "", "≥ 7.9 %"),
        ),
        (
            "direct head, PyTorch weights, stopped by loss",
            *("0.0600", "0.3200", "", "", "≥ 8.7 %"),
        ),
    ]


def test_l2_is_of_both_criteria_and_what_diverged_has_no_cell():
    records = [
        *forecast_records("ETTh1", "Linear", L2(), [0.07]),
        *forecast_records("ETTh1", "Linear", FORECAST_HL, [0.3], diverged=[1]),
    ]
    mse, _ = tables_of("forecast-readings", records)
    assert mse.header == ("reading", "ETTh1 l2", "distance")
    assert rows(mse) == {
        "the paper": ("0.0711", ""),
        f"{READ_AS}, stopped by loss": ("0.0700", "1.5 %"),
        f"{READ_AS}, stopped by MSE": ("0.0700", "1.5 %"),
    }


def test_both_ways_in_one_table_are_told_apart():
    changed = forecasts("ETTh1", "Linear", subtracts_last=True)
    table = one("forecasts", RECORDS["forecasts"] + changed)
    assert len(rows(table)) == len(table.rows) == 3 + 2 + 2
    cells = column(table, "Linear, l2, last value subtracted", "test MSE")
    assert cells == ("0.0700 ± 0.1271", "", "")
    assert column(table, "Linear, l2", "test MSE")[1] == "0.0711 ± 0.0010"


def test_what_was_trained_otherwise_is_not_beside_the_papers_number():
    records = forecast_records("ETTh1", "GRU", L2(), [0.1, 0.3], changes={"epochs": 2})
    table = one("forecasts", records)
    assert rows(table) == {
        "GRU, l2, epochs 2": ("0.2000 ± 1.2706", "0.2000 ± 1.2706", "", "", "")
    }


@pytest.mark.parametrize(
    "name", ["forecasts", "forecasts-direct", "forecasts-of-change"]
)
def test_before_anything_is_trained_there_is_what_learns_nothing(name):
    table = one(name, [naive_record("ETTm2")])
    assert table.title == f"{EXPERIMENTS[name].title}: ETTm2"
    assert list(rows(table)) == ["last value", "mean of inputs", "zero"]


def test_without_what_learns_nothing_no_row_is_said_to_be_it():
    records = forecast_records("ETTh1", "Linear", L2(), [0.1, 0.3])
    table = one("forecasts", records)
    assert list(rows(table)) == ["Linear, l2"]
    assert not any("learn nothing" in note for note in table.notes)


def test_each_series_has_one_table_with_its_own_naive_forecasts():
    records = [
        naive_record("ETTh1", mean=0.1),
        naive_record("ETTh2", mean=0.2),
        *forecasts("ETTh2", "GRU"),
        *forecasts("ETTh1", "GRU"),
        *forecasts("ETTh2", "LSTM"),
    ]
    found = {each.title: each for each in tables_of("forecasts", records)}
    assert set(found) == {"Forecasts of series: ETTh1", "Forecasts of series: ETTh2"}
    first, second = (found[title] for title in sorted(found))
    assert rows(first)["mean of inputs"][0] == "0.1000"
    assert rows(second)["mean of inputs"][0] == "0.2000"
    assert len(first.rows) == 3 + 2 and len(second.rows) == 3 + 4


def test_seeds_that_are_missing_or_diverged_are_told():
    records = [
        *forecast_records("ETTh1", "Linear", L2(), [1.0, 2.0, 3.0]),
        *forecast_records("ETTh1", "GRU", L2(), [1.0, 2.0]),
        *forecast_records("ETTh1", "LSTM", L2(), [1.0, 9.0, 3.0], diverged=[2]),
        *forecast_records("ETTh1", "LSTM", FORECAST_HL, [1.0, 1.0], diverged=[1, 2]),
    ]
    table = one("forecasts", records)
    found = rows(table)
    assert list(found) == [
        "Linear, l2",
        "GRU, l2, 2 seeds",
        "LSTM, l2, 1 diverged",
        "LSTM, HL-Gauss, 2 diverged, 0 seeds",
    ]
    assert found["LSTM, l2, 1 diverged"][0] == "2.0000 ± 12.7062"
    assert found["LSTM, HL-Gauss, 2 diverged, 0 seeds"][0] == "diverged"
    assert "over 2 to 3 seeds" in table.notes[0]


def test_what_is_not_finished_is_told_below():
    runs = selected(EXPERIMENTS["forecasts"].runs, datasets=["ETTh1"], methods=["l2"])
    assert len(runs) == 1 + 4 * 5
    records = [naive_record("ETTh1"), *forecast_records("ETTh1", "GRU", L2(), [1, 2])]
    table = one("forecasts", records, runs=runs)
    assert table.notes[-1] == "Not finished: 18 of 21 runs (l2 18)."
