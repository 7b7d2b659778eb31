"""Measurements: experiments without training, of targets, formulas and replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from histreg import targets, theory
from histreg._checks import check_choice
from histreg.bins import Bins
from histreg.study.atari.replays import replay_of
from histreg.study.atari.runs import N_FRAMES
from histreg.study.atari.states import parts_of, returns_of
from histreg.study.datasets import TABLES, dataset, game, series
from histreg.study.engine.runs import Outcome, Run, Workplace
from histreg.study.methods import HLGauss, HLOneBin
from histreg.study.series.windows import windows_of
from histreg.study.theory.theorems import theorems

SIGMAS_IN_BINS = tuple(2.0**power for power in range(-6, 5))
N_BARS = 30
N_SEEN, N_AHEAD = 96, 96  # moments, as forecasters see and forecast
N_DISCRETIZED, N_TRUNCATED = 10_001, 100_001  # places of y in Figure 13
EXPECTED_S = {"bias": 40.0, "replays": 215.0, "theorems": 6.0}  # of a core
S_A_MEASUREMENT, S_A_CELL = 0.05, 2.8e-7  # of others, and of a table that they read


@dataclass(frozen=True)
class Measurement(Run):
    """Something to compute from formulas, or from the targets of a data set.

    Parameters
    ----------
    what : str
        One of `MEASUREMENTS`.
    dataset : str
        Empty for what needs none.
    """

    kind: ClassVar[str] = "measurement"

    what: str
    dataset: str = ""

    def __post_init__(self) -> None:
        check_choice("what", self.what, MEASUREMENTS)

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> Measurement:
        """Return the run that `to_json` described."""
        return cls(description["what"], description["dataset"])

    def moved_to(self, dataset: str) -> Measurement:
        """Return the same on another data set; itself if it needs none."""
        return replace(self, dataset=dataset) if self.dataset else self

    @property
    def folder(self) -> tuple[str, ...]:
        """The data set, if there is one, then what is measured."""
        return (self.dataset or "theory", self.what)

    @property
    def label(self) -> str:
        """What is measured, and on what."""
        return f"{self.dataset}, {self.what}" if self.dataset else self.what

    @property
    def stack(self) -> tuple[object, ...]:
        """Each by itself."""
        return (self.kind, self.what, self.dataset)

    @property
    def expected_s(self) -> float:
        """The time to read the table, but for what is simulated or played."""
        if self.what in EXPECTED_S:
            return EXPECTED_S[self.what]
        read = TABLES.get(self.dataset)
        n_cells = 0 if read is None else read.n_rows * read.n_features
        return S_A_MEASUREMENT + S_A_CELL * n_cells

    @classmethod
    def compute(
        cls, runs: Sequence[Measurement], workplace: Workplace
    ) -> list[Outcome]:
        """Measure."""
        return [MEASUREMENTS[run.what](run.dataset, workplace) for run in runs]


def label_bias(name: str, workplace: Workplace) -> Outcome:
    """Return how far the mean of an exact fit is from the label, over sigma.

    HL-Gauss with the bins of the tabular study; sigma 0 is HL-OneBin.
    """
    data = dataset(name)
    y = torch.tensor(data.load(workplace.data_dir).y)
    low, high = data.y_range

    def mean_bias(method: HLGauss | HLOneBin) -> float:
        bins = method.bins(low, high)
        # Of each distinct label once: a table of all, times 100 bins, is large.
        distinct, counts = y.unique(return_counts=True)
        bias = [
            theory.label_bias(some, bins, method.target_probs(some, bins)).abs()
            for some in distinct.split(65536)
        ]
        return ((torch.cat(bias) * counts).sum() / len(y)).item()

    biases = [mean_bias(HLOneBin())]
    biases += [mean_bias(HLGauss(sigma_in_bins=sigma)) for sigma in SIGMAS_IN_BINS]
    width = HLGauss().bins(low, high).width
    return Outcome(
        {"width": width},
        {"sigma_in_bins": [0.0, *SIGMAS_IN_BINS], "label bias": biases},
    )


def target_histogram(name: str, workplace: Workplace) -> Outcome:
    """Return the density of the targets in 30 bars, and the facts of a data set."""
    data = dataset(name)
    table = data.load(workplace.data_dir)
    y = torch.tensor(table.y)
    density, borders = torch.histogram(y, bins=N_BARS, density=True)
    n_test = len(y) // 5
    facts = {
        "train rows": len(y) - n_test,
        "test rows": n_test,
        "features": table.X.shape[1],
        "low": data.y_range[0],
        "high": data.y_range[1],
        "smallest": y.min().item(),
        "largest": y.max().item(),
        "distinct": len(y.unique()),
    }
    curves = {"density": density.tolist(), "borders": borders.tolist()}
    return Outcome({k: float(v) for k, v in facts.items()}, curves)


def bias_simulation(name: str, workplace: Workplace) -> Outcome:  # noqa: ARG001
    """Return the bias of a Gaussian target from bins and from truncation (Figure 13).

    Bins of width 1 and data within one of them, as in the authors' code.
    """
    sigmas = torch.linspace(-4, 2, 101, dtype=torch.float64).exp()
    inside = torch.linspace(0, 1, N_DISCRETIZED, dtype=torch.float64)
    wide = Bins.uniform(-100.0, 101.0, 201)
    biases = torch.stack([_bias(inside, wide, sigma.item()) for sigma in sigmas])
    discretization = biases.abs().mean(dim=1)
    paddings = torch.arange(1, 21, 0.5, dtype=torch.float64)  # in sigmas
    finer = torch.linspace(0, 1, N_TRUNCATED, dtype=torch.float64)
    truncation = torch.stack(
        [
            _bias(finer, _padded(round(2 * padding.item())), 2.0).abs().mean()
            for padding in paddings
        ]
    )
    a, b = gaussian_fit(sigmas[:72], discretization[:72])
    c, d = gaussian_fit(paddings[:16], truncation[:16])
    step = len(inside) // 50
    shown = biases[::2, ::step]  # (sigma, y): enough for a surface
    return Outcome(
        {
            "discretisation factor": a,
            "discretisation exponent": b,
            "truncation factor": c,
            "truncation exponent": d,
        },
        {
            "sigma_in_bins": sigmas.tolist(),
            "discretisation bias": discretization.tolist(),
            "padding_in_sigmas": paddings.tolist(),
            "truncation bias": truncation.tolist(),
            "surface sigma_in_bins": sigmas[::2].tolist(),
            "surface offset": (inside[::step] - 0.5).tolist(),
            "surface bias": [[float(f"{v:.4g}") for v in row] for row in shown],
        },
    )


def _padded(n_padding: int) -> Bins:
    """Return unit bins around [0, 1]."""
    return Bins.uniform(-float(n_padding), 1.0 + n_padding, 2 * n_padding + 1)


def _bias(y: Tensor, bins: Bins, sigma: float) -> Tensor:
    # As a tensor: the formula over all bins, not a window of them, whose end is good to
    # 1e-15. Here the rest is looked at.
    exact = torch.tensor(sigma, dtype=torch.float64)
    parts = [
        theory.label_bias(some, bins, targets.gaussian(some, bins, sigma=exact))
        for some in y.split(4096)  # in the cache: up to twice as fast as 16384
    ]
    return torch.cat(parts)


def gaussian_fit(x: Tensor, height: Tensor) -> tuple[float, float]:
    """Return A and B of A exp(B x^2) by least squares of the logarithms."""
    design = torch.stack([torch.ones_like(x), x**2], dim=1)
    log_a, b = torch.linalg.lstsq(design, height.log()[:, None]).solution[:, 0]
    return log_a.exp().item(), b.item()


def bound_example(name: str, workplace: Workplace) -> Outcome:  # noqa: ARG001
    """Return both bounds on a squared difference of means (Figure 12).

    q is all at -1; h has epsilon there and the rest at 1.
    """
    epsilon = torch.linspace(0, 1, 201, dtype=torch.float64)[1:-1]
    kl = -epsilon.log()
    return Outcome(
        {
            # Where the bounds cross, D / 2 = 1 - exp(-D), and where Pinsker's leaves
            # the largest possible difference, D / 2 = 1.
            "crossing epsilon": torch.exp(-_crossing()).item(),
            "useless epsilon": torch.exp(torch.tensor(-2.0, dtype=kl.dtype)).item(),
        },
        {
            "epsilon": epsilon.tolist(),
            "squared difference": (4 * (1 - epsilon) ** 2).tolist(),
            "Pinsker": (4 * kl / 2).tolist(),
            "Bretagnolle-Huber": (4 * -torch.expm1(-kl)).tolist(),
        },
    )


def _crossing() -> Tensor:
    """Return the positive D at which D / 2 = 1 - exp(-D), by iterating it."""
    divergence = torch.tensor(2.0, dtype=torch.float64)
    for _ in range(100):  # a contraction by 0.41 a step
        divergence = -2 * torch.expm1(-divergence)
    return divergence


def naive_forecasts(name: str, workplace: Workplace) -> Outcome:
    """Return the errors of forecasts that learn nothing, on the test part of a series.

    To repeat the last value, the mean of what is seen, and 0, the mean of train.
    """
    facts = series(name)
    table = facts.load(workplace.data_dir)
    rows = windows_of(facts, table, N_SEEN, N_AHEAD)["test"]
    everything = slice(None)
    y = rows.targets(everything).double()
    forecasts = {
        "last value": rows.last(everything).double(),
        "mean of inputs": rows.inputs(everything)[..., -1].double().mean(1, True),
        "zero": torch.zeros(1, 1, dtype=torch.float64),
    }
    told = {}
    for how, forecast in forecasts.items():
        error = forecast - y
        told[f"{how}, test MSE"] = error.square().mean().item()
        told[f"{how}, test MAE"] = error.abs().mean().item()
    return Outcome(told, data_sha256=table.sha256)


def replay_facts(name: str, workplace: Workplace) -> Outcome:
    """Return how the replay of a game kept step with its file, and what it shows.

    Of the frames that value runs see. A replay that loses step is an error, which tells
    the frame, so that who is told of here never did.
    """
    title = game(name).title
    replay = replay_of(
        game(name),
        workplace.data_dir,
        n_frames=N_FRAMES,
        report=lambda: workplace.report(0.0),
    )
    parts = parts_of(title, replay)
    episodes = replay.episodes
    places = torch.cat([parts.train.places, parts.test.places]).numpy()
    returns = returns_of(replay)[places]
    scores = [
        float(replay.rewards[each.start : each.stop].sum())
        for each in episodes
        if each.is_over
    ]
    # What follows each but the last is a reset, and thereby seen to be in its place.
    followed = [each.is_over for each in episodes[:-1]]
    told = {
        "frames": len(replay.rewards),
        "episodes": len(episodes),
        "resets after the end": sum(followed),
        "resets at the time limit": len(followed) - sum(followed),
        "rewarded share": np.count_nonzero(replay.rewards) / len(replay.rewards),
        "least return": returns.min(),
        "mean return": returns.mean(),
        "largest return": returns.max(),
        "train episodes": parts.n_episodes - parts.n_test_episodes,
        "test episodes": parts.n_test_episodes,
        "train states": len(parts.train),
        "test states": len(parts.test),
    }
    if scores:
        told["mean score"] = sum(scores) / len(scores)
    curves = {
        "start": [each.start for each in episodes],
        "stop": [each.stop for each in episodes],
        "is over": [int(each.is_over) for each in episodes],
    }
    metrics = {what: float(value) for what, value in told.items()}
    return Outcome(metrics, curves, data_sha256=replay.sha256)


MEASUREMENTS: dict[str, Callable[[str, Workplace], Outcome]] = {
    "label-bias": label_bias,
    "targets": target_histogram,
    "bias": bias_simulation,
    "bound": bound_example,
    "naive": naive_forecasts,
    "replays": replay_facts,
    "theorems": theorems,
}
