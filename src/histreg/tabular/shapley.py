"""Shapley values: what each value of a row contributes to its prediction.

The value of a set of columns is the average prediction for background rows that get
these columns from the row and keep the others. The Shapley value of a column is what
it adds to the columns before it, averaged over all orders of the columns (Shapley
1953; Štrumbelj and Kononenko 2014; Lundberg and Lee 2017). The parts of a row add up to
its prediction minus the average prediction for the background.

With few columns all sets are evaluated, and the values are exact. With more, orders
are drawn in pairs, each with its reverse (Mitchell et al. 2022, "Sampling permutations
for Shapley value estimation"); the parts add up for each order, and so in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from histreg._axes import BLUE, GREY, ORANGE, axes_or_new, plain, short_label
from histreg._checks import check_choice, check_count
from histreg.errors import InputError
from histreg.tabular.column_groups import (
    check_one_target,
    column_groups,
    column_names,
    sampled_rows,
    shown_value,
    stacked,
    values_of,
    with_columns_of,
)
from histreg.tabular.columns import Table
from histreg.tabular.readings import OF, Reading, read_all, readings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from histreg.tabular.regressor import HistogramRegressor

Array = NDArray[np.float64]
Coalition = frozenset[int]  # numbers of column groups
ROWS_AT_ONCE = 2**14  # predicted in one go; bounds the memory


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """The contribution of each column to the prediction for one row.

    Parameters
    ----------
    columns : tuple of c str
        Columns, or groups of columns.
    values : tuple of c str
        What the row has in them, as text.
    base : dict of floats
        By name (``"mean"``, ``"spread"``, ``"q0.9"``, ``"P(y > t)"``): the average
        prediction for the background rows.
    predicted : dict of floats
        The prediction for the row.
    parts : dict of ndarrays of shape (c,)
        ``base + parts.sum()`` is ``predicted``, up to rounding.
    errors : dict of ndarrays of shape (c,)
        Standard errors of the parts over drawn orders; 0 where all sets of columns were
        evaluated. They do not include the choice of the background rows.
    n_background : int
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    base: dict[str, float]
    predicted: dict[str, float]
    parts: dict[str, Array]
    errors: dict[str, Array]
    n_background: int

    @property
    def names(self) -> list[str]:
        """What is explained, such as ``"mean"`` and ``"spread"``."""
        return list(self.parts)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per column, the largest part first, for tables and JSON."""
        order = np.argsort(-np.abs(self.parts[self.names[0]]), kind="stable")
        rows = []
        for i in order:
            row: dict[str, Any] = {"column": self.columns[i], "value": self.values[i]}
            for name in self.names:
                row[name] = float(self.parts[name][i])
                row[f"{name} error"] = float(self.errors[name][i])
            rows.append(row)
        return rows

    def plot(
        self,
        ax: Axes | None = None,
        *,
        of: str | None = None,
        max_columns: int = 12,
        colors: tuple[str, str] = (BLUE, ORANGE),
    ) -> Axes:
        """Draw how the columns lead from the base to the prediction, as a waterfall.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        of : str, optional
            One of ``names``; the first by default.
        max_columns : int
            The columns of the largest parts have bars; the others share one.
        colors : pair of str
            Of parts that raise and that lower the prediction.

        Returns
        -------
        Axes
        """
        if of is not None:
            check_choice("of", of, tuple(self.names))
        of = of or self.names[0]
        order = np.argsort(-np.abs(self.parts[of]), kind="stable")
        labels = [f"{self.columns[i]} = {self.values[i]}" for i in order[:max_columns]]
        parts = self.parts[of][order]
        if len(parts) > max_columns:
            labels.append(f"{len(parts) - max_columns} other columns")
            parts = np.append(parts[:max_columns], parts[max_columns:].sum())
        ax = axes_or_new(ax, height=1.2 + 0.28 * len(parts))
        ends = self.base[of] + np.cumsum(parts)
        starts = ends - parts
        places = np.arange(len(parts))[::-1]
        raises = parts >= 0
        ax.barh(places, parts, left=starts, color=np.where(raises, *colors), height=0.7)
        ax.vlines(ends[:-1], places[:-1] - 1.35, places[:-1] + 0.35, color=GREY, lw=0.6)
        ax.axvline(self.base[of], color=GREY, lw=1, ls="--")
        ax.axvline(self.predicted[of], color=GREY, lw=1)
        for place, part, end, is_up in zip(places, parts, ends, raises, strict=True):
            ax.annotate(
                _short(part, sign="+"),
                (end, place),
                (3 if is_up else -3, 0),
                textcoords="offset points",
                ha="left" if is_up else "right",
                va="center",
                fontsize=8,
            )
        low, high = min(starts.min(), ends.min()), max(starts.max(), ends.max())
        room = 0.2 * (high - low) or 1.0  # for the numbers beside the bars
        ax.set_xlim(low - room, high + room)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(places, [short_label(text) for text in labels])
        ax.set_xlabel(
            plain(of) + f": {_short(self.base[of])} on average, "
            f"{_short(self.predicted[of])} for this row"
        )
        return ax


def explain_rows(
    model: HistogramRegressor,
    X: Any,
    background: Any,
    *,
    of: Sequence[str] = OF,
    quantiles: float | Sequence[float] = (),
    above: float | Sequence[float] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    n_orders: int = 32,
    max_background: int = 100,
    random_state: int | np.random.Generator | None = None,
) -> list[RowExplanation]:
    """Return what each value of a row contributes to its prediction, by Shapley values.

    Parameters
    ----------
    model : HistogramRegressor
        Fitted, with one target.
    X : array-like or data frame of shape (n, d)
        Rows to explain.
    background : array-like or data frame of shape (b, d)
        Rows that are compared with, such as the test rows.
    of : sequence of {"mean", "spread"}
    quantiles, above : float or sequence of floats
        Explain quantiles and P(y > t) too.
    groups : mapping from str to sequences of str, optional
        Columns to treat as one, by a name for them.
    n_orders : int
        Orders of the columns that are drawn, an even number; if no more predictions
        are needed for all sets of columns, as with up to seven columns for 32 orders,
        values are exact.
    max_background : int
        Of more background rows, so many are chosen at random.
    random_state : int, Generator or None

    Returns
    -------
    list of n RowExplanation

    Examples
    --------
    >>> import numpy as np
    >>> from histreg import HistogramRegressor
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = HistogramRegressor(max_iter=5, random_state=0).fit(X, X[:, 1])
    >>> (one,) = explain_rows(model, X[:1], X)
    >>> total = one.base["mean"] + one.parts["mean"].sum()
    >>> bool(np.isclose(total, model.predict(X[:1])[0]))
    True
    """
    check_count("n_orders", n_orders, at_least=4)
    if n_orders % 2:
        raise InputError(f"n_orders must be even, got n_orders={n_orders}")
    check_count("max_background", max_background, at_least=1)
    check_one_target(model)
    members = column_groups(model, groups)
    readings = readings_of(of, quantiles=quantiles, above=above)
    table, others = model._table(X), model._table(background)
    generator = np.random.default_rng(random_state)
    others = others.at(sampled_rows(len(others.numbers), max_background, generator))
    names = column_names(model)
    explanations = []
    for i in range(len(table.numbers)):
        row = table.at(slice(i, i + 1))
        orders = _orders(len(members), n_orders, generator)
        worth = _worths(
            model, row, others, list(members.values()), _coalitions(orders), readings
        )
        parts, errors = {}, {}
        for name in readings:
            own = {coalition: values[name] for coalition, values in worth.items()}
            if orders is None:
                parts[name] = _exact_parts(own, len(members))
                errors[name] = np.zeros(len(members))
            else:
                parts[name], errors[name] = _sampled_parts(own, orders)
        none, every = frozenset[int](), frozenset(range(len(members)))
        explanations.append(
            RowExplanation(
                tuple(members),
                tuple(_shown(row, names, places) for places in members.values()),
                worth[none],
                worth[every],
                parts,
                errors,
                len(others.numbers),
            )
        )
    return explanations


def _orders(
    c: int, n_orders: int, generator: np.random.Generator
) -> list[NDArray[np.int64]] | None:
    """Return orders of the columns in pairs; None if all sets are as few."""
    if 2**c - 2 <= n_orders * (c - 1):
        return None
    drawn = [generator.permutation(c) for _ in range(n_orders // 2)]
    return [order for one in drawn for order in (one, one[::-1])]


def _coalitions(orders: list[NDArray[np.int64]] | None) -> Iterable[Coalition] | None:
    if orders is None:
        return None
    return dict.fromkeys(
        frozenset(order[:size].tolist())
        for order in orders
        for size in range(len(order) + 1)
    )


def _worths(
    model: HistogramRegressor,
    row: Table,
    others: Table,
    members: Sequence[Sequence[int]],
    coalitions: Iterable[Coalition] | None,
    readings: dict[str, Reading],
) -> dict[Coalition, dict[str, float]]:
    """Return the average predictions, by name, of sets of columns (all by default)."""
    c, b = len(members), len(others.numbers)
    if coalitions is None:
        coalitions = [
            frozenset(chosen)
            for size in range(c + 1)
            for chosen in combinations(range(c), size)
        ]
    wanted = list(coalitions)
    copies = row.at(np.zeros(b, dtype=np.int64))
    worth: dict[Coalition, dict[str, float]] = {}
    step = max(1, ROWS_AT_ONCE // b)
    for start in range(0, len(wanted), step):
        some = wanted[start : start + step]
        tables = [
            with_columns_of(others, copies, [j for i in chosen for j in members[i]])
            for chosen in some
        ]
        read = read_all(model.model_.predictions(stacked(tables)), readings)
        for i, chosen in enumerate(some):
            rows = slice(i * b, (i + 1) * b)
            worth[chosen] = {
                n: float(values[rows].mean()) for n, values in read.items()
            }
    return worth


def _exact_parts(worth: Mapping[Coalition, float], c: int) -> Array:
    """Return Shapley values from the worth of all sets."""
    parts = np.zeros(c)
    for chosen, value in worth.items():
        for i in set(range(c)) - chosen:
            weight = 1 / (c * math.comb(c - 1, len(chosen)))
            parts[i] += weight * (worth[chosen | {i}] - value)
    return parts


def _sampled_parts(
    worth: Mapping[Coalition, float], orders: Sequence[NDArray[np.int64]]
) -> tuple[Array, Array]:
    """Return estimates of the Shapley values and their standard errors, (c,)."""
    gains = np.empty((len(orders), len(orders[0])))
    for gain, order in zip(gains, orders, strict=True):
        along = [worth[frozenset(order[:k].tolist())] for k in range(len(order) + 1)]
        gain[order] = np.diff(along)
    pairs = (gains[::2] + gains[1::2]) / 2  # of an order and its reverse
    errors = pairs.std(axis=0, ddof=1) / math.sqrt(len(pairs))
    return pairs.mean(axis=0), errors


def _short(number: float, sign: str = "-") -> str:
    """Return a number with about four digits, without an exponent if it is moderate."""
    if not 1e-4 <= abs(number) < 1e9:
        return f"{number:{sign}.3g}"
    decimals = max(0, 3 - math.floor(math.log10(abs(number))))
    return f"{number:{sign},.{decimals}f}"


def _shown(row: Table, names: Sequence[str], places: Sequence[int]) -> str:
    """Return what a row has in the columns of a group, as text."""
    texts = [
        shown_value(row.kinds[place], values_of(row, place)[0]) for place in places
    ]
    if len(texts) == 1:
        return texts[0]
    return ", ".join(f"{names[p]} {t}" for p, t in zip(places, texts, strict=True))
