"""Tables of many spellings and types, from a file to the columns of a model."""

from datetime import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor
from histreg.cli.reading import read_known_rows
from histreg.cli.spelling import Spelling
from histreg.errors import InputError
from tests.cli.running import QUICK, european, invoke, sizes


def test_a_cell_that_makes_labels_of_numbers_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{i % 7},{'ab'[i % 2]},{3 * i}" for i in range(60)]
    rows[8] = "?,1,a,24"
    Path("t.csv").write_text("\n".join(["x,zone,kind,y", *rows, "60,none,b,"]))
    arguments = ["fit", "t.csv", "-t", "y", "-o", "m", "--label", "zone", *QUICK]
    shown = invoke(*arguments).stderr
    assert "column 'x' is treated as labels" in shown and "'?' in row 9" in shown
    assert "'kind'" not in shown and "'zone'" not in shown  # as they should be


def test_a_european_table_is_the_same_model_and_keeps_its_spelling(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes().drop(columns="day")
    table.to_csv("us.csv", index=False)
    Path("eu.csv").write_bytes(b"\xef\xbb\xbf" + european(table).encode())
    for name in ("us", "eu"):
        fit = ["fit", f"{name}.csv", "-t", "price", "-o", name, *QUICK]
        result = invoke(*fit, "--save-holdout", f"{name}_test.csv")
        assert result.exit_code == 0, result.output
    understood = (
        "eu.csv is read with delimiter ';'; columns 'size', 'price' with decimal"
    )
    assert result.stderr.startswith(understood)
    assert result.stderr.count("eu.csv") == 1  # said once; findings follow
    lines = european(table).splitlines()
    held_out = Path("eu_test.csv").read_text().splitlines()
    assert held_out[0] == lines[0] and set(held_out) < set(lines)
    predicted = {
        name: invoke("predict", name, f"{name}_test.csv", "--quiet").stdout
        for name in ("us", "eu")
    }
    assert predicted["eu"].replace(",", ".").replace(";", ",") == predicted["us"]
    # Both tables are understood by both models.
    crossed = invoke("predict", "us", "eu_test.csv", "--quiet").stdout
    assert crossed == predicted["eu"]
    page = invoke("report", "eu", "eu_test.csv", "--out", "r.html", "--quiet")
    assert page.exit_code == 0 and page.output == ""


def test_the_fitted_table_decides_what_an_ambiguous_row_means(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("eu.csv").write_text(european(sizes().assign(day=lambda t: t.day.dt.day)))
    arguments = ["fit", "eu.csv", "-t", "price", "-o", "m", *QUICK]
    assert invoke(*arguments).exit_code == 0
    predicted = []
    for cell in ("1.040", "1040,0", "1040"):
        Path("one.csv").write_text(f"size;day\n{cell};3\n")
        predicted.append(invoke("predict", "m", "one.csv").stdout.split(";")[-1])
    assert len(set(predicted)) == 1


TIMES = ["%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%dT%H%M%S", "%Y/%m/%d"]


@pytest.mark.parametrize("form", TIMES)
def test_dates_of_every_form_are_times(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sizes()
    table.assign(day=table.day.dt.strftime(form)).to_csv("t.csv", index=False)
    result = invoke("fit", "t.csv", "-t", "price", "-o", "m", *QUICK)
    assert result.exit_code == 0, result.output
    model = HistogramRegressor.load("m")
    assert model.model_.kinds == ("number", "time")
    says_order = "month first" in result.stderr or "day first" in result.stderr
    assert says_order == (form in ("%d.%m.%Y", "%m/%d/%Y"))
    assert "Columns of times: day" in invoke("inspect", "m").stdout
    # One row, whose order is open by itself.
    day = pd.Timestamp("2020-03-04")
    pd.DataFrame({"size": [50.5], "day": [day.strftime(form)]}).to_csv(
        "one.csv", index=False
    )
    predicted = invoke("predict", "m", "one.csv").stdout.strip().split(",")[-1]
    expected = model.predict(pd.DataFrame({"size": [50.5], "day": [day]}))
    assert float(predicted) == pytest.approx(expected[0])


def test_dates_and_numbers_do_not_stand_for_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes().to_csv("t.csv", index=False)
    assert invoke("fit", "t.csv", "-t", "price", "-o", "m", *QUICK).exit_code == 0
    Path("dates.csv").write_text("size,day\n2020-01-01,2020-01-01\n")
    result = invoke("predict", "m", "dates.csv")
    assert result.exit_code == 2
    assert (
        "column 'size' must hold numbers, as it did in fit, got '2020" in result.stderr
    )
    Path("numbers.csv").write_text("size,day\n50,18262\n")
    result = invoke("predict", "m", "numbers.csv")
    assert result.exit_code == 2
    assert "column 'day' must hold times, as it did in fit, got '18262" in result.stderr
    Path("gaps.csv").write_text("size,day\n50,\n")
    assert invoke("predict", "m", "gaps.csv").exit_code == 0


def test_dates_of_open_order_are_doubted_unless_the_order_is_given(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes().assign(day="05/06/2020")
    table.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "price", "-o", "m", *QUICK]
    shown = invoke(*fit).stderr
    assert "column 'day' is treated as labels: its dates, such as" in shown
    assert "are ambiguous; use --day-first or --month-first" in shown
    shown = invoke(*fit, "--overwrite", "--day-first").stderr
    assert "day first ('05/06/2020' is 2020-06-05)" in shown
    assert HistogramRegressor.load("m").notes_["spelling"]["day_first"] is True


def test_numbers_with_a_sign_beside_them_are_doubted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sizes().assign(rate=lambda t: t["size"].map("{:g} %".format))
    table.to_csv("t.csv", index=False)
    shown = invoke("fit", "t.csv", "-t", "price", "-o", "m", *QUICK).stderr
    assert (
        "column 'rate' is treated as labels: its numbers are written with '%'" in shown
    )


def test_parquet_of_any_type_is_fitted_predicted_or_refused_by_column(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes()
    n = len(table)
    usable = {
        "day": table.day.dt.date,
        "clock": [time(i % 24, 5) for i in range(n)],
        "exact": [Decimal(i) / 4 for i in range(n)],
        "span": pd.to_timedelta(np.arange(n), unit="min"),
        "zone": table.day.dt.tz_localize("Europe/Berlin"),
        "truth": pd.array([True, False, None, True] * (n // 4), dtype="boolean"),
        "large": np.arange(n, dtype=np.uint64) + 2**63,
        "count": pd.array([1, None, 3, 4] * (n // 4), dtype="Int32"),
        "code": pd.Categorical(["a", "b"] * (n // 2)),
    }
    table.assign(**usable).to_parquet("t.parquet")
    fit = ["fit", "t.parquet", "-t", "price", "-o", "m", "--epochs", "3"]
    result = invoke(*fit)
    assert result.exit_code == 0, result.output
    names = ["size", *usable]
    kinds = dict(zip(names, HistogramRegressor.load("m").model_.kinds, strict=True))
    of_time = {name: kind for name, kind in kinds.items() if kind != "number"}
    assert of_time == {
        **{"day": "time", "clock": "duration", "span": "duration"},
        **{"zone": "time", "code": "label"},
    }
    first = invoke("predict", "m", "t.parquet", "--out", "p.parquet")
    assert first.exit_code == 0, first.output
    # The same as text.
    assert invoke("predict", "m", "t.parquet", "--out", "p.csv").exit_code == 0
    written = pd.read_csv("p.csv", dtype=str).rename(columns={"price_mean": "before"})
    written["truth"] = written["truth"].map({"True": "1", "False": "0"})
    written.to_csv("again.csv", index=False)
    result = invoke("predict", "m", "again.csv", "--out", "q.csv")
    assert result.exit_code == 0, result.output
    after = pd.read_csv("q.csv")
    np.testing.assert_allclose(after["price_mean"], after["before"])
    unusable = {
        "bytes": [b"x"] * n,
        "struct": [{"a": 1}] * n,
        "list": [[1]] * n,
    }
    table.assign(**unusable).to_parquet("t.parquet")
    fit.append("--overwrite")
    for name in unusable:
        others = ",".join(other for other in unusable if other != name)
        result = invoke(*fit, "--drop", others)
        assert result.exit_code == 2 and result.stderr.count("\n") == 1
        assert f"t.parquet: column '{name}' holds" in result.stderr
        assert "--drop" in result.stderr
    result = invoke(*fit, "--no-compare", "--drop", ",".join(unusable))
    assert result.exit_code == 0, result.output


def test_known_rows_keep_their_groups_and_their_place_in_time(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,who,when,y\n1,b,3,10\n2,a,1,\n3,a,2,30\n4,b,9,40\n")
    known = read_known_rows(
        *(path, Spelling()),
        target="y",
        drop=[],
        labels=[],
        groups="who",
        time="when",
    )
    assert known.y.tolist() == [10, 30, 40] and list(known.features) == ["x"]
    assert known.groups.tolist() == [0, 1, 0]
    assert known.order.tolist() == [1, 0, 2]
    some = known.at(np.array([0, 2]))
    assert some.X["x"].tolist() == [1, 4] and some.groups.tolist() == [0, 0]
    assert some.order.tolist() == [1, 2] and some.y.tolist() == [10, 40]
    options = {"drop": ["x"], "labels": [], "groups": "who", "time": "when"}
    with pytest.raises(InputError, match="must have a column beside the target 'y'"):
        read_known_rows(path, Spelling(), target="y", **options)
