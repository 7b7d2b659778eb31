"""DataSet: a table to learn from, with the paper's protocol for it."""

from __future__ import annotations

from dataclasses import dataclass

from histreg.study.datasets.source import Table, TableSource


@dataclass(frozen=True)
class DataSet(TableSource):
    """The facts of a data set, and the study's network for it.

    Parameters
    ----------
    y_range : tuple of float
        The declared range of y, for bins: all of y lies in it.
    hidden : tuple of int
        The widths of the hidden layers of the study's network.
    dropout : float
        The share of inputs that are dropped in training.
    epochs : int

    Examples
    --------
    >>> from histreg.study.datasets import dataset
    >>> table = dataset("diabetes").load()
    >>> table.X.shape, table.y.max()
    ((442, 10), np.float64(346.0))
    """

    y_range: tuple[float, float]
    hidden: tuple[int, ...]
    dropout: float
    epochs: int

    def problem_of(self, table: Table) -> str:
        """Return an error message if y leaves its declared range."""
        low, high = self.y_range
        smallest, largest = table.y.min(), table.y.max()
        if low <= smallest <= largest <= high:
            return ""
        return f"y must lie in [{low:g}, {high:g}], got {smallest:g} to {largest:g}"
