"""Commands run as a user runs them, and the tables they are run on."""

import re
from contextlib import chdir

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from histreg.cli import app

QUICK = ["--epochs", "3", "--estimators", "1", "--no-compare"]


def histreg(*arguments, cwd=".", width=120):
    """Run a command in this process and in a folder, on a terminal of some width."""
    with chdir(cwd):
        result = CliRunner(env={"COLUMNS": str(width)}).invoke(
            app, list(map(str, arguments))
        )
    assert result.exit_code == 0, result.stderr
    return result


def invoke(*arguments):
    """Run a command in this process and folder."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def assert_refused(folder, arguments, sentence):
    """Check that a command is refused in one sentence, and writes nothing."""
    before = sorted(folder.iterdir())
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert re.search(sentence, result.stderr), result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.stderr
    assert sorted(folder.iterdir()) == before


def houses(n=400):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "size": rng.gamma(3, 30, size=n).round(1),
            "kind": rng.choice(["flat", "house"], size=n),
            "sold": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "zone": rng.integers(1, 4, size=n),
        }
    )
    price = 1000 * table["size"] + 20000 * (table["kind"] == "house")
    table["price"] = (price + 5000 * rng.normal(size=n)).round()
    table.loc[::13, "size"] = np.nan
    table.loc[3, "price"] = np.nan
    return table


def sizes(n=120):
    rng = np.random.default_rng(0)
    size = rng.uniform(30, 150, size=n).round(2)
    days = pd.date_range("2020-01-01", periods=n)
    price = (1000.5 * size).round(1)
    return pd.DataFrame({"size": size, "day": days, "price": price})


def european(table):
    """Return a table as Excel writes it where commas are decimal marks."""
    return table.to_csv(index=False, sep=";", decimal=",")
