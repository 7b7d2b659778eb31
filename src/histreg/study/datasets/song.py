"""Song Year: the year in which a song came out, by its timbre."""

from dataclasses import replace

from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.source import Table, array, frame, names, sha256_of

# The file has no names; UCI's page says 12 means, then 78 covariances, of timbre.
FEATURES = (
    *(f"timbre_mean{i}" for i in range(1, 13)),
    *(f"timbre_covariance{i}" for i in range(1, 79)),
)


def parse(content: bytes) -> Table:
    """Return the 90 numbers after the year as features."""
    numbers = frame(content, ("year", *FEATURES), header=False)
    return Table(
        X=array(numbers[list(FEATURES)]),
        y=array(numbers["year"]),
        columns=FEATURES,
        sha256=sha256_of(content),
    )


SONG = DataSet(
    name="song",
    title="Song Year",
    homepage="https://archive.ics.uci.edu/dataset/203",
    licence="CC BY 4.0",
    url="https://archive.ics.uci.edu/static/public/203/yearpredictionmsd.zip",
    files=names(
        "song",
        "YearPredictionMSD.txt",
        "YearPredictionMSD.txt.gz",
        "YearPredictionMSD.txt.zip",
        "yearpredictionmsd.zip",
    ),
    member="YearPredictionMSD.txt",
    # The whole file was not at hand: rows, columns and years are checked instead.
    sha256=None,
    n_rows=515_345,
    n_features=90,
    y_range=(1922.0, 2011.0),
    hidden=(45,) * 4,
    dropout=0.05,
    epochs=150,
    quirks=(
        "The study splits at random, so songs of one artist are on both sides; UCI's "
        "own split (the first 463,715 rows, the last 51,630) keeps artists apart. "
        "Most years are after 1990. A download of 211 MB."
    ),
    parse=parse,
)

SONG_7000 = replace(
    SONG,
    name="song-7000",
    title="Song Year (7,000 rows)",
    url=None,
    files=names("song", "YearPredictionMSD-7000.txt", "YearPredictionMSD-7000.txt.gz"),
    member="YearPredictionMSD-7000.txt",
    sha256="8a4ce8cb596a43893e201b0b4727fed26d2547da832b872804f8dcb84813a15b",
    n_rows=7_000,
    quirks=(
        "7,000 random rows of the training part of Song Year, for where the whole file "
        "cannot be had: errors are larger than the paper's, which had 74 times the "
        "rows to train on."
    ),
)
