"""HistogramForecaster: from a series to distributions of its next values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from histreg._checks import (
    check_count,
    check_finite,
    check_fraction,
    check_positive,
    check_real,
)
from histreg._names import MODEL_JSON
from histreg._tensors import as_float64
from histreg.bins import Bins
from histreg.errors import InputError
from histreg.forecasting.backtest import Backtest
from histreg.forecasting.forecast import Forecast
from histreg.forecasting.model import Design, ForecastModel, fit_model, model_of_state
from histreg.forecasting.windows import WindowShape, check_length
from histreg.tabular import model_files
from histreg.tabular.options import layer_sizes
from histreg.tabular.predictions import checked_levels
from histreg.tabular.training import Epoch, Generators, Settings

FORMAT = model_files.Format("histreg forecaster", 1)
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SAVED = {"options": dict, "known": list, "n_columns": int, "is_flat": bool}
Floats = NDArray[np.float64]


class HistogramForecaster(BaseEstimator):
    """Distributions of the next values of a series, each step with its own.

    The forecaster sees a window of values minus the last one, so that the level of the
    series does not matter. Ridge regression forecasts the change of every step, and an
    ensemble of small networks predicts the distribution of what it leaves, by the
    histogram loss. Each network holds out another block of time; what the networks
    predict for their own blocks calibrates the intervals of each step.

    Parameters
    ----------
    horizon : int
        h, the number of steps to forecast.
    window : int
        The number of values seen, at least 2. A window of a season or two shows the
        seasons.
    known : sequence of int or str
        Positions or names of the columns of X that are known ahead, such as those of
        the calendar. Other columns are known up to the last value seen.
    hidden_layer_sizes : int or sequence of int
        Of the networks.
    dropout : float in [0, 1)
    n_bins : int
    sigma_in_bins : float
        Smoothing of the targets in training, in bin widths.
    n_estimators : int
        Number of networks, and of blocks, at least 2.
    learning_rate_init, weight_decay : float
        Of AdamW.
    batch_size : int
    max_iter : int
        Maximum number of epochs.
    n_iter_no_change : int
        Stop after this many epochs without a better CRPS of held-out blocks.
    random_state : int, RandomState or None
    callback : callable, optional
        Called with a `histreg.tabular.Epoch` after each epoch; if it raises, training
        ends and the forecaster is left as it was.

    Attributes
    ----------
    bins_ : Bins
        Of what the ridge regression leaves, divided by its size; all steps share them.
    history_ : list of Epoch
    n_series_ : int
        s, the number of series.
    n_features_in_ : int
        Of X, 0 without it.

    Notes
    -----
    Several series of equal length are the columns of a y of shape (n, s). One model
    learns from the windows of all; each series has its own scale. X belongs to all of
    them. Results then have a last dimension of series.

    Intervals are conformal if windows to come are exchangeable with those of training,
    which series that drift are not: check the coverage by `backtest`, also with
    ``recent=...``, and `calibrate` with recent values.

    Examples
    --------
    >>> y = np.sin(np.arange(300) / 4) + 0.1 * np.random.default_rng(0).normal(size=300)
    >>> model = HistogramForecaster(horizon=6, window=24, max_iter=5, random_state=0)
    >>> lower, upper = model.fit(y).predict_interval(coverage=0.8)
    >>> model.predict().shape, lower.shape, model.predict_quantiles(alpha=[0.5]).shape
    ((6,), (6,), (6, 1))
    """

    model_: ForecastModel
    bins_: Bins
    history_: list[Epoch]
    n_series_: int
    n_features_in_: int

    def __init__(
        self,
        horizon: int = 12,
        *,
        window: int = 24,
        known: Sequence[int | str] = (),
        hidden_layer_sizes: int | Sequence[int] = (32,),
        dropout: float = 0.1,
        n_bins: int = 50,
        sigma_in_bins: float = 1.0,
        n_estimators: int = 5,
        learning_rate_init: float = 1e-3,
        weight_decay: float = 1e-2,
        batch_size: int = 128,
        max_iter: int = 50,
        n_iter_no_change: int = 5,
        random_state: int | np.random.RandomState | None = None,
        callback: Callable[[Epoch], None] | None = None,
    ) -> None:
        self.horizon = horizon
        self.window = window
        self.known = known
        self.hidden_layer_sizes = hidden_layer_sizes
        self.dropout = dropout
        self.n_bins = n_bins
        self.sigma_in_bins = sigma_in_bins
        self.n_estimators = n_estimators
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.callback = callback

    def fit(self, y: ArrayLike, X: Any = None) -> Self:
        """Learn from one series or several.

        Parameters
        ----------
        y : array-like of shape (n,), or (n, s) for s series
            In the order of time, at equal distances, without gaps.
        X : array-like or data frame of shape (n, c), optional
            Exogenous columns; later rows are ignored.

        Returns
        -------
        self
        """
        self._check_options()
        series, is_flat = _series(y)
        names = _names_of(X)
        n_columns = 0 if X is None else (*np.shape(X), 0)[1]
        columns = _columns(X, len(series), n_columns, 0, ())
        known = _positions(self.known, names, n_columns)
        shape = WindowShape(int(self.window), int(self.horizon), n_columns, known)
        check_length(len(series), shape, int(self.n_estimators))
        seed = int(check_random_state(self.random_state).randint(2**31))
        model, history = fit_model(
            series,
            columns,
            shape,
            self._design(),
            Settings(
                n_epochs=int(self.max_iter),
                batch_size=int(self.batch_size),
                learning_rate=self.learning_rate_init,
                weight_decay=self.weight_decay,
                patience=int(self.n_iter_no_change),
                n_drops=0,
            ),
            Generators.seeded(seed, torch.device("cpu")),
            self.callback,
        )
        last = (series[-shape.window :], columns[-shape.window :])
        self._take(model, is_flat, last, names)
        self.history_ = history
        return self

    def predict(self, y: ArrayLike | None = None, X: Any = None) -> Floats:
        """Return the mean of each of the next values.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, s), optional
            The values so far, at least ``window`` of them; those of `fit` by default.
        X : array-like or data frame, optional
            With y, its columns: n rows, and h more if some are known ahead. Without y,
            the h rows after those of `fit`, if some are known ahead.

        Returns
        -------
        ndarray of shape (h,) or (h, s)
        """
        return self.predict_dist(y, X).mean.numpy()

    def predict_dist(self, y: ArrayLike | None = None, X: Any = None) -> Forecast:
        """Return the distributions of the next values, of batch shape (h,) or (h, s).

        See `predict` for the parameters.
        """
        return self._flat(self._forecast(y, X))[0]

    def predict_quantiles(
        self,
        y: ArrayLike | None = None,
        X: Any = None,
        alpha: float | Sequence[float] = DECILES,
    ) -> Floats:
        """Return quantiles of each of the next values.

        Parameters
        ----------
        y, X
            See `predict`.
        alpha : float or sequence of q floats in [0, 1]

        Returns
        -------
        ndarray of shape (h, q) or (h, s, q); (h,) or (h, s) for one float
        """
        levels = checked_levels(alpha)
        quantiles = self.predict_dist(y, X).quantiles(levels).movedim(0, -1).numpy()
        return quantiles if np.ndim(alpha) else quantiles[..., 0]

    def predict_interval(
        self, y: ArrayLike | None = None, X: Any = None, coverage: float = 0.9
    ) -> tuple[Floats, Floats]:
        """Return a conformal interval for each of the next values.

        Parameters
        ----------
        y, X
            See `predict`.
        coverage : float in (0, 1)

        Returns
        -------
        lower, upper : ndarrays of shape (h,) or (h, s)
            Central intervals of the predicted distributions, widened or narrowed for
            each step by held-out windows, or by those of `calibrate`; infinite if there
            are too few of them for this coverage.
        """
        check_fraction("coverage", coverage)
        forecast = self._forecast(y, X)
        lower, upper = self.model_.interval(forecast, coverage)
        return self._flat(lower)[0].numpy(), self._flat(upper)[0].numpy()

    def calibrate(self, y: ArrayLike, X: Any = None) -> Self:
        """Calibrate intervals by other values than those held out in training.

        From then on, the interval of each step is calibrated by the forecasts from all
        origins in y that have a window before them and h values after them.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, s)
            Recent values. The first ``window`` of them only serve as a window, and may
            be known from training.
        X : array-like or data frame, optional
            Its columns, n rows.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        series, columns = self._checked(y, X, n_ahead=0)
        shape = self.model_.shape
        origins = shape.origins(len(series))
        if not len(origins):
            raise InputError(
                f"y must have at least window + horizon = "
                f"{shape.window + shape.horizon} values, got {len(series)}"
            )
        forecast = self.model_.forecast(shape.inputs(series, columns, origins))
        self.model_.calibrate(forecast, shape.targets(series, origins).mT)
        return self

    def backtest(
        self,
        y: ArrayLike,
        X: Any = None,
        *,
        start: int,
        step: int | None = None,
        refit: bool = False,
        coverage: float = 0.9,
        recent: int | None = None,
    ) -> Backtest:
        """Return forecasts from successive origins beside the values that came.

        This forecaster is not changed: a copy is fitted to the first ``start`` values.

        Parameters
        ----------
        y, X
            As in `fit`.
        start : int
            The first origin: how many values are known.
        step : int, optional
            From one origin to the next, the horizon by default.
        refit : bool
            Fit a copy to all that is known at each origin. Otherwise the first copy
            makes all forecasts, from later windows.
        coverage : float in (0, 1)
            Of the calibrated intervals.
        recent : int, optional
            Calibrate the intervals of each origin by the forecasts of the latest
            windows, as many as this, whose values had all come by then; by default by
            all windows held out in training. For series whose errors grow or shrink
            over time. A few hundred are a good start: the fewer, the faster intervals
            follow, and the more their widths vary. Infinite if they are too few for
            the coverage.
        """
        self._check_options()
        check_fraction("coverage", coverage)
        if recent is not None:
            check_count("recent", recent, at_least=1)
        step = int(self.horizon) if step is None else step
        check_count("step", step, at_least=1)
        check_count("start", start, at_least=1)
        series, _ = _series(y)
        n, h = len(series), int(self.horizon)
        if start + h > n:
            raise InputError(
                f"start must leave horizon={h} values to compare with, at most "
                f"{n - h} of {n} values, got start={start}"
            )
        origins = torch.arange(int(start), n - h + 1, int(step))
        forecasts, ends = [], []
        for group in origins.split(1 if refit else len(origins)):
            model = clone(self).fit(np.asarray(y)[: int(group[0])], X)
            series, columns = model._checked(y, X, n_ahead=0)
            shape = model.model_.shape
            forecast = model.model_.forecast(shape.inputs(series, columns, group))
            if recent is None:
                ends.append(model.model_.interval(forecast, coverage))
            else:
                ends.append(
                    model.model_.recent_interval(
                        forecast, group, series, columns, coverage, int(recent)
                    )
                )
            forecasts += list(model._flat(forecast))
        targets = shape.targets(series, origins).mT  # (o, h, s)
        arrays = [
            model._flat(torch.cat(list(parts))).numpy()
            for parts in ([targets], *zip(*ends, strict=True))
        ]
        values, lower, upper = arrays
        return Backtest(origins.numpy(), forecasts, values, lower, upper, coverage)

    def save(self, path: str | Path) -> None:
        """Write the fitted forecaster into a folder, as JSON and safetensors.

        The folder is created if it is missing. A forecaster in it is replaced
        atomically; other files are left alone.
        """
        check_is_fitted(self)
        described = {
            "options": self._json_options(),
            "known": list(self.model_.shape.known),
            "n_columns": self.model_.shape.n_columns,
            "is_flat": self._is_flat,
            "feature_names": self._names,
        }
        tensors = {
            **self.model_.state(),
            "last.y": self._last[0].contiguous(),
            "last.X": self._last[1].contiguous(),
        }
        model_files.save(Path(path), described, tensors, FORMAT)

    @classmethod
    def load(cls, path: str | Path) -> HistogramForecaster:
        """Return a saved forecaster; it predicts the same as before, to the bit.

        A damaged file is refused with an `InputError` that names it.
        """
        described, tensors = model_files.load(Path(path), FORMAT)
        with model_files.errors_prefixed(f"{Path(path) / MODEL_JSON} is damaged"):
            return cls._of_state(described, tensors)

    @classmethod
    def _of_state(
        cls, described: dict[str, Any], tensors: dict[str, Tensor]
    ) -> HistogramForecaster:
        """Return a forecaster of what `save` writes; raise if parts do not agree."""
        for name, kind in SAVED.items():
            if not isinstance(described.get(name), kind):
                raise InputError(f"{name!r} must be a {kind.__name__}")
        forecaster = cls(**described["options"])
        forecaster._check_options()
        n_columns, names = described["n_columns"], described["feature_names"]
        shape = WindowShape(
            forecaster.window,
            forecaster.horizon,
            n_columns,
            _positions(described["known"], None, n_columns),
        )
        last = [tensors.pop(name, torch.empty(0)) for name in ("last.y", "last.X")]
        model = model_of_state(forecaster._design(), shape, tensors)
        widths = (len(model.series_scale), n_columns)
        for tensor, width in zip(last, widths, strict=True):
            _check_numbers("the last window", tensor, (shape.window, width))
        if described["is_flat"] and widths[0] != 1:
            raise InputError(f"'is_flat' needs one series, got {widths[0]}")
        forecaster._take(model, described["is_flat"], (last[0], last[1]), names)
        return forecaster

    def _take(
        self,
        model: ForecastModel,
        is_flat: bool,
        last: tuple[Tensor, Tensor],
        names: list[str] | None,
    ) -> None:
        """Become fitted: a model, and the window that the training ended with."""
        self.model_ = model
        self.bins_ = model.bins
        self.n_series_ = len(model.series_scale)
        self.n_features_in_ = model.shape.n_columns
        self.history_ = []
        self._is_flat, self._last, self._names = is_flat, last, names

    def _forecast(self, y: ArrayLike | None, X: Any) -> Forecast:
        """Return the forecast from the end of y, of batch shape (1, h, s)."""
        check_is_fitted(self)
        shape = self.model_.shape
        n_ahead = shape.horizon if shape.known else 0
        if y is not None:
            series, columns = self._checked(y, X, n_ahead=n_ahead)
        else:
            series, columns = self._last
            if shape.known:
                ahead = self._checked_columns(X, 0, n_ahead)
                columns = torch.cat([columns, ahead])
            elif X is not None:
                raise InputError(
                    "X must be None without y, because no column is known ahead; give "
                    "both, or name columns in known"
                )
        inputs = shape.inputs(series, columns, torch.tensor([len(series)]))
        return self.model_.forecast(inputs)

    def _checked(self, y: ArrayLike, X: Any, *, n_ahead: int) -> tuple[Tensor, Tensor]:
        """Return y (n, s) and X (n + n_ahead, c), checked to be like those of `fit`."""
        series, is_flat = _series(y)
        shape = self.model_.shape
        if (series.shape[1], is_flat) != (self.n_series_, self._is_flat):
            expected = "(n,)" if self._is_flat else f"(n, {self.n_series_})"
            raise InputError(
                f"y must have shape {expected} as in fit, got {np.shape(y)}"
            )
        if len(series) < shape.window:
            raise InputError(
                f"y must have at least window={shape.window} values, got {len(series)}"
            )
        return series, self._checked_columns(X, len(series), n_ahead)

    def _checked_columns(self, X: Any, n: int, n_ahead: int) -> Tensor:
        """Return the columns of n values and n_ahead more, (n + n_ahead, c)."""
        shape = self.model_.shape
        names = _names_of(X)
        if names and self._names and names != self._names:
            raise InputError(
                f"X must have the columns of fit, {self._names}, got {names}"
            )
        return _columns(X, n, shape.n_columns, n_ahead, shape.known)

    def _flat(self, of_series: Any) -> Any:
        """Return (..., h, s) without the last dimension if y had none."""
        return of_series[..., 0] if self._is_flat else of_series

    def _design(self) -> Design:
        return Design(
            tuple(int(size) for size in layer_sizes(self.hidden_layer_sizes)),
            float(self.dropout),
            int(self.n_estimators),
            int(self.n_bins),
            float(self.sigma_in_bins),
        )

    def _json_options(self) -> dict[str, Any]:
        options = self.get_params()
        del options["callback"]
        options["known"] = list(self.known)
        options["hidden_layer_sizes"] = list(self._design().hidden_layer_sizes)
        if not isinstance(self.random_state, Integral):
            options["random_state"] = None
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in options.items()
        }

    def _check_options(self) -> None:
        """Raise unless every option has an allowed value, before any work is done."""
        least = {"horizon": 1, "window": 2, "n_estimators": 2, "batch_size": 1}
        least |= {"max_iter": 1, "n_iter_no_change": 1, "n_bins": 2}
        for name, at_least in least.items():
            check_count(name, getattr(self, name), at_least=at_least)
        for size in layer_sizes(self.hidden_layer_sizes):
            check_count("hidden_layer_sizes", size, at_least=1)
        check_positive("sigma_in_bins", self.sigma_in_bins)
        check_positive("learning_rate_init", self.learning_rate_init)
        for name, limit in {"dropout": 1.0, "weight_decay": np.inf}.items():
            value = getattr(self, name)
            check_real(name, value)
            if not 0 <= value < limit:
                raise InputError(f"{name} must lie in [0, {limit:g}), got {value}")
        if isinstance(self.known, str) or not isinstance(self.known, Sequence):
            raise InputError(f"known must be a list of columns, got {self.known!r}")


def _series(y: ArrayLike) -> tuple[Tensor, bool]:
    """Return series as (n, s), and whether y was one series of shape (n,)."""
    values = _numbers("y", y)
    if values.ndim not in (1, 2) or values.numel() == 0:
        raise InputError(
            "y must be one series of shape (n,), or s series of shape (n, s), got "
            f"shape {tuple(values.shape)}"
        )
    check_finite("y", values)
    return values.view(len(values), -1), values.ndim == 1


def _columns(
    X: Any, n: int, n_columns: int, n_ahead: int, known: Sequence[int]
) -> Tensor:
    """Return exogenous columns of n values, and the known ones of n_ahead more."""
    if X is None:
        X = np.empty((n + n_ahead, 0))
    values = _numbers("X", X)
    if values.ndim != 2 or values.shape[1] != n_columns or len(values) < n + n_ahead:
        ahead = f" and {n_ahead} more, because some columns are known ahead"
        raise InputError(
            f"X must have {n_columns} columns and a row for each of the {n} values"
            f"{ahead if n_ahead else ''}, got shape {tuple(values.shape)}"
        )
    values = values[: n + n_ahead]
    check_finite("X", values[:n])
    check_finite("X", values[n:, list(known)])
    return values


def _numbers(name: str, values: Any) -> Tensor:
    try:
        return as_float64(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers ({error})") from error


def _names_of(X: Any) -> list[str] | None:
    """Return the names of the columns of a data frame."""
    names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def _positions(
    known: Sequence[int | str], names: list[str] | None, n_columns: int
) -> tuple[int, ...]:
    """Return the positions of columns that are known ahead, in increasing order."""
    positions = set()
    for one in known:
        position = names.index(one) if names and one in names else one
        is_number = isinstance(position, Integral) and not isinstance(position, bool)
        if not is_number or not 0 <= position < n_columns:  # type: ignore[operator]
            raise InputError(
                f"known must hold names or positions of the {n_columns} columns of X"
                f"{f', {names}' if names else ''}, got {one!r}"
            )
        positions.add(int(position))
    return tuple(sorted(positions))


def _check_numbers(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless these are finite numbers of a shape, in float64."""
    if (tensor.dtype, tuple(tensor.shape)) != (torch.float64, shape):
        raise InputError(
            f"{name} must be float64 of shape {shape}, got {tensor.dtype} of shape "
            f"{tuple(tensor.shape)}"
        )
    check_finite(name, tensor)
