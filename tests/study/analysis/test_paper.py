"""The paper's numbers, as they are printed in it."""

import csv
import math
from collections import Counter
from importlib.resources import files

import pytest
from scipy import stats

from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import (
    FORECAST_TABLES,
    NUMBERS,
    UNMATCHED,
    matched_row,
    paper_cells,
    published,
    published_data,
    published_forecast,
    published_log_ratios,
    published_name,
    row_of,
    rows_of,
)
from histreg.study.analysis.statistics import METRICS
from histreg.study.catalogue import DATA, OVERALL
from histreg.study.datasets import DATASETS, GAMES, SERIES, dataset
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    METHODS,
    Brier,
    HLGauss,
    HLOneBin,
    HLProjected,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
)
from histreg.study.series.runs import ARCHITECTURES, ForecastRun
from histreg.study.tabular.runs import TabularRun

TABLES = ("overall", "discretisation_appendix", "representation")
"""The whole tables of the common protocol."""

# Of the paper's Tables 1, 7, 8 and 9 (main.tex of arXiv 2402.13425).
PRINTED = [
    ("ct", "Linear Regression", "train MAE", 6.073, 0.007),
    ("ct", "l2", "test MAE", 0.176, 0.034),
    ("ct", "l2+Softmax", "test MAE", 0.105, 0.006),
    ("ct", "HL-OneBin", "train MAE", 0.309, 0.000),
    ("ct", "HL-Projected", "test RMSE", 0.462, 0.065),
    ("ct", "HL-Gauss", "test RMSE", 0.274, 0.090),
    ("song", "HL-OneBin", "test MAE", 5.906, 0.020),
    ("pole", "HL-Gauss", "train RMSE", 1.299, 0.049),
    ("pole", "l2 [Fixed]", "test MAE", 4.396, 0.329),
    ("ct", "HL-Gauss [Random]", "train RMSE", 5.756, 0.232),
]


@pytest.mark.parametrize(
    ("name", "method", "metric", "mean", "error"),
    PRINTED,
    ids=[f"{name}, {method}, {metric}" for name, method, metric, *_ in PRINTED],
)
def test_a_number_is_the_printed_one(name, method, metric, mean, error):
    assert published(name, method, metric) == Estimate(mean, error, 5)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("metric", METRICS)
def test_every_method_of_the_tables_has_every_metric(name, metric):
    methods = {row["method"] for row in rows() if row["table"] in TABLES}
    # Ten of Tables 1 and 7, HL-Projected, and both losses by the columns of Table 9.
    assert len(methods) == 10 + 1 + 2 * 4
    assert all(published(name, method, metric) for method in methods)


def rows():
    text = files("histreg.study.analysis").joinpath("paper_results.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def test_what_two_tables_have_is_the_same_in_both():
    by_table = {table: {} for table in TABLES}
    for row in rows():
        if row["table"] in TABLES:
            place = tuple(row[k] for k in ("dataset", "method", "split", "metric"))
            by_table[row["table"]][place] = (row["mean"], row["error"])
    overall, appendix, _ = by_table.values()
    common = overall.keys() & appendix.keys()
    assert len(common) == 32  # HL-OneBin and HL-Gauss, four data sets, four metrics
    assert all(overall[place] == appendix[place] for place in common)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["l2", "HL-Gauss"])
def test_the_default_of_table_9_is_what_table_7_has(name, metric, method):
    default = published(name, f"{method} [Default]", metric)
    assert default == published(name, method, metric)


def test_table_2_has_the_test_mae_of_table_8():
    by_table = {2: {}, 8: {}}
    for cell in paper_cells():
        if cell.table in by_table and cell.metric == "test MAE":
            by_table[cell.table][cell.row] = cell.estimate
    assert len(by_table[2]) == 12
    assert by_table[2] == by_table[8]


def test_every_line_of_the_file_is_one_cell():
    # Ten methods on CT Position in four metrics; three losses in test MAE on four data
    # sets; two losses with four bodies; two losses with four models on four series.
    n_cells = {1: 40, 2: 12, 3: 32, 4: 32, 6: 32, 7: 120, 8: 48, 9: 96}
    cells = paper_cells()
    assert Counter(cell.table for cell in cells) == n_cells
    assert len(cells) == len(rows()) == 412
    places = {(cell.table, *cell.row, cell.metric) for cell in cells}
    assert len(places) == 412
    assert {number for pair in NUMBERS.values() for number in pair} == n_cells.keys()


def test_tables_of_ct_position_are_apart_from_those_of_the_others():
    of_ct = {cell.table for cell in paper_cells() if cell.dataset == "ct"}
    others = {cell.table for cell in paper_cells() if cell.dataset != "ct"}
    assert (of_ct - others, others - of_ct) == ({1, 3}, {4, 6, 7, 9})


@pytest.mark.parametrize(
    ("run", "row"),
    [
        (TabularRun.of("ct", MDN(8), 3), ("ct", "", "MDN")),
        (TabularRun.of("ct", L2(), 3, part="validation"), None),
        (TabularRun.of("ct", L2(), 3, epochs=10), None),
        (
            TabularRun.of("pole", L2(), 3, has_frozen_body=True),
            ("pole", "", "l2 [Random]"),
        ),
        (ForecastRun("ETTh1", "GRU", HLGauss(), 3), ("ETTh1", "GRU", "HL-Gauss")),
        (ForecastRun("ETTh1", "GRU", L2(), 3, subtracts_last=True), None),
        (ForecastRun("ETTh1", "GRU", L2(), 3, epochs=1), None),
        (Measurement("naive", "ETTh1"), None),
    ],
    ids=lambda part: getattr(part, "label", None),
)
def test_a_run_is_a_seed_of_a_row_of_the_paper(run, row):
    assert row_of(run) == row


def test_errors_of_these_tables_are_standard_errors():
    kinds = {row["error_kind"] for row in rows() if row["table"] in TABLES}
    assert kinds == {"stderr"}


@pytest.mark.parametrize(
    ("name", "method", "metric"),
    [
        ("diabetes", "HL-Gauss", "test MAE"),
        ("song-7000", "HL-Gauss", "test MAE"),
        ("pole", "Brier", "test MAE"),
        ("pole", "HL-Gauss", "validation MAE"),
        ("Pole", "HL-Gauss", "test MAE"),
    ],
)
def test_what_the_paper_does_not_have_is_not_found(name, method, metric):
    assert published(name, method, metric) is None


def test_titles_are_those_of_the_data_sets():
    titles = {row["dataset"] for row in published_data().values()}
    assert {dataset(name).title for name in DATA} == titles


def test_the_paper_has_four_of_our_data_sets():
    assert published_data().keys() == set(DATA) < DATASETS.keys()


# Table 5; all but the counts of Bike, which are UCI's page, are those of the files.
@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features"),
    [
        ("song", 412_276, 103_069, 90),
        ("ct", 42_800, 10_700, 385),
        ("bike", 13_911, 3_478, 16),
        ("pole", 12_000, 3_000, 49),
    ],
)
def test_a_data_set_has_the_counts_of_table_5(name, n_train, n_test, n_features):
    told = published_data()[name]
    counts = [told[f"n_{what}_paper"] for what in ("train", "test", "features")]
    assert list(map(int, counts)) == [n_train, n_test, n_features]


@pytest.mark.parametrize("name", DATA)
def test_our_data_sets_have_the_usable_rows_features_and_range_of_table_5(name):
    told, data = published_data()[name], dataset(name)
    assert int(told["n_rows_official"]) == data.n_rows
    assert int(told["n_features_usable"]) == data.n_features
    assert (float(told["y_low"]), float(told["y_high"])) == data.y_range


# Of Tables 4 (MSE) and 6 (MAE): the mean, and half of its 95 % interval.
@pytest.mark.parametrize(
    ("series", "architecture", "method", "metric", "mean", "half"),
    [
        ("ETTh1", "Linear", "l2", "test MSE", 0.07105, 0.001022),
        ("ETTh2", "LSTM", "HL-Gauss", "test MSE", 3.165, 0.4313),
        ("ETTm1", "GRU", "l2", "test MSE", 0.399, 0.0299),
        ("ETTm2", "Transformer", "HL-Gauss", "test MSE", 0.3529, 0.1232),
        ("ETTh1", "Linear", "HL-Gauss", "test MAE", 0.5548, 0.003119),
        ("ETTh2", "Transformer", "l2", "test MAE", 1.257, 0.1399),
        ("ETTm2", "GRU", "HL-Gauss", "test MAE", 0.4432, 0.09381),
    ],
)
def test_a_forecast_is_the_printed_one(
    series, architecture, method, metric, mean, half
):
    found = published_forecast(series, architecture, method, metric)
    assert (found.mean, found.n) == (mean, 5)
    interval = stats.t.interval(0.95, 4, found.mean, found.se)
    assert interval == pytest.approx((mean - half, mean + half), rel=1e-12)


@pytest.mark.parametrize("metric", ["test MSE", "test MAE"])
@pytest.mark.parametrize("series", SERIES)
def test_every_model_and_loss_has_a_forecast_of_every_series(series, metric):
    for architecture in ARCHITECTURES:
        for method in ("l2", "HL-Gauss"):
            assert published_forecast(series, architecture, method, metric)


def test_errors_of_forecasts_are_halves_of_intervals():
    of_them = [row for row in rows() if row["table"] in FORECAST_TABLES]
    assert {row["error_kind"] for row in of_them} == {"ci95"}
    assert len(of_them) == 4 * 4 * 2 * 2


@pytest.mark.parametrize(
    ("series", "architecture", "method", "metric"),
    [
        ("etth1", "Linear", "l2", "test MSE"),
        ("ETTh1", "Mamba", "l2", "test MSE"),
        ("ETTh1", "Linear", "l1", "test MSE"),
        ("ETTh1", "Linear", "l2", "test RMSE"),
    ],
)
def test_forecasts_that_the_paper_does_not_have_are_not_found(
    series, architecture, method, metric
):
    assert published_forecast(series, architecture, method, metric) is None


# The authors' code leaves out the three games without reward.
def test_ratios_are_of_all_games_but_three():
    left_out = {"MontezumaRevenge", "Tennis", "Venture"}
    assert published_log_ratios().keys() == GAMES.keys() - left_out


# Of the MAE of l2 and HL-Gauss in the first rows of the table in the authors' notebook,
# which has six digits after the point.
@pytest.mark.parametrize(
    ("game", "l2", "hl"),
    [
        ("Freeway", 0.003798, 0.002601),
        ("Riverraid", 0.028430, 0.024746),
        ("Bowling", 0.000401, 0.000109),
        ("Frostbite", 0.019399, 0.018426),
        ("Krull", 0.051510, 0.042770),
    ],
)
def test_a_ratio_is_that_of_the_errors_in_the_notebook(game, l2, hl):
    off = 0.5e-6 / l2 + 0.5e-6 / hl  # by the digits that are cut off
    assert published_log_ratios()[game] == pytest.approx(math.log(hl / l2), abs=off)


def test_ratios_cannot_be_changed_for_all():
    with pytest.raises(TypeError):
        published_log_ratios()["Pong"] = 0.0


@pytest.mark.parametrize(
    ("method", "changes", "expected"),
    [
        (L2(), {}, "l2"),
        (MDN(8), {}, "MDN"),
        (HLGauss(), {"donor": L2()}, "HL-Gauss [Initialized]"),
        (HLGauss(), {"has_frozen_body": True}, "HL-Gauss [Random]"),
        (L2(), {"donor": L1()}, None),
        (L2(), {"donor": L2()}, None),
        (L2SoftmaxMean(), {"donor": HLGauss(), "has_frozen_body": True}, None),
        (L2(), {"donor": HLGauss(), "epochs": 5}, None),
        (L2(), {"corrupted": 0.1}, None),
        (HLOneBin(shift_in_bins=0.5), {}, None),
    ],
)
def test_the_paper_has_a_name_for_what_it_ran(method, changes, expected):
    assert published_name(TabularRun.of("pole", method, 1, **changes)) == expected


@pytest.mark.parametrize("row", rows_of("overall"))
def test_a_row_has_one_method_of_ours_or_is_said_to_have_none(row):
    matches = {method.name for method in OVERALL if matched_row(method) == row}
    assert matches == (set() if row in UNMATCHED else {row})


def test_a_row_without_a_method_has_candidates_that_stand_elsewhere():
    for row, candidates in UNMATCHED.items():
        assert row in rows_of("overall")
        for name in candidates:
            assert matched_row(METHODS[name]()) in (None, name)


@pytest.mark.parametrize(
    ("method", "row"),
    [
        (L2SoftmaxMean(), "l2+Softmax+Mean"),
        (L2SoftmaxPerBin(), None),  # its row has other numbers
        (HLProjected(), "HL-Projected"),  # of Tables 2 and 8
        (Brier(), None),
        (HLGauss(2.0), None),
    ],
)
def test_a_method_has_the_row_of_its_formula(method, row):
    assert matched_row(method) == row
