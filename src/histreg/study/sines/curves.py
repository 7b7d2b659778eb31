"""Results of the runs on sines: the best learning rate of each loss and target."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from histreg.study.analysis.estimates import Estimate
from histreg.study.engine.runs import Record
from histreg.study.methods import L2
from histreg.study.sines.runs import SineRun


@dataclass(frozen=True)
class BestRate:
    """A loss on a target, at the learning rate of the smallest area.

    Parameters
    ----------
    method : str
    alpha, beta : float
    value_range : (float, float)
        The support of the bins, if the loss `has_bins`.
    learning_rate : float
    areas, finals : dict of int to float
        By seed: the mean squared error over all iterations, and after the last.
    iterations : list of int
    curve : list of float
        The mean over seeds at these iterations.
    """

    method: str
    has_bins: bool
    alpha: float
    beta: float
    value_range: tuple[float, float]
    learning_rate: float
    areas: dict[int, float]
    finals: dict[int, float]
    iterations: list[int]
    curve: list[float]

    @property
    def area(self) -> Estimate:
        """The mean of the areas."""
        return Estimate.of(self.areas.values())

    @property
    def final(self) -> Estimate:
        """The mean of the last errors."""
        return Estimate.of(self.finals.values())


def best_rates(records: Iterable[Record]) -> list[BestRate]:
    """Return the best rate for each loss, target and support, by the mean over seeds.

    A rate at which a seed diverged has an infinite area. A rate with fewer seeds than
    another is unfinished, and is left out.
    """
    groups: dict[tuple[object, ...], dict[float, list[Record]]] = {}
    for record in records:
        run = record.run
        if isinstance(run, SineRun):
            setting = (run.method, run.alpha, run.beta, run.value_range)
            rates = groups.setdefault(setting, {})
            rates.setdefault(run.learning_rate, []).append(record)
    best = []
    for rates in groups.values():
        most = max(map(len, rates.values()))
        complete = [group for group in rates.values() if len(group) == most]
        winner = min(complete, key=_area)
        if math.isfinite(_area(winner)):
            best.append(_summary(winner))
    return best


def _area(group: list[Record]) -> float:
    areas = [record.outcome.metrics.get("area", math.inf) for record in group]
    return sum(areas) / len(areas)


def _summary(group: list[Record]) -> BestRate:
    run = group[0].run
    assert isinstance(run, SineRun)
    curves = [record.outcome.curves["MSE"] for record in group]
    return BestRate(
        method=run.method.name,
        has_bins=not isinstance(run.method, L2),
        alpha=run.alpha,
        beta=run.beta,
        value_range=run.value_range,
        learning_rate=run.learning_rate,
        areas=_by_seed(group, "area"),
        finals=_by_seed(group, "final MSE"),
        iterations=group[0].outcome.curves["iteration"],
        curve=[sum(values) / len(values) for values in zip(*curves, strict=True)],
    )


def _by_seed(group: list[Record], metric: str) -> dict[int, float]:
    return {
        int(str(record.run.facet("seed"))): record.outcome.metrics[metric]
        for record in group
    }
