"""CT Position: where along the body a slice of a CT scan was taken."""

from dataclasses import replace

from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.source import Table, array, frame, names, sha256_of

FEATURES = tuple(f"value{i}" for i in range(384))
COLUMNS = ("patientId", *FEATURES, "reference")


def parse(content: bytes) -> Table:
    """Return two histograms per slice as features; the patients are the groups.

    The paper counts 385 features, which is 384 and either the patient's number or the
    target. The 384 are the ones it must have used: least squares on them has an RMSE
    over all rows, training and test together, of 8.2354, and so have the paper's 8.209
    and 8.341, with 8.2356; with the patient's number it is 8.2185 (experiment
    ``columns``: eight splits, whose means have standard errors of 0.0002). The training
    MAE is 6.087 without and 6.073 with the number. The paper's 6.073 does not decide
    it: its standard error, 0.007, is half of the difference.
    """
    import numpy as np

    numbers = frame(content, COLUMNS)
    return Table(
        X=array(numbers[list(FEATURES)]),
        y=array(numbers["reference"]),
        columns=FEATURES,
        sha256=sha256_of(content),
        groups=numbers["patientId"].to_numpy().astype(np.int64),
    )


def parse_with_patients(content: bytes) -> Table:
    """Return the same with the patient's number as the first of 385 features."""
    import numpy as np

    table = parse(content)
    assert table.groups is not None
    return replace(
        table,
        X=np.column_stack([table.groups, table.X]),
        columns=COLUMNS[:-1],
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
    # With LF line ends; UCI's file has CRLF.
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

CT_385 = replace(
    CT,
    name="ct-385",
    title="CT Position (with the patient's number)",
    n_features=385,
    quirks=(
        "CT Position with the patient's number as a feature, which makes the 385 that "
        "the paper counts; its linear regression must have had 384. "
        f"{CT.quirks}"
    ),
    parse=parse_with_patients,
)
