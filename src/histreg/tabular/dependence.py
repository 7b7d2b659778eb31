"""Dependence: how predictions change, on average, with the value of one column.

Partial dependence (Friedman 2001, "Greedy function approximation"): the column is set
to one value in all rows, and a number of the predictions, such as the mean or a
quantile, is averaged over the rows. Where columns depend on each other this asks for
rows that do not occur, such as a large flat with one room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from histreg._axes import BLUE, GREY, axes_or_new, plain, short_label, show_dates
from histreg._checks import check_choice, check_count
from histreg.errors import InputError
from histreg.tabular.column_groups import (
    check_one_target,
    column_names,
    column_position,
    sampled_rows,
    shown_value,
    values_of,
    with_value,
)
from histreg.tabular.predictions import checked_levels
from histreg.tabular.readings import read_all, readings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from histreg.tabular.regressor import HistogramRegressor

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dependence:
    """Averages of predictions by the value of a column.

    Parameters
    ----------
    column : str
    kind : {"number", "time", "duration", "label"}
    grid : ndarray of shape (g,)
        Values of the column, rising: float64; for times datetime64, for durations in
        seconds; labels are objects, the most frequent first, None where missing.
    averages : dict of ndarrays of shape (g,)
        By name: ``"mean"``, ``"spread"``, ``"q0.9"``, ``"P(y > t)"``.
    n_rows : int
        Rows that were averaged over.
    """

    column: str
    kind: str
    grid: NDArray[Any]
    averages: dict[str, Array]
    n_rows: int

    @property
    def texts(self) -> list[str]:
        """The values of the grid as text."""
        grid = _in_seconds(self.grid) if self.kind == "time" else self.grid
        return [shown_value(self.kind, value) for value in grid]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per value, for tables and JSON.

        ``"value"`` is a number, or the text of a time or a label.
        """
        is_number = self.kind in ("number", "duration")
        values = self.grid.tolist() if is_number else self.texts
        return [
            {"value": value} | {n: float(v[i]) for n, v in self.averages.items()}
            for i, value in enumerate(values)
        ]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        of: str | Sequence[str] | None = None,
        color: str = BLUE,
    ) -> Axes:
        """Draw averages over the value of the column.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        of : str or sequence of str, optional
            Which averages. By default the mean, with a band between the lowest and the
            highest quantile if there are two; else the first average.
        color : str

        Returns
        -------
        Axes
        """
        names = [of] if isinstance(of, str) else of
        for name in names or ():
            check_choice("of", name, tuple(self.averages))
        ax = axes_or_new(ax)
        is_label = self.kind == "label"
        x = np.arange(len(self.grid)) if is_label else self.grid
        line = "none" if is_label else "-"
        band = [] if names else [n for n in self.averages if n.startswith("q")]
        if len(band) >= 2:
            low, high = (self.averages[name] for name in (band[0], band[-1]))
            ends = f"{band[0]} to {band[-1]}"
            if is_label:
                ax.vlines(x, low, high, color=color, alpha=0.35, lw=6, label=ends)
            else:
                ax.fill_between(x, low, high, color=color, alpha=0.2, lw=0, label=ends)
        if names is None:
            names = ["mean"] if "mean" in self.averages else [next(iter(self.averages))]
        styles = [(color, "o"), (GREY, "s"), (color, "^"), (GREY, "v")]
        for i, name in enumerate(names):
            own, marker = styles[i % len(styles)]
            y = self.averages[name]
            ax.plot(x, y, ls=line, marker=marker, ms=4, color=own, label=plain(name))
        if is_label:
            ax.set_xticks(x, [short_label(text, max_letters=20) for text in self.texts])
            ax.set_xlim(-0.5, len(x) - 0.5)
            if sum(map(len, self.texts)) > 40:
                ax.tick_params(axis="x", labelrotation=45)
        elif self.kind == "time":
            show_dates(ax.xaxis)
        unit = " (seconds)" if self.kind == "duration" else ""
        ax.set_xlabel(plain(self.column) + unit)
        ax.set_ylabel(plain(names[0]) if len(names) == 1 else "average prediction")
        if len(names) > 1 or len(band) >= 2:
            ax.legend(frameon=False)
        return ax


def partial_dependence(
    model: HistogramRegressor,
    X: Any,
    column: str,
    *,
    of: Sequence[str] = ("mean",),
    quantiles: float | Sequence[float] = (0.1, 0.9),
    above: float | Sequence[float] = (),
    n_values: int = 20,
    max_rows: int = 500,
    random_state: int | np.random.Generator | None = None,
) -> Dependence:
    """Return the average prediction for each of several values of a column.

    Parameters
    ----------
    model : HistogramRegressor
        Fitted, with one target.
    X : array-like or data frame of shape (n, d)
        Rows to average over.
    column : str
        Its name; ``"x0"``, ``"x1"``, ... if the model was fitted without names.
    of : sequence of {"mean", "spread"}
    quantiles, above : float or sequence of floats
        The averages also of quantiles at these levels, and of P(y > t). The average
        of a quantile is not the quantile of all rows together.
    n_values : int
        At most so many: quantiles of a number's values, the most frequent labels.
    max_rows : int
        Of more rows, so many are chosen at random.
    random_state : int, Generator or None

    Returns
    -------
    Dependence

    Examples
    --------
    >>> import numpy as np
    >>> from histreg import HistogramRegressor
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = HistogramRegressor(max_iter=5, random_state=0).fit(X, X[:, 1])
    >>> by_value = partial_dependence(model, X, "x1", n_values=5)
    >>> by_value.grid.shape, bool((np.diff(by_value.averages["mean"]) > 0).all())
    ((5,), True)
    """
    check_count("n_values", n_values, at_least=2)
    check_count("max_rows", max_rows, at_least=1)
    check_one_target(model)
    names = column_names(model)
    place = column_position(names, column, "column")
    levels = sorted(checked_levels(quantiles))
    readings = readings_of(of, quantiles=levels, above=above)
    table = model._table(X)
    kind = model.model_.kinds[place]
    grid = _grid(values_of(table, place), kind, n_values)
    if not len(grid):
        raise InputError(f"column {column!r} must have a value in some row, got none")
    generator = np.random.default_rng(random_state)
    rows = sampled_rows(len(table.numbers), max_rows, generator)
    table = table.at(rows)
    averages = {name: np.empty(len(grid)) for name in readings}
    for i, value in enumerate(grid):
        parts = model.model_.predictions(with_value(table, place, value))
        for name, read in read_all(parts, readings).items():
            averages[name][i] = read.mean()
    if kind == "time":
        grid = (grid * 1e6).round().astype("datetime64[us]")
    return Dependence(column, kind, grid, averages, len(rows))


def _grid(values: NDArray[Any], kind: str, n_values: int) -> NDArray[Any]:
    if kind == "label":
        counts = Counter(values)
        ranked = sorted(counts, key=lambda label: (-counts[label], str(label)))
        labels = np.empty(min(n_values, len(ranked)), dtype=object)
        labels[:] = ranked[:n_values]
        return labels
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= n_values:
        return distinct
    shares = np.linspace(0, 1, n_values)
    return np.unique(np.quantile(known, shares, method="inverted_cdf"))


def _in_seconds(times: NDArray[Any]) -> Array:
    return times.astype("datetime64[us]").astype(np.int64) / 1e6
