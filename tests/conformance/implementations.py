"""Implementations behind the names and shapes of the vectors, NumPy arrays in and out.

python -m tests.conformance.implementations prints the table of docs/conformance.md.
"""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch

from histreg import Bins, Histogram, HistogramLoss, losses, rl, targets
from tests.conformance.reader import errors

t = torch.from_numpy


class Histreg:
    """This package."""

    package = "histreg"

    @staticmethod
    def gaussian_target(y, borders, sigma):
        return targets.gaussian(t(y), Bins(borders), sigma=float(sigma)).numpy()

    @staticmethod
    def two_hot_target(y, centers):
        return targets.projected(t(y), _bins_with(centers)).numpy()

    @staticmethod
    def cross_entropy(logits, y, borders, sigma):
        probs = targets.gaussian(t(y), Bins(borders), sigma=float(sigma))
        return losses.histogram_loss(t(logits), probs).numpy()

    @staticmethod
    def mean(logits, borders):
        return Histogram(Bins(borders), logits=t(logits)).mean.numpy()

    @staticmethod
    def cdf(logits, borders, y):
        return Histogram(Bins(borders), logits=t(logits)).cdf(t(y)).numpy()

    @staticmethod
    def quantiles(logits, borders, levels):
        return Histogram(Bins(borders), logits=t(logits)).quantiles(levels).T.numpy()

    @staticmethod
    def backup(logits, centers, rewards, discounts):
        z = Histogram(_bins_with(centers), logits=t(logits))
        return rl.backup(z, t(rewards), t(discounts)).numpy()


def _bins_with(centers) -> Bins:
    """Return bins with these centers, which must be those of some bins.

    Borders follow from the first one: each is the mirror image of the one before at
    the center between them. So they move in turns, and all must stay in order.
    """
    borders = [centers[0]]
    for center in centers:
        borders.append(2 * center - borders[-1])
    borders, signs = np.array(borders), (-1.0) ** np.arange(1, len(borders) + 1)
    room = np.diff(borders) / 2  # of each bin, if the first border moves by -room
    least = max(-room[0::2])
    most = min(room[1::2])
    return Bins(borders + signs * (least + most) / 2)


class HLGaussPytorch:
    """hl-gauss-pytorch, with ``clamp_to_range=True``; its results are float32."""

    package = "hl-gauss-pytorch"

    @staticmethod
    def _loss(borders, sigma=1.0):
        from hl_gauss_pytorch import HLGaussLossFromSupport

        return HLGaussLossFromSupport(
            t(borders), sigma=float(sigma), clamp_to_range=True
        )

    @classmethod
    def gaussian_target(cls, y, borders, sigma):
        return cls._loss(borders, sigma).transform_to_probs(t(y)).numpy()

    @classmethod
    def cross_entropy(cls, logits, y, borders, sigma):
        loss = cls._loss(borders, sigma)
        return loss(t(logits).float(), t(y), reduction="none").numpy()

    @classmethod
    def mean(cls, logits, borders):
        return cls._loss(borders)(t(logits)).numpy()


class Rlax:
    """rlax, with JAX in float64; uneven centers are behind its public door."""

    package = "rlax"

    @staticmethod
    def _modules():
        import jax
        import rlax
        from rlax._src import transforms

        jax.config.update("jax_enable_x64", True)
        return jax, rlax, transforms

    @classmethod
    def two_hot_target(cls, y, centers):
        jax, rlax, transforms = cls._modules()
        y = jax.numpy.array(y)
        if np.ptp(np.diff(centers)) > 0:
            return transforms.transform_to_2hot_nonlinear(y, jax.numpy.array(centers))
        ends = float(centers[0]), float(centers[-1])
        return rlax.transform_to_2hot(y, *ends, len(centers))

    @classmethod
    def mean(cls, logits, borders):
        jax, rlax, transforms = cls._modules()
        probs = jax.nn.softmax(jax.numpy.array(logits))
        centers = (borders[:-1] + borders[1:]) / 2
        if np.ptp(np.diff(centers)) > 0:
            centers = jax.numpy.array(centers)
            return transforms.transform_from_2hot_nonlinear(probs, centers)
        ends = float(centers[0]), float(centers[-1])
        return rlax.transform_from_2hot(probs, *ends, len(centers))

    @classmethod
    def backup(cls, logits, centers, rewards, discounts):
        jax, rlax, _ = cls._modules()
        probs = jax.nn.softmax(jax.numpy.array(logits))
        moved = jax.numpy.array(rewards[:, None] + discounts[:, None] * centers)
        project = jax.vmap(rlax.categorical_l2_project, in_axes=(0, 0, None))
        return project(moved, probs, jax.numpy.array(centers))


class TorchRL:
    """torchrl's two-hot for DreamerV3."""

    package = "torchrl"

    @staticmethod
    def two_hot_target(y, centers):
        from torchrl.objectives import two_hot_encode

        return two_hot_encode(t(y), t(centers)).numpy()

    @staticmethod
    def mean(logits, borders):
        from torchrl.objectives import two_hot_decode

        return two_hot_decode(t(logits), t((borders[:-1] + borders[1:]) / 2)).numpy()


IMPLEMENTATIONS = [Histreg, HLGaussPytorch, Rlax, TorchRL]


# ---- what a module must keep when it is saved, loaded and cast


def histreg_module(low: float, high: float, n_bins: int) -> HistogramLoss:
    """Return a module that holds the bins."""
    return HistogramLoss(Bins.uniform(low, high, n_bins))


def histreg_mean(module: HistogramLoss, logits: torch.Tensor) -> torch.Tensor:
    """Return the mean over the bins of the module."""
    return Histogram(module.bins, logits=logits).mean


def hl_gauss_module(low: float, high: float, n_bins: int) -> torch.nn.Module:
    """Return a module that holds the bins."""
    from hl_gauss_pytorch import HLGaussLoss

    return HLGaussLoss(low, high, n_bins)


MODULES = {
    "histreg": (histreg_module, histreg_mean),
    "hl-gauss-pytorch": (hl_gauss_module, lambda module, logits: module(logits)),
}


def error_after_loading(make, mean) -> float:
    """Return the error of the mean after loading into a module with other bins."""
    saved, loaded = make(0.0, 10.0, 20), make(-1.0, 1.0, 20)
    loaded.load_state_dict(saved.state_dict())
    return abs(mean(loaded, torch.zeros(1, 20)).item() - 5.0)


def error_after_casting(make, mean) -> float:
    """Return the error of the mean after ``.half().float()``."""
    module = make(1000.0, 1001.0, 20).half().float()
    logits = torch.zeros(1, 20)
    logits[0, 3] = 100.0  # all mass in the bin from 1000.15 to 1000.2
    return abs(mean(module, logits).item() - 1000.175)


def table() -> str:
    """Return the largest error of each implementation in each case."""
    columns, heads = [], []
    for implementation in IMPLEMENTATIONS:
        try:
            name = f"{implementation.package} {version(implementation.package)}"
        except PackageNotFoundError:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {
                (case["function"], case["catches"]): error
                for case, error in errors(implementation)
            }
        columns.append(found)
        heads.append(name)
    lines = [f"| function | case | {' | '.join(heads)} |"]
    lines.append("|---|---|" + "---:|" * len(heads))
    for function, catches in columns[0]:
        cells = []
        for column in columns:
            error = column.get((function, catches))
            cells.append("" if error is None else f"{error:.0e}")
        lines.append(f"| `{function}` | {catches} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
    for name, parts in MODULES.items():
        try:
            loaded, cast = error_after_loading(*parts), error_after_casting(*parts)
            print(
                f"{name}: mean off by {loaded:.2g} after loading, {cast:.2g} after half"
            )
        except ImportError as error:
            print(f"{name}: {error}")
