"""Tables of errors, of records made by hand."""

import pytest

from histreg.report.beside_paper import in_paper
from histreg.study.analysis.statistics import Setting
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
from histreg.study.tabular.runs import TabularRun
from tests.report.examples import (
    FROZEN,
    RECORDS,
    REPRESENTATION,
    STEADY,
    TRAINING,
)
from tests.report.reading import (
    one,
    rows,
)
from tests.study.made_up import tabular_records

MAE = ("test MAE",)


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
        found = in_paper(Setting((), TabularRun.of(dataset, method, 0)), "test MAE")
        assert (found is not None) == is_there
    assert (
        in_paper(Setting((), TabularRun.of("diabetes", method, 0)), "test MAE") is None
    )


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


def test_exchanged_bodies_stand_by_loss_and_column_beside_table_9():
    table = one("representation", REPRESENTATION)
    found = rows(table)
    assert list(found) == [
        "l2 [Default]",
        "l2 [Fixed]",
        "l2 [Initialized]",
        "l2 [Random]",
        "HL-Gauss [Default]",
        "HL-Gauss [Fixed]",
        "HL-Gauss [Initialized]",
        "HL-Gauss [Random]",
        "l2+Softmax+Mean [Random]",
        "l1+Softmax+Mean [Random]",
        "l2+Softmax+Mean [Fixed]",
    ]
    # -0.196 / sqrt(0.2^2 + 0.329^2) = -0.196 / 0.385 = -0.5.
    assert found["l2 [Fixed]"] == ("4.200 ± 0.200", "4.396 ± 0.329", "-0.5")
    assert found["HL-Gauss [Random]"][:2] == ("18.500 ± 0.500", "18.285 ± 1.062")
    assert found["HL-Gauss [Default]"][1] == "0.714 ± 0.024"
    assert found["l2+Softmax+Mean [Random]"] == ("18.500 ± 1.500", "", "")


def test_a_body_of_another_donor_is_none_of_the_papers():
    records = tabular_records("pole", L2(), [1.0], changes={"donor": L1()})
    assert in_paper(Setting(records, records[0].run), "test MAE") is None


def test_other_epochs_are_told_after_the_column_and_not_compared():
    records = tabular_records("pole", L2(), [1.0], changes=FROZEN | {"epochs": 5})
    assert rows(one("representation", records)) == {"l2 [Random], epochs 5": ("1.000",)}


# Learning rates


def test_the_training_is_told_by_its_steadiness_and_its_first_epochs():
    # Norms over excess of the first seed are 1, 10, 100: log10 is 0, 1, 2, with a
    # deviation of sqrt(2 / 3) and jumps of 1; those of the second 1, 1000, 100: 0, 3,
    # 2, of sqrt(14) / 3 and sqrt((9 + 1) / 2).
    found = rows(one("training", TRAINING))
    assert found["l2"] == (
        "1.032 ± 0.215", "1.618 ± 0.618", "4.000 ± 2.000", "2.000 ± 1.000",
        "2.000 ± 1.000",
    )  # fmt: skip
    assert found["HL-Gauss, 1 seed"] == ("0.816", "1.000", "6.000", "3.000", "3.000")


def test_a_seed_that_diverged_in_training_is_counted():
    curves = [STEADY, STEADY]
    records = tabular_records("pole", L2(), [3.0, 1.0], curves=curves, diverged=[2])
    assert rows(one("training", records))["l2, 1 diverged"][0] == "0.816"


def test_sensitivities_stand_before_errors():
    table = one("sensitivity", RECORDS["sensitivity"])
    assert table.header == ("method", "test sensitivity", "test MAE", "test RMSE")
    assert rows(table) == {"l2": ("35.000 ± 5.000", "1.500 ± 0.500", "1.500 ± 0.500")}
