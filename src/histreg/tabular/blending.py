r"""Blending: networks mixed with simple models, by what held-out rows say.

The predicted distribution of a target is a weighted mean of those of the networks and
of the simple models, whose distribution is their prediction plus the residuals of
held-out rows. The weights are those with the lowest CRPS on held-out rows (stacking of
predictive distributions, Yao et al. 2018). A mean of distributions is wider than its
parts (Ranjan and Gneiting 2010), so the log odds of its cdf are multiplied by a
sharpness a, chosen by the same rows:

.. math:: F^*(y) = \frac{F(y)^a}{F(y)^a + (1 - F(y))^a}
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.tabular.border_scores import BorderScore
from histreg.tabular.simple_models import SimpleInputs, SimpleModel

N_RESIDUALS = 200  # that a distribution is kept by, at most
SPREAD_MASS = 1e-3  # of a simple model, in equal parts in all bins
SHARPNESSES = torch.linspace(-1, 2, 25, dtype=torch.float64).exp2()
MOST_ROWS = 5_000  # to choose weights and sharpness by
N_STEPS, STEP = 2_000, 0.4  # of the search for weights
LEAST_WEIGHT = 0.02  # a model of less weight is left out, and saves its time
MIN_ROWS = 30  # fewer do not say which model is better


class Residuals(nn.Module):
    """The distribution of y around the prediction of a simple model.

    Its cdf is linear between residuals of held-out rows.

    Parameters
    ----------
    n_points : int
        r.
    """

    def __init__(self, n_points: int) -> None:
        super().__init__()
        self.points: Tensor  # (r,), rising
        self.register_buffer("points", torch.zeros(n_points, dtype=torch.float64))

    @classmethod
    def of(cls, residuals: Tensor, weight: Tensor) -> Residuals:
        """Return the distribution of residuals (n,) with weights (n,)."""
        ordered, order = residuals.sort()
        levels = weight.to(torch.float64)[order].cumsum(dim=0)
        levels = levels / levels[-1]
        n_points = min(N_RESIDUALS, len(ordered))
        wanted = (torch.arange(n_points) + 0.5).to(torch.float64) / n_points
        inner = ordered[torch.searchsorted(levels, wanted).clamp(max=len(ordered) - 1)]
        # Beyond the ends as far as a kernel estimate of the density would reach.
        reach = 3 * inner.std(correction=0) * n_points**-0.2
        distribution = cls(n_points + 2)
        distribution.points[0] = inner[0] - reach
        distribution.points[1:-1] = inner
        distribution.points[-1] = inner[-1] + reach
        return distribution

    def probs(self, predicted: Tensor, bins: Bins) -> Tensor:
        """Return the mass in each bin around predictions: (n,) -> (n, k)."""
        inner = bins.borders[1:-1] - predicted[:, None]  # (n, k - 1)
        cdf = self._cdf(inner)
        edges = torch.zeros_like(cdf[:, :1])
        mass = torch.cat([edges, cdf, edges + 1], dim=1).diff(dim=1)
        return (1 - SPREAD_MASS) * mass + SPREAD_MASS / bins.n_bins

    def _cdf(self, residuals: Tensor) -> Tensor:
        n_inner = len(self.points) - 2
        after = torch.searchsorted(self.points, residuals, right=True)
        after = after.clamp(1, n_inner + 1)
        start, end = self.points[after - 1], self.points[after]
        width = end - start
        share = ((residuals - start) / width.where(width > 0, 1)).clamp(0, 1)
        # The levels of the points: 0, 1/2n, 3/2n, ..., 1.
        low, high = self._level(after - 1), self._level(after)
        return low + share * (high - low)

    def _level(self, point: Tensor) -> Tensor:
        n_inner = len(self.points) - 2
        return ((point.to(torch.float64) - 0.5) / n_inner).clamp(0, 1)


class Part(nn.Module):
    """A simple model as a part of a mixture: its prediction and its residuals."""

    def __init__(self, model: SimpleModel, residuals: Residuals) -> None:
        super().__init__()
        self.model = model
        self.residuals = residuals


class Blend(nn.Module):
    """The mixture of networks and simple models for one target.

    Parameters
    ----------
    parts : sequence of J Parts
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__()
        self._parts = nn.ModuleList(parts)
        self.weights: Tensor  # (1 + J,), of the networks first
        self.sharpness: Tensor  # ()
        weights = torch.zeros(1 + len(parts), dtype=torch.float64)
        weights[0] = 1
        self.register_buffer("weights", weights)
        self.register_buffer("sharpness", torch.ones((), dtype=torch.float64))

    @property
    def parts(self) -> list[Part]:
        """The simple models with their residuals."""
        return [part for part in self._parts if isinstance(part, Part)]

    def distribution(self, networks: Histogram, inputs: SimpleInputs) -> Histogram:
        """Return the mixture for n rows, given that of the networks."""
        return self.mixed(networks, [part.model(inputs) for part in self.parts])

    def mixed(self, networks: Histogram, predicted: Sequence[Tensor]) -> Histogram:
        """Return the mixture, given the predictions (n,) of each simple model."""
        mixture = torch.tensordot(self.weights, self._probs(networks, predicted), 1)
        return Histogram(networks.bins, probs=sharpened(mixture, self.sharpness))

    def fit(
        self,
        networks: Histogram,
        predicted: Sequence[Tensor],
        y: Tensor,
        weight: Tensor,
    ) -> None:
        """Choose weights and sharpness by held-out rows.

        Parameters
        ----------
        networks : Histogram of batch shape (n,)
            Predicted by networks that have not seen the rows.
        predicted : sequence of J Tensors of shape (n,)
            By simple models that have not seen them.
        y, weight : Tensors of shape (n,)
        """
        score = BorderScore(networks.bins)
        weight = weight.to(torch.float64) / weight.sum()
        probs = self._probs(networks, predicted)
        self.weights.copy_(best_weights(probs, y, weight, score))
        mixture = torch.tensordot(self.weights, probs, 1)
        scores = [weight @ score(sharpened(mixture, a), y) for a in SHARPNESSES]
        self.sharpness.copy_(SHARPNESSES[torch.stack(scores).argmin()])

    def without_unused(self) -> Blend:
        """Return the same mixture without the simple models of weight 0."""
        is_used = (self.weights > 0).tolist()
        kept = Blend(
            [part for part, used in zip(self.parts, is_used[1:], strict=True) if used]
        )
        is_used[0] = True
        kept.weights.copy_(self.weights[torch.tensor(is_used)])
        kept.sharpness.copy_(self.sharpness)
        return kept

    def _probs(
        self, networks: Histogram, predicted: Sequence[Tensor]
    ) -> Tensor:  # (1 + J, n, k)
        probs = [networks.probs]
        for part, own in zip(self.parts, predicted, strict=True):
            probs.append(part.residuals.probs(own, networks.bins))
        return torch.stack(probs)


def best_weights(
    parts: Tensor, y: Tensor, weight: Tensor, score: BorderScore
) -> Tensor:
    """Return the weights of a mixture with the lowest score: (J, n, k) -> (J,).

    The score is a quadratic form of the weights. Exponentiated gradient steps keep
    them positive and their sum at 1.

    Parameters
    ----------
    parts : Tensor of shape (J, n, k)
        Probabilities.
    y, weight : Tensors of shape (n,)
    score : BorderScore
    """
    excess = [score.excess(part, y) for part in parts]
    form = torch.stack(
        [
            torch.stack([weight @ ((a * b) @ score.widths) for b in excess])
            for a in excess
        ]
    )
    scale = form.diagonal().min().clamp(min=torch.finfo(torch.float64).tiny)
    weights = torch.full((len(parts),), 1 / len(parts), dtype=torch.float64)
    for _ in range(N_STEPS):
        gradient = form @ weights / scale
        weights = weights * (-STEP * (gradient - gradient.min())).exp()
        weights = weights / weights.sum()
    weights = weights.where(weights >= LEAST_WEIGHT, 0)
    return weights / weights.sum()


def sharpened(probs: Tensor, sharpness: Tensor) -> Tensor:
    """Return histograms whose cdf has its log odds multiplied: (n, k) -> (n, k)."""
    below = probs.cumsum(dim=-1)[:, :-1].clamp(0, 1)
    above = probs.flip(-1).cumsum(dim=-1).flip(-1)[:, 1:].clamp(0, 1)
    a, b = below**sharpness, above**sharpness
    cdf, survival = a / (a + b), b / (a + b)
    edge = torch.zeros_like(cdf[:, :1])
    rise = torch.cat([edge, cdf, edge + 1], dim=1).diff(dim=1)
    fall = -torch.cat([edge + 1, survival, edge], dim=1).diff(dim=1)
    # Each is accurate where it is small.
    upper = torch.cat([edge, cdf], dim=1) > 0.5
    return torch.where(upper, fall, rise).clamp(min=0)
