"""Odd tables: files as people and programs make them, and files that are broken."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import random
import string
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from histreg import HistogramRegressor
from histreg.cli.tables import read
from tests.fuzz.campaign import BrokenPromiseError, Campaign
from tests.fuzz.commands import Answer, histreg

Column = list[str]
"""The cells of a column, as text."""

NAMES = [
    *("a", "b", "size", "price per m²", "größe", "価格", "x y", "1", "Unnamed: 0"),
    *('quote"d', "semi;colon", "comma,name", " padded ", "mean", "y_mean", "📈"),
]
GAPS = ["", "NA", "NaN", "null", "None", "-", "?", "N/A"]


def _numbers(rng: random.Random, n: int) -> list[float]:
    scale = 10.0 ** rng.choice([-300, -20, -3, 0, 0, 0, 3, 12, 200])
    offset = rng.choice([0.0, 0.0, 1.0, -5.0, 1e6, 1e14]) * scale
    return [offset + scale * rng.gauss(0, 1) for _ in range(n)]


def _plain(rng: random.Random, n: int) -> Column:
    return [repr(x) for x in _numbers(rng, n)]


def _counts(rng: random.Random, n: int) -> Column:
    return [str(int(rng.expovariate(0.2))) for _ in range(n)]


def _decimal_commas(rng: random.Random, n: int) -> Column:
    return [f"{rng.gauss(0, 9):.2f}".replace(".", ",") for _ in range(n)]


def _thousands(rng: random.Random, n: int) -> Column:
    mark = rng.choice([",", ".", " ", "'", "\u00a0"])
    return [f"{rng.randrange(10**7):,}".replace(",", mark) for _ in range(n)]


def _labels(rng: random.Random, n: int) -> Column:
    levels = [_word(rng) for _ in range(rng.choice([1, 2, 5, 200]))]
    return [rng.choice(levels) for _ in range(n)]


def _words(rng: random.Random, n: int) -> Column:
    return [_word(rng) for _ in range(n)]


def _times(rng: random.Random, n: int) -> Column:
    form = rng.choice(
        [
            *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M", "%d.%m.%Y"),
            *("%m/%d/%Y", "%Y%m%dT%H%M%S", "%Y-%m-%dT%H:%M:%S+02:00", "%H:%M:%S"),
        ]
    )
    start = pd.Timestamp("2013-05-17")
    step = pd.Timedelta(hours=rng.choice([1, 24, 1000]))
    return [(start + i * step).strftime(form) for i in range(n)]


def _flags(rng: random.Random, n: int) -> Column:
    yes, no = rng.choice([("true", "false"), ("1", "0"), ("yes", "no"), ("True", "")])
    return [rng.choice([yes, no]) for _ in range(n)]


def _constant(rng: random.Random, n: int) -> Column:
    return [rng.choice(["0", "7.5", "same", "", "2020-01-01"])] * n


def _ids(rng: random.Random, n: int) -> Column:
    start = rng.choice([0, 10**17, 10**400])
    return [str(start + i) for i in range(n)]


def _with_gaps(rng: random.Random, column: Column) -> Column:
    share = rng.choice([0, 0, 0, 0.1, 0.1, 0.9, 1.0])
    gap = rng.choice(GAPS)
    return [gap if rng.random() < share else cell for cell in column]


def _with_infinities(rng: random.Random, n: int) -> Column:
    column = _plain(rng, n)
    column[rng.randrange(n)] = rng.choice(["inf", "-inf", "1e999", "1e-400"])
    return column


def _word(rng: random.Random) -> str:
    letters = string.ascii_letters + ' ,;"\n\téß漢🎈\u200b'
    return "".join(rng.choice(letters) for _ in range(rng.randrange(1, 9)))


COLUMNS: list[Callable[[random.Random, int], Column]] = [
    *(_plain, _counts, _decimal_commas, _thousands, _labels, _words, _times, _flags),
    *(_constant, _ids, _with_infinities),
]


def _table(rng: random.Random) -> tuple[list[str], list[Column]]:
    """Return names and columns; the last is the target."""
    n = rng.choice([1, 2, 9, 30, 60, 150])
    names = rng.sample(NAMES, rng.randrange(1, 7))
    if rng.random() < 0.02:
        names.append(names[0])  # twice
    columns = [_with_gaps(rng, rng.choice(COLUMNS)(rng, n)) for _ in names]
    target = rng.choice([*[_plain, _counts] * 8, *COLUMNS])(rng, n)
    return [*names, "target"], [*columns, _with_gaps(rng, target)]


def _written(rng: random.Random, folder: Path) -> Path:
    """Write a table as a program would, and return the file."""
    names, columns = _table(rng)
    delimiter = rng.choice([",", ",", ";", "\t", "|"])
    suffix = rng.choice([".csv", ".csv", ".csv", ".tsv", ".csv.gz", ".parquet"])
    path = folder / f"table{suffix}"
    if suffix == ".parquet":
        cells = dict(zip(names, columns, strict=False))
        frame = pd.DataFrame({name: _typed(rng, each) for name, each in cells.items()})
        frame.to_parquet(path, index=False)
        return path
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter="\t" if suffix == ".tsv" else delimiter,
        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        lineterminator=rng.choice(["\n", "\r\n"]),
    )
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    encoding = rng.choice([*["utf-8", "utf-8-sig"] * 10, "utf-16"])
    data = text.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return path


def _typed(rng: random.Random, cells: Column) -> object:
    """Return a column of one of the types that Parquet has."""
    numbers = [zlib.crc32(cell.encode()) % 1000 / 7 for cell in cells]
    times = [pd.Timestamp("2020-01-01") + pd.Timedelta(hours=x) for x in numbers]
    return rng.choice(
        [
            lambda: cells,
            lambda: numbers,
            lambda: np.array(numbers, dtype=np.float32),
            lambda: pd.array([int(x) for x in numbers], dtype="Int16"),
            lambda: times,
            lambda: pd.Series(times).dt.tz_localize("Europe/Rome", ambiguous=True),
            lambda: [time.date() for time in times],
            lambda: [time.time() for time in times],
            lambda: [cell.encode() for cell in cells],
            lambda: [[x] for x in numbers],
            lambda: [{"x": x} for x in numbers],
            lambda: pd.Categorical(cells),
            lambda: [x > 70 for x in numbers],
        ]
    )()


def _options(rng: random.Random, path: Path) -> list[str]:
    """Return options of a fit, most of them sensible."""
    options = ["--epochs", "1", "--no-compare"]
    more = [
        ["--spacing", rng.choice(["auto", "log", "quantile", "oblong"])],
        ["--tails", rng.choice(["gpd", "exponential"])],
        ["--bins", str(rng.choice([0, 13, 20, 300]))],
        ["--loss", rng.choice(["l2", "mdn", "crps", "brier"])],
        ["--holdout", rng.choice(["0", "0.5", "1", "nan"])],
        ["--drop", rng.choice(["a", "target", "b,size"])],
        ["--label", rng.choice(["a", "b"])],
        ["--weight", "a"],
        ["--time", "b"],
        ["--censored", "a"],
        ["--range", "0", rng.choice(["1", "-1", "inf"])],
        ["--save-holdout", str(path.with_name(rng.choice([path.name, "held.csv"])))],
        ["--seed", rng.choice(["-1", "5", str(2**80)])],
        ["--estimators", "3"],
    ]
    for option in rng.sample(more, rng.choice([0, 0, 0, 0, 1, 2, 3])):
        options += option
    return options


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_predictions(rng: random.Random, folder: Path, path: Path) -> None:
    """Predict for the table that was learnt from: every number must be one."""
    out = folder / "predicted.csv"
    asked = ["--above", "0.1", "--quantiles", "0.1,0.9", "--interval", "0.8"]
    asked = asked if rng.random() < 0.5 else []
    answer = histreg("predict", folder / "model", path, "--out", out, *asked)
    if answer.code:
        refused_for_a_reason = bool(asked) and "predict one number" in answer.told
        taken = "already" in answer.told
        if refused_for_a_reason or taken:
            return
        raise BrokenPromiseError(f"learnt from, but not predicted for: {answer.told}")
    predicted = read(out).frame
    model = HistogramRegressor.load(folder / "model")
    # Numbers are written with the decimal mark that the table has.
    texts = predicted["target_mean"].astype(str).str.replace(",", ".")
    means = pd.to_numeric(texts).to_numpy()
    low, high = model.bins_.lowest, model.bins_.highest
    if len(predicted) != len(read(path).frame) or not np.isfinite(means).all():
        raise BrokenPromiseError(f"predicted {len(predicted)} rows, means {means}")
    slack = 1e-9 * (high - low)
    is_bounded = model.loss not in ("l2", "l1", "mdn") and math.isfinite(high - low)
    if is_bounded and not ((means >= low - slack) & (means <= high + slack)).all():
        raise BrokenPromiseError(f"means outside the bins [{low}, {high}]: {means}")


def odd_table(rng: random.Random, folder: Path) -> str:
    """Fit to an odd table with odd options, then predict."""
    path = _written(rng, folder)
    before = _digest(path)
    answer: Answer = histreg(
        *("fit", path, "--target", "target", "--out", folder / "model"),
        *_options(rng, path),
    )
    if answer.code == 0:
        _check_predictions(rng, folder, path)
    elif (folder / "model").exists():
        raise BrokenPromiseError(f"refused, but there is a model: {answer.told}")
    if _digest(path) != before:
        raise BrokenPromiseError("the table was overwritten")
    return "refused" if answer.code else "learnt"


def broken_file(rng: random.Random, folder: Path) -> str:
    """Fit to a file of which bytes were cut off, changed or put in."""
    path = _written(rng, folder)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 5])):
        at = rng.randrange(len(data) + 1)
        kind = rng.choice(["cut", "flip", "insert", "zero"])
        if kind == "cut":
            data = data[:at]
        elif kind == "flip" and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == "insert":
            data[at:at] = rng.randbytes(rng.choice([1, 16]))
        else:
            data[at:at] = b"\0" * rng.choice([1, 1000])
    path.write_bytes(data)
    answer = histreg(
        *("fit", path, "--target", "target", "--out", folder / "model"),
        *("--epochs", "1", "--no-compare"),
    )
    return "refused" if answer.code else "learnt"


CAMPAIGNS = [
    Campaign(
        "odd tables",
        "a model that predicts finite numbers, or one sentence and no model; "
        "the table stays as it is",
        odd_table,
    ),
    Campaign("broken tables", "a model, or one sentence", broken_file),
]
