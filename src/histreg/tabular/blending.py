r"""Blending: networks mixed with simple models, by what held-out rows say.

The predicted distribution of a target is a weighted mean of several: that of the
networks, and for each simple model its prediction plus the residuals of held-out rows,
wider where the networks predict more spread: residuals are divided, and multiplied, by
a power 0, 1/2 or 1 of that spread. The mean of the networks, with its residuals, is one
more part, because it can be more precise than a bin is wide. A forest is a part without
residuals: the values of its trees are the distribution. Where residuals are narrow
the bins are divided, so that the distribution can be narrower than a bin; where targets
take few values, the mass around each of them goes to it, and where many are at the
lowest or highest one, the mass beyond that (`Atoms`). The weights are those with the
lowest CRPS on held-out rows (stacking of predictive distributions, Yao et al. 2018). A
mean of distributions is wider than its parts (Ranjan and Gneiting 2010), so the log
odds of its cdf are multiplied by a sharpness a, chosen by the same rows:

.. math:: F^*(y) = \frac{F(y)^a}{F(y)^a + (1 - F(y))^a}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from histreg._tensors import n_below
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.atoms import Atoms, EndAtoms, ValueAtoms
from histreg.tabular.border_scores import BorderScore
from histreg.tabular.forest_model import ForestModel
from histreg.tabular.kernel_model import KernelModel
from histreg.tabular.linear_model import LinearModel
from histreg.tabular.simple_models import (
    Fitted,
    SimpleInputs,
    SimpleModel,
    aligned,
    in_blocks,
)
from histreg.tabular.tree_model import TreeModel

N_RESIDUALS = 200  # that a distribution is kept by, at most
SPREAD_MASS = 1e-3  # of a simple model, in equal parts in all bins
POWERS = (0.0, 0.5, 1.0)  # of the networks' spread
FARTHEST = 1e12  # in standard units; its square is finite
MOST_SPREAD = 8.0  # over the typical one; also one over the least
SHARPNESSES = torch.linspace(-1, 2, 25, dtype=torch.float64).exp2()
KINDS: dict[type, str] = {
    type(None): "networks",
    LinearModel: "linear",
    TreeModel: "trees",
    KernelModel: "kernel",
}
MOST_DIVIDED = 8  # parts of a bin
BINS_PER_RESIDUAL = 2.0  # of the median of absolute residuals, at least
MOST_ROWS = 5_000  # to choose weights and sharpness by
N_STEPS, STEP = 2_000, 0.4  # of the search for weights
LEAST_WEIGHT = 0.02  # a model of less weight is left out, and saves its time
MIN_ROWS = 30  # fewer of a larger table do not say which model is better


class Residuals(nn.Module):
    """The distribution of y around the prediction of a simple model.

    Its cdf is linear between quantiles of the residuals of held-out rows.

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
        # Few enough that the density between them is not mere chance.
        n_points = min(N_RESIDUALS, max(16, round(2 * len(ordered) ** 0.5)))
        wanted = (torch.arange(n_points) + 0.5).to(torch.float64) / n_points
        inner = ordered[torch.searchsorted(levels, wanted).clamp(max=len(ordered) - 1)]
        # Beyond the ends as far as a kernel estimate of the density would reach.
        reach = 3 * inner.std(correction=0) * n_points**-0.2
        distribution = cls(n_points + 2)
        distribution.points[0] = inner[0] - reach
        distribution.points[1:-1] = inner
        distribution.points[-1] = inner[-1] + reach
        return distribution

    def probs(
        self,
        predicted: Tensor,
        scale: Tensor,
        borders: Tensor,
    ) -> Tensor:
        """Return the mass in each bin around predictions.

        Parameters
        ----------
        predicted : Tensor of shape (n,)
        scale : Tensor of shape (n,)
            By which residuals are multiplied.
        borders : Tensor of shape (k + 1,)
            Those at the ends are taken to be infinite.

        Returns
        -------
        Tensor of shape (n, k)
        """
        residuals = (borders[1:-1] - predicted[:, None]) / scale[:, None]
        return masses(self._cdf(residuals))

    def _cdf(self, residuals: Tensor) -> Tensor:
        n_inner = len(self.points) - 2
        after = n_below(self.points, residuals, inclusive=True)
        after = after.clamp(1, n_inner + 1)
        start, end = self.points[after - 1], self.points[after]
        width = end - start
        share = ((residuals - start) / width.where(width > 0, 1)).clamp(0, 1)
        # The levels of the points: 0, 1/2n, 3/2n, ..., 1.
        low, high = self._level(after - 1), self._level(after)
        return low + share * (high - low)

    @property
    def levels(self) -> Tensor:  # (r,)
        """The cdf at the points: 0, 1/2n, 3/2n, ..., 1 for r = n + 2."""
        return self._level(torch.arange(len(self.points)))

    def _level(self, point: Tensor) -> Tensor:
        n_inner = len(self.points) - 2
        return ((point.to(torch.float64) - 0.5) / n_inner).clamp(0, 1)


def masses(cdf: Tensor, total: Tensor | float = 1.0) -> Tensor:
    """Return the mass in each bin: that below inner borders (n, k - 1) -> (n, k).

    `SPREAD_MASS` of the total is in equal parts in all bins.
    """
    edge = torch.zeros_like(cdf[:, :1])
    below = torch.cat([edge, cdf], dim=1)
    mass = torch.cat([cdf, edge + total], dim=1) - below
    return (1 - SPREAD_MASS) * mass + SPREAD_MASS * total / mass.shape[1]


class Part(nn.Module):
    """A part of a mixture: a prediction and its residuals.

    Parameters
    ----------
    model : SimpleModel or None
        None stands for the mean of the networks.
    residuals : Residuals
    power : float
        Of the networks' relative spread, by which residuals are multiplied.
    """

    def __init__(
        self, model: SimpleModel | None, residuals: Residuals, power: float = 0.0
    ) -> None:
        super().__init__()
        self.model = model
        self.residuals = residuals
        self.power: Tensor  # ()
        self.register_buffer("power", torch.tensor(power, dtype=torch.float64))

    def described(self) -> dict[str, Any]:
        """Return the kind of its model and its sizes, as JSON values."""
        return {
            "kind": KINDS[type(self.model)],
            "n_points": len(self.residuals.points),
            **(self.model.described() if self.model else {}),
        }

    def check(self) -> None:
        """Raise unless residuals and power hold values that make sense."""
        points = self.residuals.points
        if not (points.isfinite().all() and (points.diff() >= 0).all()):
            raise InputError("the residuals of a blend must be finite and rising")
        if not 0 <= self.power <= 1:
            raise InputError("the powers of a blend must lie between 0 and 1")
        if self.model is not None:
            self.model.check()

    def probs(
        self,
        predicted: Tensor,
        spread: Tensor,
        borders: Tensor,
    ) -> Tensor:
        """Return the mass in each bin: predictions and relative spreads (n,)."""
        scale = spread**self.power
        return self.residuals.probs(predicted, scale, borders)

    @classmethod
    def fitted(
        cls,
        fitted: Fitted,
        spread: Tensor,
        y: Tensor,
        weight: Tensor,
        bins: Bins,
        score: BorderScore,
    ) -> Part:
        """Return the part with the power of the lowest score.

        Parameters
        ----------
        fitted : Fitted
            A model with predictions for n held-out rows.
        spread : Tensor of shape (n,)
            Of the networks, relative to a typical one.
        y, weight : Tensors of shape (n,)
        bins : Bins
            In the units of y.
        score : BorderScore
            On these bins.
        """
        parts, values = [], []
        for power in POWERS:
            residuals = (y - fitted.held_out) / spread**power
            part = cls(fitted.model, Residuals.of(residuals, weight), power)
            probs = part.probs(fitted.held_out, spread, bins.borders)
            parts.append(part)
            values.append((weight * score(probs, y)).sum())
        return parts[int(torch.stack(values).argmin())]


class Votes(nn.Module):
    """A part of a mixture in which each tree of a forest has the same mass.

    Parameters
    ----------
    model : ForestModel
    """

    def __init__(self, model: ForestModel) -> None:
        super().__init__()
        self.model = model

    def described(self) -> dict[str, Any]:
        """Return the sizes of the forest, as JSON values."""
        return {"kind": "forest", **self.model.described()}

    def check(self) -> None:
        """Raise unless the forest makes sense."""
        self.model.check()

    def probs(
        self,
        predicted: Tensor,
        spread: Tensor,  # noqa: ARG002
        borders: Tensor,
    ) -> Tensor:
        """Return the mass in each bin: the values of T trees (n, T) -> (n, k).

        Values that are NaN do not count. Without any, all bins have the same mass.
        """
        place = n_below(borders[1:-1], predicted)  # (n, T)
        counts = (~predicted.isnan()).to(torch.float64)  # (n, T)
        n_bins = borders.shape[0] - 1
        mass = counts.new_zeros(counts.shape[0], n_bins).scatter_add(1, place, counts)
        total = counts.sum(dim=1, keepdim=True)
        share = torch.where(total > 0, mass / total.clamp(min=1), 1 / n_bins)
        return (1 - SPREAD_MASS) * share + SPREAD_MASS / n_bins


class Geometry(NamedTuple):
    """Where the mass of a mixture lies, in standard units."""

    borders: Tensor  # (k r + 1,), of the networks' divided bins
    cells: Tensor  # (c + 1,), of the mixture: the same, or around m values
    shares: Tensor | None = None  # (k, m), of each bin in each cell of the values


class Blend(nn.Module):
    """The mixture of networks and simple models for one target.

    Parameters
    ----------
    parts : sequence of J Parts or Votes
        Of y in standard units: minus ``center``, over ``scale``.
    center, scale : float
    n_divided : int
        r, the number of equal bins that each bin of the networks becomes.
    atoms : Atoms, optional
        Values of the target, in the units of y, around which the distribution has bins.
        If these are all its values, the mixture is on their cells, with r of 1.
    """

    def __init__(
        self,
        parts: Sequence[Part | Votes],
        *,
        center: float = 0.0,
        scale: float = 1.0,
        n_divided: int = 1,
        atoms: Atoms | None = None,
    ) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.n_divided = n_divided
        self.atoms = atoms
        self.center: Tensor  # ()
        self.scale: Tensor  # ()
        self.typical_spread: Tensor  # (), of the networks, in standard units
        self.register_buffer("typical_spread", torch.ones((), dtype=torch.float64))
        self.register_buffer("center", torch.tensor(center, dtype=torch.float64))
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float64))
        self.weights: Tensor  # (1 + J,), of the networks first
        self.sharpness: Tensor  # ()
        weights = torch.zeros(1 + len(parts), dtype=torch.float64)
        weights[0] = 1
        self.register_buffer("weights", weights)
        self.register_buffer("sharpness", torch.ones((), dtype=torch.float64))

    def distribution(self, networks: Histogram, inputs: SimpleInputs) -> Histogram:
        """Return the mixture for n rows, given that of the networks."""
        divided, geometry = self.divided(networks.probs), self.geometry(networks.bins)
        predicted = self.predicted(inputs, divided, geometry)
        mixed = self.mixed(divided, predicted, geometry)
        return Histogram(self.bins(networks.bins), probs=self.placed(mixed))

    def bins(self, networks: Bins) -> Bins:
        """Return the bins of the distribution, given those of the networks."""
        divided = networks.divided(self.n_divided)
        return divided if self.atoms is None else self.atoms.bins(divided)

    def mixing_bins(self, networks: Bins) -> Bins:
        """Return the bins of the mixture: divided ones, or the cells of values."""
        if isinstance(self.atoms, ValueAtoms):
            return Bins(self.atoms.cells(networks))
        return networks.divided(self.n_divided)

    def geometry(self, networks: Bins) -> Geometry:
        """Return where masses lie, given the bins of the networks."""
        borders = self._standard(networks.divided(self.n_divided).borders)
        if not isinstance(self.atoms, ValueAtoms):
            return Geometry(borders, borders)
        cells = self._standard(self.atoms.cells(networks))
        return Geometry(borders, cells, self.atoms.shares(networks))

    def placed(self, mixed: Tensor) -> Tensor:
        """Return what `mixed` returned in the bins of `bins`."""
        return mixed if self.atoms is None else self.atoms.in_bins(mixed)

    def divided(self, networks: Tensor) -> Tensor:
        """Return probabilities in the divided bins: (n, k) -> (n, k r)."""
        if self.n_divided == 1:
            return networks
        return networks.repeat_interleave(self.n_divided, dim=-1) / self.n_divided

    def mixed(
        self,
        networks: Tensor,
        predicted: Sequence[Tensor],
        geometry: Geometry,
    ) -> Tensor:
        """Return the probabilities of the mixture.

        Parameters
        ----------
        networks : Tensor of shape (n, k r), float64
            Their probabilities in the divided bins.
        predicted : sequence of J Tensors of shape (n,), or (n, T) of a forest
            See `predicted`.
        geometry : Geometry

        Returns
        -------
        Tensor of shape (n, k r), or (n, m) of m values
        """
        parts = self._probs(networks, predicted, geometry)
        mixture = (self.weights[:, None, None] * parts).sum(dim=0)
        return sharpened(mixture, self.sharpness)

    def fit(
        self,
        networks: Histogram,
        predicted: Sequence[Tensor],
        y: Tensor,
        weight: Tensor,
        *,
        gain: float = 1.0,
    ) -> float:
        """Choose weights and sharpness by held-out rows.

        Parameters
        ----------
        networks : Histogram of batch shape (n,)
            Predicted by networks that have not seen the rows.
        predicted : sequence of J Tensors of shape (n,), or (n, T) of a forest
            By models that have not seen them, in standard units.
        y, weight : Tensors of shape (n,)
            In units of y.
        gain : float
            By which the sharpness is multiplied, see `averaging_gain`.

        Returns
        -------
        float
            The mean score of these rows, in standard units.
        """
        score = self.score(networks.bins)
        y = (y - self.center) / self.scale
        weight = weight.to(torch.float64) / weight.sum()
        geometry = self.geometry(networks.bins)
        probs = self._probs(self.divided(networks.probs), predicted, geometry)
        self.weights.copy_(best_weights(probs, y, weight, score))
        mixture = (self.weights[:, None, None] * probs).sum(dim=0)
        scores = torch.stack(
            [weight @ score(sharpened(mixture, a), y) for a in SHARPNESSES]
        )
        self.sharpness.copy_(SHARPNESSES[scores.argmin()] * gain)
        return scores.min().item()

    def score(self, networks: Bins) -> BorderScore:
        """Return the score of mixtures, of y in standard units."""
        bins = self.mixing_bins(networks)
        bins = bins.standardised(self.center.item(), self.scale.item())
        if not isinstance(self.atoms, ValueAtoms):
            return BorderScore(bins)
        return BorderScore(bins, (self.atoms.values - self.center) / self.scale)

    def without_unused(self) -> Blend:
        """Return the same mixture without the simple models of weight 0."""
        is_used = (self.weights > 0).tolist()
        kept = Blend(
            [p for p, used in zip(self.all_parts, is_used[1:], strict=True) if used],
            center=self.center.item(),
            scale=self.scale.item(),
            n_divided=self.n_divided,
            atoms=self.atoms,
        )
        kept.typical_spread.copy_(self.typical_spread)
        is_used[0] = True
        kept.weights.copy_(self.weights[torch.tensor(is_used)])
        kept.sharpness.copy_(self.sharpness)
        return kept

    def predicted(
        self,
        inputs: SimpleInputs,
        networks: Tensor,
        geometry: Geometry,
    ) -> list[Tensor]:
        """Return the predictions of each part, (n,) or (n, T), in standard units.

        Parameters
        ----------
        inputs : SimpleInputs of n rows
        networks : Tensor of shape (n, k r), float64
            Their probabilities in the divided bins.
        geometry : Geometry
        """
        return [
            mean_of(networks, geometry.borders)
            if part.model is None
            else part.model(inputs)
            for part in self.all_parts
        ]

    def _probs(
        self,
        networks: Tensor,
        predicted: Sequence[Tensor],
        geometry: Geometry,
    ) -> Tensor:  # (1 + J, n, k r), or (1 + J, n, m) of m values
        borders, cells, shares = geometry
        spread = relative_spread(networks, borders, self.typical_spread)
        if shares is None:
            probs = [networks]
        else:
            by_cell = aligned(shares.T)  # (m, k), filled up
            probs = [in_blocks(lambda rows: aligned(rows) @ by_cell.T, networks)]
        for part, own in zip(self.all_parts, predicted, strict=True):
            probs.append(part.probs(own, spread, cells))
        return torch.stack(probs)

    def _standard(self, borders: Tensor) -> Tensor:
        return (borders - self.center) / self.scale

    def described(self) -> list[dict[str, Any]]:
        """Return the kinds and sizes of the parts, as JSON values."""
        return [part.described() for part in self.all_parts]

    @classmethod
    def of_description(
        cls,
        described: Sequence[Mapping[str, Any]],
        n_numbers: int,
        n_scaled: int,
        n_codes: Sequence[int],
        n_divided: int,
        n_atoms: int = 0,
        end_atoms: Sequence[int] = (0, 0),
    ) -> Blend:
        """Return a mixture of these parts, to load what they learnt into.

        Parameters
        ----------
        described : sequence of mappings
            See `described`.
        n_numbers, n_scaled : int
            Columns of numbers, and of their scores and flags.
        n_codes : sequence of int
            Codes of each column of labels.
        n_divided : int
            r, into which bins are divided.
        n_atoms : int
            m, the number of values, 0 if the target takes many.
        end_atoms : sequence of two ints
            Bins of the atoms at the lower and the upper end, 0 without one.
        """
        parts: list[Part | Votes] = []
        for one in described:
            if one["kind"] == "forest":
                sizes = (one["n_trees"], one["n_nodes"], one["depth"])
                parts.append(Votes(ForestModel(n_numbers, n_codes, *sizes)))
                continue
            model: SimpleModel | None = None
            if one["kind"] == "linear":
                model = LinearModel(n_numbers, n_scaled, n_codes)
            elif one["kind"] == "kernel":
                n_landmarks = one["n_landmarks"]
                model = KernelModel(n_numbers, n_scaled, n_codes, n_landmarks)
            elif one["kind"] == "trees":
                sizes = (one["n_folds"], one["n_trees"], one["depth"])
                model = TreeModel(n_numbers, n_codes, *sizes)
            parts.append(Part(model, Residuals(one["n_points"])))
        atoms: Atoms | None = None
        if n_atoms:
            atoms = ValueAtoms(n_atoms)
        elif any(end_atoms):
            atoms = EndAtoms(*end_atoms)
        return cls(parts, n_divided=n_divided, atoms=atoms)

    def check(self) -> None:
        """Raise unless weights, sharpness and parts hold values that make sense."""
        if not (self.weights >= 0).all() or abs(self.weights.sum() - 1) > 1e-9:
            raise InputError(
                "the weights of a blend must be positive and sum to 1, got "
                f"{self.weights.tolist()}"
            )
        if not (self.center.isfinite() and 0 < self.scale < torch.inf):
            raise InputError("center and scale of a blend must be finite and positive")
        if not 0 < self.typical_spread < torch.inf:
            raise InputError("the typical spread of a blend must be positive")
        if not 0 < self.sharpness < torch.inf:
            raise InputError(
                "the sharpness of a blend must be positive, got "
                f"{self.sharpness.item()}"
            )
        for part in (*self.all_parts, *([self.atoms] if self.atoms else [])):
            part.check()

    @property
    def all_parts(self) -> list[Part | Votes]:
        """The parts beside the networks' own distribution."""
        return [part for part in self.parts if isinstance(part, Part | Votes)]


def spread_of(probs: Tensor, borders: Tensor) -> Tensor:
    """Return the standard deviation of histograms between bins: (n, k) -> (n,).

    That within bins is left out, and an end bin counts as its inner border.
    """
    centers = bounded_centers(borders)
    mean = (probs * centers).sum(dim=-1, keepdim=True)
    return (probs * (centers - mean) ** 2).sum(dim=-1).sqrt()


def mean_of(probs: Tensor, borders: Tensor) -> Tensor:
    """Return the mean of histograms: (n, k) -> (n,); see `spread_of` for end bins."""
    return (probs * bounded_centers(borders)).sum(dim=-1)


def bounded_centers(borders: Tensor) -> Tensor:  # (k,)
    """Return where the mass of bins counts as lying, for `spread_of`: (k + 1,)."""
    # Bins of a y that counts as constant are huge in standard units.
    borders = borders.clamp(-FARTHEST, FARTHEST)
    middle = (borders[1:-2] + borders[2:-1]) / 2
    return torch.cat([borders[1:2], middle, borders[-2:-1]])


def averaging_gain(n: int) -> float:
    """Return how much sharper than for held-out rows new rows are predicted, n trained.

    A held-out row is predicted by one network and by the trees of one fold, a new one
    by their averages, which differ most where rows are few. The formula was chosen on
    development tables of 125 to 3,800 rows.
    """
    return 1 + 0.5 * n**-0.3


def n_divided_for(residuals: Sequence[Tensor], y: Tensor, bins: Bins) -> int:
    """Return into how many parts bins are divided: 1, 2, 4 or `MOST_DIVIDED`.

    Parameters
    ----------
    residuals : sequence of Tensors of shape (n,)
        Of predictions for held-out rows; the narrowest ones count.
    y : Tensor of shape (n,)
        In the units of the residuals and the bins.
    bins : Bins
        Those with tails are not divided.
    """
    if bins.has_tails:
        return 1
    place = torch.searchsorted(bins.borders[1:-1].contiguous(), y.contiguous())
    in_bins = [(own.abs() / bins.widths[place]).median() for own in residuals]
    narrowest = torch.stack(in_bins).min().item()
    n = 1
    while n < MOST_DIVIDED and n * narrowest < BINS_PER_RESIDUAL:
        n *= 2
    return n


def relative_spread(probs: Tensor, borders: Tensor, typical: Tensor) -> Tensor:
    """Return the spread of histograms over a typical one, within `MOST_SPREAD`."""
    ratio = spread_of(probs, borders) / typical
    return ratio.clamp(1 / MOST_SPREAD, MOST_SPREAD)


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
    start, end = torch.cat([edge, cdf], dim=1), torch.cat([cdf, edge + 1], dim=1)
    before = torch.cat([edge + 1, survival], dim=1)
    after = torch.cat([survival, edge], dim=1)
    # Each difference is accurate where its terms are small.
    return torch.where(start > 0.5, before - after, end - start).clamp(min=0)
