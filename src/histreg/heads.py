"""Heads: layers that map features to predicted distributions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from histreg._checks import check_count
from histreg._rebinning import rebin_readout
from histreg._tensors import as_float64
from histreg.bins import Bins, checked_bins, replacing_bins, restored_bins
from histreg.distribution import Histogram
from histreg.errors import InputError


class HistogramHead(nn.Module):
    """A linear layer with one output per bin, in place of ``nn.Linear(d, 1)``.

    Parameters
    ----------
    in_features : int
        d, the width of the features.
    bins : Bins, or a sequence of Bins
        A sequence predicts several targets, each with its own bins (all with the same
        ``n_bins``).
    n_targets : int, optional
        Number of targets that share one Bins, for example the steps of a forecast.
    bias : bool
    zero_init : bool
        Start from a uniform density: the untrained head predicts the middle of the bins
        for all features.
    device, dtype
        As in ``nn.Linear``.

    Notes
    -----
    The bins are part of the ``state_dict``, as a float64 tensor.

    For a forecast of h steps, either pass features (b, h, d), one vector per step, and
    all steps share the weights; or pass one vector (b, d) per window to a head with
    ``n_targets=h``, and each step has its own weights. In both cases logits have shape
    (b, h, k) and y has shape (b, h).

    Examples
    --------
    >>> head = HistogramHead(16, Bins.uniform(0.0, 10.0, 50), zero_init=True)
    >>> features = torch.randn(8, 16)
    >>> head(features).shape, head.distribution(features).mean[0].item()
    (torch.Size([8, 50]), 5.0)
    """

    def __init__(
        self,
        in_features: int,
        bins: Bins | Sequence[Bins],
        *,
        n_targets: int | None = None,
        bias: bool = True,
        zero_init: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("in_features", in_features, at_least=1)
        self.bins = checked_bins(bins)
        if n_targets is not None:
            check_count("n_targets", n_targets, at_least=1)
            if not isinstance(self.bins, Bins):
                raise InputError(
                    "n_targets requires a single Bins shared by all targets, got "
                    f"{n_targets=} and {len(self.bins)} Bins"
                )
        elif not isinstance(self.bins, Bins):
            n_targets = len(self.bins)
        self.n_targets = n_targets
        self.n_bins = self._bins_tuple[0].n_bins
        self.linear = nn.Linear(
            in_features, (n_targets or 1) * self.n_bins, bias, device, dtype
        )
        if zero_init:
            self._start_uniform()

    @property
    def _bins_tuple(self) -> tuple[Bins, ...]:
        return (self.bins,) if isinstance(self.bins, Bins) else self.bins

    def forward(self, features: Tensor) -> Tensor:
        """Return logits.

        Parameters
        ----------
        features : Tensor of shape (..., d)

        Returns
        -------
        Tensor of shape (..., k), or (..., m, k) for m targets
        """
        logits = self.linear(features)
        if self.n_targets is None:
            return logits
        return logits.unflatten(-1, (self.n_targets, self.n_bins))

    def distribution(self, features: Tensor) -> Histogram | tuple[Histogram, ...]:
        """Return the predicted distribution of each sample.

        Parameters
        ----------
        features : Tensor of shape (..., d)
            Not logits; for those, use ``Histogram(head.bins, logits=logits)``.

        Returns
        -------
        Histogram
            With batch shape (...), or (..., m) for m targets that share their bins.
        tuple of m Histograms
            Each with batch shape (...), for targets with their own bins.
        """
        logits = self(features)
        if isinstance(self.bins, Bins):
            return Histogram(self.bins, logits=logits)
        return tuple(
            Histogram(bins, logits=logits[..., i, :])
            for i, bins in enumerate(self.bins)
        )

    @torch.no_grad()
    def rebin(
        self, bins: Bins | Sequence[Bins], features: Tensor | None = None
    ) -> None:
        """Replace the bins by as many other bins in place, and keep the predictions.

        The log density over y is linear in the features; each new bin gets its average
        over the old bins it covers. This maps a Gaussian to a Gaussian of the same mean
        and changes the parameters in place, so that an optimizer can continue with
        them. Beyond the old ends the density is that of the end bin divided by 100, and
        also by the square of the relative width where bins become wider.

        If ``features`` of some samples are given, the weights are then fitted to the
        old predictions for these samples: to the differences of the CDF at the new
        borders, with 0.5 % of the mass beyond each end that moves, or less if that
        would shift a mean by more than a quarter of the width of the bins with mass.

        Parameters
        ----------
        bins : Bins, or a sequence of Bins
            As many as before, and a sequence if it was one; equal bins change nothing.
            `Bins.grown` returns bins with a larger range. Rebin the loss as well:
            `HistogramLoss.rebin`.
        features : Tensor of shape (..., d), optional
            Of some samples, such as the next batch. Recommended if densities are not
            smooth, or if bins grow more than once: end bins that no y has reached are
            nearly empty, each growth divides their density by 100 again, and it takes
            long to learn it back.

        Examples
        --------
        >>> head = HistogramHead(16, Bins.uniform(0.0, 10.0, 50))
        >>> head.rebin(head.bins.grown(torch.tensor([5.0, 35.0])))
        >>> head.bins
        Bins(n_bins=50, low=0, high=40, width=0.8)
        """
        new = replacing_bins(self.bins, bins)
        if new == self.bins:
            return
        new_bins = (new,) if isinstance(new, Bins) else new
        if any(bins.has_tails for bins in (*self._bins_tuple, *new_bins)):
            raise InputError(f"rebin needs bins without tails, got {self.bins}, {new}")
        if self.linear.bias is None:
            raise InputError(
                "rebin needs bias=True: the density beyond the old bins does not "
                "depend on the features"
            )
        if features is not None:
            features = features.detach().flatten(0, -2)
        n_sharing = (self.n_targets or 1) // len(new_bins)
        weights = self.linear.weight.view(len(new_bins), n_sharing, self.n_bins, -1)
        biases = self.linear.bias.view(len(new_bins), n_sharing, self.n_bins)
        pairs = zip(self._bins_tuple, new_bins, strict=True)
        for i, pair in enumerate(pairs):
            rebin_readout(weights[i].mT, biases[i], *pair, features)
        self.bins = new

    def _start_uniform(self) -> None:
        nn.init.zeros_(self.linear.weight)
        uneven = [bins for bins in self._bins_tuple if not bins.is_uniform]
        if self.linear.bias is None:
            if uneven:
                raise InputError(
                    "zero_init needs bias=True for bins of unequal widths: equal "
                    f"logits are not a uniform density on {uneven[0]}"
                )
            return
        # A uniform density has probabilities proportional to the widths.
        start = torch.stack(
            [(bins.widths / bins.widths.mean()).log() for bins in self._bins_tuple]
        )  # (1 or m, k)
        with torch.no_grad():
            self.linear.bias.view(-1, self.n_bins).copy_(start)

    def get_extra_state(self) -> Tensor:  # (1 or m, k + 5)
        """Return the bins as a float64 tensor, for ``state_dict``."""
        return torch.stack([bins.state() for bins in self._bins_tuple])

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the bins from ``state_dict``."""
        self.bins = restored_bins(self.bins, as_float64(state))

    def extra_repr(self) -> str:
        """Return the details that ``print(head)`` shows."""
        return f"bins={self.bins}, n_targets={self.n_targets}"
