"""Commands run the network once over all rows of a table."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from histreg import HistogramRegressor
from histreg.cli import app
from histreg.tabular import regressor
from histreg.tabular.model import Model

N = 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a calibrated model and a table of numbers and labels."""
    folder = tmp_path_factory.mktemp("passes")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    X["kind"] = rng.choice(["x", "y"], size=N)
    y = 10 * X["a"].to_numpy() + rng.normal(size=N)
    model = HistogramRegressor((8,), max_iter=2, n_estimators=2, random_state=0)
    model.fit(X[:200], y[:200]).calibrate(X[200:300], y[200:300])
    model.notes_ = {"target": "price"}
    model.save(folder / "model")
    X.assign(price=y).to_csv(folder / "table.csv", index=False)
    return folder


@pytest.fixture
def n_reads(monkeypatch):
    """Return a list that grows by the number of rows of each frame that is read."""
    reads, read = [], regressor.read_frame

    def counted(frame, kinds):
        reads.append(len(frame))
        return read(frame, kinds)

    monkeypatch.setattr(regressor, "read_frame", counted)
    return reads


COMMANDS = {
    "predict": (
        *("--interval", "0.9", "--method", "shortest"),
        *("--quantiles", "0.1,0.5,0.9", "--above", "0,10"),
        *("--out", "predictions.csv"),
    ),
    "report": ("--out", "page.html"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs_the_network_once_over_all_rows(
    command, folder, n_reads, monkeypatch
):
    monkeypatch.chdir(folder)
    seen, outputs = [], Model._outputs

    def counted(model, inputs):
        seen.append(len(inputs.numbers))
        return outputs(model, inputs)

    monkeypatch.setattr(Model, "_outputs", counted)
    result = CliRunner().invoke(
        app, [command, "model", "table.csv", *COMMANDS[command]]
    )
    assert result.exit_code == 0, result.output
    assert seen[:2] == [4096, 904]
    if command == "report":  # which also changes columns, of some rows
        assert max(seen[2:]) <= 1024
    else:
        assert n_reads == [N] and seen[2:] == []


def test_the_columns_of_predict_are_those_of_the_methods(folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = ["predict", "model", "table.csv", *COMMANDS["predict"][:-1], "p.csv"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    found = pd.read_csv("p.csv")
    X = pd.read_csv("table.csv")[["a", "b", "kind"]]
    model = HistogramRegressor.load("model")
    lower, upper = model.predict_interval(X, 0.9, "shortest")
    q10, q50, q90 = model.predict_quantiles(X, [0.1, 0.5, 0.9]).T
    expected = {
        "price_mean": model.predict(X),
        "price_lower_90": lower,
        "price_upper_90": upper,
        "price_q0.1": q10,
        "price_q0.5": q50,
        "price_q0.9": q90,
        "price_above_0": model.predict_proba_above(X, 0),
        "price_above_10": model.predict_proba_above(X, 10),
    }
    assert list(found.columns[4:]) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
