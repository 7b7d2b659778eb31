"""The study's tables, of records made by hand."""

import pytest

from histreg.report.study_tables import TABLES, in_paper, shown, tables_of
from histreg.study.measurements import Measurement, bound_example
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    Brier,
    HLGauss,
    HLOneBin,
    HLProjected,
    HLUniform,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    LinearRegression,
)
from histreg.study.statistics import Estimate, Setting
from histreg.study.tabular import TabularRun
from tests.study.made_up import (
    label_bias_record,
    record_of,
    sine_record,
    tabular_records,
)

MAE = ("test MAE",)


def rows(table):
    """Return the rows by their first cell."""
    return {row[0]: row[1:] for row in table.rows}


def one(name, records, metrics=MAE):
    (table,) = tables_of(name, records, metrics)
    return table


# Choices


def test_the_overall_results_choose_on_test_rows_and_the_others_on_validation_rows():
    records = [
        *tabular_records("diabetes", L2(), [3.0, 3.0]),
        *tabular_records("diabetes", MDN(2), [1.0, 1.0]),
        *tabular_records("diabetes", MDN(4), [2.0, 2.0]),
        *tabular_records("diabetes", MDN(2), [0.9, 0.9], part="validation"),
        *tabular_records("diabetes", MDN(4), [0.8, 0.8], part="validation"),
    ]
    on_test = rows(one("overall", records))
    on_validation = rows(one("overall-validation", records))
    assert list(on_test) == ["l2", "MDN (n_components=2)"]
    assert list(on_validation) == ["l2", "MDN (n_components=4)"]
    # What is told is always of the test rows.
    assert on_validation["MDN (n_components=4)"] == ("2.000 ± 0.000",)


def test_both_say_how_settings_were_chosen():
    records = tabular_records("diabetes", L2(), [3.0])
    assert "lowest test MAE" in " ".join(one("overall", records).notes)
    notes = " ".join(one("overall-validation", records).notes)
    assert "did not learn from" in notes and "lowest test MAE" not in notes


def test_settings_are_chosen_on_mae_whichever_metrics_are_shown():
    records = [
        *tabular_records("diabetes", MDN(2), [1.0], test_RMSE=[9.0]),
        *tabular_records("diabetes", MDN(4), [2.0], test_RMSE=[8.0]),
    ]
    assert rows(one("overall", records, ("test RMSE",))) == {
        "MDN (n_components=2)": ("9.000",)
    }


def test_an_unfinished_setting_does_not_win():
    records = [
        *tabular_records("diabetes", MDN(2), [0.1]),
        *tabular_records("diabetes", MDN(4), [2.0, 2.0]),
    ]
    assert list(rows(one("overall", records))) == ["MDN (n_components=4)"]


def test_a_setting_that_diverged_is_not_chosen():
    records = [
        *tabular_records("diabetes", MDN(2), [0.1, 0.1, 0.1], diverged=[1]),
        *tabular_records("diabetes", MDN(4), [2.0, 2.0]),
    ]
    assert list(rows(one("overall", records))) == ["MDN (n_components=4)"]


def test_a_method_that_diverged_is_told_with_the_mean_of_its_other_seeds():
    records = tabular_records("diabetes", L2(), [1.0, 9.0, 3.0], diverged=[2])
    assert rows(one("overall", records)) == {"l2, 1 diverged": ("2.000 ± 1.000",)}


def test_a_method_of_which_all_seeds_diverged_is_told_without_numbers():
    records = tabular_records("pole", L2(), [1.0, 9.0], diverged=[1, 2])
    # The paper's 1.131 ± 0.024 of Table 7 stands all the same.
    expected = ("diverged", "1.131 ± 0.024", "")
    assert rows(one("overall", records)) == {"l2, 2 diverged": expected}


def test_of_a_sweep_all_settings_are_told():
    records = [
        *tabular_records("diabetes", HLOneBin(), [1.0]),
        *tabular_records("diabetes", HLUniform(0.1), [2.0]),
        *tabular_records("diabetes", HLUniform(0.01), [3.0]),
    ]
    labels = ["HL-OneBin", "HL-Uniform (epsilon=0.1)", "HL-Uniform (epsilon=0.01)"]
    assert list(rows(one("uniform", records))) == labels


# The paper's numbers


def test_the_papers_number_stands_beside_ours_with_the_difference():
    # The mean is 0.75, its error 0.01 sqrt(2) / sqrt(2); the paper has 0.714 ± 0.024.
    # Apart: 0.036 / sqrt(0.01^2 + 0.024^2) = 0.036 / 0.026 = 1.38.
    table = one("overall", tabular_records("pole", HLGauss(), [0.74, 0.76]))
    assert table.header == ("method", "test MAE", "paper", "apart")
    assert rows(table)["HL-Gauss"] == ("0.750 ± 0.010", "0.714 ± 0.024", "+1.4")


@pytest.mark.parametrize(
    ("shift", "expected"),
    # The joint error is 0.026: 2.9 and 3.1 of them are 0.0754 and 0.0806.
    [(0.0754, "+2.9"), (0.0806, "+3.1*"), (-0.0754, "-2.9"), (-0.0806, "-3.1*")],
)
def test_a_difference_beyond_three_joint_errors_is_marked(shift, expected):
    mean = 0.714 + shift
    records = tabular_records("pole", HLGauss(), [mean - 0.01, mean + 0.01])
    table = one("overall", records)
    assert rows(table)["HL-Gauss"][-1] == expected
    assert "marked * beyond 3" in " ".join(table.notes)


def test_every_metric_has_its_own_number_of_the_paper():
    records = tabular_records(
        "ct", L2(), [0.176, 0.176], train_RMSE=[0.183, 0.183], test_RMSE=[0.3, 0.3]
    )
    table = one("overall", records, ("train RMSE", "test MAE", "test RMSE"))
    assert table.header[1::3] == ("train RMSE", "test MAE", "test RMSE")
    cells = rows(table)["l2"]
    assert cells[1::3] == ("0.183 ± 0.048", "0.176 ± 0.034", "0.267 ± 0.039")
    # 0.033 / 0.039 = 0.85.
    assert cells[2::3] == ("+0.0", "+0.0", "+0.8")


def test_one_seed_has_no_error_and_is_not_compared():
    table = one("overall", tabular_records("pole", HLGauss(), [0.75]))
    assert rows(table)["HL-Gauss"] == ("0.750", "0.714 ± 0.024", "")
    assert table.notes[0] == "Mean ± standard error over 1 seed."


def test_the_chosen_setting_is_compared_with_the_papers_chosen_setting():
    records = [
        *tabular_records("ct", L2Noise(0.1), [0.9, 0.9]),
        *tabular_records("ct", L2Noise(0.01), [0.152, 0.152]),
    ]
    expected = ("0.152 ± 0.000", "0.152 ± 0.010", "+0.0")
    assert rows(one("overall", records)) == {"l2+Noise (noise_sd=0.01)": expected}


def test_the_shifted_grid_is_not_compared_with_the_papers():
    records = [
        *tabular_records("pole", HLOneBin(), [1.2, 1.3]),
        *tabular_records("pole", HLOneBin(shift_in_bins=0.5), [0.6, 0.7]),
    ]
    found = rows(one("overall", records))
    assert found["HL-OneBin"][1].startswith("1.264 ±")
    assert found["HL-OneBin (shift_in_bins=0.5)"][1:] == ("", "")


@pytest.mark.parametrize(
    ("method", "is_there"),
    [
        (LinearRegression(), True),
        (MDN(8), True),
        (L2SoftmaxMean(), True),
        (HLProjected(), True),
        (HLGauss(), True),
        (HLGauss(2.0), False),
        (HLGauss(n_bins=50), False),
        (L2SoftmaxPerBin(), False),
        (Brier(), False),
        (HLUniform(0.1), False),
    ],
    ids=lambda given: getattr(given, "label", str(given)),
)
def test_the_paper_has_a_number_of_the_same_thing_only(method, is_there):
    for dataset in ("ct", "song", "bike", "pole"):
        found = in_paper(Setting(TabularRun.of(dataset, method, 0)), "test MAE")
        assert (found is not None) == is_there
    assert in_paper(Setting(TabularRun.of("diabetes", method, 0)), "test MAE") is None


def test_the_papers_softmax_stands_after_the_losses_that_it_may_have_been():
    records = [
        *tabular_records("ct", L1(), [1.0]),
        *tabular_records("ct", L2SoftmaxPerBin(), [1.0]),
        *tabular_records("ct", L2SoftmaxMean(), [1.0]),
        *tabular_records("ct", HLGauss(), [1.0]),
        *tabular_records("ct", Brier(), [1.0]),
    ]
    found = rows(one("overall", records))
    assert list(found) == [
        "l1",
        "l2+Softmax (per bin)",
        "l2+Softmax+Mean",
        "l2+Softmax (the paper's)",
        "HL-Gauss",
        "Brier",
    ]
    assert found["l2+Softmax (the paper's)"] == ("", "0.105 ± 0.006", "")
    assert found["l2+Softmax (per bin)"][1:] == ("", "")


def test_a_data_set_that_the_paper_does_not_have_has_no_columns_for_it():
    records = [
        *tabular_records("diabetes", L2(), [40.0, 42.0]),
        *tabular_records("diabetes", L2SoftmaxMean(), [40.0, 42.0]),
    ]
    table = one("overall", records, ("test MAE", "test RMSE"))
    assert table.header == ("method", "test MAE", "test RMSE")
    assert list(rows(table)) == ["l2", "l2+Softmax+Mean"]
    assert "Apart" not in " ".join(table.notes)


# Shape


def test_each_data_set_has_one_table_in_whichever_order_records_come():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("bike", L2(), [30.0]),
        *tabular_records("pole", L1(), [2.0]),
        *tabular_records("bike", L1(), [31.0]),
    ]
    pole, bike = tables_of("overall", records, MAE)
    assert pole.title == "Overall results: Pole"
    assert bike.title == "Overall results: Bike Sharing"
    assert [list(rows(each)) for each in (pole, bike)] == [["l2", "l1"]] * 2
    assert rows(bike)["l1"][0] == "31.000"


def test_the_number_of_seeds_is_told_with_its_spread():
    records = [
        *tabular_records("diabetes", L2(), [1.0, 2.0, 3.0]),
        *tabular_records("diabetes", L1(), [1.0]),
    ]
    assert one("overall", records).notes[0].endswith("over 1 to 3 seeds.")
    assert one("overall", records[:3]).notes[0].endswith("over 3 seeds.")


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 2.0], "1.500 ± 0.500"), ([1.0], "1.000"), ([31.0312, 31.0312], "31.031")],
)
def test_an_estimate_is_shown_to_three_digits(values, expected):
    assert shown(Estimate.of(values)).startswith(expected)


@pytest.mark.parametrize("name", TABLES)
def test_without_records_there_are_no_rows(name):
    assert all(len(table.rows) == 0 for table in tables_of(name, []))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_tables_without_records_can_be_shown(name, form):
    for table in tables_of(name, []):
        assert table.title in table.shown(form)


def test_a_table_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="table must be one of 'sines', "):
        tables_of("overal", [])


# The other tables


def test_data_sets_are_told_with_the_counts_of_table_5():
    facts = {
        "train rows": 13_904,
        "test rows": 3_475,
        "features": 12,
        "low": 0,
        "high": 1000,
        "smallest": 1,
        "largest": 977,
        "distinct": 869,
    }
    records = [
        record_of(Measurement("targets", "bike"), facts),
        record_of(Measurement("targets", "diabetes"), facts),
    ]
    expected = ("13,904", "3,475", "12", "[0, 1000]", "1 to 977", "869")
    found = rows(one("targets", records))
    assert found["Bike Sharing"] == (*expected, "13,911 + 3,478, 16")
    assert found["Diabetes"] == (*expected, "")


def test_label_biases_stand_under_their_sigmas():
    records = [
        label_bias_record("pole", [0.0, 0.25, 1.0], [0.3125, 0.0738, 5.4e-10]),
        label_bias_record("bike", [0.0, 0.25, 1.0], [3.125, 0.7, 0.0]),
    ]
    table = one("label-bias", records)
    assert table.header == ("sigma in bins", "0", "0.25", "1")
    assert rows(table) == {
        "Pole": ("0.31", "0.074", "5.4e-10"),
        "Bike Sharing": ("3.1", "0.7", "0"),
    }


def test_the_bias_table_says_from_where_a_bias_is_negligible():
    metrics = {
        "discretisation factor": 0.2133,
        "discretisation exponent": -19.797,
        "truncation factor": 0.29,
        "truncation exponent": -0.497,
    }
    curves = {
        "sigma_in_bins": [0.5, 0.852, 0.905, 1.0],
        "discretisation bias": [1.5e-3, 1.2e-7, 1.9e-8, 5e-10],
        "padding_in_sigmas": [5.0, 5.5, 6.0],
        "truncation bias": [1.25e-6, 9.0e-8, 5.0e-9],
    }
    table = one("bias", [record_of(Measurement("bias"), metrics, curves)])
    assert rows(table) == {
        "discretisation": ("0.213", "0.2026", "-19.797", "-19.74", "0.905"),
        "truncation": ("0.290", "", "-0.497", "", "5.5"),
    }


def test_the_bound_table_has_the_example_at_ten_epsilons():
    outcome = bound_example("", None)
    record = record_of(Measurement("bound"), outcome.metrics, outcome.curves)
    table = one("bound", [record])
    found = rows(table)
    epsilons = ["0.05", "0.15", "0.25", "0.35", "0.45"]
    epsilons += ["0.55", "0.65", "0.75", "0.85", "0.95"]
    assert list(found) == epsilons
    # 4 · 0.75² , -2 ln 0.25 and 4 · 0.75.
    assert found["0.25"] == ("2.250", "2.773", "3.000")
    assert "0.2032" in table.notes[0] and "0.1353" in table.notes[0]


def test_the_sines_table_has_the_best_rate_of_each_loss():
    records = [
        sine_record("l2", rate=1e-3, seed=0, area=0.2, curve=[0.5, 0.01]),
        sine_record("l2", rate=1e-3, seed=1, area=0.4, curve=[0.5, 0.03]),
        sine_record("l2", rate=1e-1, seed=0, area=0.1),
        sine_record("l2", rate=1e-1, seed=1, area=None),
        sine_record("HL-Gauss", beta=1.0, rate=1e-2, far=True, area=0.05),
    ]
    l2, hl = one("sines", records).rows
    # The standard error of 0.2 and 0.4 is 0.1.
    assert l2 == ("l2", "10", "0", "", "0.001", "0.3000", "0.1000", "0.02", "2")
    assert hl == (
        "HL-Gauss", "10", "1", "[-1.5, 11.5]", "0.01", "0.0500", "", "0.05", "1"
    )  # fmt: skip


def test_the_theorems_table_has_each_number_beside_its_tolerance():
    told = {"T4 minimiser from the mean target": 2.12e-9}
    table = one("theorems", [record_of(Measurement("theorems"), told)])
    assert table.rows == [("T4 minimiser from the mean target", "2.12e-09", "1e-06")]
