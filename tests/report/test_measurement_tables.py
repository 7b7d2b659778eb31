"""Tables of measurements, of records made by hand."""

from histreg.study.measurements import Measurement
from histreg.study.theory.biases import bound_example
from tests.report.examples import BIAS
from tests.report.reading import one, rows
from tests.study.made_up import (
    label_bias_record,
    record_of,
)

MAE = ("test MAE",)


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
    code = "authors' code"
    assert table.rows == [
        ("discretisation", code, "0.213", "0.2026", "-19.797", "-19.74", "0.905", ""),
        ("truncation", code, "0.290", "", "-0.497", "", "5.5", ""),
    ]


def test_the_set_up_of_the_text_has_biases_in_both_units():
    metrics = {
        f"{name} {part}": 0.2
        for name in ("discretisation", "truncation")
        for part in ("factor", "exponent")
    }
    curves = {
        "sigma_in_bins": [0.5, 0.8, 0.9],
        "discretisation bias": [1.5e-3, 6e-7, 1.9e-8],
        "discretisation bias of range": [1.5e-5, 6e-9, 1.9e-10],
        "padding_in_sigmas": [5.0, 6.0],
        "truncation bias": [1.25e-6, 5.0e-9],
        "truncation bias of range": [1.25e-7, 5.0e-10],
    }
    by_text = record_of(Measurement("bias-by-text"), metrics, curves)
    table = one("bias", [BIAS, by_text])
    assert [row[:2] for row in table.rows] == [
        ("discretisation", "authors' code"),
        ("discretisation", "paper's text"),
        ("truncation", "authors' code"),
        ("truncation", "paper's text"),
    ]
    assert table.rows[1][-2:] == ("0.9", "0.8")
    assert table.rows[3][-2:] == ("6", "6")


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


def test_the_theorems_table_has_each_number_beside_its_tolerance():
    told = {"T4 minimiser from the mean target": 2.12e-9}
    table = one("theorems", [record_of(Measurement("theorems"), told)])
    assert table.rows == [("T4 minimiser from the mean target", "2.12e-09", "1e-06")]
