"""Differences from the paper's numbers that are explained, in whole or in part."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from histreg.study.analysis.paper import PaperCell

UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Difference:
    """An explanation of why numbers of ours differ from the paper's.

    Parameters
    ----------
    datasets, methods : tuple of str
        The cells that it explains; methods as `row_of` names them.
    explanation : str
    see : str
        Where it is shown: the name of an inconsistency, or a page.
    models, metrics : tuple of str
        Further conditions on the cells; all if empty.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    explanation: str
    see: str
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def explains(self, cell: PaperCell) -> bool:
        """Return whether this is about a cell."""
        dataset, architecture, method = cell.row
        return (
            dataset in self.datasets
            and method in self.methods
            and architecture in (self.models or ("",))
            and (not self.metrics or cell.metric in self.metrics)
        )


@functools.cache
def differences() -> tuple[Difference, ...]:
    """Return all explained differences, as written in ``differences.toml``."""
    text = files("histreg.report.site").joinpath("differences.toml").read_text()
    entries: list[dict[str, Any]] = tomllib.loads(text)["difference"]
    return tuple(Difference(**_with_tuples(entry)) for entry in entries)


def _with_tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in entry.items()
    }


def explanation_of(cell: PaperCell) -> str:
    """Return why ours differs from a number of the paper, or ``"unexplained"``.

    Examples
    --------
    >>> from histreg.study.analysis.paper import paper_cells
    >>> explanation_of(paper_cells()[0])
    'unexplained'
    """
    for difference in differences():
        if difference.explains(cell):
            return f"{difference.explanation} ({difference.see})"
    return UNEXPLAINED
