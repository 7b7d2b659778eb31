"""``histreg fit`` on a folder: a model, its scores, and how much memory it takes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from histreg import HistogramRegressor
from tests.cli.running import QUICK, assert_refused, histreg, houses

N = 900


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a table in parts and a model of it."""
    folder = tmp_path_factory.mktemp("streamed")
    (folder / "parts").mkdir()
    frame = houses(N).assign(sold=pd.date_range("2020-01-01", periods=N))
    frame["weight"] = 1.0
    for i, rows in enumerate(np.array_split(np.arange(N), 3)):
        part = frame.iloc[rows]
        part.to_parquet(folder / "parts" / f"{i}.parquet", row_group_size=70)
    result = histreg(
        *("fit", "parts", "--target", "price", "--drop", "id", "--label", "zone"),
        *("--weight", "weight", "--out", "model", "--save-holdout", "test.parquet"),
        *("--epochs", "10", "--estimators", "2", "--format", "json"),
        cwd=folder,
    )
    (folder / "fit.json").write_text(result.stdout)
    (folder / "fit.err").write_text(result.stderr)
    return folder


def test_it_is_scored_on_rows_that_it_was_not_trained_on(place):
    scores = json.loads((place / "fit.json").read_text())
    assert scores["n_tested"] == 180
    errors = (place / "fit.err").read_text()
    assert "900 rows in 3 files; 180 are held out for testing and 90 for" in errors
    assert "1 of 900 rows have no price or no weight and were left out" in errors
    model = HistogramRegressor.load(place / "model")
    test = pd.read_parquet(place / "test.parquet")
    assert len(test) == 180
    mean = model.predict(test[model.feature_names_in_])
    own = scores["scores"]["histreg"]
    assert own["rmse"] == pytest.approx(((mean - test["price"]) ** 2).mean() ** 0.5)
    names = {"histreg", "constant", "linear regression", "boosting"}
    assert names <= set(scores["scores"])
    assert own["skill"] > 0.5


def test_the_model_says_where_it_comes_from(place):
    model = HistogramRegressor.load(place / "model")
    notes = model.notes_
    assert (notes["target"], notes["source"]) == ("price", "parts")
    assert (notes["n_rows"], notes["n_tested"], notes["n_calibrated"]) == (899, 180, 90)
    assert notes["n_learnt"] == model.n_seen_ == 899 - 180 - 90
    assert model.model_.kinds == ("number", "label", "time", "label")
    assert model.model_.calibration is not None
    shown = histreg("inspect", "model", cwd=place).stdout
    assert "parts" in shown and "629" in shown
    shown = histreg("report", "model", "test.parquet", "--out", "r.html", cwd=place)
    assert (place / "r.html").exists()


def test_intervals_hold_what_they_say(place):
    test = pd.read_parquet(place / "test.parquet")
    model = HistogramRegressor.load(place / "model")
    low, high = model.predict_interval(test[model.feature_names_in_], 0.9)
    # Of 180 rows, with the calibration's own spread: five standard deviations.
    assert 0.75 < ((low <= test["price"]) & (test["price"] <= high)).mean() <= 1


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--time", "sold"], "--time needs a table that fits into memory"),
        (["--groups", "kind"], "--groups needs a table that fits into memory"),
        (["--censored", "zone"], "--censored needs a table that fits into memory"),
        (["--upper", "zone"], "--upper needs a table that fits into memory"),
        (["--eval", "test.parquet"], "--eval needs a table that fits into memory"),
        (["--sample-rows", "0"], "--sample-rows must be"),
        (["--epoch-rows", "0"], "--epoch-rows must be"),
        (["--drop", "nothing"], "parts must have the column 'nothing', got id"),
        (["--tails", "gpd"], "tails cannot be fitted to a stream"),
    ],
)
def test_what_needs_all_rows_is_refused(place, monkeypatch, arguments, sentence):
    monkeypatch.chdir(place)
    fit = ["fit", "parts", "--target", "price", "--out", "other", "--quiet", *QUICK]
    assert_refused(place, [*fit, *arguments], sentence)


LIMITED = """
import resource, sys
import numpy, pandas
import histreg.cli.prediction_files, histreg.cli.streamed_fitting
from histreg import HistogramRegressor
from histreg.cli import app

small = pandas.read_parquet("small.parquet")  # so that the libraries take their share
X, y = small.drop(columns="y"), small["y"]
HistogramRegressor(max_iter=1, n_estimators=1).fit(X, y).predict(X)
[taken] = [line for line in open("/proc/self/status") if line.startswith("VmData")]
limit = 1024 * int(taken.split()[1]) + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
app(sys.argv[2:])
"""
"""Runs a command that may take so many bytes, beside what its libraries have taken."""


def limited(n_bytes, *arguments, cwd):
    """Run a command in a process that may take only so much memory."""
    # One thread and one pool of memory, which gives large arrays back when they are
    # freed: what is counted is what is used.
    threads = {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    threads |= {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(n_bytes), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **threads},
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_third_of_the_table_is_enough_memory(tmp_path):
    rng = np.random.default_rng(0)
    n_files, n, d = 32, 100_000, 30
    x = rng.integers(0, 200, (n, d)) / 10  # few values, for small files
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(d)])
    frame["y"] = x[:, 0] + x[:, 1] + 5 * rng.normal(size=n)
    (tmp_path / "parts").mkdir()
    for i in range(n_files):
        path = tmp_path / "parts" / f"{i}.parquet"
        if i:
            shutil.copy(tmp_path / "parts" / "0.parquet", path)
        else:
            frame.to_parquet(path, row_group_size=50_000)
    frame.head(400).to_parquet(tmp_path / "small.parquet")
    third = n_files * n * (d + 1) * 8 // 3
    fit = ["--target", "y", "--out", "model", *QUICK, "--epochs", "1"]
    small = ["--sample-rows", "1000", "--epoch-rows", "10000"]
    small += ["--holdout", "0.001", "--calibration", "0.001"]
    result = limited(third, "fit", "parts", *fit, *small, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    # Predictions take a while, so they are of two of the files.
    for i in range(2, n_files):
        (tmp_path / "parts" / f"{i}.parquet").unlink()
    predict = ["predict", "model", "parts", "--out", "out"]
    result = limited(third, *predict, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    # The same rows in one piece do not fit.
    table = pa.Table.from_pandas(frame)
    with pq.ParquetWriter(tmp_path / "whole.parquet", table.schema) as writer:
        for _ in range(n_files):
            writer.write_table(table)
    fit = ["fit", "whole.parquet", *fit, "--overwrite"]
    assert limited(third, *fit, cwd=tmp_path).returncode != 0


@pytest.mark.parametrize("option", ["--sample-rows", "--epoch-rows"])
def test_options_of_many_files_are_refused_for_one(place, monkeypatch, option):
    monkeypatch.chdir(place)
    table = str(Path("parts") / "0.parquet")
    fit = ["fit", table, "--target", "price", "--out", "other", "--quiet", *QUICK]
    sentence = f"{option} needs a folder or a pattern of Parquet files, got {table}"
    assert_refused(place, [*fit, option, "9"], sentence)
