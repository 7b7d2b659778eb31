"""Estimates: means with standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import stats


def students_factor(n: int) -> float:
    """Return half of the 95 % interval of a mean of n numbers, in standard errors.

    Examples
    --------
    >>> round(students_factor(5), 3)
    2.776
    """
    return float(stats.t.ppf(0.975, n - 1))


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error.

    Parameters
    ----------
    mean : float
    se : float
        NaN if it is not known, as for a single number.
    n : int
        Number of values; 0 if it is not known.
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
        variance = math.fsum((x - mean) ** 2 for x in numbers) / (n - 1)
        return cls(mean, math.sqrt(variance / n), n)

    @property
    def half_interval(self) -> float:
        """Half of Student's 95 % interval of the mean; NaN if n is not above 1."""
        return self.se * students_factor(self.n) if self.n > 1 else math.nan

    def apart(self, other: Estimate) -> float:
        """Return this mean minus another, in joint standard errors.

        NaN if an error is not known; two exact numbers are 0 or infinitely apart.
        """
        difference, error = self.mean - other.mean, math.hypot(self.se, other.se)
        if error == 0:
            return 0.0 if difference == 0 else math.copysign(math.inf, difference)
        return difference / error
