"""A folder with a table and a model of it, fitted once."""

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import histreg, houses


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """Return a folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("place")
    houses().to_csv(folder / "houses.csv", index=False)
    result = histreg(
        *("fit", "houses.csv", "--target", "price", "--out", "model"),
        *("--drop", "id", "--label", "zone", "--time", "sold"),
        *("--estimators", "2", "--epochs", "15", "--save-holdout", "test.csv"),
        cwd=folder,
    )
    (folder / "fit.txt").write_text(result.stdout)
    (folder / "fit.err").write_text(result.stderr)
    return folder


@pytest.fixture
def bad_tables(place, monkeypatch):
    """Go to the folder, and put tables there that cannot be used."""
    monkeypatch.chdir(place)
    (place / "other.csv").write_text("x,y\n1,2\n")
    (place / "wrong.csv").write_text("size,kind,zone\nlarge,flat,1\n")
    (place / "endless.csv").write_text("x,y\n1,2\n2,\n3,-inf\n")
    odd = houses().assign(negative=-1, missing=1.0, zero=0)
    odd.loc[7, "missing"] = np.nan
    odd.to_csv(place / "weights.csv", index=False)
    odd.loc[6, "size"] = np.inf
    odd.to_csv(place / "infinite.csv", index=False)
    nested = pd.DataFrame({"x": [[1]] * 60, "y": range(60)})
    nested.to_parquet(place / "nested.parquet")
    return place
