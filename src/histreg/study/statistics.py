"""Statistics over seeds: means with standard errors, differences, choices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from histreg.study.methods import Method
from histreg.study.runs import Record
from histreg.study.tabular import TabularRun

METRICS = ("train MAE", "train RMSE", "test MAE", "test RMSE")


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error.

    Parameters
    ----------
    mean : float
    se : float
        NaN if one number cannot tell.
    n : int
        Numbers that went into it; 0 if that is not known.
    """

    mean: float
    se: float
    n: int = 0

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """Return the mean of numbers, and their standard deviation over sqrt(n).

        Examples
        --------
        >>> Estimate.of([1.0, 2.0, 3.0])
        Estimate(mean=2.0, se=0.5773502691896257, n=3)
        """
        numbers = list(values)
        n = len(numbers)
        if n == 0:
            return cls(math.nan, math.nan)
        mean = math.fsum(numbers) / n
        if n == 1:
            return cls(mean, math.nan, 1)
        variance = math.fsum((each - mean) ** 2 for each in numbers) / (n - 1)
        return cls(mean, math.sqrt(variance / n), n)

    def apart(self, other: Estimate) -> float:
        """Return this mean minus another, in joint standard errors.

        NaN if an error is not known; two exact numbers are 0 or infinitely apart.
        """
        difference, error = self.mean - other.mean, math.hypot(self.se, other.se)
        if error == 0:
            return 0.0 if difference == 0 else math.copysign(math.inf, difference)
        return difference / error


@dataclass(frozen=True)
class Setting:
    """A method on a data set, over its seeds.

    Parameters
    ----------
    dataset : str
    method : Method
    estimates : dict of str to Estimate
        By metric.
    n_diverged : int
        Seeds that left the finite numbers; the others are what is estimated.
    changes : str
        What differs from the protocol of the data set, such as the epochs.
    """

    dataset: str
    method: Method
    estimates: dict[str, Estimate]
    n_diverged: int = 0
    changes: str = ""

    @property
    def label(self) -> str:
        """The method, what differs from the protocol, and what went wrong."""
        told = [self.method.label, self.changes]
        told.append(f"{self.n_diverged} diverged" if self.n_diverged else "")
        return ", ".join(part for part in told if part)


def settings_of(records: Iterable[Record], *, part: str = "test") -> list[Setting]:
    """Return what tabular records say of each method, in the order of appearance."""
    groups: dict[TabularRun, list[Record]] = {}
    for record in records:
        run = record.run
        if isinstance(run, TabularRun) and run.part == part:
            groups.setdefault(replace(run, seed=0), []).append(record)
    found = []
    for run, group in groups.items():
        finite = [each for each in group if each.outcome.diverged_at is None]
        names = dict.fromkeys(name for each in finite for name in each.outcome.metrics)
        estimates = {
            name: Estimate.of(each.outcome.metrics[name] for each in finite)
            for name in names
        }
        found.append(
            Setting(
                run.dataset,
                run.method,
                estimates,
                n_diverged=len(group) - len(finite),
                changes=", ".join(run.changes),
            )
        )
    return found


def best_settings(settings: Sequence[Setting], metric: str) -> list[Setting]:
    """Return settings with but the best, of lowest mean, of each method that is tuned.

    Only settings with as many seeds as the most complete one take part, and none that
    diverged: a mean over the lucky seeds would win.
    """
    rivals: dict[tuple[object, ...], list[Setting]] = {}
    for each in settings:
        method = each.method
        what = method.name if method.is_tuned else method
        place = (each.dataset, what, each.changes)
        rivals.setdefault(place, []).append(each)
    best = []
    for group in rivals.values():
        if len(group) == 1:
            best += group
            continue
        most = max(_n_seeds(each, metric) for each in group)
        complete = [
            each
            for each in group
            if not each.n_diverged and most and _n_seeds(each, metric) == most
        ]
        if complete:
            best.append(min(complete, key=lambda each: each.estimates[metric].mean))
    return best


def validated_settings(records: Sequence[Record]) -> list[Setting]:
    """Return settings on test rows with but that best on validation rows if tuned."""
    on_validation = settings_of(records, part="validation")
    chosen = {
        (each.dataset, each.method)
        for each in best_settings(on_validation, "validation MAE")
    }
    return [
        each
        for each in settings_of(records)
        if not each.method.is_tuned or (each.dataset, each.method) in chosen
    ]


def _n_seeds(setting: Setting, metric: str) -> int:
    return setting.estimates[metric].n if metric in setting.estimates else 0
