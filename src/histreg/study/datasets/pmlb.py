"""PMLB: a collection of tables in a common format."""

from histreg.study.datasets.source import Table, array, frame, sha256_of

LICENCE = "MIT (of the collection, PMLB; none is stated for the data)"


def table_of(content: bytes, features: tuple[str, ...]) -> Table:
    """Return the features and the last column, ``target``, unchanged."""
    numbers = frame(content, (*features, "target"), separator="\t")
    return Table(
        X=array(numbers[list(features)]),
        y=array(numbers["target"]),
        columns=features,
        sha256=sha256_of(content),
    )
