"""California: median prices of houses in census blocks."""

from histreg.study.datasets.pmlb import LICENCE, table_of
from histreg.study.datasets.source import Table, TableSource, names

FEATURES = (
    *("median_income", "housing_median_age", "total_rooms", "total_bedrooms"),
    *("population", "households", "latitude", "longitude"),
)


def parse(content: bytes) -> Table:
    """Return all columns unchanged; prices in dollars."""
    return table_of(content, FEATURES)


CALIFORNIA = TableSource(
    name="california",
    title="California",
    homepage="https://github.com/EpistasisLab/pmlb/tree/master/datasets/537_houses",
    licence=LICENCE,
    url="https://github.com/EpistasisLab/pmlb/raw/master/datasets/537_houses/"
    "537_houses.tsv.gz",
    files=names("california", "537_houses.tsv.gz", "537_houses.tsv"),
    member="537_houses.tsv",
    sha256="35b6c7cb9729b4e1c6624059e5bd7c28aaea27a741b98f9586efb04d37ca3333",
    n_rows=20_640,
    n_features=8,
    quirks="Prices are cut at 500,001 dollars, which 5 % of the rows have.",
    parse=parse,
)
