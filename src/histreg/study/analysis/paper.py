"""The paper's numbers, as its tables print them."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType

from histreg.study.analysis.estimates import Estimate, students_factor
from histreg.study.datasets import DATASETS
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.representations import column_of, with_own_body
from histreg.study.tabular.runs import TabularRun

TABLES = ("overall", "discretisation_appendix", "representation")
"""The tables of the common protocol; where two have a number, it is the same."""
FORECAST_TABLES = ("ett_mse", "ett_mae")


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


def published_name(run: TabularRun) -> str | None:
    """Return what the paper calls the method of a run; None if it has no such run.

    Examples
    --------
    >>> run = TabularRun.of("pole", L2(), 1, donor=HLGauss(), has_frozen_body=True)
    >>> published_name(run)
    'l2 [Fixed]'
    """
    method = run.method
    if with_own_body(run).changes:
        return None
    if method.label != method.name and not method.is_tuned:
        return None  # a variant of ours
    column = column_of(run)
    if column == "Default":
        return method.name
    if run.donor is not None and {run.donor, method} != {L2(), HLGauss()}:
        return None
    return f"{method.name} [{column}]"


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
