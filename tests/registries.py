"""Every target, loss, choice of bins and distribution: laws run over all of them."""

import torch

from histreg import Bins, Histogram, losses, targets

BINS = {
    "even": Bins.uniform(-1.0, 3.0, 16),
    "even, hundred": Bins.around(0.0, 100.0),
    "uneven": Bins([-2.0, -1.5, 0.0, 0.1, 1.0, 4.0, 4.5]),
    "two": Bins([0.0, 1.0, 3.0]),
    "far away": Bins.uniform(1e6, 1e6 + 10.0, 20),
    "geometric": Bins([2.0**i for i in range(-6, 7)]),
    "wide ends": Bins([-1e6, *[i / 20 for i in range(-20, 21)], 1e6]),
}

# Each is (y, bins) -> (..., k).
TARGETS = {
    "gaussian": lambda y, bins: targets.gaussian(
        y, bins, sigma=0.1 * (bins.high - bins.low)
    ),
    "narrow gaussian": lambda y, bins: targets.gaussian(
        y, bins, sigma=1e-3 * (bins.high - bins.low)
    ),
    "wide gaussian": lambda y, bins: targets.gaussian(
        y, bins, sigma=5.0 * (bins.high - bins.low)
    ),
    "truncated gaussian": lambda y, bins: targets.gaussian(
        y, bins, sigma=0.1 * (bins.high - bins.low), out_of_range="truncate"
    ),
    "gaussian, a sigma each": lambda y, bins: targets.gaussian(
        y, bins, sigma=torch.ones_like(y) * 0.1 * (bins.high - bins.low)
    ),
    "gaussian over places": lambda y, bins: targets.gaussian(
        y, bins, sigma_in_bins=1.5
    ),
    "gaussian of mean y": lambda y, bins: targets.gaussian(
        y, bins, sigma_in_bins=1.5, keeps_mean=True
    ),
    "one_bin": targets.one_bin,
    "uniform": lambda y, bins: targets.uniform(y, bins, epsilon=0.1),
    "projected": targets.projected,
    "from_cdf": lambda y, bins: targets.from_cdf(
        torch.distributions.Laplace(
            y.double().unsqueeze(-1),
            0.1 * (bins.high - bins.low),
            validate_args=False,  # which PyTorch 2.6 cannot do under vmap
        ).cdf,
        bins,
        like=y,
    ),
}


LOSS_BINS = Bins.uniform(-1.0, 3.0, 12)


def _mdn_parameters(prediction):
    """Return three components from (..., 12) outputs, as a network would."""
    return prediction[..., :9].unflatten(-1, (3, 3))


# Each is (prediction (..., 12), y (...)) -> (...): what a network's outputs go through.
LOSSES = {
    "histogram_loss": lambda out, y: losses.histogram_loss(
        out, targets.gaussian(y, LOSS_BINS, sigma=0.5).to(out.dtype)
    ),
    "l2": lambda out, y: losses.l2(out[..., 0], y),
    "l1": lambda out, y: losses.l1(out[..., 0], y),
    "softmax_mean_l2": lambda out, y: losses.softmax_mean_l2(out, y, LOSS_BINS),
    "softmax_mean_l1": lambda out, y: losses.softmax_mean_l1(out, y, LOSS_BINS),
    "softmax_per_bin_l2": lambda out, y: losses.softmax_per_bin_l2(out, y, LOSS_BINS),
    "brier": lambda out, y: losses.brier(
        out, targets.gaussian(y, LOSS_BINS, sigma=0.5).to(out.dtype)
    ),
    "crps": lambda out, y: losses.crps(out, y, LOSS_BINS),
    "mdn": lambda out, y: losses.mdn(_mdn_parameters(out), y),
    "survival_loss": lambda out, y: losses.survival_loss(out, y, LOSS_BINS),
    "interval_loss": lambda out, y: losses.interval_loss(out, y, y + 0.7, LOSS_BINS),
}

# Keyword arguments of HistogramLoss that give every kind of target.
HISTOGRAM_LOSSES = {
    "gaussian": {},
    "gaussian, sigma in y": {"sigma": 0.7},
    "gaussian, mean kept": {"keeps_mean": True},
    "gaussian, truncate": {"out_of_range": "truncate"},
    "one_bin": {"target": "one_bin"},
    "uniform": {"target": "uniform", "epsilon": 0.2},
    "uniform, mean kept": {"target": "uniform", "epsilon": 0.2, "keeps_mean": True},
    "projected": {"target": "projected"},
    "callable": {"target": lambda y, bins: targets.gaussian(y, bins, sigma=0.3)},
}


def distributions(dtype: torch.dtype) -> dict[str, Histogram]:
    """Return histograms of several shapes, some with empty bins."""
    generator = torch.Generator().manual_seed(3)

    def logits(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    return {
        "single": Histogram(BINS["even"], logits=logits(16)),
        "batch": Histogram(BINS["uneven"], logits=3 * logits(5, 6)),
        "matrix": Histogram(BINS["two"], logits=logits(2, 3, 2)),
        "far away": Histogram(BINS["far away"], logits=logits(4, 20)),
        "geometric": Histogram(BINS["geometric"], logits=logits(3, 12)),
        "wide ends": Histogram(BINS["wide ends"], logits=logits(2, 42)),
        "holes": Histogram(
            BINS["uneven"],
            probs=torch.tensor(
                [[0, 0.25, 0, 0.5, 0.25, 0], [0.5, 0, 0, 0, 0, 0.5]], dtype=dtype
            ),
        ),
        "one bin": Histogram(BINS["even"], probs=torch.eye(16, dtype=dtype)),
    }


DISTRIBUTION_NAMES = list(distributions(torch.float64))


def case(generator, *shape, dtype=torch.float64, k=12):
    """Return logits (*shape, k) and y (*shape) within the bins of the registry."""
    logits = torch.randn((*shape, k), generator=generator, dtype=dtype)
    return logits, torch.rand(shape, generator=generator, dtype=dtype) * 4 - 1
