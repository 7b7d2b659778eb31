"""California: median prices of houses in census blocks."""

from histreg.study.datasets.source import (
    Table,
    TableSource,
    array,
    frame,
    names,
    sha256_of,
)

FEATURES = (
    *("median_income", "housing_median_age", "total_rooms", "total_bedrooms"),
    *("population", "households", "latitude", "longitude"),
)


def parse(content: bytes) -> Table:
    """Return all columns as they are; prices in dollars."""
    numbers = frame(content, (*FEATURES, "target"), separator="\t")
    return Table(
        X=array(numbers[list(FEATURES)]),
        y=array(numbers["target"]),
        columns=FEATURES,
        sha256=sha256_of(content),
    )


CALIFORNIA = TableSource(
    name="california",
    title="California",
    homepage="https://github.com/EpistasisLab/pmlb/tree/master/datasets/537_houses",
    licence="MIT (of the collection, PMLB; none is stated for the data)",
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
