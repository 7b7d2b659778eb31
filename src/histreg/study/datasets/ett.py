"""ETT: the oil temperature of two transformers, by the hour and the quarter hour."""

from histreg.study.datasets.series import Series
from histreg.study.datasets.source import Table, array, frame, names, sha256_of

CHANNELS = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
HOUR = 720  # rows in thirty days
SHA256 = {
    "ETTh1": "f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066",
    "ETTh2": "a3dc2c597b9218c7ce1cd55eb77b283fd459a1d09d753063f944967dd6b9218b",
    "ETTm1": "6ce1759b1a18e3328421d5d75fadcb316c449fcd7cec32820c8dafda71986c9e",
    "ETTm2": "db973ca252c6410a30d0469b13d696cf919648d0f3fd588c60f03fdbdbadd1fd",
}


def parse(content: bytes) -> Table:
    """Return six loads and the oil temperature as features, that again as target."""
    numbers = frame(content, ("date", *CHANNELS), keep=CHANNELS)
    return Table(
        X=array(numbers[list(CHANNELS)]),
        y=array(numbers["OT"]),
        columns=CHANNELS,
        sha256=sha256_of(content),
    )


def ett(name: str, n_rows: int, rows_a_month: int) -> Series:
    """Return one of the four series."""
    return Series(
        name=name,
        title=name,
        homepage="https://github.com/zhouhaoyi/ETDataset",
        licence="CC BY-ND 4.0",
        url=f"https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/{name}.csv",
        files=names("ett", f"{name}.csv", f"{name}.csv.gz"),
        member=f"{name}.csv",
        sha256=SHA256[name],
        n_rows=n_rows,
        n_features=len(CHANNELS),
        quirks=(
            "The oil is warmer in the year of training than in the months of the test: "
            "a forecaster that does not follow the level loses to repeating the last "
            "value."
        ),
        parse=parse,
        rows_a_month=rows_a_month,
    )


ETT = (
    ett("ETTh1", 17_420, HOUR),
    ett("ETTh2", 17_420, HOUR),
    ett("ETTm1", 69_680, 4 * HOUR),
    ett("ETTm2", 69_680, 4 * HOUR),
)
