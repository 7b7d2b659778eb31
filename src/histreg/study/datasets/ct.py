"""CT Position: where along the body a slice of a CT scan was taken."""

import numpy as np

from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.source import Table, array, frame, names, sha256_of

FEATURES = tuple(f"value{i}" for i in range(384))
COLUMNS = ("patientId", *FEATURES, "reference")


def parse(content: bytes) -> Table:
    """Return two histograms per slice as features; the patients are the groups.

    The paper counts 385 features, which is 384 and either the patient's number or the
    target; the number of a patient says nothing about a slice, so it is none here.
    """
    numbers = frame(content, COLUMNS)
    return Table(
        X=array(numbers[list(FEATURES)]),
        y=array(numbers["reference"]),
        columns=FEATURES,
        sha256=sha256_of(content),
        groups=numbers["patientId"].to_numpy().astype(np.int64),
    )


CT = DataSet(
    name="ct",
    title="CT Position",
    homepage="https://archive.ics.uci.edu/dataset/206",
    licence="CC BY 4.0",
    url="https://archive.ics.uci.edu/static/public/206/"
    "relative+location+of+ct+slices+on+axial+axis.zip",
    files=names(
        "ct",
        "slice_localization_data.csv",
        "slice_localization_data.csv.gz",
        "slice_localization_data.zip",
        "relative+location+of+ct+slices+on+axial+axis.zip",
    ),
    member="slice_localization_data.csv",
    # With LF line ends; UCI's has CRLF.
    sha256="b78360d8010abeca850e8a2792c486f53d15d2d293473f331386739bcdf2b4c9",
    n_rows=53_500,
    n_features=384,
    y_range=(0.0, 100.0),
    hidden=(192,) * 4,
    dropout=0.05,
    epochs=1000,
    quirks=(
        "97 patients, whose slices are near-duplicates of one another: a random split "
        "has each patient on both sides, so its errors say little about a new patient "
        "(the patients are the table's groups). 5 columns are constant."
    ),
    parse=parse,
)
