"""Peer scores: our regressor beside its peers, over tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from histreg.study.analysis.method_scores import MethodScores
from histreg.study.analysis.statistics import settings_over_seeds
from histreg.study.datasets import FRAMES
from histreg.study.engine.runs import Record
from histreg.study.tables.metrics import CRPS
from histreg.study.tables.peers import OURS, PEERS
from histreg.study.tables.runs import TableRun


class Standing(NamedTuple):
    """The CRPS of our regressor on a table, over that of the best peer there."""

    table: str
    best: str
    ratio: float


@dataclass(frozen=True, eq=False)
class PeerScores(MethodScores):
    """The scores of our regressor and its peers, tables from few to many rows.

    A ratio is that of ours over a peer's, on the folds that both have.
    """

    table_order = tuple(sorted(FRAMES, key=lambda name: FRAMES[name].n_rows))
    method_order = tuple(PEERS)

    @classmethod
    def of(cls, records: Iterable[Record]) -> PeerScores:
        """Return the scores of records; other kinds of records are ignored."""
        return cls(settings_over_seeds(records, TableRun))

    @property
    def peers(self) -> list[str]:
        """The methods other than ours that have records."""
        return [name for name in self.methods if name != OURS]

    def n_folds(self, metric: str = CRPS) -> set[int]:
        """Return the numbers of folds that methods have, over tables and methods."""
        counts = {
            len(self.values(table, name, metric))
            for table in self.tables
            for name in self.methods
        }
        return counts - {0}

    def best(self, table: str, metric: str = CRPS) -> str | None:
        """Return the method that is ahead of all others; None without any.

        Ours is, if it is level with or below every peer on the folds that both have;
        else the peer that is furthest below ours. Without ours, the lowest mean counts.
        """
        standing = self._standing(table, metric)
        if standing is not None:
            return standing.best if standing.ratio > 1 else OURS
        means = {name: self.mean(table, name, metric) for name in self.methods}
        known = {name: mean for name, mean in means.items() if not math.isnan(mean)}
        return min(known, key=lambda name: known[name], default=None)

    def ratios(self, peer: str, metric: str) -> dict[str, float]:
        """Return our metric over a peer's, by table; tables without both are absent."""
        ratios = {name: self.ratio(name, OURS, metric, peer) for name in self.tables}
        return {name: ratio for name, ratio in ratios.items() if not math.isnan(ratio)}

    def mean(self, table: str, method: str, metric: str) -> float:
        """Return the mean of a metric over folds; NaN if there is none."""
        values = self.values(table, method, metric).values()
        return statistics.fmean(values) if values else math.nan

    def standings(self, metric: str = CRPS) -> list[Standing]:
        """Return ours beside the best peer, on the tables that have both.

        The best peer is the one of the highest ratio, on the folds that it shares with
        ours, however few these are.
        """
        standings = [self._standing(table, metric) for table in self.tables]
        return [standing for standing in standings if standing is not None]

    def _standing(self, table: str, metric: str) -> Standing | None:
        ratios = {peer: self.ratio(table, OURS, metric, peer) for peer in self.peers}
        known = {peer: ratio for peer, ratio in ratios.items() if not math.isnan(ratio)}
        if not known:
            return None
        best = max(known, key=lambda peer: known[peer])
        return Standing(table, best, known[best])
