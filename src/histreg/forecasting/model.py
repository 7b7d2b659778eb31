"""The forecaster's model: a ridge regression, and networks for what it leaves.

A window is described by its changes from the last value. Ridge regression forecasts the
change of each step. Networks predict the distribution of what is left, as histograms:
the network has to learn how wide, skewed or bimodal the future is, not where. A
histogram whose logits are linear in the inputs could not follow a level that moves.

Nothing is judged by values that it was fitted to: time is divided into as many blocks
as there are networks, and what is left of the windows of a block is taken from a
ridge regression of the other blocks. Each network is trained on the other blocks too,
and stops where it predicts its own block best. The calibration of intervals is made of
these predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from sklearn.linear_model import RidgeCV
from torch import Tensor

from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.forecasting.forecast import Forecast
from histreg.forecasting.windows import Inputs, WindowShape, held_out_blocks
from histreg.tabular import conformal
from histreg.tabular.fitting import measure_of
from histreg.tabular.gradients import Measure
from histreg.tabular.model import fill_module
from histreg.tabular.model_schema import check_names
from histreg.tabular.networks import Stack, TabularBody
from histreg.tabular.objectives import Objective, center_and_scale, objective_of
from histreg.tabular.training import Epoch, Generators, Settings, train
from histreg.tabular.training_rows import TrainingRows
from histreg.targets import Target, target_of

PENALTIES = torch.logspace(-2, 6, 17, dtype=torch.float64).tolist()
CHUNK = 2048  # windows
NETWORK = "network."


@dataclass(frozen=True)
class Design:
    """What a model is built from.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
    dropout : float
    n_networks : int
        M, and the number of blocks.
    n_bins : int
    sigma_in_bins : float
    """

    hidden_layer_sizes: tuple[int, ...]
    dropout: float
    n_networks: int
    n_bins: int
    sigma_in_bins: float

    def network(
        self, shape: WindowShape, generator: torch.Generator | None = None
    ) -> Stack:
        """Return networks with first weights."""
        body = TabularBody(
            self.n_networks,
            shape.n_inputs,
            hidden_layer_sizes=self.hidden_layer_sizes,
            dropout=self.dropout,
            embedding_width=0,
            n_waves=0,
            generator=generator,
        )
        return Stack(body, shape.horizon, self.n_bins, generator=generator)


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear forecast of every step.

    Parameters
    ----------
    center, scale : Tensors of shape (d,)
        Of the inputs.
    weight : Tensor of shape (d, h)
    bias : Tensor of shape (h,)
    """

    center: Tensor
    scale: Tensor
    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, rows: Tensor, y: Tensor) -> Ridge:
        """Return the fit of (n, d) to (n, h), a penalty for each step."""
        center, scale = center_and_scale(rows)
        ridge = RidgeCV(PENALTIES, alpha_per_target=True)
        ridge.fit(((rows - center) / scale).numpy(), y.numpy())
        weight = torch.from_numpy(ridge.coef_.reshape(y.shape[1], -1).T.copy())
        return cls(center, scale, weight, torch.as_tensor(ridge.intercept_).reshape(-1))

    def standard(self, rows: Tensor) -> Tensor:
        """Return standardised inputs: (n, d) -> (n, d)."""
        return (rows - self.center) / self.scale

    def __call__(self, rows: Tensor) -> Tensor:  # (n, h)
        """Return the forecast of (n, d)."""
        return self.standard(rows) @ self.weight + self.bias


@dataclass(frozen=True, eq=False)
class Calibration:
    """What was predicted below and above the values of windows that were held out.

    Parameters
    ----------
    below, above : Tensors of shape (n, h), float64
        The cdf and one minus the cdf at the value of each step.
    """

    below: Tensor
    above: Tensor

    @classmethod
    def of(cls, standard: Histogram, z: Tensor) -> Calibration:
        """Return those of histograms of batch shape (n, h) and their values."""
        return cls(standard.cdf(z), standard.prob(z, torch.inf))

    def followed_by(self, later: Calibration) -> Calibration:
        """Return these rows and later ones."""
        pairs = ((self.below, later.below), (self.above, later.above))
        return Calibration(*map(torch.cat, pairs))

    def rows(self, first: int, stop: int) -> Calibration:
        """Return some of the rows."""
        return Calibration(self.below[first:stop], self.above[first:stop])

    def growths(self, coverage: float) -> Tensor:  # (h,)
        """Return by how much intervals of each step grow, see `conformal`."""
        kept = torch.minimum(self.below, self.above) / ((1 - coverage) / 2)
        # Outside the bins one of them is 0, and no interval of bins is enough.
        scores = (1 - kept).masked_fill(kept <= 0, torch.inf)  # (n, h)
        growths = [conformal.growth(score, coverage) for score in scores.T]
        return torch.tensor(growths, dtype=torch.float64)


@dataclass(eq=False)
class ForecastModel:
    """All that is learnt from series.

    Parameters
    ----------
    shape : WindowShape
    series_scale : Tensor of shape (s,)
        The size of changes of each series.
    ridge : Ridge
    residual_scale : Tensor of shape (h,)
        The size of what the ridge regression leaves, by step.
    bins : Bins
        Of what it leaves, divided by its size.
    network : Stack
    calibration : Calibration
    """

    shape: WindowShape
    series_scale: Tensor
    ridge: Ridge
    residual_scale: Tensor
    bins: Bins
    network: Stack
    calibration: Calibration

    def forecast(self, inputs: Inputs) -> Forecast:
        """Return the forecast of windows, of batch shape (o, h, s)."""
        rows = inputs.rows(self.series_scale)
        by_series = (len(inputs.last), len(self.series_scale))
        parts = [
            _mixture(outputs) for outputs, _ in _outputs(self.network, self.ridge, rows)
        ]
        logits = torch.cat(parts).unflatten(0, by_series).transpose(1, 2)
        change = self.ridge(rows).unflatten(0, by_series).mT * self.series_scale
        scale = self.residual_scale.unsqueeze(-1) * self.series_scale  # (h, s)
        return Forecast(
            inputs.last.unsqueeze(1) + change,
            scale.expand_as(change),
            Histogram(self.bins, logits=logits),
        )

    def interval(self, forecast: Forecast, coverage: float) -> tuple[Tensor, Tensor]:
        """Return the calibrated ends for forecasts (..., h, s), each (..., h, s)."""
        return _grown(forecast, coverage, self.calibration.growths(coverage))

    def recent_interval(
        self,
        forecast: Forecast,
        origins: Tensor,
        y: Tensor,
        X: Tensor,
        coverage: float,
        n_recent: int,
    ) -> tuple[Tensor, Tensor]:
        """Return ends (o, h, s), calibrated by the latest windows known at each origin.

        Windows of the training count by what the network that held them out predicted,
        so that the model must not have been calibrated by others.
        """
        s, h, w = len(self.series_scale), self.shape.horizon, self.shape.window
        seen = self.calibration  # of the windows from origin w on, s rows each
        later = torch.arange(w + len(seen.below) // s, int(origins[-1]) - h + 1)
        if len(later):
            own = self.forecast(self.shape.inputs(y, X, later))
            came = self.shape.targets(y, later).mT
            seen = seen.followed_by(_judged(own, came))
        growths = []
        for origin in origins.tolist():
            stop = (origin - h + 1 - w) * s  # the last whose h values had come
            latest = seen.rows(max(0, stop - n_recent * s), stop)
            growths.append(latest.growths(coverage))
        return _grown(forecast, coverage, torch.stack(growths))

    def calibrate(self, forecast: Forecast, y: Tensor) -> None:
        """Calibrate by forecasts (o, h, s) and the values that came, of this shape."""
        self.calibration = _judged(forecast, y)

    def state(self) -> dict[str, Tensor]:
        """Return the tensors of the model, for a file."""
        tensors = {
            "series_scale": self.series_scale,
            **{f"ridge.{name}": value for name, value in vars(self.ridge).items()},
            "residual_scale": self.residual_scale,
            "bins": self.bins.state(),
            "calibration.below": self.calibration.below,
            "calibration.above": self.calibration.above,
            **{NETWORK + k: v for k, v in self.network.state_dict().items()},
        }
        return {name: value.detach().contiguous() for name, value in tensors.items()}


def fit_model(
    y: Tensor,
    X: Tensor,
    shape: WindowShape,
    design: Design,
    settings: Settings,
    generators: Generators,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> tuple[ForecastModel, list[Epoch]]:
    """Return a model of series (n, s) with columns (n, c), and its training."""
    n_networks = design.n_networks
    origins = shape.origins(len(y))
    inputs = shape.inputs(y, X, origins)
    series_scale = _size(inputs.changes.movedim(1, -1).flatten(0, 1))  # (s,)
    rows = inputs.rows(series_scale)  # (o s, d)
    ahead = shape.targets(y, origins) - inputs.last.unsqueeze(-1)  # (o, s, h)
    changes = (ahead / series_scale.unsqueeze(-1)).flatten(0, 1)  # (o s, h)
    blocks = held_out_blocks(origins, n_networks, shape.horizon)
    block, held_out = (t.repeat_interleave(y.shape[1], dim=-1) for t in blocks)

    ridge = Ridge.of(rows, changes)
    left = torch.empty_like(changes)
    for i in range(n_networks):
        own, others = block == i, ~held_out[i]
        left[own] = changes[own] - Ridge.of(rows[others], changes[others])(rows[own])
    residual_scale = _size(left)  # (h,)
    z = left / residual_scale

    bins = Bins.of(
        z, n_bins=design.n_bins, sigma_in_bins=design.sigma_in_bins, spacing="auto"
    )
    network = design.network(shape, generators.cpu)
    one = torch.ones(1, dtype=torch.float64)
    target = target_of("gaussian", sigma_in_bins=design.sigma_in_bins)
    objective = objective_of("histogram", [bins], 0 * one, one, target)
    _start_from_marginals(network, target, bins, z, held_out)
    standard_rows = (ridge.standard(rows).float(), _no_codes(len(rows)))
    history = train(
        network,
        TrainingRows(standard_rows, z, torch.ones(len(rows))),
        held_out,
        _measure(objective, z),
        settings,
        on_epoch=on_epoch,
        generators=generators,
    )
    judged = []
    for outputs, index in _outputs(network, ridge, rows):
        # Of the network that has not seen the window.
        own = outputs[block[index], torch.arange(len(index))]  # (n, h, k)
        judged.append(Calibration.of(Histogram(bins, logits=own), z[index]))
    calibration = Calibration(
        torch.cat([part.below for part in judged]),
        torch.cat([part.above for part in judged]),
    )
    model = ForecastModel(
        shape, series_scale, ridge, residual_scale, bins, network, calibration
    )
    return model, history


def model_of_state(
    design: Design, shape: WindowShape, tensors: dict[str, Tensor]
) -> ForecastModel:
    """Return the model of a state; raise if its parts do not agree."""
    d, h = shape.n_inputs, shape.horizon
    n, s = (
        len(tensors.get(name, ())) for name in ("calibration.below", "series_scale")
    )
    shapes = {
        "series_scale": (s,),
        "ridge.center": (d,),
        "ridge.scale": (d,),
        "ridge.weight": (d, h),
        "ridge.bias": (h,),
        "residual_scale": (h,),
        "bins": (design.n_bins + 5,),
        "calibration.below": (n, h),
        "calibration.above": (n, h),
    }
    check_names(shapes, [name for name in tensors if not name.startswith(NETWORK)])
    for name, expected in shapes.items():
        tensor = tensors[name]
        if (tensor.dtype, tuple(tensor.shape)) != (torch.float64, expected):
            raise InputError(
                f"{name!r} must be float64 of shape {expected}, got {tensor.dtype} of "
                f"shape {tuple(tensor.shape)}"
            )
        if name != "bins" and not bool(tensor.isfinite().all()):
            raise InputError(f"{name!r} must be finite")
        if name.endswith("scale") and not bool((tensor > 0).all()):
            raise InputError(f"{name!r} must be positive")
    with torch.device("meta"):
        network = design.network(shape)
    fill_module(network, NETWORK, tensors)
    return ForecastModel(
        shape,
        tensors["series_scale"],
        Ridge(*(tensors[f"ridge.{name}"] for name in Ridge.__dataclass_fields__)),
        tensors["residual_scale"],
        Bins.from_state(tensors["bins"]),
        network.eval(),
        Calibration(tensors["calibration.below"], tensors["calibration.above"]),
    )


def _grown(
    forecast: Forecast, coverage: float, growths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the ends for forecasts (..., h, s), whose steps grow by (..., h)."""
    lower, upper = conformal.interval(
        forecast.standard, coverage, "central", growths.unsqueeze(-1)
    )
    return forecast.of_y(lower), forecast.of_y(upper)


def _judged(forecast: Forecast, y: Tensor) -> Calibration:
    """Return the calibration of forecasts (o, h, s), a row per origin and series."""
    z = (y - forecast.location) / forecast.scale
    by_step = Calibration.of(forecast.standard, z)
    return Calibration(by_step.below.mT.flatten(0, 1), by_step.above.mT.flatten(0, 1))


@torch.no_grad()
def _start_from_marginals(
    network: Stack, target: Target, bins: Bins, z: Tensor, held_out: Tensor
) -> None:
    """Let every network begin with what ridge regression leaves, whatever the inputs.

    It then learns how windows differ, which takes fewer steps than learning it all.
    """
    share = (~held_out).double()
    share = share / share.sum(dim=1, keepdim=True)  # (M, n)
    probs = torch.stack([share @ target.probs(column, bins) for column in z.T], dim=1)
    probs = 0.99 * probs + 0.01 * bins.widths / bins.widths.sum()  # (M, h, k)
    network.readout.weight.zero_()
    network.readout.bias.copy_(probs.log().flatten(1).unsqueeze(1))


def _outputs(
    network: Stack, ridge: Ridge, rows: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield logits (M, n, h, k) of chunks of rows in float64, and which rows."""
    for index in torch.arange(len(rows)).split(CHUNK):
        inputs = ridge.standard(rows[index]).float()
        with torch.inference_mode():
            outputs = network(inputs, _no_codes(len(index)))
        yield outputs.double(), index


def _mixture(outputs: Tensor) -> Tensor:  # (M, n, h, k) -> (n, h, k)
    """Return logits of the average of the M histograms."""
    return outputs.log_softmax(dim=-1).logsumexp(dim=0)


def _measure(objective: Objective, z: Tensor) -> Measure:
    """Return an objective's measure, means over the steps: (M, n, h, k), (n, h)."""

    def over_steps(of: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def value(outputs: Tensor, z: Tensor) -> Tensor:  # (M, n)
            each = of(outputs.flatten(1, 2).unsqueeze(2), z.reshape(-1, 1))  # (M, n h)
            return each.unflatten(1, z.shape).mean(dim=-1)

        return value

    measure = measure_of(objective, z.reshape(-1, 1))
    loss, score, error = map(over_steps, measure[:3])
    of_rows = measure.loss_with_gradient
    assert of_rows is not None  # forecasters are trained by the cross-entropy

    def with_gradient(outputs: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        each, gradient = of_rows(
            outputs.flatten(1, 2).unsqueeze(2), z.reshape(-1, 1)
        )  # (M, n h), (M, n h, 1, k)
        gradient = gradient.view_as(outputs).div_(z.shape[-1])
        return each.unflatten(1, z.shape).mean(dim=-1), gradient

    return Measure(loss, score, error, with_gradient)


def _size(values: Tensor) -> Tensor:
    """Return the root mean square of each column, 1 where all are 0."""
    # In units of a power of two, which is exact: no square over- or underflows.
    exponent = values.abs().amax(dim=0).frexp().exponent.clamp(-1000, 1000)
    size = values.ldexp(-exponent).square().mean(dim=0).sqrt().ldexp(exponent)
    return size.where(size > 0, 1.0)


def _no_codes(n: int) -> Tensor:
    return torch.zeros(n, 0, dtype=torch.int64)
