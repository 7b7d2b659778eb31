"""Tables of learning rates."""

from histreg.study.methods import (
    L1,
    L2,
)
from tests.report.examples import (
    RATES,
    at_rate,
)
from tests.report.reading import (
    one,
    rows,
)
from tests.study.made_up import tabular_records

MAE = ("test MAE",)


# Choices


def test_each_method_has_the_rate_that_is_best_on_validation_rows():
    # l2 and HL-Gauss would be better at other rates on test rows.
    assert one("rates", RATES).rows == [
        ("l2", "0.003", "1.100 ± 0.000", "0.900 ± 0.000", "0.900 ± 0.000", "3",
         "1.100 ± 0.100", "3"),
        ("MDN (n_components=4)", "0.003", "0.600 ± 0.000", "0.700 ± 0.000",
         "0.700 ± 0.000", "1", "0.800 ± 0.000 as MDN (n_components=2)", "2"),
        ("HL-Gauss", "0.01", "0.700 ± 0.000", "0.800 ± 0.000", "0.800 ± 0.000", "2",
         "0.700 ± 0.000", "1"),
    ]  # fmt: skip


def test_a_rate_at_an_end_of_the_grid_is_told():
    notes = " ".join(one("rates", RATES).notes)
    assert "At an end of the grid" in notes
    assert notes.endswith("may be better: HL-Gauss.")
    inside = [r for r in RATES if r.run.method == L2()]
    assert "At an end" not in " ".join(one("rates", inside).notes)


def test_a_rate_without_all_seeds_or_that_diverged_is_not_chosen():
    records = [
        *at_rate(1e-3, L2(), [1.0, 1.2], [1.3, 1.3]),
        *at_rate(3e-3, L2(), [0.1], [0.1]),
        *at_rate(1e-2, L2(), [0.1, 0.1, 0.1], [0.1, 0.1, 0.1], diverged=[3]),
    ]
    ((name, rate, *_),) = one("rates", records).rows
    assert (name, rate) == ("l2", "0.001")


def test_a_method_of_which_no_rate_can_be_chosen_is_told():
    records = [
        *at_rate(1e-3, L2(), [1.0, 1.2], [1.3, 1.3]),
        *at_rate(1e-3, L1(), [1.0], [1.0], diverged=[1]),
    ]
    table = one("rates", records)
    assert list(rows(table)) == ["l2"]
    assert "No setting of l1 could be chosen" in table.notes[-1]


def test_a_chosen_rate_without_test_rows_has_no_place():
    records = [r for r in RATES if r.run.part == "validation"]
    for row in one("rates", records).rows:
        assert row[3:] == ("", "", "", "", "")


def test_seeds_that_diverged_on_test_rows_are_told():
    on_test = tabular_records("pole", L2(), [1.0, 9.0, 3.0], diverged=[2])
    on_validation = tabular_records("pole", L2(), [1.0], part="validation")
    (row,) = one("rates", [*on_test, *on_validation]).rows
    assert (row[0], row[3]) == ("l2, 1 diverged", "2.000 ± 1.000")


# Probes
