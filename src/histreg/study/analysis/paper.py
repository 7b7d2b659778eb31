"""The paper's numbers, as its tables print them."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType

from histreg.study.analysis.estimates import Estimate, students_factor
from histreg.study.datasets import DATASETS
from histreg.study.methods import (
    L2,
    HLGauss,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    Method,
)
from histreg.study.tabular.representations import column_of, with_own_body
from histreg.study.tabular.runs import TabularRun

TABLES = ("overall", "discretisation_appendix", "representation")
"""The tables of the common protocol; where two have a number, it is the same."""
FORECAST_TABLES = ("ett_mse", "ett_mae")
UNMATCHED = MappingProxyType({"l2+Softmax": (L2SoftmaxPerBin.name, L2SoftmaxMean.name)})
"""Rows of the paper that match none of our methods, with those that might be meant.

The formula of l2+Softmax cannot have the numbers of its row, and the loss that can have
them has a row of its own, l2+Softmax+Mean, beside which it stands.
"""


def _rows(file: str) -> Iterator[dict[str, str]]:
    text = files("histreg.study.analysis").joinpath(file).read_text()
    return iter(csv.DictReader(text.splitlines()))


@functools.cache
def _published() -> dict[tuple[str, str, str], Estimate]:
    estimates: dict[tuple[str, str, str], Estimate] = {}
    for row in _rows("paper_results.csv"):
        if row["table"] in TABLES:
            metric = f"{row['split']} {row['metric']}"
            place = (row["dataset"], row["method"], metric)
            estimates[place] = Estimate(float(row["mean"]), float(row["error"]), 5)
    return estimates


def published(dataset: str, method: str, metric: str) -> Estimate | None:
    """Return the paper's mean and standard error over five runs, if it has them.

    Parameters
    ----------
    dataset, method : str
        By our names, and those of `histreg.study.tabular.representations`; a data set
        that the paper does not have has no number.
    metric : str
        Such as ``"test MAE"``.

    Examples
    --------
    >>> published("pole", "HL-Gauss", "test MAE")
    Estimate(mean=0.714, se=0.024, n=5)
    """
    data = DATASETS.get(dataset)
    return None if data is None else _published().get((data.title, method, metric))


@functools.cache
def rows_of(*tables: str) -> tuple[str, ...]:
    """Return the methods of some tables, or all, as the paper names and orders them.

    Examples
    --------
    >>> rows_of("overall")[:3]
    ('Linear Regression', 'l2', 'l2+Noise')
    """
    rows = _rows("paper_results.csv")
    names = (row["method"] for row in rows if not tables or row["table"] in tables)
    return tuple(dict.fromkeys(names))


def matched_row(method: Method) -> str | None:
    """Return the row of the paper that a method stands beside; None if it has none.

    The one place that says which of our methods is which of the paper's: the one with
    the same formula, which also has the name. A variant of ours, with other parameters,
    has no row, unless the paper reports its best setting.

    Examples
    --------
    >>> matched_row(L2SoftmaxMean())
    'l2+Softmax+Mean'
    """
    is_variant = method.label != method.name and not method.is_tuned
    has_row = method.name in rows_of() and method.name not in UNMATCHED
    return method.name if has_row and not is_variant else None


def published_name(run: TabularRun) -> str | None:
    """Return what the paper calls the method of a run; None if it has no such run.

    Examples
    --------
    >>> run = TabularRun.of("pole", L2(), 1, donor=HLGauss(), has_frozen_body=True)
    >>> published_name(run)
    'l2 [Fixed]'
    """
    row = matched_row(run.method)
    if row is None or with_own_body(run).changes:
        return None
    column = column_of(run)
    if column == "Default":
        return row
    if run.donor is not None and {run.donor, run.method} != {L2(), HLGauss()}:
        return None
    return f"{row} [{column}]"


@functools.cache
def _published_forecasts() -> dict[tuple[str, str, str, str], Estimate]:
    estimates: dict[tuple[str, str, str, str], Estimate] = {}
    for row in _rows("paper_results.csv"):
        if row["table"] in FORECAST_TABLES:
            metric = f"{row['split']} {row['metric']}"
            place = (row["dataset"], row["architecture"], row["method"], metric)
            # They have the half of a 95 % interval, which is Student's of five seeds.
            se = float(row["error"]) / students_factor(5)
            estimates[place] = Estimate(float(row["mean"]), se, 5)
    return estimates


def published_forecast(
    series: str, architecture: str, method: str, metric: str
) -> Estimate | None:
    """Return the paper's mean and standard error of a forecaster, if it has them.

    Examples
    --------
    >>> published_forecast("ETTh1", "Linear", "l2", "test MSE").mean
    0.07105
    """
    return _published_forecasts().get((series, architecture, method, metric))


@functools.cache
def published_log_ratios() -> Mapping[str, float]:
    """Return the log of HL-Gauss's test MAE over l2's by game, of all 55 games.

    The paper has them as dots of Figure 11; the numbers are those that the authors'
    notebooks keep.

    Examples
    --------
    >>> published_log_ratios()["Breakout"]
    -0.501591493
    """
    return MappingProxyType(
        {
            row["game"]: float(row["log_hl_over_l2_test_mae"])
            for row in _rows("paper_ratios.csv")
        }
    )


def published_data() -> dict[str, dict[str, str]]:
    """Return the paper's Table 5 by the names of the data sets, with our remarks."""
    names = {data.title: name for name, data in DATASETS.items()}
    return {names[row["dataset"]]: row for row in _rows("paper_datasets.csv")}
