r"""The kernel model: the mean of a Gaussian process.

Its covariance is a Matérn kernel of smoothness 5/2 plus a linear one, with a length for
each column (Rasmussen and Williams 2006, chapters 4 and 5):

.. math:: k(x, z) = a (1 + r + r^2 / 3) e^{-r} + s \langle u, v \rangle,
    \quad r = \sqrt 5 |u - v|

with u and v the features of x and z over the lengths. Lengths, a, s and the variance of
the noise are those of the highest posterior density given some of the rows. The weights
are then fitted to all of them, with a limited number of rows as landmarks (the subset
of regressors, section 8.3.1). It learns smooth functions from fewer rows than networks
and trees need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg.tabular.compiled_kernels import kernel_sums
from histreg.tabular.feature_model import FeatureModel
from histreg.tabular.simple_models import (
    Fitted,
    SimpleInputs,
    aligned,
    in_blocks,
    whole_blocks,
)

MOST_FEATURES = 1_000
MOST_LANDMARKS = 1_000
N_TUNED = 400  # rows that lengths and variances are chosen by
MOST_STEPS = 25  # of that choice, by L-BFGS
# In posterior log density per row, relative where that exceeds 1. A step that gains
# less ends the search.
LEAST_GAIN = 1e-4
# By how much a diagonal is raised, at first and at most, relative to its mean.
ROUNDING, MOST_ROUNDING = 1e-12, 1e-6
FARTHEST = 4.0  # from the mean of a prior, in its standard deviations
JITTER = 1e-6  # on a diagonal, so that a matrix is positive definite
# Of logarithms, normal: of inverse lengths beside that of 1 / sqrt(columns), and of the
# amplitude, the slope and the noise for y in standard units.
LENGTH_PRIOR, AMPLITUDE_PRIOR = (-0.5, 1.5), (0.0, 2.0)
SLOPE_PRIOR, NOISE_PRIOR = (-2.0, 3.0), (-2.0, 3.0)


@dataclass(frozen=True)
class Covariance:
    """The covariance of a Gaussian process, and the variance of its noise."""

    inverse_lengths: Tensor  # (p,)
    amplitude: Tensor  # (), a
    slope: Tensor  # (), s
    noise: Tensor  # ()

    @classmethod
    def of_logs(cls, logs: Tensor, columns: Tensor) -> Covariance:
        """Return it from logarithms, those of a, s and the noise last.

        Parameters
        ----------
        logs : Tensor of shape (c + 3,)
            The first c are of the inverse lengths of columns.
        columns : Tensor of shape (p,), int64
            That of each feature.
        """
        amplitude, slope, noise = logs[-3:].exp()
        return cls(logs[:-3].exp()[columns], amplitude, slope, noise + JITTER)


class KernelModel(FeatureModel):
    """A weighted sum of the covariances with m landmarks, rows of the training table.

    Parameters
    ----------
    n_numbers, n_scaled : int
    n_codes : sequence of int
        See `FeatureModel`.
    n_landmarks : int
        m.
    """

    def __init__(
        self,
        n_numbers: int,
        n_scaled: int,
        n_codes: Sequence[int],
        n_landmarks: int,
    ) -> None:
        super().__init__(n_numbers, n_scaled, n_codes)
        self.inverse_lengths: Tensor  # (p,)
        self.landmarks: Tensor  # (m, p), over the lengths
        self.weight: Tensor  # (m,)
        self.amplitude: Tensor  # ()
        self.slope: Tensor  # ()
        sizes = {
            "inverse_lengths": (self.n_features,),
            "landmarks": (n_landmarks, self.n_features),
            "weight": (n_landmarks,),
            "amplitude": (),
            "slope": (),
        }
        for name, size in sizes.items():
            self.register_buffer(name, torch.zeros(size, dtype=torch.float64))

    def described(self) -> dict[str, int]:
        """Return the number of landmarks."""
        return {"n_landmarks": len(self.landmarks)}

    def forward(self, inputs: SimpleInputs) -> Tensor:
        """Return predictions of shape (n,), float64."""
        return self.of_features(self.features(inputs))

    def of_features(self, features: Tensor) -> Tensor:
        """Return predictions: (n, p) -> (n,), the same for a row in any company."""
        loop = kernel_sums()
        if loop is None:
            return in_blocks(self.of_block, features)
        landmarks = aligned(self.landmarks)
        known = (
            landmarks.square().sum(dim=1).numpy(),
            self.weight.numpy(),
            self.amplitude.item(),
            self.slope.item(),
        )

        parts = []
        for some, n in whole_blocks(features):
            scaled = aligned(some * self.inverse_lengths)
            products, squares = scaled @ landmarks.T, scaled.square().sum(dim=1)
            sums = torch.empty(n, dtype=torch.float64)
            # The loop treats each row by itself, so that it needs no whole block.
            loop(products.numpy()[:n], squares.numpy()[:n], *known, sums.numpy())
            parts.append(sums)
        return self.within_limits(torch.cat(parts) + self.bias)

    def of_block(self, features: Tensor) -> Tensor:
        """Return the same of one block: sums may depend on how many rows it has."""
        scaled, landmarks = features * self.inverse_lengths, self.landmarks
        shared = covariance(
            aligned(scaled), aligned(landmarks), self.amplitude, self.slope
        )
        return self.within_limits((shared * self.weight).sum(dim=1) + self.bias)

    def fit(
        self, features: Tensor, y: Tensor, weight: Tensor, chosen: Covariance
    ) -> None:
        """Fit the weights of the landmarks, which are the first rows.

        Parameters
        ----------
        features : Tensor of shape (n, p)
        y, weight : Tensors of shape (n,)
            The noise of a row is that of the covariance over its weight.
        chosen : Covariance
        """
        self.inverse_lengths.copy_(chosen.inverse_lengths)
        self.amplitude.copy_(chosen.amplitude)
        self.slope.copy_(chosen.slope)
        self.bias.copy_((weight * y).sum() / weight.sum())
        scaled, y = features * chosen.inverse_lengths, y - self.bias
        self.landmarks.copy_(scaled[: len(self.landmarks)])
        own = covariance(self.landmarks, self.landmarks, self.amplitude, self.slope)
        own.diagonal().add_(JITTER * own.diagonal().mean())
        if len(own) == len(y):  # the exact process, by fewer products
            scale = weight.sqrt()
            own.mul_(torch.outer(scale, scale)).diagonal().add_(chosen.noise)
            solved = torch.cholesky_solve((scale * y)[:, None], root_of(own))
            self.weight.copy_(scale * solved[:, 0])
            return
        # Coordinates in which the landmarks' covariance is the unit matrix.
        root = root_of(own)
        products = torch.eye(len(root), dtype=torch.float64) * chosen.noise
        cross = torch.zeros(len(root), dtype=torch.float64)
        for rows in torch.arange(len(y)).split(4_096):
            shared = covariance(
                self.landmarks, scaled[rows], self.amplitude, self.slope
            )
            shared = torch.linalg.solve_triangular(root, shared, upper=False)  # (m, b)
            weighted = shared * weight[rows]
            products.addmm_(weighted, shared.T)
            cross.addmv_(weighted, y[rows])
        solved = torch.cholesky_solve(cross[:, None], root_of(products))
        solved = torch.linalg.solve_triangular(root.T, solved, upper=True)
        self.weight.copy_(solved[:, 0])


def covariance(u: Tensor, v: Tensor, amplitude: Tensor, slope: Tensor) -> Tensor:
    """Return k of features over lengths: (n, p), (m, p) -> (n, m)."""
    products = u @ v.T
    r = _distances(u, v, products)
    return amplitude * (1 + r + r * r / 3) * torch.exp(-r) + slope * products


def _distances(u: Tensor, v: Tensor, products: Tensor) -> Tensor:
    """Return r, the distances times the root of 5, given the inner products."""
    squares = u.square().sum(dim=1)[:, None] + v.square().sum(dim=1)
    return squares.sub_(products, alpha=2).clamp_(min=0).mul_(5).sqrt_()


def root_of(matrix: Tensor) -> Tensor:
    """Return the Cholesky factor of a covariance, of which it changes the diagonal.

    Rounding may leave a matrix of nearly equal rows not positive definite; then its
    diagonal is raised, by as little as will do.
    """
    root, failed = torch.linalg.cholesky_ex(matrix)
    mean = matrix.diagonal().mean()
    raised = ROUNDING * mean
    while failed and raised <= MOST_ROUNDING * mean:
        matrix.diagonal().add_(raised)
        root, failed = torch.linalg.cholesky_ex(matrix)
        raised = 10 * raised
    return root if not failed else torch.linalg.cholesky(matrix)  # which says why


def fit_kernel(
    inputs: SimpleInputs,
    y: Tensor,
    weight: Tensor,
    folds: Tensor,
    n_codes: Sequence[int],
    *,
    seed: int,
) -> Fitted | None:
    """Fit a kernel model to all rows, and one to those outside of each fold.

    Lengths are chosen anew for each fold: those that are chosen by all rows make
    predictions for held-out rows look better than they are.

    Parameters
    ----------
    inputs : SimpleInputs of n rows
    y : Tensor of shape (n,), float64
    weight : Tensor of shape (n,)
    folds : Tensor of shape (n,), int64
    n_codes : sequence of int
        Codes of each column of labels.
    seed : int
        For the choice of rows.

    Returns
    -------
    Fitted, or None without features or for more than `MOST_FEATURES`
    """
    sizes = (inputs.numbers.shape[1], inputs.scaled.shape[1], n_codes)
    scales = KernelModel(*sizes, n_landmarks=0)
    if not 0 < scales.n_features <= MOST_FEATURES:
        return None
    scales.adapt(inputs, y)
    features = scales.features(inputs)
    weight = weight.to(torch.float64) / weight.mean()

    def fitted(rows: Tensor) -> KernelModel:
        model = KernelModel(*sizes, n_landmarks=min(len(rows), MOST_LANDMARKS))
        model.load_state_dict(
            {name: getattr(scales, name) for name in ("center", "scale", "limits")},
            strict=False,
        )
        own = features[rows]
        chosen = fit_covariance(
            own[:N_TUNED], (y[rows] - y[rows].mean())[:N_TUNED], scales.columns
        )
        # A feature that does not vary here says nothing, whatever it is in other rows.
        varies = own.amax(dim=0) > own.amin(dim=0)
        lengths = chosen.inverse_lengths * varies
        model.fit(own, y[rows], weight[rows], replace(chosen, inverse_lengths=lengths))
        return model

    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(y), generator=generator)
    held_out = torch.empty_like(y)
    for fold in range(int(folds.max()) + 1):
        is_in = folds == fold
        model = fitted(order[~is_in[order]])
        held_out[is_in] = model.of_features(features[is_in])
    return Fitted(fitted(order), held_out)


def fit_covariance(features: Tensor, y: Tensor, columns: Tensor) -> Covariance:
    """Return the covariance of the highest posterior density.

    Parameters
    ----------
    features : Tensor of shape (n, p)
    y : Tensor of shape (n,)
        Of mean 0, in standard units.
    columns : Tensor of shape (p,), int64
        Features of one column share their length.
    """
    from scipy.optimize import minimize  # takes a while

    n_columns = int(columns.max()) + 1
    varies = features.amax(dim=0) > features.amin(dim=0)  # (p,)
    n_varying = max(1, len(columns[varies].unique()))
    mean, deviation = LENGTH_PRIOR
    priors = [(mean - 0.5 * math.log(n_varying), deviation)] * n_columns
    priors += [AMPLITUDE_PRIOR, SLOPE_PRIOR, NOISE_PRIOR]
    center, spread = torch.tensor(priors, dtype=torch.float64).unbind(dim=1)

    def minus_density(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        point = torch.tensor(logs)
        chosen = Covariance.of_logs(point, columns)
        density, gradient = log_density(features, y, chosen, columns)
        off = (point - center) / spread
        # Per row, since the first step is the gradient: that of all rows is so large
        # that it would lead to the bounds.
        value = (0.5 * off.square().sum() - density) / len(y)
        return value.item(), ((off / spread - gradient) / len(y)).numpy()

    found = minimize(
        minus_density,
        center.numpy(),
        jac=True,
        method="L-BFGS-B",
        bounds=torch.stack(
            [center - FARTHEST * spread, center + FARTHEST * spread], dim=1
        ).tolist(),
        options={
            "maxiter": MOST_STEPS,
            "maxfun": MOST_STEPS,
            "maxcor": 20,
            "ftol": LEAST_GAIN,
        },
    )
    return Covariance.of_logs(torch.tensor(found.x), columns)


def log_density(
    features: Tensor, y: Tensor, chosen: Covariance, columns: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log density of y, up to a constant, and its gradient.

    Parameters
    ----------
    features : Tensor of shape (n, p)
    y : Tensor of shape (n,)
    chosen : Covariance
    columns : Tensor of shape (p,), int64
        See `Covariance.of_logs`.

    Returns
    -------
    density : Tensor of shape ()
    gradient : Tensor of shape (c + 3,)
        By the logarithms of `Covariance.of_logs`.
    """
    amplitude, slope = chosen.amplitude, chosen.slope
    u = features * chosen.inverse_lengths
    products = u @ u.T
    r = _distances(u, u, products)
    decay = (-r).exp_().mul_(amplitude)
    linear = products.mul_(slope)
    by_r = (1 + r).mul_(decay)  # a (1 + r) exp(-r)
    smooth = r.square_().div_(3).mul_(decay).add_(by_r)
    whole = smooth + linear
    whole.diagonal().add_(chosen.noise)
    root = root_of(whole)
    inverse = torch.cholesky_inverse(root)
    explained = inverse @ y
    density = -0.5 * (y @ explained) - root.diagonal().log().sum()
    # By the entries of the matrix; then by squared distances, and by u.
    by_entry = inverse.mul_(-0.5).addr_(explained, explained, alpha=0.5)
    by_square = by_r.mul_(by_entry).mul_(-5 / 6)
    by_u = 4 * by_square.sum(dim=1)[:, None] * u
    by_u += by_square.mul_(-4).add_(by_entry, alpha=2 * slope.item()) @ u
    gradient = y.new_zeros(int(columns.max()) + 4)
    gradient.index_add_(0, columns, (by_u * u).sum(dim=0))
    gradient[-3] = smooth.flatten() @ by_entry.flatten()
    gradient[-2] = linear.flatten() @ by_entry.flatten()
    gradient[-1] = (chosen.noise - JITTER) * by_entry.trace()
    return density, gradient
