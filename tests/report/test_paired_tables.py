"""Differences paired by seed: with what, and how much."""

import pytest

from histreg.report.experiment_tables import tables_of
from histreg.study.catalogue import FORECAST_HL
from histreg.study.methods import L1, L2, MDN, HLGauss, LinearRegression
from tests.report.examples import (
    ANNEALING,
    AUXILIARY,
    BINS,
    CORRUPTION,
    RATES,
    RECORDS,
    REPRESENTATION,
    STEADY,
    SWEEP,
    UNSTEADY,
)
from tests.report.reading import one, rows
from tests.study.made_up import DIRECT, forecast_records, tabular_records


def paired(name, records, metrics=("test MAE",)):
    return one(name, records, metrics, is_paired=True)


def references(table):
    return {row[0]: row[1] for row in table.rows}


def test_a_difference_has_its_interval_its_p_and_its_seeds():
    records = [
        *tabular_records("pole", HLGauss(), [1.0, 2.0, 3.0]),
        *tabular_records("pole", L2(), [2.0, 4.0, 6.0]),
    ]
    # 1, 2, 3: mean 2, standard error 1 / sqrt(3), t of 2 degrees of freedom 4.3027:
    # 2 ± 2.484. All are of one sign: two of the eight ways to give signs.
    table = paired("overall", records)
    assert table.rows == [
        ("l2", "HL-Gauss", "+2.000", "-0.484 to +4.484", "0.250", "3")
    ]
    assert table.title == "Overall results, differences in test MAE: Pole"


def test_p_is_two_sided():
    records = [
        *tabular_records("pole", HLGauss(), [5.0, 5.0, 5.0]),
        *tabular_records("pole", L2(), [4.0, 3.0, 6.0]),  # -1, -2, +1
    ]
    # Sums of signed 1, 2, 1 are -4, -2, -2, 0, 0, 2, 2, 4; six are as far out.
    assert paired("overall", records).rows[0][2:] == (
        "-0.667", "-4.461 to +3.128", "0.750", "3"
    )  # fmt: skip


def test_one_seed_has_no_interval_and_proves_nothing():
    records = [
        *tabular_records("pole", HLGauss(), [1.0]),
        *tabular_records("pole", L2(), [2.0]),
        *tabular_records("pole", L1(), [0.5]),
    ]
    assert [row[2:] for row in paired("overall", records).rows] == [
        ("+1.000", "", "1.000", "1"),
        ("-0.500", "", "1.000", "1"),
    ]


def test_only_seeds_that_both_have_and_that_are_finite_are_compared():
    records = [
        *tabular_records("pole", HLGauss(), [1.0, 2.0, 3.0], diverged=[1]),
        *tabular_records("pole", L2(), [9.0, 4.0]),
    ]
    (row,) = paired("overall", records).rows
    assert (row[2], row[5]) == ("+2.000", "1")


@pytest.mark.parametrize("diverged", [(), (1,)], ids=["missing", "diverged"])
def test_what_has_no_reference_is_told_below(diverged):
    records = tabular_records("pole", HLGauss(), [1.0], diverged=diverged)
    l2 = tabular_records("pole", L2(), [1.0])
    table = paired("overall", [*l2, *(records if diverged else [])])
    assert list(table.rows) == []
    assert table.notes[-1].endswith("with a reference: l2.")


def test_the_reference_alone_is_neither_compared_nor_told():
    table = paired("overall", tabular_records("pole", HLGauss(), [1.0]))
    assert list(table.rows) == []
    assert len(table.notes) == 1


def test_each_metric_and_each_data_set_has_a_table():
    records = [
        *tabular_records("pole", HLGauss(), [1.0], test_RMSE=[5.0]),
        *tabular_records("pole", L2(), [2.0], test_RMSE=[3.0]),
        *tabular_records("bike", HLGauss(), [30.0]),
        *tabular_records("bike", L2(), [20.0]),
    ]
    found = tables_of("overall", records, ("test MAE", "test RMSE"), is_paired=True)
    assert [table.rows[0][2] for table in found] == [
        "+1.000", "-2.000", "-10.000", "-10.000"
    ]  # fmt: skip


def test_what_is_not_finished_is_told_here_too():
    records = tabular_records("pole", L2(), [1.0])
    runs = [record.run for record in tabular_records("pole", L2(), [1.0, 2.0])]
    table = one("overall", records, is_paired=True, runs=runs)
    assert table.notes[-1] == "Not finished: 1 of 2 runs (l2 1)."


def test_an_experiment_without_pairs_is_refused():
    with pytest.raises(
        ValueError, match=r"--paired is available only for .*, got bias"
    ):
        tables_of("bias", [], is_paired=True)


# References


def test_overall_results_are_compared_with_hl_gauss_in_the_settings_of_their_tables():
    records = [
        *tabular_records("pole", LinearRegression(), [20.0]),
        *tabular_records("pole", L2(), [3.0]),
        *tabular_records("pole", MDN(2), [1.0]),
        *tabular_records("pole", MDN(4), [2.0]),
        *tabular_records("pole", HLGauss(), [0.7]),
        *tabular_records("pole", MDN(2), [0.9], part="validation"),
        *tabular_records("pole", MDN(4), [0.8], part="validation"),
    ]
    on_test, on_validation = (
        references(paired(name, records)) for name in ("overall", "overall-validation")
    )
    assert set(on_test) == {"Linear Regression", "l2", "MDN (n_components=2)"}
    assert set(on_validation) == {"Linear Regression", "l2", "MDN (n_components=4)"}
    assert set(on_test.values()) == set(on_validation.values()) == {"HL-Gauss"}


@pytest.mark.parametrize(
    ("name", "records", "expected"),
    [
        ("auxiliary", AUXILIARY, "HL-Gauss"),
        ("bins", BINS, "l2"),
        ("uniform", SWEEP, "HL-OneBin"),
    ],
)
def test_all_settings_of_a_sweep_are_compared_with_one(name, records, expected):
    found = references(paired(name, records))
    others = {r.run.method.label for r in records} - {expected}
    assert found == dict.fromkeys(others, expected)


def test_losses_are_compared_with_their_default_and_controls_with_hl_gauss():
    table = paired("representation", REPRESENTATION)
    assert references(table) == {
        "l2 [Fixed]": "l2 [Default]",
        "l2 [Initialized]": "l2 [Default]",
        "l2 [Random]": "l2 [Default]",
        "HL-Gauss [Fixed]": "HL-Gauss [Default]",
        "HL-Gauss [Initialized]": "HL-Gauss [Default]",
        "HL-Gauss [Random]": "HL-Gauss [Default]",
        "l2+Softmax+Mean [Random]": "HL-Gauss [Random]",
        "l1+Softmax+Mean [Random]": "HL-Gauss [Random]",
        "l2+Softmax+Mean [Fixed]": "HL-Gauss [Default]",  # whose body it has
    }
    # 0.9 - 0.7 and 0.7 - 0.8.
    assert rows(table)["l2+Softmax+Mean [Fixed]"][1] == "+0.050"


def test_annealed_targets_are_compared_with_the_fixed_one_of_that_sigma():
    table = paired("annealing", ANNEALING)
    assert references(table) == {
        "HL-Gauss+Annealing (sigma_in_bins=0.25)": "HL-Gauss (sigma_in_bins=0.25)",
        "HL-Gauss+Annealing": "HL-Gauss",
    }
    assert [row[2] for row in table.rows] == ["-0.150", "+0.300"]


def test_corrupted_targets_are_compared_with_l2_of_that_share():
    found = references(paired("corruption", CORRUPTION))
    corrupted = "HL-Gauss, 50% corrupted"
    assert found == {"HL-Gauss": "l2", corrupted: "l2, 50% corrupted"}


def test_a_head_start_is_compared_with_the_usual_start():
    head = {"has_authors_head": True}
    records = [
        *tabular_records("pole", L2(), [1.0, 1.0]),
        *tabular_records("pole", L2(), [1.5, 1.5], changes=head),
        *tabular_records("pole", HLGauss(), [9.0, 9.0]),
        *tabular_records("pole", HLGauss(), [1.0, 1.0], changes=head),
    ]
    table = paired("head-start", records)
    assert [row[1:3] for row in table.rows] == [
        ("l2", "+0.500"),
        ("HL-Gauss", "-8.000"),
    ]


def test_the_rule_of_thumb_is_compared_with_the_setting_of_the_tables():
    table = paired("rule-of-thumb", RECORDS["rule-of-thumb"])
    assert [row[1:3] for row in table.rows] == [
        ("HL-Gauss", "+0.900"),
        ("HL-Gauss", "+0.000"),
    ]


def test_tuned_methods_are_compared_with_the_tuned_hl_gauss():
    table = paired("rates", RATES)
    against = "HL-Gauss, learning rate 0.01"
    assert [row[:3] for row in table.rows] == [
        ("l2, learning rate 0.003", against, "+0.100"),
        ("MDN (n_components=4), learning rate 0.003", against, "-0.100"),
    ]


def test_sensitivities_are_compared_with_that_of_hl_gauss():
    records = [
        *tabular_records("pole", L2(), [1.0], test_sensitivity=[50.0]),
        *tabular_records("pole", HLGauss(), [2.0], test_sensitivity=[20.0]),
    ]
    assert paired("sensitivity", records).rows[0][1:3] == ("HL-Gauss", "+30.000")


def test_the_training_is_compared_with_that_of_l2():
    records = [
        *tabular_records("pole", L2(), [3.0], curves=[UNSTEADY]),
        *tabular_records("pole", HLGauss(), [1.0], curves=[STEADY]),
    ]
    tables = tables_of("training", records, is_paired=True)
    # sqrt(2 / 3) - sqrt(14) / 3, 1 - sqrt(5), 6 - 2 and 1 - 3.
    found = [table.rows[0][2] for table in tables]
    assert found == ["-0.431", "-1.236", "+4.000", "-2.000"]


def test_losses_of_forecasts_are_compared_model_by_model():
    records = [
        *forecast_records("ETTh1", "GRU", L2(), [1.0, 2.0]),
        *forecast_records("ETTh1", "GRU", FORECAST_HL, [1.5, 3.0]),
        *forecast_records("ETTh1", "LSTM", L2(), [9.0, 9.0]),
        *forecast_records("ETTh1", "LSTM", FORECAST_HL, [8.0, 8.0]),
    ]
    mse, mae = tables_of("forecasts", records, is_paired=True)
    assert mse.title == "Forecasts of series, differences in test MSE: ETTh1"
    assert mae.title.endswith("differences in test MAE: ETTh1")
    assert [row[:3] for row in mse.rows] == [
        ("GRU, HL-Gauss", "GRU, l2", "+0.750"),
        ("LSTM, HL-Gauss", "LSTM, l2", "-1.000"),
    ]


def test_losses_of_direct_forecasts_are_compared_as_well():
    records = [
        *forecast_records("ETTh1", "GRU", L2(), [1.0, 2.0], changes=DIRECT),
        *forecast_records("ETTh1", "GRU", FORECAST_HL, [1.5, 3.0], changes=DIRECT),
        *forecast_records("ETTh1", "GRU", L2(), [5.0, 5.0]),  # of another reading
    ]
    mse, _ = tables_of("forecasts-direct", records, is_paired=True)
    ((setting, against, difference),) = [row[:3] for row in mse.rows]
    words = "direct head, PyTorch weights, stopped by loss"
    assert setting == f"GRU, HL-Gauss, {words}"
    assert (against, difference) == (f"GRU, l2, {words}", "+0.750")
