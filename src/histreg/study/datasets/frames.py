"""Frame sources: tables with labels, gaps and times, as pandas frames."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from histreg.errors import InputError
from histreg.study.datasets.source import Floats, Source, array, sha256_of


@dataclass(frozen=True, eq=False)
class FrameTable:
    """The columns of a data set.

    Parameters
    ----------
    X : pandas.DataFrame of shape (n, d)
        Numbers as float64 with NaN for gaps, labels as text with None for gaps, and
        times as datetime64.
    y : array of float64 of shape (n,)
    sha256 : str
        Of the unpacked file with LF line ends.
    """

    X: Any
    y: Floats
    sha256: str


@dataclass(frozen=True)
class FrameSource(Source):
    """The facts of a CSV file with a header, and how to read it.

    Parameters
    ----------
    n_rows, n_features : int
    target : str
        The column to predict; all others are features.
    times : tuple of str
        Columns that hold dates or times. Other columns of text hold labels.
    """

    n_rows: int
    n_features: int
    target: str
    times: tuple[str, ...] = ()

    def load(self, data_dir: str | Path | None = None) -> FrameTable:
        """Return the checked columns.

        Parameters
        ----------
        data_dir : path, optional
            Folder to look in first, followed by ``HISTREG_DATA`` and earlier downloads.

        Raises
        ------
        ValueError
            If the file is missing, or differs from the published one.
        """
        import numpy as np
        import pandas as pd  # imported here, because it is part of an extra

        content = self.content(data_dir)
        frame = pd.read_csv(io.BytesIO(content))
        if self.target not in frame:
            self._refuse(f"must have a column {self.target!r}, got none")
        y = array(frame.pop(self.target))
        if frame.shape != (self.n_rows, self.n_features):
            self._refuse(
                f"must have {self.n_rows:,} rows and {self.n_features} features, got "
                f"{frame.shape[0]:,} and {frame.shape[1]}"
            )
        if n_bad := np.count_nonzero(~np.isfinite(y)):
            self._refuse(
                f"must have a finite {self.target} in every row, got {n_bad} without"
            )
        columns = {name: self._column(frame[name]) for name in frame}
        return FrameTable(pd.DataFrame(columns), y, sha256_of(content))

    def _column(self, column: Any) -> Any:
        """Return a column as numbers, times or labels."""
        import pandas as pd

        if column.name in self.times:
            return pd.to_datetime(column)
        if column.dtype.kind in "iufb":
            return column.astype(float)
        # pandas has NaN, a number, for missing text.
        return column.astype(object).where(column.notna(), None)

    def _refuse(self, problem: str) -> None:
        raise InputError(f"the file of {self.title} {problem}")
