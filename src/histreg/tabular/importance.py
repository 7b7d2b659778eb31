"""Importance: what a model loses, and how its predictions move, without a column.

The values of a column are shuffled among the rows, which keeps their distribution and
destroys what they say about y (Breiman 2001, "Random forests"; Fisher, Rudin and
Dominici 2019). The increase of the CRPS is what the column is worth to this model on
these rows. The mean absolute change of a number such as the predicted mean says what
the column does to it, and needs no y.

Columns that say the same share their importance: each alone may seem useless. Put them
into one group to see what they are worth together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from histreg import metrics
from histreg._axes import BLUE, GREY, axes_or_new, plain, short_label
from histreg._checks import check_choice, check_count
from histreg.errors import InputError
from histreg.tabular.column_groups import (
    check_one_target,
    column_groups,
    sampled_rows,
    with_columns_of,
)
from histreg.tabular.columns import Table
from histreg.tabular.predictions import Predictions
from histreg.tabular.readings import OF, Reading, read_all, readings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from histreg.tabular.regressor import HistogramRegressor

Array = NDArray[np.float64]
CRPS = "CRPS"


@dataclass(frozen=True, eq=False)
class Importance:
    """The importance of each column, or group of columns.

    Parameters
    ----------
    columns : tuple of c str
    by_repeat : dict of ndarrays of shape (c, r)
        Over r shuffles: under ``"CRPS"`` the increase of the mean CRPS, under other
        names (``"mean"``, ``"spread"``, ``"P(y > t)"``) the mean absolute change.
    errors : dict of ndarrays of shape (c,)
        Standard errors of the means over repeats: from the rows, whose changes are
        averaged over the repeats first, so that both kinds of noise are in them.
    crps : float or None
        The mean CRPS with all columns as they are.
    n_rows : int
        Rows that were used.
    """

    columns: tuple[str, ...]
    by_repeat: dict[str, Array]
    errors: dict[str, Array]
    crps: float | None
    n_rows: int

    @property
    def names(self) -> list[str]:
        """What the importance is of, such as ``"CRPS"`` and ``"mean"``."""
        return list(self.by_repeat)

    def values(self, of: str | None = None) -> Array:
        """Return the means over repeats, (c,); of the first name by default."""
        return self.by_repeat[self._checked(of)].mean(axis=1)

    def ranked(self, of: str | None = None) -> list[str]:
        """Return the columns, the most important one first."""
        return [self.columns[i] for i in np.argsort(-self.values(of), kind="stable")]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per column, the most important first, for tables and JSON."""
        rows = []
        for column in self.ranked():
            i = self.columns.index(column)
            row: dict[str, Any] = {"column": column}
            for name in self.names:
                row[name] = float(self.values(name)[i])
                row[f"{name} error"] = float(self.errors[name][i])
            rows.append(row)
        return rows

    def plot(
        self,
        ax: Axes | None = None,
        *,
        of: str | None = None,
        max_columns: int = 20,
        color: str = BLUE,
    ) -> Axes:
        """Draw a bar per column, with two standard errors on each side.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        of : str, optional
            One of ``names``; the first by default.
        max_columns : int
            The most important ones are shown.
        color : str

        Returns
        -------
        Axes
        """
        of = self._checked(of)
        shown = self.ranked(of)[:max_columns][::-1]
        places = [self.columns.index(column) for column in shown]
        ax = axes_or_new(ax, height=1.0 + 0.26 * len(shown))
        ax.barh(
            [short_label(column) for column in shown],
            self.values(of)[places],
            xerr=2 * self.errors[of][places],
            color=color,
            ecolor=GREY,
            capsize=2,
        )
        ax.axvline(0, color=GREY, lw=0.8)
        ax.set_xlabel(
            "increase of CRPS when shuffled"
            if of == CRPS
            else plain(f"{of}: mean absolute change when shuffled")
        )
        return ax

    def _checked(self, of: str | None) -> str:
        if of is None:
            return self.names[0]
        check_choice("of", of, tuple(self.names))
        return of


def column_importance(
    model: HistogramRegressor,
    X: Any,
    y: ArrayLike | None = None,
    *,
    of: Sequence[str] = OF,
    above: float | Sequence[float] = (),
    quantiles: float | Sequence[float] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    n_repeats: int = 5,
    max_rows: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Importance:
    """Return the importance of each column, by shuffling it.

    Parameters
    ----------
    model : HistogramRegressor
        Fitted, with one target.
    X : array-like or data frame of shape (n, d)
        Rows that were not trained on, two at least.
    y : array-like of shape (n,), optional
        Their targets, for the increase of the CRPS.
    of : sequence of {"mean", "spread"}
        Numbers whose mean absolute change is returned too.
    above, quantiles : float or sequence of floats
        The same for P(y > t) and for quantiles.
    groups : mapping from str to sequences of str, optional
        Columns to shuffle together, by a name for them.
    n_repeats : int
        Shuffles of each column.
    max_rows : int
        Of more rows, so many are chosen at random.
    random_state : int, Generator or None

    Returns
    -------
    Importance

    Examples
    --------
    >>> import numpy as np
    >>> from histreg import HistogramRegressor
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = HistogramRegressor(max_iter=5, random_state=0).fit(X, X[:, 1])
    >>> column_importance(model, X, X[:, 1], random_state=0).ranked()[0]
    'x1'
    """
    check_count("n_repeats", n_repeats, at_least=1)
    check_count("max_rows", max_rows, at_least=2)
    check_one_target(model)
    members = column_groups(model, groups)
    readings = readings_of(of, above=above, quantiles=quantiles, or_none=y is not None)
    table = model._table(X)
    if len(table.numbers) < 2:
        raise InputError(
            f"X must have at least two rows to shuffle, got {len(table.numbers)}"
        )
    generator = np.random.default_rng(random_state)
    rows = sampled_rows(len(table.numbers), max_rows, generator)
    truth = None if y is None else _checked_y(model, y, len(table.numbers))[rows]
    table = table.at(rows)
    names = [CRPS, *readings] if y is not None else list(readings)
    before = _read(model, table, readings, truth)
    changes = {  # (c, r, n)
        name: np.empty((len(members), n_repeats, len(rows))) for name in names
    }
    for i, columns in enumerate(members.values()):
        for j in range(n_repeats):
            shuffled = table.at(generator.permutation(len(rows)))
            without = with_columns_of(table, shuffled, columns)
            after = _read(model, without, readings, truth)
            for name in names:
                change = after[name] - before[name]
                changes[name][i, j] = change if name == CRPS else np.abs(change)
    return Importance(
        columns=tuple(members),
        by_repeat={name: change.mean(axis=2) for name, change in changes.items()},
        errors={
            name: change.mean(axis=1).std(axis=1, ddof=1) / np.sqrt(len(rows))
            for name, change in changes.items()
        },
        crps=float(before[CRPS].mean()) if CRPS in before else None,
        n_rows=len(rows),
    )


def _read(
    model: HistogramRegressor,
    table: Table,
    readings: dict[str, Reading],
    truth: Array | None,
) -> dict[str, Array]:
    """Return the readings of all rows, (n,) each, and the CRPS if y is known."""
    scores: list[Array] = []

    def scored(parts: Iterable[Predictions]) -> Iterator[Predictions]:
        start = 0
        for part in parts:
            if truth is not None:
                (distribution,) = part.distributions
                end = start + len(distribution.logits)
                scores.append(metrics.crps(distribution, truth[start:end]).numpy())
                start = end
            yield part

    read = read_all(scored(model.model_.predictions(table)), readings)
    return {CRPS: np.concatenate(scores), **read} if scores else read


def _checked_y(model: HistogramRegressor, y: ArrayLike, n: int) -> Array:
    values = model._checked_y(y).reshape(len(np.asarray(y)), -1)
    if values.shape != (n, 1):
        raise InputError(f"y must have shape ({n},) like X, got {np.shape(y)}")
    return values[:, 0]
