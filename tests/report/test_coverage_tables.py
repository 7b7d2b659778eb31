"""Tables of coverage, of records made by hand."""

import pytest

from histreg.report.coverage_tables import (
    cells_beyond,
    coverage_summary,
    missing_cells,
)
from histreg.study.coverage import Coverage
from histreg.study.methods import L2, HLGauss
from tests.study.made_up import forecast_records, tabular_records

# Of Pole, the paper has 1.131 ± 0.024 for l2 and 0.714 ± 0.024 for HL-Gauss; of ETTh1
# and the linear model with l2, an MSE of 0.07105.
RECORDS = [
    *tabular_records("pole", L2(), [1.0, 1.1, 1.1, 1.0, 1.1]),
    *tabular_records("pole", HLGauss(), [0.7, 0.72, 0.7, 0.7, 0.74]),
    *tabular_records("ct", HLGauss(), [0.09]),
    *forecast_records("ETTh1", "Linear", L2(), [0.05, 0.051, 0.05, 0.05, 0.051]),
]


def rows_of(table):
    """Return the rows as mappings from the header, by their first cells."""
    return {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}


SEEDS = ("all seeds", "fewer", "none")
DISTANCES = ("0 to 1", "1 to 2", "2 to 3", "beyond 3", "unknown")


@pytest.mark.parametrize("records", [[], RECORDS], ids=["none", "some"])
def test_counts_add_up_to_the_cells_of_the_paper(records):
    rows = rows_of(coverage_summary(Coverage.of(records)))
    total = rows.pop("all")
    for row in [*rows.values(), total]:
        n_cells = int(row["cells"])
        assert sum(int(row[name]) for name in SEEDS) == n_cells
        n_ours = n_cells - int(row["none"])
        assert sum(int(row[name]) for name in DISTANCES) == n_ours
    for name in ("cells", *SEEDS, *DISTANCES):
        assert sum(int(row[name]) for row in rows.values()) == int(total[name])
    assert total["cells"] == "412"


def test_without_records_there_are_zeros_and_costs():
    total = rows_of(coverage_summary(Coverage.of([])))["all"]
    assert [total[name] for name in ("all seeds", "fewer", *DISTANCES)] == ["0"] * 7
    assert total["none"] == "412"
    assert float(total["core-hours"]) > 10


def test_a_row_counts_the_cells_of_a_table_on_a_data_set():
    rows = rows_of(coverage_summary(Coverage.of(RECORDS)))
    pole = rows["2, Pole"]
    # HL-Gauss is at 0.712 ± 0.008, a tenth of a joint standard error away.
    assert (pole["cells"], pole["all seeds"], pole["0 to 1"]) == ("3", "1", "1")
    ct = rows["2, CT Position"]
    assert (ct["fewer"], ct["unknown"], ct["none"]) == ("1", "1", "2")
    assert rows["4, ETTh1"]["beyond 3"] == "1"
    assert rows["4, ETTh2"]["none"] == "8"


@pytest.mark.parametrize(
    ("value", "band"),
    [(0.731, "0 to 1"), (0.761, "1 to 2"), (0.785, "2 to 3"), (0.787, "beyond 3")],
)
def test_a_distance_is_counted_in_its_band(value, band):
    # Five equal seeds have no error of their own: the joint one is the paper's, 0.024.
    records = tabular_records("pole", HLGauss(), [value] * 5)
    row = rows_of(coverage_summary(Coverage.of(records, tables=[2])))["2, Pole"]
    assert {name for name in DISTANCES if row[name] == "1"} == {band}


def test_what_is_missing_comes_with_the_command_and_adds_up():
    coverage = Coverage.of(RECORDS)
    table = missing_cells(coverage)
    columns = dict(zip(table.header, zip(*table.rows, strict=True), strict=True))
    incomplete = sum(not cell.is_complete for cell in coverage.cells)
    assert sum(map(int, columns["cells"])) == incomplete
    n_runs = sum(map(int, columns["runs"]))
    assert f"{n_runs} runs, " in table.notes[0]
    assert (
        "histreg study run forecasts --datasets ETTm2 --methods l2,HL-Gauss --models "
        "Linear,LSTM,GRU,Transformer"
    ) in columns["command"]


def test_cells_that_are_far_away_are_listed_with_their_reason():
    table = cells_beyond(Coverage.of(RECORDS, tables=[4, 7, 9]), 2.5)
    rows = {row[:2]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    # Ours 1.06 ± 0.0245; the paper's train MAE 0.767 ± 0.016, the same in Table 9.
    row = rows["Pole, l2", "train MAE"]
    assert (row["ours"], row["paper"]) == ("1.060 ± 0.024", "0.767 ± 0.016")
    assert (row["seeds"], row["tables"]) == ("5", "7, 9")
    assert row["apart"] == "+10.0*"  # 0.293 over 0.0293
    (note,) = [note for note in table.notes if note.startswith(row["explanation"])]
    assert "first biases of the last layer" in note
    row = rows["ETTh1, Linear, l2", "test MSE"]
    assert (row["explanation"], row["ours"]) == ("unexplained", "0.0504 ± 0.0002")
    n_cells = sum(len(row["tables"].split(", ")) for row in rows.values())
    assert table.notes[0].startswith(f"{n_cells} of 248 cells, ")


def test_without_records_nothing_is_far_away():
    table = cells_beyond(Coverage.of([]), 0.0)
    assert table.rows == []
    assert table.notes[0].startswith("0 of 412 cells, 0 of them unexplained")
