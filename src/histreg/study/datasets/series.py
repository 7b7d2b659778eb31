"""Series: a table whose rows are moments, in order."""

from __future__ import annotations

from dataclasses import dataclass

from histreg.study.datasets.source import TableSource

MONTHS = {"train": 12, "validation": 4, "test": 4}
"""Of thirty days; what comes after is not used, as is the custom with these series."""


@dataclass(frozen=True)
class Series(TableSource):
    """The facts of a series.

    Parameters
    ----------
    rows_a_month : int
        Of thirty days.
    """

    rows_a_month: int

    def rows(self, part: str, n_before: int = 0) -> slice:
        """Return the rows of a part, and some before it; there are none before train.

        Parameters
        ----------
        part : {"train", "validation", "test"}
        n_before : int
            Rows that the first forecast of the part looks back on.
        """
        parts = list(MONTHS)
        months_before = sum(MONTHS[each] for each in parts[: parts.index(part)])
        start = months_before * self.rows_a_month
        stop = start + MONTHS[part] * self.rows_a_month
        return slice(max(0, start - n_before), stop)
