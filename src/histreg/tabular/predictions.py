"""Predictions: all that a model predicts for some rows, from one run of its network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from numbers import Real

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._checks import check_fraction
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular import conformal
from histreg.tabular.atoms import Atoms
from histreg.tabular.calibrated import CalibratedDistribution
from histreg.tabular.conformal import Calibration
from histreg.tabular.objectives import Objective, OnHistogram

Array = NDArray[np.float64]


class Predictions:
    """The predictions of a model for n rows.

    Every property and method reads the same network outputs; nothing is computed
    before it is asked for. Arrays have shape (n,) if the model was fitted on y of shape
    (n,), and (n, m) if y had m columns. Everything but the mean needs a loss that
    predicts a distribution.

    Parameters
    ----------
    means : callable
        () -> Tensor of shape (n, m), float64.
    distributions : callable
        () -> tuple of m Histograms of batch shape (n,), float64 on the CPU.
    calibration : Calibration, optional
        For the intervals.
    is_flat : bool
        Whether y had shape (n,).
    groups : Tensor of shape (n,), int64, optional
        The group of each row, for a calibration by groups.
    atoms : Atoms, optional
        The values of a target that takes few, to which medians, modes, quantiles, ends
        of intervals and draws are rounded.
    """

    def __init__(
        self,
        means: Callable[[], Tensor],
        distributions: Callable[[], tuple[Histogram, ...]],
        calibration: Calibration | None = None,
        *,
        is_flat: bool,
        groups: Tensor | None = None,
        atoms: Atoms | None = None,
    ) -> None:
        self._means = cache(means)
        self._distributions = cache(distributions)
        self._calibration = calibration
        self._is_flat = is_flat
        self._groups = groups
        self._atoms = atoms

    @classmethod
    def of(
        cls,
        outputs: Tensor,
        objective: Objective,
        calibration: Calibration | None = None,
        *,
        is_flat: bool,
        blended: Callable[[Tensor, int], Histogram] | None = None,
        groups: Tensor | None = None,
        atoms: Atoms | None = None,
    ) -> Predictions:
        """Return the predictions of network outputs, (M, n, m, o) on the CPU.

        ``blended`` returns the distribution of the i-th target, the networks' mixed
        with others.
        """

        @cache
        def distributions() -> tuple[Histogram, ...]:
            read = objective.distribution if blended is None else blended
            return tuple(read(outputs, i) for i in range(outputs.shape[2]))

        def means() -> Tensor:
            if isinstance(objective, OnHistogram):  # do not normalise a second time
                return torch.stack([d.mean for d in distributions()], dim=-1)
            return objective.mean(outputs)

        return cls(
            means,
            distributions,
            calibration,
            is_flat=is_flat,
            groups=groups,
            atoms=atoms,
        )

    @classmethod
    def concatenated(cls, parts: Iterable[Predictions]) -> Predictions:
        """Return the predictions of several groups of rows as one.

        The parts are read one after the other; of each only its mean and its
        distributions are kept.
        """
        means, distributions, groups = [], [], []
        for part in parts:
            means.append(part._means())
            if part._groups is not None:
                groups.append(part._groups)
            # Copies without what the mean has cached, which is twice as large.
            distributions.append(
                [
                    Histogram.concatenated([histogram])
                    for histogram in part.distributions
                ]
            )
        joined = tuple(map(Histogram.concatenated, zip(*distributions, strict=True)))
        return cls(
            lambda: torch.cat(means),
            lambda: joined,
            part._calibration,
            is_flat=part._is_flat,
            groups=torch.cat(groups) if groups else None,
            atoms=part._atoms,
        )

    def at(self, rows: slice) -> Predictions:
        """Return the predictions for some of the rows."""
        return Predictions(
            lambda: self._means()[rows],
            lambda: tuple(histogram[rows] for histogram in self.distributions),
            self._calibration,
            is_flat=self._is_flat,
            groups=None if self._groups is None else self._groups[rows],
            atoms=self._atoms,
        )

    @property
    def distributions(self) -> tuple[Histogram, ...]:
        """The distributions of each of the m targets, of batch shape (n,)."""
        return self._distributions()

    @property
    def distribution(self) -> Histogram | tuple[Histogram, ...]:
        """The distributions of the rows, or a tuple of m of them for y (n, m)."""
        return self.distributions[0] if self._is_flat else self.distributions

    @property
    def mean(self) -> Array:  # (n,) or (n, m)
        """The means."""
        return self._shaped(self._means())

    @property
    def median(self) -> Array:  # (n,) or (n, m)
        """The medians."""
        return self._read_values(lambda d, _: d.median)

    @property
    def mode(self) -> Array:  # (n,) or (n, m)
        """The centers of the bins of highest density."""
        return self._read_values(lambda d, _: d.mode)

    @property
    def variance(self) -> Array:  # (n,) or (n, m)
        """The variances."""
        return self._read(lambda d, _: d.variance)

    def quantiles(self, alpha: float | Sequence[float]) -> Array:
        """Return quantiles.

        Parameters
        ----------
        alpha : float or sequence of q floats in [0, 1]

        Returns
        -------
        ndarray of shape (n, q), or (n, m, q); (n,) or (n, m) for one float
        """
        levels = checked_levels(alpha)
        quantiles = self._read_values(lambda d, _: d.quantiles(levels).movedim(0, -1))
        return quantiles[..., 0] if isinstance(alpha, Real) else quantiles

    def interval(
        self, coverage: float | Sequence[float], method: str = "central"
    ) -> tuple[Array, Array]:
        """Return intervals, calibrated ones if the model is calibrated.

        Parameters
        ----------
        coverage : float or sequence of q floats in (0, 1)
        method : {"central", "shortest"}

        Returns
        -------
        lower, upper : ndarrays of shape (n,) or (n, m); (n, q) or (n, m, q) for q
        """
        ends = [self._ends(one, method) for one in checked_coverages(coverage)]
        if isinstance(coverage, Real):
            return ends[0][..., 0], ends[0][..., 1]
        both = np.stack(ends, axis=-2)  # (n, q, 2) or (n, m, q, 2)
        return both[..., 0], both[..., 1]

    def _ends(self, coverage: float, method: str) -> Array:  # (n, 2) or (n, m, 2)
        if self._calibration is None:
            return self._read_values(
                lambda d, _: torch.stack(d.interval(coverage, method), dim=-1)
            )
        growths = self._calibration.growths_of(coverage, method, self._groups)
        return self._read_values(
            lambda d, i: torch.stack(
                conformal.interval(d, coverage, method, growths[i]), dim=-1
            )
        )

    @property
    def calibrated(self) -> CalibratedDistribution | tuple[CalibratedDistribution, ...]:
        """The distributions corrected by the calibration rows, or m of them."""
        if self._calibration is None:
            raise InputError(
                "a calibrated distribution needs a calibrated model; use calibrate(X, "
                "y) with rows that were not trained on"
            )
        found = tuple(
            CalibratedDistribution.of(
                d, self._calibration, i, self._groups, self._atoms
            )
            for i, d in enumerate(self.distributions)
        )
        return found[0] if self._is_flat else found

    def prob_above(self, threshold: float | Sequence[float]) -> Array:
        """Return P(y > threshold).

        Parameters
        ----------
        threshold : float, or one per target

        Returns
        -------
        ndarray of shape (n,) or (n, m)
        """
        limits = checked_thresholds(threshold, len(self.distributions))
        return self._read(lambda d, i: d.prob(limits[i], math.inf))

    def sample(self, n_samples: int, generator: torch.Generator) -> Array:
        """Return draws, (n, n_samples) or (n, m, n_samples)."""
        return self._read_values(
            lambda d, _: d.sample((n_samples,), generator=generator).movedim(0, -1)
        )

    def _read(self, reading: Callable[[Histogram, int], Tensor]) -> Array:
        """Return what ``reading`` returns, (n, ...), for each target and its number."""
        values = [reading(d, i) for i, d in enumerate(self.distributions)]
        return self._shaped(torch.stack(values, dim=1))

    def _read_values(self, reading: Callable[[Histogram, int], Tensor]) -> Array:
        """Return the same of readings that are values of y."""
        if self._atoms is None:
            return self._read(reading)
        rounded = self._atoms.rounded
        return self._read(lambda d, i: rounded(reading(d, i)))

    def _shaped(self, values: Tensor) -> Array:
        """Return (n, m, ...) as an array, without m if y had shape (n,)."""
        return (values[:, 0] if self._is_flat else values).numpy()


def checked_levels(alpha: float | Sequence[float]) -> list[float]:
    """Return the levels of quantiles; raise unless they lie in [0, 1]."""
    levels = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if levels.ndim != 1 or not ((levels >= 0) & (levels <= 1)).all():
        raise InputError(f"alpha must hold levels in [0, 1], got {alpha=}")
    return levels.tolist()


def checked_coverages(coverage: float | Sequence[float]) -> list[float]:
    """Return coverages as a list; raise unless there are some, all in (0, 1)."""
    coverages: list[float] = list(np.atleast_1d(np.asarray(coverage)).tolist())
    if not coverages:
        raise InputError("coverage must hold at least one number, got none")
    for one in coverages:
        check_fraction("coverage", one)
    return coverages


def checked_thresholds(
    threshold: float | Sequence[float], n_targets: int
) -> list[float]:
    """Return one threshold per target; raise on another number of them, or on NaN."""
    limits = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    if limits.shape not in ((1,), (n_targets,)):
        raise InputError(
            "threshold must be one number, or one for each of the "
            f"{n_targets} targets, got shape {limits.shape}"
        )
    if np.isnan(limits).any():
        raise InputError(f"threshold must not be NaN, got {threshold=}")
    return np.broadcast_to(limits, (n_targets,)).tolist()
