"""Series: a table whose rows are successive time steps."""

from __future__ import annotations

from dataclasses import dataclass

from histreg.study.datasets.source import TableSource

MONTHS = {"train": 12, "validation": 4, "test": 4}
"""Months of thirty days; later rows are not used, as is usual for these series."""


@dataclass(frozen=True)
class Series(TableSource):
    """The facts of a series.

    Parameters
    ----------
    rows_a_month : int
        Number of rows in thirty days.
    """

    rows_a_month: int

    def rows(self, part: str, n_before: int = 0) -> slice:
        """Return the rows of a part, and some before it; there are none before train.

        Parameters
        ----------
        part : {"train", "validation", "test"}
        n_before : int
            Number of rows before the part, the inputs of its first forecast.
        """
        parts = list(MONTHS)
        months_before = sum(MONTHS[earlier] for earlier in parts[: parts.index(part)])
        start = months_before * self.rows_a_month
        stop = start + MONTHS[part] * self.rows_a_month
        return slice(max(0, start - n_before), stop)
