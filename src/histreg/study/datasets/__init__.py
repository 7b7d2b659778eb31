"""The data sets of the study. A new one is a new file, and one line here."""

from histreg._checks import check_choice
from histreg.study.datasets import bike, ct, diabetes, pole, song
from histreg.study.datasets.dataset import DataSet, Table

__all__ = ["DATASETS", "DataSet", "Table", "dataset"]

DATASETS: dict[str, DataSet] = {
    data.name: data
    for data in (
        ct.CT,
        song.SONG,
        song.SONG_7000,
        bike.BIKE,
        pole.POLE,
        diabetes.DIABETES,
    )
}


def dataset(name: str) -> DataSet:
    """Return the data set of this name.

    >>> dataset("ct").title
    'CT Position'
    """
    check_choice("dataset", name, DATASETS)
    return DATASETS[name]
