"""Tables of columns: linear regression with several choices of them."""

from __future__ import annotations

import math

from histreg.report.beside_paper import APART_NOTE, apart_of, seeds_in_words, shown
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published
from histreg.study.analysis.statistics import TableSetting
from histreg.study.datasets import TABLES, dataset

ERRORS = ("train MAE", "test MAE")
PARTS = ("train RMSE", "test RMSE")
OVER_ALL = "RMSE over all rows"


def rmse_over_all_rows(train: float, test: float) -> float:
    """Return the RMSE over all rows from those over four fifths and one fifth.

    It depends far less on the split than either part alone: rows that are easy to
    predict lower the error of one part and raise that of the other.

    Examples
    --------
    >>> rmse_over_all_rows(1.0, 1.0)
    1.0
    """
    return math.sqrt(0.8 * train**2 + 0.2 * test**2)


def columns(results: Results) -> list[PrintedTable]:
    """Return the errors with each choice of columns, beside the paper's."""
    settings = [each for each in results.tabular_settings if each.estimates]
    rows = [
        (
            dataset(setting.dataset).title,
            str(dataset(setting.dataset).n_features),
            *_error_cells(setting),
            *_rmse_cells(setting),
        )
        for setting in settings
    ]
    header = [
        *("data set", "columns"),
        *(column for metric in ERRORS for column in (metric, "paper", "apart")),
        *(OVER_ALL, "paper", "difference"),
    ]
    counts = {setting.estimates[ERRORS[0]].n for setting in settings}
    notes = [
        f"Mean ± standard error over {seeds_in_words(counts)}, each a split.",
        APART_NOTE,
        f"{OVER_ALL}: of training and test rows together, which hardly depends "
        "on the split; the paper's is that of its means, whose error is not known.",
    ]
    return [PrintedTable(results.title, tuple(header), rows, notes)] if rows else []


def _error_cells(setting: TableSetting) -> list[str]:
    cells = []
    for metric in ERRORS:
        ours, paper = setting.estimates[metric], in_paper(setting, metric)
        cells.append(shown(ours))
        cells += ["", ""] if paper is None else [shown(paper), apart_of(ours, paper)]
    return cells


def _rmse_cells(setting: TableSetting) -> list[str]:
    ours = Estimate.of(rmse_by_split(setting))
    cell = f"{ours.mean:.4f}"
    cell += "" if math.isnan(ours.se) else f" ± {ours.se:.4f}"
    paper = rmse_of_paper(setting)
    if paper is None:
        return [cell, "", ""]
    return [cell, f"{paper:.4f}", f"{ours.mean - paper:+.4f}"]


def rmse_by_split(setting: TableSetting) -> list[float]:
    """Return the RMSE over all rows of each split."""
    train, test = (setting.values(metric) for metric in PARTS)
    return [rmse_over_all_rows(train[seed], test[seed]) for seed in train]


def rmse_of_paper(setting: TableSetting) -> float | None:
    """Return the RMSE over all rows of the paper's means; None if it has none."""
    paper = [in_paper(setting, metric) for metric in PARTS]
    means = [estimate.mean for estimate in paper if estimate is not None]
    return rmse_over_all_rows(*means) if len(means) == len(PARTS) else None


def in_paper(setting: TableSetting, metric: str) -> Estimate | None:
    """Return the paper's number, also for other columns of the same rows."""
    return published(whole_of(setting.dataset), setting.method.name, metric)


def whole_of(name: str) -> str:
    """Return the data set of the paper that has the same rows, or the name itself.

    Examples
    --------
    >>> whole_of("ct-385"), whole_of("song-7000")
    ('ct', 'song-7000')
    """
    whole = name.split("-")[0]
    has_same_rows = whole in TABLES and dataset(whole).n_rows == dataset(name).n_rows
    return whole if has_same_rows else name
