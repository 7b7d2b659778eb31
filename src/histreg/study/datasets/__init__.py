"""The data sets of the study; add a new one as a file and a line here."""

from histreg._checks import check_choice
from histreg.study.datasets import bike, ct, diabetes, pole, song
from histreg.study.datasets.atari import ATARI, Actions, Game
from histreg.study.datasets.california import CALIFORNIA
from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.development import DEVELOPMENT
from histreg.study.datasets.ett import ETT
from histreg.study.datasets.frames import FrameSource, FrameTable
from histreg.study.datasets.made import MADE
from histreg.study.datasets.packaged import DIAMONDS, FLIGHTS
from histreg.study.datasets.series import Series
from histreg.study.datasets.source import Source, Table, TableSource

__all__ = [
    "DATASETS",
    "FRAMES",
    "GAMES",
    "SERIES",
    "TABLES",
    "Actions",
    "DataSet",
    "FrameSource",
    "FrameTable",
    "Game",
    "Series",
    "Source",
    "Table",
    "TableSource",
    "dataset",
    "frame",
    "game",
    "series",
    "source",
    "table",
]

DATASETS: dict[str, DataSet] = {
    data.name: data
    for data in (
        ct.CT,
        ct.CT_385,
        song.SONG,
        song.SONG_7000,
        bike.BIKE,
        pole.POLE,
        diabetes.DIABETES,
    )
}
TABLES: dict[str, TableSource] = {
    **DATASETS,
    **{data.name: data for data in (*MADE, CALIFORNIA, FLIGHTS, DIAMONDS)},
}
"""All tables, including those for which the paper has no protocol."""
FRAMES: dict[str, FrameSource] = {data.name: data for data in DEVELOPMENT}
"""Tables with labels, gaps and times."""
SERIES: dict[str, Series] = {data.name: data for data in ETT}
GAMES: dict[str, Game] = {data.name: data for data in ATARI}


def dataset(name: str) -> DataSet:
    """Return the data set of this name.

    >>> dataset("ct").title
    'CT Position'
    """
    check_choice("dataset", name, DATASETS)
    return DATASETS[name]


def table(name: str) -> TableSource:
    """Return the table of this name, with or without a protocol of the paper.

    >>> table("pareto").load().y.min() > 0
    np.True_
    """
    check_choice("table", name, TABLES)
    return TABLES[name]


def frame(name: str) -> FrameSource:
    """Return the table with labels, gaps and times of this name.

    >>> frame("chicago").times
    ('date',)
    """
    check_choice("table", name, FRAMES)
    return FRAMES[name]


def series(name: str) -> Series:
    """Return the series of this name.

    >>> series("ETTh1").rows("validation", n_before=96)
    slice(8544, 11520, None)
    """
    check_choice("series", name, SERIES)
    return SERIES[name]


def game(name: str) -> Game:
    """Return the game of this name.

    >>> game("UpNDown").files[-1]
    'UpNDownNoFrameskip-v4.txt.gz'
    """
    check_choice("game", name, GAMES)
    return GAMES[name]


def source(name: str) -> Source:
    """Return the table, series or game of this name."""
    known: dict[str, Source] = {**TABLES, **FRAMES, **SERIES, **GAMES}
    check_choice("data set", name, known)
    return known[name]
