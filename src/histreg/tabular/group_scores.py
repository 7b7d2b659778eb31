"""Group scores: how well a model predicts each group of rows.

An interval may hold 90 % of all rows and 75 % of those of one group. Groups are the
values of a column; numbers and times with many values are cut into quarters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histreg.tabular.column_groups import MISSING, shown_value
from histreg.tabular.scores import COVERAGE, RowScores, Scores

MAX_GROUPS = 12  # of a column of labels; rarer ones are taken together
MAX_VALUES = 6  # of a column of numbers that is not cut
N_PARTS = 4
MIN_ROWS = 20  # of a group; of fewer, a coverage says little
OTHER = "other values"
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class GroupScore:
    """The scores of one group of rows.

    Parameters
    ----------
    name : str
    n_rows : int
    scores : Scores
    chance : float
        By how much the coverage of a calibrated model may differ from 90 %: 95 % of
        tables have no group that differs by more.
    """

    name: str
    n_rows: int
    scores: Scores
    chance: float

    @property
    def is_off(self) -> bool:
        """Whether intervals hold more or less than 90 %, beyond chance."""
        return abs(self.scores.coverage - COVERAGE) > self.chance


@dataclass(frozen=True)
class GroupScores:
    """The scores of each group of a column, with 20 rows at least."""

    column: str
    groups: tuple[GroupScore, ...]

    @property
    def off(self) -> list[GroupScore]:
        """Groups whose intervals hold more or less than 90 %, beyond chance."""
        return [group for group in self.groups if group.is_off]


def scores_by_group(
    rows: RowScores, column: str, kind: str, values: NDArray[Any]
) -> GroupScores:
    """Return the mean scores of each group of rows.

    Parameters
    ----------
    rows : RowScores
        Of n rows.
    column : str
    kind : {"number", "time", "duration", "label"}
        Of the column.
    values : ndarray of shape (n,)
        Its values, as `column_groups.values_of` returns them.
    """
    found = [
        (name, members)
        for name, members in _groups_of(kind, values)
        if len(members) >= MIN_ROWS
    ]
    # So that one of g groups is off by chance in 5 % of tables at most (Bonferroni).
    z = NormalDist().inv_cdf(1 - 0.025 / max(1, len(found)))
    return GroupScores(
        column,
        tuple(
            GroupScore(
                name,
                len(members),
                rows.at(members).means(),
                z * math.sqrt(COVERAGE * (1 - COVERAGE) / len(members)),
            )
            for name, members in found
        ),
    )


def _groups_of(kind: str, values: NDArray[Any]) -> Iterator[tuple[str, Rows]]:
    """Yield groups of rows with their names."""
    if kind == "label":
        yield from _labels(values)
        return
    is_known = ~np.isnan(values)
    known = values[is_known]
    if len(np.unique(known)) <= MAX_VALUES:
        for value in np.unique(known):
            yield shown_value(kind, value), np.flatnonzero(values == value)
    else:
        inner = np.linspace(0, 1, N_PARTS + 1)[1:-1]
        # Equal values are in one part.
        cuts = np.unique(np.quantile(known, inner, method="inverted_cdf"))
        part = np.searchsorted(cuts, values)
        for i in np.unique(part[is_known]):
            members = np.flatnonzero((part == i) & is_known)
            ends = values[members].min(), values[members].max()
            low, high = (_short_value(kind, end) for end in ends)
            yield (low if low == high else f"{low} to {high}"), members
    if not is_known.all():
        yield MISSING, np.flatnonzero(~is_known)


def _labels(values: NDArray[Any]) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the most frequent labels, then those of all others."""
    names = np.array([shown_value("label", value) for value in values])
    levels, codes, counts = np.unique(names, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    common = [i for i in order[:MAX_GROUPS] if counts[i] >= MIN_ROWS]
    for i in common:
        yield str(levels[i]), np.flatnonzero(codes == i)
    if len(common) < len(levels):
        yield OTHER, np.flatnonzero(~np.isin(codes, common))


def _short_value(kind: str, value: float) -> str:
    """Return a value as text, a time as its day."""
    if kind == "time":
        return shown_value(kind, value)[:10]
    return f"{value:,.4g}" if kind == "number" else shown_value(kind, value)
