"""The paper's numbers, as its tables print them."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from histreg.study.analysis.estimates import Estimate, students_factor
from histreg.study.datasets import DATASETS, SERIES
from histreg.study.engine.runs import Run
from histreg.study.methods import (
    L2,
    HLGauss,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    Method,
)
from histreg.study.series.runs import ForecastRun
from histreg.study.tabular.representations import column_of, with_own_body
from histreg.study.tabular.runs import TabularRun

FORECAST_TABLES = ("ett_mse", "ett_mae")
UNMATCHED = MappingProxyType({"l2+Softmax": (L2SoftmaxPerBin.name, L2SoftmaxMean.name)})
"""Rows of the paper that match none of our methods, with those that might be meant.

The formula of l2+Softmax cannot have the numbers of its row, and the loss that can have
them has a row of its own, l2+Softmax+Mean, beside which it stands.
"""
NUMBERS = {
    "overall": (1, 7),
    "discretisation_main": (2, 2),
    "representation": (3, 9),
    "ett_mse": (4, 4),
    "ett_mae": (6, 6),
    "discretisation_appendix": (8, 8),
}
"""The numbers of the paper's tables: that with CT Position, that with the others."""
Row = tuple[str, str, str]
"""What the paper has in a row: data set, architecture of a forecaster, and method."""


@dataclass(frozen=True)
class PaperCell:
    """A number in a table of the paper.

    Parameters
    ----------
    table : int
        Number of the table.
    dataset : str
        The data set or series, by our name.
    architecture : str
        The sequence model of a forecaster; empty in other tables.
    method : str
        As the paper has it; in Tables 3 and 9 with the body, such as ``l2 [Default]``.
    metric : str
        Such as ``"test MAE"``.
    estimate : Estimate
        Over five seeds. An error that is printed as 0.000 is taken as 0.
    """

    table: int
    dataset: str
    architecture: str
    method: str
    metric: str
    estimate: Estimate

    @property
    def row(self) -> Row:
        """The row as `row_of` names it, for a body of its own without the body."""
        return (self.dataset, self.architecture, self.method.removesuffix(" [Default]"))


@functools.cache
def paper_cells() -> tuple[PaperCell, ...]:
    """Return all 412 numbers of the paper's tables of results, in the order of tables.

    Examples
    --------
    >>> len(paper_cells())
    412
    >>> paper_cells()[0].row
    ('ct', '', 'Linear Regression')
    """
    names = {source.title: name for name, source in {**DATASETS, **SERIES}.items()}
    cells = []
    for row in _rows("paper_results.csv"):
        of_ct, of_others = NUMBERS[row["table"]]
        dataset = names[row["dataset"]]
        is_forecast = row["table"] in FORECAST_TABLES
        # Those of forecasts are half of a 95 % interval, Student's of five seeds.
        se = float(row["error"]) / (students_factor(5) if is_forecast else 1)
        cell = PaperCell(
            of_ct if dataset == "ct" else of_others,
            dataset,
            row["architecture"] if is_forecast else "",
            row["method"],
            f"{row['split']} {row['metric']}",
            Estimate(float(row["mean"]), se, 5),
        )
        cells.append(cell)
    return tuple(sorted(cells, key=lambda cell: cell.table))


def _rows(file: str) -> Iterator[dict[str, str]]:
    text = files("histreg.study.analysis").joinpath(file).read_text()
    return iter(csv.DictReader(text.splitlines()))


@functools.cache
def _published() -> dict[tuple[str, str, str, str], Estimate]:
    return {
        (cell.dataset, cell.architecture, cell.method, cell.metric): cell.estimate
        for cell in paper_cells()
    }


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
    return _published().get((dataset, "", method, metric))


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


def row_of(run: Run) -> Row | None:
    """Return the row of the paper that a run is a seed of; None if it has none.

    Examples
    --------
    >>> row_of(TabularRun.of("pole", HLGauss(), 1))
    ('pole', '', 'HL-Gauss')
    """
    if isinstance(run, TabularRun) and run.part == "test":
        name = published_name(run)
        return None if name is None else (run.dataset, "", name)
    if isinstance(run, ForecastRun) and run.is_of_paper:
        return (run.dataset, run.architecture, run.method.name)
    return None


def published_forecast(
    series: str, architecture: str, method: str, metric: str
) -> Estimate | None:
    """Return the paper's mean and standard error of a forecaster, if it has them.

    Examples
    --------
    >>> published_forecast("ETTh1", "Linear", "l2", "test MSE").mean
    0.07105
    """
    return _published().get((series, architecture, method, metric))


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
