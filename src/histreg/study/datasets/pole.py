"""Pole: a telecommunications problem with little documentation."""

from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.pmlb import LICENCE, table_of
from histreg.study.datasets.source import Table, names

FEATURES = tuple(f"f{i}" for i in range(1, 49))


def parse(content: bytes) -> Table:
    """Return all 48 columns as features; the paper's 49 counts the target."""
    return table_of(content, FEATURES)


POLE = DataSet(
    name="pole",
    title="Pole",
    homepage="https://github.com/EpistasisLab/pmlb/tree/master/datasets/201_pol",
    licence=LICENCE,
    url="https://github.com/EpistasisLab/pmlb/raw/master/datasets/201_pol/"
    "201_pol.tsv.gz",
    files=names("pole", "201_pol.tsv.gz", "201_pol.tsv"),
    member="201_pol.tsv",
    # Of the content of 201_pol.tsv.gz; the archive has bfd1b9c6...530d, as PMLB says.
    sha256="0b118a037decec073762ceca7610e61b39e9207717fa9612457ed17d4662dcf7",
    n_rows=15_000,
    n_features=48,
    y_range=(0.0, 100.0),
    hidden=(24,) * 3,
    dropout=0.0,
    epochs=500,
    quirks=(
        "y has 11 values, 0, 10, ..., 100 (62 % are 0, 20 % are 100), which lie on "
        "borders of 100 bins over 0 to 100: closer to classification, a poor test of "
        "losses for regression. 22 columns are constant."
    ),
    parse=parse,
)
