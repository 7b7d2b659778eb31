"""Predictions for many files: one file each, whole or absent, and never mixed up."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from histreg import HistogramRegressor
from histreg.cli import prediction_files
from histreg.cli.predicted_columns import Asked
from histreg.errors import InputError
from histreg.executors import InProcess, Processes
from histreg.tabular.parquet_rows import ParquetFiles
from tests.cli.running import assert_refused, histreg, houses
from tests.test_executors import cluster  # noqa: F401

N_FILES = 6
ASKED = ["--interval", "0.9", "--quantiles", "0.25"]
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def _ctrl_c_interrupts():
    # A job in the background ignores it, and tests started by one with it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def features(n=400):
    """Return the table with the types that a Parquet file has."""
    return houses(n).assign(sold=pd.date_range("2020-01-01", periods=n))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with a model and a table in parts."""
    folder = tmp_path_factory.mktemp("home")
    frame = features()
    known = frame.dropna(subset="price")
    model = HistogramRegressor(max_iter=2, n_estimators=1, random_state=0)
    model.fit(known[["size", "kind", "sold", "zone"]], known["price"])
    model.notes_ = {"target": "price"}
    model.save(folder / "model")
    frame.to_parquet(folder / "whole.parquet")
    (folder / "parts" / "more").mkdir(parents=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), N_FILES)):
        place = folder / "parts" / ("more" if i % 2 else "")
        frame.iloc[rows].to_parquet(place / f"{i}.parquet", row_group_size=40)
    return folder


@pytest.fixture
def place(home, tmp_path, monkeypatch):
    """Go to a copy of the folder."""
    shutil.copytree(home, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def read(folder):
    """Return all rows of the files of a folder, in their first order."""
    files = sorted(folder.rglob("*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files]).sort_values("id")


def tasks(place, out="out", **options):
    options = {"overwrite": False} | options
    files = ParquetFiles(place / "parts")
    asked = Asked([0.9], "central", [0.25])
    return prediction_files.tasks_for(
        place / "model", files, place / out, asked, **options
    )


def test_files_get_the_predictions_of_one_table(place):
    histreg("predict", "model", "whole.parquet", "--out", "whole_out.parquet", *ASKED)
    shown = histreg("predict", "model", "parts", "--out", "out", *ASKED).stdout
    assert "400 rows in 6 files in out" in shown
    whole, parts = pd.read_parquet("whole_out.parquet"), read(place / "out")
    names = ["price_mean", "price_lower_90", "price_upper_90", "price_q0.25"]
    assert list(parts.columns) == [*features().columns, *names]
    for name in names:
        np.testing.assert_array_equal(parts[name], whole[name])
    pd.testing.assert_frame_equal(
        parts[features().columns], features(), check_dtype=False, check_index_type=False
    )
    names_in, names_out = (
        sorted(path.relative_to(folder) for path in folder.rglob("*.parquet"))
        for folder in (place / "parts", place / "out")
    )
    assert names_in == names_out


@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_every_executor_writes_the_same(place, executor):
    histreg("predict", "model", "parts", "--out", "here", "--quantiles", "0.5")
    arguments = ["--quantiles", "0.5", "--executor", executor, "--jobs", "2"]
    histreg("predict", "model", "parts", "--out", "there", *arguments)
    assert read(place / "there").equals(read(place / "here"))


@pytest.mark.slow
def test_files_on_dask_survive_the_death_of_a_worker(place, cluster):  # noqa: F811
    address, workers, _ = cluster
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "histreg", "predict", "model", "parts"),
            *("--out", "out", "--executor", f"dask://{address}"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        until = time.monotonic() + PATIENCE_S
        while not list(place.glob("out/.*")) and time.monotonic() < until:
            time.sleep(0.001)  # until a worker writes
        workers[0].kill()
        workers[0].wait()
        shown, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "400 rows in 6 files in out" in shown
    assert not list(place.glob("out/**/.*"))
    histreg("predict", "model", "parts", "--out", "here")
    pd.testing.assert_frame_equal(read(place / "out"), read(place / "here"))


def test_finished_files_are_kept_and_missing_ones_computed(place):
    histreg("predict", "model", "parts", "--out", "out", *ASKED)
    before = {path: path.stat().st_mtime_ns for path in place.glob("out/**/*.parquet")}
    expected = read(place / "out")
    (place / "out" / "2.parquet").unlink()
    shown = histreg("predict", "model", "parts", "--out", "out", *ASKED).stdout
    assert "5 of which were there already" in shown
    after = {path: path.stat().st_mtime_ns for path in before}
    assert [path.name for path in before if before[path] != after[path]] == [
        "2.parquet"
    ]
    assert read(place / "out").equals(expected)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_command_goes_on(place, number):
    big = pd.concat([pd.read_parquet("whole.parquet")] * 10)
    shutil.rmtree("parts")
    (place / "parts").mkdir()
    for i in range(12):
        big.assign(id=range(i * 4000, (i + 1) * 4000)).to_parquet(f"parts/{i}.parquet")
    command = [sys.executable, "-m", "histreg", "predict", "model", "parts"]
    process = subprocess.Popen(
        [*command, "--out", "out"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    with process:
        until = time.monotonic() + PATIENCE_S
        while not list(place.glob("out/[0-9]*")) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        errors = process.stderr.read()
    done = sorted(path.name for path in place.glob("out/[0-9]*.parquet"))
    assert 0 < len(done) < 12
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert f"stopped; {len(done)} of 12 files are finished" in errors
        assert not list(place.glob("out/.*"))
    for name in done:  # none is half-written
        assert pq.read_metadata(place / "out" / name).num_rows == 4000
    shown = histreg("predict", "model", "parts", "--out", "out").stdout
    assert f"{len(done)} of which were there already" in shown
    assert not list(place.glob("out/.*"))
    predicted = read(place / "out")
    assert np.array_equal(predicted["id"], np.arange(48_000))
    of_one_row = predicted["price_mean"].to_numpy().reshape(120, 400)[:, 7]
    np.testing.assert_allclose(of_one_row, of_one_row[0], rtol=1e-12)


def test_predictions_of_another_kind_are_not_taken_for_ours(place):
    histreg("predict", "model", "parts", "--out", "out")
    again = ["predict", "model", "parts", "--out", "out", *ASKED]
    refused = "exists already, but not from this model, these options and this input"
    assert_refused(place, again, refused)
    histreg("predict", "model", "parts", "--out", "out", "--overwrite", *ASKED)
    assert "price_q0.25" in read(place / "out")
    changed = pd.read_parquet("parts/0.parquet")
    changed["size"] += 1
    changed.to_parquet("parts/0.parquet")
    assert_refused(place, again, refused)
    model = HistogramRegressor.load("model")
    model.notes_["target"] = "cost"
    model.save("model")
    assert_refused(place, again, refused)


class Deadly(Processes):
    """Workers that die of a file."""

    def submit(self, task, *args):
        if args[0].source.name == "2.parquet":
            return super().submit(os._exit, 9)
        return super().submit(task, *args)


def test_a_file_whose_workers_die_is_named_and_the_others_are_written(place):
    with (
        Deadly(2) as pool,
        pytest.raises(InputError, match=r"predicts .*2\.parquet died 3 times.*kept"),
    ):
        prediction_files.compute(tasks(place), pool, lambda _: None)
    written = sorted(path.name for path in place.glob("out/**/*.parquet"))
    assert written == ["0.parquet", "1.parquet", "3.parquet", "4.parquet", "5.parquet"]
    assert not list(place.glob("out/**/.*"))


def test_an_empty_file_gets_an_empty_one(place):
    features().head(0).to_parquet(place / "parts" / "a.parquet")
    histreg("predict", "model", "parts", "--out", "out", *ASKED)
    written = pd.read_parquet(place / "out" / "a.parquet")
    assert len(written) == 0 and "price_q0.25" in written


def test_folders_that_are_columns_are_features(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"x": np.arange(80.0), "year": 2020 + np.arange(80) // 40})
    y = frame["x"] + 1000 * (frame["year"] == 2021)
    model = HistogramRegressor(max_iter=5, n_estimators=1, random_state=0).fit(frame, y)
    model.save("model")
    for year, rows in frame.groupby("year"):
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        rows[["x"]].to_parquet(tmp_path / "in" / f"year={year}" / "a.parquet")
    histreg("predict", "model", "in", "--out", "out")
    predicted = pd.read_parquet("out")  # which finds the year in the names again
    np.testing.assert_allclose(predicted["y_mean"], model.predict(frame), rtol=1e-12)
    assert list(pq.read_schema("out/year=2020/a.parquet").names) == ["x", "y_mean"]


def test_computing_is_stopped_between_parts(place):
    with InProcess() as pool:
        pool.stop()
        assert prediction_files.compute(tasks(place), pool, print) == (0, True)
    assert not list(place.glob("out/**/*.parquet"))


REFUSED = {
    "no out": (["parts"], "--out must name a folder, since parts is many files"),
    "out within": (["parts", "--out", "parts/out"], "must not lie in the folder"),
    "out is in": (["parts/*.parquet", "--out", "parts"], "name another"),
    "adaptive": (
        ["parts", "--out", "out", "--adaptive", "--interval", "0.9"],
        "--adaptive needs a table in one file",
    ),
    "nothing": (["no*.parquet", "--out", "out"], "there is no .parquet file in no"),
    "executor": (
        ["whole.parquet", "--executor", "dask"],
        "--executor and --jobs need a folder or a pattern of files, got whole.parquet",
    ),
    "no scheduler": (
        ["parts", "--out", "out", "--executor", "slurm"],
        "--executor must be processes, in-process, dask or dask://host:port, got slurm",
    ),
    "columns": (["other", "--out", "out"], "it lacks 'size', 'kind'"),
    "types": (["texts", "--out", "out"], "column 'size' of texts must hold numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_predicted_is_refused(place, case):
    arguments, sentence = REFUSED[case]
    (place / "other").mkdir()
    features()[["sold", "zone"]].to_parquet(place / "other" / "a.parquet")
    (place / "texts").mkdir()
    texts = features().assign(size="large")
    texts.to_parquet(place / "texts" / "a.parquet")
    assert_refused(place, ["predict", "model", *arguments], sentence)


def test_a_missing_model_is_named(place):
    arguments = ["predict", "no", "parts", "--out", "out"]
    assert_refused(place, arguments, "must be a folder with a model.json")
