"""Forecast: predicted distributions, each on its own place and scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from histreg.distribution import Histogram


@dataclass(frozen=True, eq=False)
class Forecast:
    r"""The distributions of future values: histograms that are shifted and scaled.

    Entry i of the batch is the distribution of
    :math:`\text{location}_i + \text{scale}_i Z_i`, where :math:`Z_i` has entry i of
    the standard histogram. Windows thereby share their bins, whatever the level of the
    series is. Everything is exact, as it is for `Histogram`.

    Parameters
    ----------
    location, scale : Tensors of shape (...), float64
        In units of y; scales are positive.
    standard : Histogram of batch shape (...)

    Examples
    --------
    >>> import torch
    >>> from histreg import Bins, Histogram
    >>> standard = Histogram(Bins([-1.0, 0.0, 1.0]), probs=torch.tensor([[0.5, 0.5]]))
    >>> forecast = Forecast(torch.tensor([20.0]), torch.tensor([2.0]), standard)
    >>> forecast.mean, forecast.quantiles([0.25, 0.75]).flatten()
    (tensor([20.]), tensor([19., 21.]))
    """

    location: Tensor
    scale: Tensor
    standard: Histogram

    @property
    def batch_shape(self) -> torch.Size:
        """The shape of everything that is one number per distribution."""
        return self.standard.batch_shape

    @property
    def mean(self) -> Tensor:  # (...)
        """The mean of each distribution."""
        return self.of_y(self.standard.mean)

    @property
    def median(self) -> Tensor:  # (...)
        """The median of each distribution."""
        return self.of_y(self.standard.median)

    @property
    def stddev(self) -> Tensor:  # (...)
        """The standard deviation of each distribution."""
        return self.scale * self.standard.stddev

    def icdf(self, q: Tensor | float) -> Tensor:
        """Return one quantile of each distribution: levels that broadcast, -> (...)."""
        return self.of_y(self.standard.icdf(q))

    def quantiles(self, levels: Sequence[float] | Tensor) -> Tensor:
        """Return several quantiles of each distribution: (m,) -> (m, ...)."""
        return self.of_y(self.standard.quantiles(levels))

    def interval(
        self, coverage: float, method: str = "central"
    ) -> tuple[Tensor, Tensor]:
        """Return the ends of an interval of this probability, each (...)."""
        lower, upper = self.standard.interval(coverage, method)
        return self.of_y(lower), self.of_y(upper)

    def cdf(self, y: Tensor | float) -> Tensor:
        """Return P(Y <= y) for y that broadcasts with (...)."""
        return self.standard.cdf(self._of_standard(y))

    def prob(self, lower: Tensor | float, upper: Tensor | float) -> Tensor:
        """Return P(lower < Y <= upper), for example with ``upper=float("inf")``."""
        return self.standard.prob(self._of_standard(lower), self._of_standard(upper))

    def log_prob(self, y: Tensor | float) -> Tensor:
        """Return the log density at y."""
        return self.standard.log_prob(self._of_standard(y)) - self.scale.log()

    def crps(self, y: Tensor | float) -> Tensor:
        """Return the continuous ranked probability score of y, in units of y."""
        return self.scale * self.standard.crps(self._of_standard(y))

    def sample(
        self, shape: Sequence[int] = (), generator: torch.Generator | None = None
    ) -> Tensor:
        """Return draws of shape ``(*shape, ...)``, each step drawn by itself.

        Draws of successive steps are independent, which the steps of a series are not:
        do not add them up.
        """
        return self.of_y(self.standard.sample(torch.Size(shape), generator=generator))

    def histogram(self, index: Any = ()) -> Histogram:
        """Return one distribution as a `Histogram` over bins in units of y.

        Parameters
        ----------
        index : int or tuple of ints
            Which of the batch, for example the step; none for a batch of one.
        """
        one = self[index]
        if one.batch_shape != ():
            raise IndexError(
                f"index must select one of {tuple(self.batch_shape)} distributions, "
                f"got {index!r}"
            )
        location, scale = one.location.item(), one.scale.item()
        bins = one.standard.bins.standardised(-location / scale, 1 / scale)
        return Histogram(bins, logits=one.standard.logits)

    def __getitem__(self, index: Any) -> Forecast:
        """Index the batch: ``forecast[0]``, ``forecast[:, 3]``."""
        return Forecast(self.location[index], self.scale[index], self.standard[index])

    def __repr__(self) -> str:
        return f"Forecast(batch_shape={tuple(self.batch_shape)})"

    def of_y(self, z: Tensor) -> Tensor:
        """Return values of Y for values of Z: location + scale z."""
        return self.location + self.scale * z

    def _of_standard(self, y: Tensor | float) -> Tensor:
        return (torch.as_tensor(y, dtype=self.location.dtype) - self.location) / (
            self.scale
        )
