"""Method scores: methods compared table by table, over their seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from histreg.study.analysis.ratios import log_ratio
from histreg.study.analysis.statistics import Setting


@dataclass(frozen=True, eq=False)
class MethodScores:
    """The scores of methods on tables. Subclasses name both, in their order.

    Parameters
    ----------
    settings : sequence of Setting
        Of runs whose method is a name.
    """

    table_order: ClassVar[tuple[str, ...]]
    method_order: ClassVar[tuple[str, ...]]

    settings: Sequence[Setting[Any]]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], Setting[Any]]:
        return {
            (setting.run.dataset, setting.run.method): setting
            for setting in self.settings
        }

    @property
    def tables(self) -> list[str]:
        """The tables that have records, in their order, then any others."""
        return _ordered((s.run.dataset for s in self.settings), self.table_order)

    @property
    def methods(self) -> list[str]:
        """The methods that have records, in their order, then any others."""
        return _ordered((s.run.method for s in self.settings), self.method_order)

    def of_table(self, table: str) -> list[Setting[Any]]:
        """Return the methods on a table."""
        settings = (self._by_name.get((table, name)) for name in self.methods)
        return [setting for setting in settings if setting is not None]

    def values(self, table: str, method: str, metric: str) -> dict[int, float]:
        """Return a metric by seed; nothing if it is not there."""
        setting = self._by_name.get((table, method))
        return {} if setting is None else setting.values(metric)

    def ratio(self, table: str, method: str, metric: str, other: str) -> float:
        """Return a metric over that of another, the geometric mean over their seeds.

        NaN without seeds in common.
        """
        ours = self.values(table, method, metric)
        return math.exp(log_ratio(ours, self.values(table, other, metric)))


def _ordered(names: Any, order: Sequence[str]) -> list[str]:
    present = dict.fromkeys(names)
    known = [name for name in order if name in present]
    return [*known, *(name for name in present if name not in known)]
