"""The steps of a fit, one by one."""

from pathlib import Path

import numpy as np
import pytest

from histreg import HistogramRegressor
from histreg.cli import fitting
from histreg.cli.fit import FitOptions
from histreg.cli.scores import print_scores, scores_from_notes
from histreg.errors import InputError
from tests.cli.running import houses


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses(60).assign(w=1.0).to_csv("houses.csv", index=False)

    def options_of(**changes):
        fields = {"table": Path("houses.csv"), "target": "price", "out": Path("m")}
        fields |= {"drop": ["id"], "epochs": 1, "compare": False, "quiet": True}
        return FitOptions(**{**fields, **changes})

    return options_of


def test_rows_without_a_target_are_not_read(options):
    data = fitting.read(options(weight="w", time="sold"))
    assert len(data.table.frame) == 60
    assert len(data.X) == len(data.y) == len(data.weights) == len(data.order) == 59
    assert list(data.X.columns) == ["size", "kind", "zone"]
    assert data.is_censored is None


def test_a_column_that_is_dropped_may_be_used_otherwise(options):
    data = fitting.read(options(drop=["id,w"], weight="w"))
    assert data.weights is not None and "w" not in data.X


def test_a_table_has_a_feature(options):
    with pytest.raises(InputError, match="must have a column beside the target"):
        fitting.read(options(drop=["id,size,kind,sold,zone,w"]))


def test_the_last_rows_in_time_are_held_out(options):
    chosen = options(time="sold", holdout=0.5, calibration=0.0)
    data = fitting.read(chosen)
    parts = fitting.split(data, chosen)
    assert parts.learn.max() < parts.test.min() and len(parts.test) == 30


def test_without_test_rows_there_are_no_scores(options):
    chosen = options(holdout=0.0)
    data = fitting.read(chosen)
    parts = fitting.split(data, chosen)
    model = fitting.fit(data, parts, chosen)
    assert fitting.score(model, data, parts, chosen) == fitting.Tested({})


@pytest.mark.parametrize(
    ("loss", "calibration", "is_calibrated"),
    [("histogram", 0.2, True), ("histogram", 0.1, False), ("l2", 0.2, False)],
)
def test_few_rows_and_losses_on_numbers_are_not_calibrated(
    loss, calibration, is_calibrated, options
):
    chosen = options(loss=loss, calibration=calibration)
    data = fitting.read(chosen)
    model = fitting.fit(data, fitting.split(data, chosen), chosen)
    assert (model.model_.calibration is not None) is is_calibrated


def test_a_model_is_saved_with_notes_on_its_origin(options):
    chosen = options(save_holdout=Path("rows.csv"))
    data = fitting.read(chosen)
    parts = fitting.split(data, chosen)
    model = fitting.fit(data, parts, chosen)
    fitting.save(model, fitting.Tested({}), data, parts, chosen)
    notes = HistogramRegressor.load("m").notes_
    assert (notes["target"], notes["source"]) == ("price", "houses.csv")
    assert notes["n_rows"] == 59 and notes["scores"] == {}
    assert notes["y_percentiles"][100] == np.max(data.y[parts.learn])
    assert len(Path("rows.csv").read_text().splitlines()) == 1 + len(parts.test)


def test_intervals_are_calibrated_by_the_groups_of_a_column(options, capsys):
    chosen = options(calibration=0.3, calibrate_by="kind", quiet=False)
    data = fitting.read(chosen)
    parts = fitting.split(data, chosen)
    model = fitting.fit(data, parts, chosen)
    groups = model.model_.calibration.groups
    assert groups.column == "kind" and groups.levels == ["flat", "house"]
    assert len(groups.codes) == len(parts.calibrate)
    counts = groups.codes.bincount().tolist()
    assert min(counts) < 9  # of 18 rows in all
    shown = " ".join(capsys.readouterr().err.split())
    assert "90 % intervals need 9 calibration rows in each group of kind" in shown
    for name, n in zip(groups.levels, counts, strict=True):
        assert (f"{name} ({n})" in shown) is (n < 9)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"calibrate_by": "price"}, "--calibrate-by must name a column that is used"),
        ({"calibrate_by": "id"}, "--calibrate-by must name a column that is used"),
        ({"calibrate_by": "kind", "calibration": 0.0}, "needs rows to calibrate on"),
        ({"calibrate_by": "nope"}, "the table must have the column 'nope'"),
    ],
)
def test_wrong_groups_are_refused(options, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        fitting.read(options(**changes))


def test_targets_may_be_intervals(options, capsys):
    table = houses(60)
    table["most"] = table["price"] + 9000
    table.loc[5:9, "most"] = np.nan
    table.loc[10:14, "price"] = np.nan  # at most
    table.loc[20:29, "most"] = table.loc[20:29, "price"]  # known
    table.to_csv("bounds.csv", index=False)
    chosen = options(table=Path("bounds.csv"), upper="most", save_holdout=Path("h.csv"))
    data = fitting.read(chosen)
    assert list(data.X.columns) == ["size", "kind", "sold", "zone"]
    assert len(data.y) == 59 and np.isnan(data.y).sum() == 5  # row 4 has no bound
    expected = data.y + 4500  # the middle
    one_bound, known = slice(4, 9), slice(19, 29)  # row 4 is not there
    expected[one_bound], expected[known] = data.y[one_bound], data.y[known]
    expected[9:14] = data.upper[9:14]
    np.testing.assert_allclose(data.middle, expected)
    assert fitting.check(data, chosen).n_rows == 59
    parts = fitting.split(data, chosen)
    assert not len(parts.calibrate)
    model = fitting.fit(data, parts, chosen)
    tested = fitting.score(model, data, parts, chosen)
    own, same, *_ = tested.scores.values()
    assert list(tested.scores)[:2] == ["histreg", "its average, for all rows"]
    assert same.gain == 0 and own.gain == pytest.approx(same.log_score - own.log_score)
    fitting.save(model, tested, data, parts, chosen)
    notes = HistogramRegressor.load("m").notes_
    assert notes["censored"] == notes["upper"] == "most"
    assert scores_from_notes(notes) == tested.scores
    print_scores(tested.scores, 11, "price")
    assert "log probability of the interval in" in capsys.readouterr().out
    # Another table to test on has both bounds too.
    table[30:].to_csv("other.csv", index=False)
    other = options(table=Path("bounds.csv"), upper="most", evaluate=Path("other.csv"))
    data, parts = fitting.with_other_rows(data, fitting.split(data, other), other)
    assert len(parts.test) == 30 and len(data.upper) == len(data.y) == 89
    again = fitting.score(model, data, parts, other).scores
    assert list(again) == list(tested.scores)
    with pytest.raises(InputError, match="--censored and --upper cannot be combined"):
        options(upper="most", censored="most")
