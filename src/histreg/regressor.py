"""HistogramRegressor: from a table to a distribution, by scikit-learn's contract."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)
from torch import Tensor, nn

from histreg import conformal, model_files
from histreg._checks import (
    check_choice,
    check_count,
    check_fraction,
    check_positive,
    check_weight,
)
from histreg.bins import Bins, checked_bins, float64_on
from histreg.columns import LabelCodes, NumberScaling, Table, kinds_of, read_frame
from histreg.distribution import Histogram
from histreg.networks import ACTIVATIONS, CopiedBody, Stack, TabularBody
from histreg.objectives import (
    LOSSES,
    TARGETS,
    NamedTarget,
    Objective,
    TargetProbs,
    objective_of,
)
from histreg.training import Epoch, Measure, Rows, Settings, optimizer_of, train

OUTPUT_TYPES = ("mean", "median", "mode", "quantiles")
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHARPENING_EPOCHS, SHARPENING_PATIENCE = 20, 4
CHUNK = 16384  # rows read at once: some 50 MB of activations and probabilities
FEWEST_JUDGES = 5  # validation rows, below which their loss tells nothing


class Calibration(NamedTuple):
    """Rows to calibrate on: what was predicted for them, and what came."""

    logits: Tensor  # (n, m, k), float32
    y: Tensor  # (n, m), float64


class HistogramRegressor(RegressorMixin, BaseEstimator):
    """A network that predicts a distribution over bins for each row of a table.

    Numbers, missing values and labels (text or categories of a data frame) are taken
    as they are. Bins are laid over the training targets; the network (an ensemble of
    them, if you like) is trained by the histogram loss with early stopping, and its
    readout is then fitted once more to sharper targets, so that the predicted spread
    is that of y and not of the smoothing.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int
    activation : {"relu", "gelu", "silu", "tanh"}
    dropout : float in [0, 1)
        After each hidden layer.
    embedding_width : int
        Length of the periodic embedding of each number; 0 takes numbers as they are.
    loss : str
        ``"histogram"`` (the histogram loss), or for comparison on the same network:
        ``"brier"``, ``"crps"``, ``"softmax_mean_l2"``, ``"softmax_mean_l1"``,
        ``"softmax_per_bin_l2"``, ``"mdn"`` (mixture of five Gaussians), and
        ``"l2"``, ``"l1"``, which predict one number and no distribution.
    target : {"gaussian", "one_bin", "uniform", "projected"} or callable
        How y becomes a histogram, see `histreg.targets`; a callable takes
        ``(y, bins)`` and returns ``(..., k)``.
    n_bins : int
        All bins, padding included.
    sigma_in_bins : float
        Smoothing of the Gaussian target in training, in bin widths.
    padding_in_sigmas : float
        Room on each side of the range of y.
    final_sigma_in_bins : float or None
        Smoothing of the targets that the readout is fitted to in the end, with the
        body frozen; the predicted mean stays that of the first readout. None leaves
        the predicted spread inflated by the smoothing. For Gaussian targets only.
    bins : "uniform", Bins, or a sequence of one Bins per target
        ``"uniform"`` lays equal bins over the training targets, or over ``y_range``.
    y_range : (float, float), or a sequence of one pair per target, optional
        The range of y if it is known. Targets outside are clipped for training,
        counted in ``n_clipped_`` and reported by one warning.
    n_estimators : int
        Networks, trained as one stack, each with validation rows of its own;
        predictions are those of their mixture.
    backbone : nn.Module, optional
        Another body: (n, d) float32 -> (n, h). It gets the scaled numbers, then labels
        as one-hot columns. A copy is trained, from the weights it has.
    learning_rate_init : float
    weight_decay : float
        Of AdamW.
    batch_size : int or "auto"
        ``"auto"`` is 256, less for fewer than 8,192 rows, at least 16.
    max_iter : int
        Epochs at most.
    early_stopping : bool
        Keep the weights of the best epoch on held-out rows, and stop
        ``n_iter_no_change`` epochs after it. Not done where fewer than five rows
        would be held out.
    validation_fraction : float in (0, 1)
    n_iter_no_change : int
    random_state : int, RandomState or None
    verbose : bool
        Print a line per epoch.
    warm_start : bool
        ``fit`` goes on from the present weights, columns and bins.
    device : str
        ``"auto"`` is a CUDA device if there is one, else the CPU.
    callback : callable, optional
        Called with an `histreg.training.Epoch` after each epoch.

    Attributes
    ----------
    bins_ : Bins, or a tuple of them for y of shape (n, m)
    history_ : dict of lists
        ``loss``, ``validation_loss``, ``validation_error`` (mean absolute error in
        units of y) and ``elapsed_s`` by epoch; validation is None without early
        stopping.
    n_iter_ : int
        Epochs trained.
    n_clipped_ : int
        Training targets outside the bins.
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When fitted on a data frame with text as column names.

    Notes
    -----
    A row of weight k counts as k rows, to the bit: equal rows are merged and their
    weights added, and the order of rows does not matter. Results for a
    ``random_state`` are the same on one machine, and close on others.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistogramRegressor(max_iter=20, random_state=0).fit(X[:400], y[:400])
    >>> lower, upper = model.predict_interval(X[400:], coverage=0.9)
    >>> lower.shape, model.predict_dist(X[400:]).mean.shape
    ((42,), torch.Size([42]))
    """

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (256, 256, 256),
        *,
        activation: str = "relu",
        dropout: float = 0.1,
        embedding_width: int = 8,
        loss: str = "histogram",
        target: str | TargetProbs = "gaussian",
        n_bins: int = 100,
        sigma_in_bins: float = 2.0,
        padding_in_sigmas: float = 3.0,
        final_sigma_in_bins: float | None = 0.5,
        bins: str | Bins | Sequence[Bins] = "uniform",
        y_range: Sequence[Any] | None = None,
        n_estimators: int = 1,
        backbone: nn.Module | None = None,
        learning_rate_init: float = 1e-3,
        weight_decay: float = 1e-2,
        batch_size: int | str = "auto",
        max_iter: int = 200,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
        warm_start: bool = False,
        device: str = "auto",
        callback: Callable[[Epoch], None] | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.embedding_width = embedding_width
        self.loss = loss
        self.target = target
        self.n_bins = n_bins
        self.sigma_in_bins = sigma_in_bins
        self.padding_in_sigmas = padding_in_sigmas
        self.final_sigma_in_bins = final_sigma_in_bins
        self.bins = bins
        self.y_range = y_range
        self.n_estimators = n_estimators
        self.backbone = backbone
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.device = device
        self.callback = callback

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn columns, bins and weights.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            NaN is a missing value. Text and category columns of a pandas or polars
            frame are labels; others are numbers.
        y : array-like of shape (n,) or (n, m)
            Finite numbers.
        sample_weight : array-like of shape (n,), optional
            Not negative; a row of weight 0 is as if it were not there.

        Returns
        -------
        HistogramRegressor
            This one.
        """
        self._check_parameters()
        goes_on = self.warm_start and hasattr(self, "network_")
        table, y, weight = self._read_training(X, y, sample_weight, reset=not goes_on)
        generator = check_random_state(self.random_state)
        device = self._device()
        with _seeded(generator.randint(2**31), device):
            if not goes_on:
                self._start(table, y)
            rows = self._rows(table, y, weight, device)
            held_out = self._held_out(len(rows), device)
            settings = self._settings(len(rows))
            history = train(
                self.network_,
                rows,
                held_out,
                self._measure(self.objective_),
                settings,
                on_epoch=self._report,
            )
            if self._sharpens():
                self._sharpen(rows, held_out, settings)
        self._keep(history)
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on for one epoch over these rows, without validation.

        The first call learns the columns and the bins, from its rows alone: give
        ``y_range`` or ``bins`` if later ones reach further.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        y : array-like of shape (n,) or (n, m)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        HistogramRegressor
            This one.
        """
        self._check_parameters()
        first = not hasattr(self, "network_")
        table, y, weight = self._read_training(X, y, sample_weight, reset=first)
        device = self._device()
        if not hasattr(self, "_generator"):
            self._generator = check_random_state(self.random_state)
        with _seeded(self._generator.randint(2**31), device):
            if first:
                self._start(table, y)
            rows = self._rows(table, y, weight, device)
            settings = self._settings(len(rows), n_epochs=1)
            if not hasattr(self, "_optimizers"):
                self._optimizers = [optimizer_of(self.network_, settings)]
                if self._sharpens():
                    self._ensure_sharp()
                    self._optimizers.append(
                        optimizer_of(self.sharp_.readout, settings)
                    )
            nobody = torch.zeros(
                self.network_.n_models, len(rows), dtype=torch.bool, device=device
            )
            history = train(
                self.network_,
                rows,
                nobody,
                self._measure(self.objective_),
                settings,
                optimizer=self._optimizers[0],
                on_epoch=self._report,
            )
            if self._sharpens():
                self._train_sharp(rows, nobody, settings, self._optimizers[1])
        self._keep(history, append=not first)
        return self

    def calibrate(self, X: Any, y: ArrayLike) -> Self:
        """Let `predict_interval` cover what it promises, from rows not trained on.

        From then on an interval of coverage c holds the y of a new row with
        probability at least c, over the draw of these n rows and the new one, if they
        are exchangeable; and at most 1 / (n + 1) more, up to ties. With fewer than
        c / (1 - c) rows that takes an infinite interval.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        y : array-like of shape (n,) or (n, m)

        Returns
        -------
        HistogramRegressor
            This one. Quantiles and distributions stay what they were.
        """
        check_is_fitted(self)
        y = self._checked_y(y)
        y = y.reshape(len(y), -1)
        check_consistent_length(X, y)
        if y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y must have {self.n_outputs_} columns, as in fit, got shape {y.shape}"
            )
        each = _listed(self.predict_dist(X))
        logits = torch.stack([d.logits for d in each], dim=1)  # (n, m, k)
        self.calibration_ = Calibration(
            logits.to(torch.float32), torch.from_numpy(y.copy())
        )
        return self

    def predict(
        self,
        X: Any,
        output_type: str = "mean",
        *,
        alpha: float | Sequence[float] = DECILES,
    ) -> NDArray[np.float64]:
        """Return one number per row, or its quantiles.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        output_type : {"mean", "median", "mode", "quantiles"}
        alpha : float or sequence of q floats
            Levels, for ``"quantiles"``.

        Returns
        -------
        ndarray of shape (n,) or (n, m); for quantiles see `predict_quantiles`
        """
        check_choice("output_type", output_type, OUTPUT_TYPES)
        if output_type == "quantiles":
            return self.predict_quantiles(X, alpha)
        if output_type == "mean":  # no distribution needed
            means = [self._means(features) for features in self._features(X)]
            return self._shaped(torch.cat(means))
        return self._by_target(X, lambda d: getattr(d, output_type))

    def predict_dist(self, X: Any) -> Histogram | tuple[Histogram, ...]:
        """Return the predicted distribution of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)

        Returns
        -------
        Histogram of batch shape (n,), or a tuple of m of them
            In float64 on the CPU: 8 bytes per bin and row.
        """
        logits = self._mapped(
            X, lambda each: torch.stack([d.logits for d in each], dim=1)
        )  # (n, m, k)
        each = tuple(
            Histogram(bins, logits=logits[:, i])
            for i, bins in enumerate(_listed(self.bins_))
        )
        return each[0] if self._is_flat else each

    def predict_quantiles(
        self, X: Any, alpha: float | Sequence[float] = DECILES
    ) -> NDArray[np.float64]:
        """Return quantiles of each row's distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        alpha : float or sequence of q floats in [0, 1]

        Returns
        -------
        ndarray of shape (n, q), or (n, m, q); (n,) or (n, m) for one float
        """
        one = isinstance(alpha, Real)
        levels = [float(alpha)] if isinstance(alpha, Real) else [float(a) for a in alpha]
        if not levels or not all(0 <= level <= 1 for level in levels):
            raise ValueError(f"alpha must hold levels in [0, 1], got {alpha=}")
        found = self._by_target(X, lambda d: d.quantiles(levels).movedim(0, -1))
        return found[..., 0] if one else found

    def predict_interval(
        self, X: Any, coverage: float = 0.9, method: str = "central"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return an interval for the y of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        coverage : float in (0, 1)
        method : {"central", "shortest"}
            Equal probability on both sides, or the shortest interval.

        Returns
        -------
        lower, upper : ndarrays of shape (n,) or (n, m)
            After `calibrate` they cover what they promise, and are infinite where
            that takes it; before, they are those of the predicted distribution.
        """
        check_fraction("coverage", coverage)
        check_choice("method", method, conformal.METHODS)
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            ends = self._by_target(
                X, lambda d: torch.stack(d.interval(coverage, method), dim=-1)
            )
            return ends[..., 0], ends[..., 1]
        growths = self._growths(coverage, method)

        def calibrated(each: Sequence[Histogram]) -> Tensor:  # (n, m, 2)
            found = [
                torch.stack(conformal.interval(d, coverage, method, t), dim=-1)
                for d, t in zip(each, growths, strict=True)
            ]
            return torch.stack(found, dim=1)

        ends = self._shaped(self._mapped(X, calibrated))
        return ends[..., 0], ends[..., 1]

    def predict_var(self, X: Any) -> NDArray[np.float64]:
        """Return the variance of each row's distribution: (n,) or (n, m)."""
        return self._by_target(X, lambda d: d.variance)

    def predict_proba_above(
        self, X: Any, threshold: float | Sequence[float]
    ) -> NDArray[np.float64]:
        """Return P(y > threshold) for each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        threshold : float, or one per target

        Returns
        -------
        ndarray of shape (n,) or (n, m)
        """
        check_is_fitted(self)
        limits = np.broadcast_to(np.asarray(threshold, float), (self.n_outputs_,))
        if np.isnan(limits).any():
            raise ValueError(f"threshold must be a number, got {threshold=}")

        def above(each: Sequence[Histogram]) -> Tensor:  # (n, m)
            found = [
                d.prob(float(limit), math.inf)
                for d, limit in zip(each, limits, strict=True)
            ]
            return torch.stack(found, dim=1)

        return self._shaped(self._mapped(X, above))

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray[np.float64]:
        """Return draws from each row's distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        ndarray of shape (n, n_samples) or (n, m, n_samples)
            Targets of a row are drawn independently.
        """
        check_count("n_samples", n_samples, at_least=1)
        generator = torch.Generator()
        generator.manual_seed(int(check_random_state(random_state).randint(2**31)))
        return self._by_target(
            X,
            lambda d: d.sample((n_samples,), generator=generator).movedim(0, -1),
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a folder, as JSON and safetensors.

        The folder is made if it is missing; a model in it is replaced, as a whole or
        not at all. Options that are code (``backbone``, a callable ``target``) are not
        saved: the backbone is to be given to `load` again.
        """
        check_is_fitted(self)
        model_files.save(Path(path), *_state_of(self))

    @classmethod
    def load(
        cls, path: str | Path, *, backbone: nn.Module | None = None
    ) -> HistogramRegressor:
        """Return the model that was saved into a folder; it predicts the same, bit for
        bit.

        Parameters
        ----------
        path : str or Path
        backbone : nn.Module, optional
            For a model that was fitted with one: a module of the same shape.
        """  # noqa: D205, D400
        described, tensors = model_files.load(Path(path))
        return _restored(cls, described, tensors, backbone)

    def to_onnx(self, path: str | Path, alpha: Sequence[float] = (0.05, 0.5, 0.95)) -> None:
        """Write mean and quantiles as an ONNX model, with the scaling inside.

        Parameters
        ----------
        path : str or Path
        alpha : sequence of q floats
            Levels of the quantiles.

        Notes
        -----
        Inputs: ``numbers`` (n, d) float64, the columns that are numbers, and if there
        are any, ``codes`` (n, c) int64 for those that are labels, by the lists that the
        model's metadata has under ``labels`` (from 1; 0 for an unknown one). Outputs:
        ``mean`` (n, m) and, of a distribution, ``quantiles`` (n, m, q), float64.
        Needs the extra ``onnx``.
        """
        check_is_fitted(self)
        from histreg.onnx_files import export

        export(self, Path(path), [float(level) for level in alpha])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    @property
    def _is_flat(self) -> bool:
        """Whether y was (n,): one Bins, and results without a dimension of targets."""
        return isinstance(self.bins_, Bins)

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_choice("activation", self.activation, ACTIVATIONS)
        if not callable(self.target):
            check_choice("target", self.target, TARGETS)
        if isinstance(self.bins, str):
            check_choice("bins", self.bins, ("uniform",))
        else:
            checked_bins(self.bins)
        for size in self.hidden_layer_sizes:
            check_count("hidden_layer_sizes", size, at_least=1)
        check_count("embedding_width", self.embedding_width, at_least=0)
        check_count("n_estimators", self.n_estimators, at_least=1)
        check_count("max_iter", self.max_iter, at_least=1)
        check_count("n_iter_no_change", self.n_iter_no_change, at_least=1)
        if self.batch_size != "auto":
            check_count("batch_size", self.batch_size, at_least=1)  # type: ignore[arg-type]
        check_positive("learning_rate_init", self.learning_rate_init)
        check_positive("sigma_in_bins", self.sigma_in_bins)
        if self.final_sigma_in_bins is not None:
            check_positive("final_sigma_in_bins", self.final_sigma_in_bins)
        check_fraction("validation_fraction", self.validation_fraction)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got dropout={self.dropout}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(
                "weight_decay must be finite and not negative, "
                f"got weight_decay={self.weight_decay}"
            )

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Table, NDArray[np.float64], NDArray[np.float64]]:
        """Return what to learn from: rows that differ, with their weights added."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        table = self._read(X, reset=reset)
        y = self._checked_y(y)
        flat, y = y.ndim == 1, y.reshape(len(y), -1)
        check_consistent_length(table.numbers, y)
        if not reset and y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y must have {self.n_outputs_} columns, as before, got shape {y.shape}"
            )
        weight = _check_sample_weight(sample_weight, table.numbers, dtype=np.float64)
        check_weight("sample_weight", torch.from_numpy(weight.copy()))
        if reset:
            self.n_outputs_, self._y_is_flat = y.shape[1], flat
        present = weight > 0
        table = Table(table.numbers[present], table.labels[present])
        return _merged(table, y[present], weight[present])

    def _read(self, X: Any, *, reset: bool) -> Table:
        """Return the numbers and labels of a table, after scikit-learn's checks."""
        if nw.dependencies.is_into_dataframe(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            if reset:
                self.kinds_ = kinds_of(X)
            table = read_frame(X, self.kinds_)
            check_array(
                table.numbers,
                ensure_all_finite="allow-nan",
                ensure_min_features=0,
                input_name="X",
                estimator=self,
            )
            return table
        if not reset and "label" in self.kinds_:
            raise ValueError(
                "X must be a data frame, as in fit, whose labels are text or "
                f"categories, got {type(X).__name__}"
            )
        numbers = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        if reset:
            self.kinds_ = ("number",) * numbers.shape[1]
        return Table(numbers, np.empty((len(numbers), 0), dtype=object))

    def _checked_y(self, y: Any) -> NDArray[np.float64]:  # (n,) or (n, m)
        y = check_array(
            y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=self
        )
        if y.ndim not in (1, 2):
            raise ValueError(f"y must have shape (n,) or (n, m), got shape {y.shape}")
        return y

    def _start(self, table: Table, y: NDArray[np.float64]) -> None:
        """Learn columns and bins; draw the first weights."""
        for name in ("calibration_", "sharp_", "_optimizers", "_generator"):
            if hasattr(self, name):
                delattr(self, name)
        targets = torch.from_numpy(y)
        bins = self._bins_for(targets)
        self.bins_ = bins[0] if self._y_is_flat else bins
        self.scaling_ = NumberScaling.of(table.numbers)
        self.codes_ = LabelCodes.of(table.labels)
        self.objective_ = objective_of(
            self.loss, targets, bins, self._target(self.sigma_in_bins)
        )
        self.network_ = Stack(
            self._body(), self.n_outputs_, self.objective_.n_outputs
        ).to(self._device())

    def _bins_for(self, y: Tensor) -> tuple[Bins, ...]:
        n_targets = y.shape[1]
        if not isinstance(self.bins, str):
            given = checked_bins(self.bins)
            each = (given,) * n_targets if isinstance(given, Bins) else given
            if len(each) != n_targets:
                raise ValueError(
                    f"bins must be one Bins, or one for each of the {n_targets} "
                    f"columns of y, got {len(each)}"
                )
        else:
            lowest, highest = self._ranges(y)
            each = tuple(
                Bins.around(
                    low,
                    high,
                    n_bins=self.n_bins,
                    sigma_in_bins=self.sigma_in_bins,
                    padding_in_sigmas=self.padding_in_sigmas,
                )
                for low, high in zip(lowest, highest, strict=True)
            )
        if self.target == "gaussian" and self.loss in ("histogram", "brier"):
            for bins in each:
                if not bins.is_uniform:
                    raise ValueError(
                        'target="gaussian" needs bins of equal width, where '
                        'sigma_in_bins has one meaning (or take target="projected", '
                        f"which needs none), got {bins}"
                    )
        return each

    def _ranges(self, y: Tensor) -> tuple[list[float], list[float]]:
        if self.y_range is None:
            return y.amin(dim=0).tolist(), y.amax(dim=0).tolist()
        pairs = np.atleast_2d(np.asarray(self.y_range, dtype=np.float64))
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) not in (1, y.shape[1]):
            raise ValueError(
                "y_range must be a pair (low, high), or one for each of the "
                f"{y.shape[1]} columns of y, got y_range={self.y_range!r}"
            )
        if not (np.isfinite(pairs).all() and (pairs[:, 0] < pairs[:, 1]).all()):
            raise ValueError(
                "y_range must have low below high, both finite, "
                f"got y_range={self.y_range!r}"
            )
        pairs = np.broadcast_to(pairs, (y.shape[1], 2))
        return pairs[:, 0].tolist(), pairs[:, 1].tolist()

    def _target(self, sigma_in_bins: float) -> TargetProbs:
        if callable(self.target):
            return self.target
        return NamedTarget(self.target, sigma_in_bins)

    def _body(self) -> TabularBody | CopiedBody:
        n_numbers, n_codes = self.scaling_.n_outputs, self.codes_.n_codes
        if self.backbone is not None:
            return CopiedBody(self.backbone, self.n_estimators, n_numbers, n_codes)
        return TabularBody(
            self.n_estimators,
            n_numbers,
            n_codes,
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            activation=self.activation,
            dropout=self.dropout,
            embedding_width=self.embedding_width,
        )

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)

    def _rows(
        self,
        table: Table,
        y: NDArray[np.float64],
        weight: NDArray[np.float64],
        device: torch.device,
    ) -> Rows:
        targets = torch.from_numpy(y)
        self.n_clipped_ = self._n_outside(targets)
        if self.n_clipped_:
            ranges = " and ".join(
                f"[{bins.low:g}, {bins.high:g}]" for bins in _listed(self.bins_)
            )
            warnings.warn(
                f"{self.n_clipped_} of {targets.numel()} targets lie outside the bins "
                f"{ranges} and are clipped for training",
                stacklevel=3,
            )
        inputs = tuple(each.to(device) for each in self._encoded(table))
        return Rows(
            inputs,
            targets.to(device, float64_on(device)),
            # On the scale of one, which float32 carries.
            torch.from_numpy(weight / weight.mean()).to(device, torch.float32),
        )

    def _n_outside(self, y: Tensor) -> int:
        return sum(
            int(((column < bins.low) | (column > bins.high)).sum())
            for column, bins in zip(y.T, _listed(self.bins_), strict=True)
        )

    def _encoded(self, table: Table) -> tuple[Tensor, Tensor]:
        """Return a network's inputs: numbers (n, d) float32, codes (n, c) int64."""
        numbers = torch.tensor(table.numbers)  # a copy: arrays may be read-only
        return self.scaling_(numbers), self.codes_(table.labels)

    def _held_out(self, n: int, device: torch.device) -> Tensor:  # (M, n), bool
        """Return which rows each model is judged on: parts of one shuffle in turn."""
        held_out = torch.zeros(self.network_.n_models, n, dtype=torch.bool)
        n_judges = round(self.validation_fraction * n)
        if not self.early_stopping or not FEWEST_JUDGES <= n_judges < n:
            return held_out.to(device)
        order = torch.randperm(n)
        for i, row in enumerate(held_out):
            row[order[(i * n_judges + torch.arange(n_judges)) % n]] = True
        return held_out.to(device)

    def _settings(self, n: int, n_epochs: int | None = None) -> Settings:
        batch_size = self.batch_size
        if batch_size == "auto":
            # Thirty-two steps or more an epoch, as far as batches stay sensible.
            batch_size = min(256, max(16, 2 ** int(math.log2(max(1, n // 32)))))
        return Settings(
            n_epochs=n_epochs or self.max_iter,
            batch_size=int(batch_size),
            learning_rate=self.learning_rate_init,
            weight_decay=self.weight_decay,
            patience=self.n_iter_no_change,
        )

    def _measure(self, objective: Objective) -> Measure:
        def error(outputs: Tensor, y: Tensor) -> Tensor:  # (M, n)
            y = y.cpu()
            each = [objective.mean(one.unsqueeze(0)) - y for one in outputs.cpu()]
            return torch.stack(each).abs().mean(dim=-1)

        return Measure(objective.loss, error)

    def _sharpens(self) -> bool:
        return (
            self.final_sigma_in_bins is not None
            and self.target == "gaussian"
            and self.loss in ("histogram", "brier")
        )

    def _ensure_sharp(self) -> None:
        """Make the second stack: the same body, a readout that starts as the first."""
        self.sharp_ = Stack(self.network_.body, *self.network_.shape)
        self.sharp_.readout = copy.deepcopy(self.network_.readout)

    def _sharpen(self, rows: Rows, held_out: Tensor, settings: Settings) -> None:
        """Fit a second readout to sharper targets, on the frozen body."""
        self._ensure_sharp()
        shorter = Settings(
            n_epochs=min(SHARPENING_EPOCHS, settings.n_epochs),
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            patience=min(SHARPENING_PATIENCE, settings.patience),
        )
        optimizer = optimizer_of(self.sharp_.readout, settings)
        self._train_sharp(rows, held_out, shorter, optimizer)

    def _train_sharp(
        self,
        rows: Rows,
        held_out: Tensor,
        settings: Settings,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        sharp_target = NamedTarget("gaussian", self.final_sigma_in_bins or 0)
        objective = objective_of(
            self.loss, rows.y, _listed(self.bins_), sharp_target
        )
        body = self.network_.body.requires_grad_(False)
        try:
            train(
                self.sharp_,
                rows,
                held_out,
                self._measure(objective),
                settings,
                optimizer=optimizer,
            )
        finally:
            body.requires_grad_(True)

    def _report(self, epoch: Epoch) -> None:
        if self.verbose:
            print(epoch)
        if self.callback is not None:
            self.callback(epoch)

    def _keep(self, history: list[Epoch], *, append: bool = False) -> None:
        names = ("loss", "validation_loss", "validation_error", "elapsed_s")
        found = {name: [getattr(epoch, name) for epoch in history] for name in names}
        if append:
            found = {name: self.history_[name] + found[name] for name in names}
        self.history_ = found
        self.n_iter_ = len(found["loss"])

    def _features(self, X: Any) -> Iterator[Tensor]:
        """Yield the features of some rows after the other, (M, c, h)."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        device = next(self.network_.parameters()).device
        for start in range(0, len(table.numbers), CHUNK):
            some = Table(*(each[start : start + CHUNK] for each in table))
            with torch.inference_mode():
                inputs = (each.to(device) for each in self._encoded(some))
                yield self.network_.body(*inputs)

    def _means(self, features: Tensor) -> Tensor:  # (c, m)
        with torch.inference_mode():
            return self.objective_.mean(self.network_.outputs(features).cpu())

    def _distributions(self, features: Tensor) -> list[Histogram]:
        """Return m Histograms of batch shape (c,): the second readout's, if there is
        one, with the mean of the first.
        """  # noqa: D205
        stack = getattr(self, "sharp_", self.network_)
        with torch.inference_mode():
            outputs = stack.outputs(features).cpu()
            each = [
                self.objective_.distribution(outputs, i)
                for i in range(self.n_outputs_)
            ]
            if stack is self.network_:
                return each
            means = self._means(features)
            return [d.with_mean(means[:, i]) for i, d in enumerate(each)]

    def _mapped(self, X: Any, read: Callable[[list[Histogram]], Tensor]) -> Tensor:
        """Return what ``read`` makes of the distributions, some rows at a time."""
        parts = [read(self._distributions(features)) for features in self._features(X)]
        return torch.cat(parts)

    def _growths(self, coverage: float, method: str) -> list[float]:
        """Return how far the intervals of each target grow, see `conformal`."""
        logits, y = self.calibration_
        found = []
        for i, bins in enumerate(_listed(self.bins_)):
            d = Histogram(bins, logits=logits[:, i].to(torch.float64))
            scores = conformal.scores(d, y[:, i], coverage, method)
            found.append(conformal.growth(scores, coverage))
        return found

    def _by_target(
        self, X: Any, read: Callable[[Histogram], Tensor]
    ) -> NDArray[np.float64]:
        """Return what ``read`` makes of each target's distribution, (n, [m,] ...)."""
        return self._shaped(
            self._mapped(X, lambda each: torch.stack([read(d) for d in each], dim=1))
        )

    def _shaped(self, values: Tensor) -> NDArray[np.float64]:
        """Return an array, without the dimension of targets if y had none."""
        return (values[:, 0] if self._is_flat else values).numpy()


def _listed(each: Any) -> tuple[Any, ...]:
    """Return one or several as a tuple."""
    return each if isinstance(each, tuple) else (each,)


def _merged(
    table: Table, y: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[Table, NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows that differ, in an order of their own, and their total weights.

    So a weight of 2 is the same as two copies, and the order of rows has no effect.
    """
    labels = LabelCodes.of(np.repeat(table.labels, 2, axis=0))(table.labels)
    numbers = np.concatenate([table.numbers, labels.numpy(), y], axis=1)
    numbers = np.ascontiguousarray(numbers + 0.0)  # -0.0 is 0.0
    as_bytes = numbers.view(np.dtype((np.void, numbers.strides[0]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    total = np.bincount(which.ravel(), weights=weight, minlength=len(first))
    return Table(*(each[first] for each in table)), y[first], total


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Draw from this seed inside, and leave torch's own generators as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


# What is saved of the constructor's options: all but code.
_CODE = ("backbone", "callback", "target", "bins", "random_state")


def _state_of(model: HistogramRegressor) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return all that a fitted model is: what JSON can say, and tensors."""
    options = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name not in _CODE
    }
    options["hidden_layer_sizes"] = [int(size) for size in model.hidden_layer_sizes]
    if model.y_range is not None:
        options["y_range"] = np.asarray(model.y_range, dtype=float).tolist()
    if isinstance(model.target, str):
        options["target"] = model.target
    if isinstance(model.random_state, int | np.integer):
        options["random_state"] = int(model.random_state)
    names = getattr(model, "feature_names_in_", None)
    described = {
        "options": options,
        "has_own_bins": not isinstance(model.bins, str),
        "has_backbone": model.backbone is not None,
        "has_callable_target": callable(model.target),
        "is_flat": model._is_flat,
        "is_sharp": hasattr(model, "sharp_"),
        "is_calibrated": hasattr(model, "calibration_"),
        "n_columns": model.scaling_.n_columns,
        "feature_names": None if names is None else [str(name) for name in names],
        "kinds": list(model.kinds_),
        "labels": [list(levels) for levels in model.codes_.levels],
        "n_clipped": model.n_clipped_,
        "history": model.history_,
    }
    tensors = {
        "bins": torch.stack([bins.borders for bins in _listed(model.bins_)]),
        "center": model.objective_.center,
        "scale": model.objective_.scale,
    }
    parts: dict[str, nn.Module] = {
        "scaling": model.scaling_,
        "network": model.network_,
    }
    if described["is_sharp"]:
        parts["sharp"] = model.sharp_.readout
    for part, module in parts.items():
        for name, tensor in module.state_dict().items():
            tensors[f"{part}.{name}"] = tensor
    if described["is_calibrated"]:
        tensors["calibration.logits"], tensors["calibration.y"] = model.calibration_
    return described, {
        name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()
    }


def _restored(
    cls: type[HistogramRegressor],
    described: dict[str, Any],
    tensors: dict[str, Tensor],
    backbone: nn.Module | None,
) -> HistogramRegressor:
    """Return the model that `_state_of` described."""
    if described["has_backbone"] != (backbone is not None):
        raise ValueError(
            "backbone must be given for a model that was fitted with one, and for no "
            f"other, got backbone={type(backbone).__name__}"
        )
    bins = tuple(Bins(borders) for borders in tensors["bins"])
    own_bins = {"bins": list(bins)} if described["has_own_bins"] else {}
    model = cls(**described["options"], backbone=backbone, **own_bins)
    model.n_outputs_ = len(bins)
    model.bins_ = bins[0] if described["is_flat"] else bins
    model.kinds_ = tuple(described["kinds"])
    model.n_features_in_ = len(model.kinds_)
    if described["feature_names"] is not None:
        model.feature_names_in_ = np.array(described["feature_names"], dtype=object)
    model.codes_ = LabelCodes(described["labels"])
    model.n_clipped_ = described["n_clipped"]
    model.history_ = described["history"]
    model.n_iter_ = len(model.history_["loss"])

    def part(name: str) -> dict[str, Tensor]:
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): value
            for key, value in tensors.items()
            if key.startswith(prefix)
        }

    scaling = part("scaling")
    model.scaling_ = NumberScaling(
        described["n_columns"],
        scaling["kept"].tolist(),
        scaling["flagged"].tolist(),
        scaling["knots"].shape[1],
    )
    model.scaling_.load_state_dict(scaling)
    model.objective_ = objective_of(
        model.loss, tensors["center"].expand(2, -1), bins, model._target(1.0)
    )
    model.objective_.center = tensors["center"]
    model.objective_.scale = tensors["scale"]
    model.network_ = Stack(
        model._body(), model.n_outputs_, model.objective_.n_outputs
    )
    model.network_.load_state_dict(part("network"))
    if described["is_sharp"]:
        model._ensure_sharp()
        model.sharp_.readout.load_state_dict(part("sharp"))
    if described["is_calibrated"]:
        model.calibration_ = Calibration(
            tensors["calibration.logits"], tensors["calibration.y"]
        )
    device = model._device()
    for module in (model.network_, getattr(model, "sharp_", model.network_)):
        module.to(device).eval()
    return model
