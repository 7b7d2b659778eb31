"""Diabetes: disease progression after a year. Small, and always available."""

from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.source import Table, sha256_of


def parse(_: bytes) -> Table:
    """Return the data that come with scikit-learn, in original units."""
    import numpy as np
    from sklearn.datasets import load_diabetes  # slow to import

    data = load_diabetes(scaled=False)
    # Older versions have 4.803999999999999 for 4.804.
    X = np.array(data.data.round(6), dtype="<f8", order="C")
    y = np.array(data.target, dtype="<f8")
    return Table(
        X=X,
        y=y,
        columns=tuple(data.feature_names),
        sha256=sha256_of(X.tobytes(), y.tobytes()),
    )


DIABETES = DataSet(
    name="diabetes",
    title="Diabetes",
    homepage="https://www4.stat.ncsu.edu/~boos/var.select/diabetes.html",
    licence="BSD-3-Clause (of scikit-learn; none is stated for the data)",
    url=None,
    files=(),
    member="",
    # SHA-256 of the arrays in scikit-learn 1.9.1, to notice changes in other versions.
    sha256="e9c1f7559552854a24dc45b41c446ce5f79f96e5da081bcce24b57492720b3f7",
    n_rows=442,
    n_features=10,
    # Not in the paper, so range, network and epochs are ours. y runs from 25 to 346.
    y_range=(0.0, 350.0),
    hidden=(32, 32),
    dropout=0.0,
    epochs=200,
    quirks=(
        "Not one of the paper's: 442 patients (Efron et al., 2004) that need no file, "
        "for trying things out. So few rows that methods hardly differ."
    ),
    parse=parse,
)
