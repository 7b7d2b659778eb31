"""HistogramRegressor: from a table to a distribution, by scikit-learn's contract."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)
from torch import Tensor, nn

from histreg import spacings
from histreg._checks import (
    check_choice,
    check_count,
    check_fraction,
    check_positive,
    check_real,
    check_weight,
)
from histreg._tensors import as_float64, float64_on
from histreg.bins import SMALLEST_SPREAD, Bins, checked_bins, least_spread
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular import conformal, model_files, model_schema, training_state
from histreg.tabular.columns import (
    TEMPORAL,
    LabelCodes,
    NumberScaling,
    Table,
    kinds_of,
    read_frame,
)
from histreg.tabular.model import Model, n_outside, sample_of
from histreg.tabular.networks import (
    ACTIVATIONS,
    CopiedBody,
    Stack,
    TabularBody,
    without_autocast,
)
from histreg.tabular.objectives import (
    LEAST_RELATIVE_SPREAD,
    LOSSES,
    ON_BOUNDS,
    ON_NUMBERS,
    ON_TARGETS,
    Objective,
    center_and_scale,
    objective_of,
    target_for,
)
from histreg.tabular.training import (
    Epoch,
    Generators,
    Measure,
    Rows,
    Settings,
    Snapshot,
    optimizer_of,
    train,
)
from histreg.tabular.training_state import TrainingState
from histreg.tails import checked_kinds
from histreg.targets import TARGETS, GaussianTarget, TargetFunction

OUTPUT_TYPES = ("mean", "median", "mode", "quantiles")
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHARPENING_EPOCHS, SHARPENING_PATIENCE = 20, 4
# Options that the fitted network is built by, and that cannot change after.
STRUCTURE = (
    "hidden_layer_sizes",
    "activation",
    "embedding_width",
    "loss",
    "target",
    "n_bins",
    "sigma_in_bins",
    "padding_in_sigmas",
    "final_sigma_in_bins",
    "bins",
    "tails",
    "y_range",
    "n_estimators",
    "backbone",
)
MOST_EMBEDDED = 128  # columns, see docs/regressor.md
FEWEST_JUDGES = 5  # validation rows, below which their loss tells nothing


class HistogramRegressor(RegressorMixin, BaseEstimator):
    """A network that predicts a distribution over bins for each row of a table.

    Numbers, missing values and labels (text or categories of a data frame) are taken
    as they are. Bins are laid over the training targets; the network (an ensemble of
    them, if you like) is trained by the histogram loss with early stopping, and its
    readout is then fitted once more to sharper targets, so that the predicted spread
    is that of y and not of the smoothing.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int
    activation : {"relu", "gelu", "silu", "tanh"}
    dropout : float in [0, 1)
        After each hidden layer.
    embedding_width : int or "auto"
        Length of the periodic embedding of each number; 0 takes numbers as they are.
        ``"auto"`` is 8 for up to 128 columns, and 0 for more, where embeddings cost
        much and did harm.
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
        body frozen. None leaves the predicted spread inflated by the smoothing. For
        Gaussian targets only.
    bins : str, Bins, or a sequence of one Bins per target
        A name lays bins over the training targets, or over ``y_range``, evenly in a
        coordinate: ``"uniform"``, ``"sqrt"``, ``"log"``, ``"symlog"``, ``"quantile"``,
        or ``"auto"``, the first of these that resolves the targets (see
        `histreg.spacings`): even bins, unless a long tail makes them too wide.
    tails : {"clip", "exponential", "gpd"}, or a pair of them
        What lies beyond bins that are laid: nothing, or tails fitted to the training
        targets, the lower and the upper (see `Bins.of`). Not with ``y_range``, nor with
        targets of which some are censored, nor with ``bins`` that are given (those may
        have tails of their own). Bins with a tail do not grow.
    y_range : (float, float), or a sequence of one pair per target, optional
        The range of y if it is known. Targets outside are clipped for training,
        counted in ``n_clipped_`` and reported by one warning.
    bins_grow : bool or "auto"
        Whether bins grow where training goes on (`partial_fit`, or `fit` with
        ``warm_start``) and y comes within half the padding of an end or lies beyond,
        see `Bins.grown`; predictions do not jump. ``"auto"`` lets those grow that were
        laid over training targets without tails, and keeps ``bins`` and ``y_range`` as
        given.
    n_estimators : int
        Networks, trained as one stack, each with validation rows of its own;
        predictions are those of their mixture.
    backbone : nn.Module, optional
        Another body: (n, d) float32 -> (n, h). It gets the scaled numbers, then labels
        as one-hot columns. A copy is trained, from the weights it has. Modules such as
        ``nn.Dropout`` draw from torch's global generators, which are seeded for the
        time of the fit and restored after it; such fits in several threads run one at
        a time, and other threads should not draw from these generators meanwhile.
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
        Called with a `histreg.tabular.training.Epoch` after each epoch. If it raises,
        training ends there and the estimator is left as it was before.

    Attributes
    ----------
    bins_ : Bins, or a tuple of them for y of shape (n, m)
    history_ : dict of lists
        ``loss``, ``validation_loss``, ``validation_error`` (mean absolute error in
        units of y, of a censored target what the mean falls short of it) and
        ``elapsed_s`` by epoch; validation is None without early stopping.
    n_iter_ : int
        Epochs trained.
    n_seen_ : int
        Training targets, of the last `fit` and of all calls of `partial_fit` since.
    n_clipped_ : int
        Those of them that lay outside the bins.
    n_growths_ : int
        How often bins of a target have grown since they were laid.
    notes_ : dict
        Anything that JSON can say, saved and loaded with the model; empty at first.
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When fitted on a data frame with text as column names.

    Notes
    -----
    The order of rows does not matter. Whole-number weights count as copies, to the bit
    (up to eight a row on average; beyond, and if fractional, a weight multiplies the
    loss of its row). Results for a ``random_state`` are the same on one machine, also
    for fits in several threads, and close on others. Torch's global generators and
    settings are left as they are, and have no effect.

    A `fit` or `partial_fit` that does not end, because its input is refused, a callback
    raises or Ctrl-C is pressed, leaves the estimator as it was before the call.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistogramRegressor(max_iter=20, random_state=0).fit(X[:400], y[:400])
    >>> lower, upper = model.predict_interval(X[400:], coverage=0.9)
    >>> lower.shape, model.predict_dist(X[400:]).mean.shape
    ((42,), torch.Size([42]))
    """

    model_: Model
    bins_: Bins | tuple[Bins, ...]
    history_: dict[str, list[Any]]
    n_iter_: int
    n_seen_: int
    n_clipped_: int
    n_growths_: int
    notes_: dict[str, Any]
    n_outputs_: int
    n_features_in_: int

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (256, 256, 256),
        *,
        activation: str = "relu",
        dropout: float = 0.1,
        embedding_width: int | str = "auto",
        loss: str = "histogram",
        target: str | TargetFunction = "gaussian",
        n_bins: int = 100,
        sigma_in_bins: float = 2.0,
        padding_in_sigmas: float = 3.0,
        final_sigma_in_bins: float | None = 0.5,
        bins: str | Bins | Sequence[Bins] = "auto",
        tails: str | tuple[str, str] = "clip",
        y_range: Sequence[Any] | None = None,
        bins_grow: bool | str = "auto",
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
        self.tails = tails
        self.y_range = y_range
        self.bins_grow = bins_grow
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
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        censored: ArrayLike | None = None,
    ) -> Self:
        """Learn columns, bins and weights.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            NaN is a missing value. Text and category columns of a pandas or polars
            frame are labels; others are numbers.
        y : array-like of shape (n,) or (n, m)
            Finite numbers. If they differ by too little for float64 (by less than
            4e-13 of their magnitude for 100 bins, or by less than 1e-290), they are
            predicted as if they were equal, and one warning says so.
        sample_weight : array-like of shape (n,), optional
            Not negative; a row of weight 0 is as if it were not there.
        censored : bool array-like of the shape of y, optional
            Where True, the target is known only to be greater than y, as the time of
            an event that has not come yet. Such a target is trained on by the
            probability of that. For ``loss="histogram"``, and not all of a target.

        Returns
        -------
        HistogramRegressor
            This one.
        """
        self._check_parameters()
        goes_on = self.warm_start and hasattr(self, "model_")
        if goes_on:
            self._check_structure()
        device = self._device()
        with _plain_torch(device), self._all_or_nothing(goes_on=goes_on):
            data = self._read_training(X, y, sample_weight, censored, reset=not goes_on)
            if data.censored is not None and bool(data.censored.all(dim=0).any()):
                raise InputError(
                    "censored must leave targets that are known, one at least in each "
                    f"column of y, got all {len(data.y)} of one censored"
                )
            seed = check_random_state(self.random_state).randint(2**31)
            with self._drawing(seed, device) as generators:
                if goes_on:
                    self._grow(data)
                else:
                    self._start(data, generators)
                self.n_seen_ = self.n_clipped_ = 0
                rows = self._rows(data, device)
                self.model_.sharp = None  # of an earlier fit, for the network as it was
                self._optimizers: list[torch.optim.Optimizer] = []
                held_out = self._held_out(len(rows), device, generators)
                settings = self._settings(len(rows))
                history = self._train(rows, held_out, settings, generators)
                if self._sharpens():
                    few = replace(
                        settings,
                        n_epochs=min(SHARPENING_EPOCHS, settings.n_epochs),
                        patience=min(SHARPENING_PATIENCE, settings.patience),
                    )
                    self._train_sharp(rows, held_out, few, generators)
            self._keep(history)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        censored: ArrayLike | None = None,
    ) -> Self:
        """Go on for one epoch over these rows, without validation.

        The first call learns the columns and the bins from its rows alone. Where later
        targets reach further, the bins grow, unless they have tails, or ``bins`` or
        ``y_range`` were given (see ``bins_grow``). They become wider by that, and stay
        so. What `calibrate` learnt is forgotten, since it was of another network.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        y : array-like of shape (n,) or (n, m)
        sample_weight : array-like of shape (n,), optional
        censored : bool array-like of the shape of y, optional
            As in `fit`, but all may be True.

        Returns
        -------
        HistogramRegressor
            This one.
        """
        self._check_parameters()
        first = not hasattr(self, "model_")
        if not first:
            self._check_structure()
        device = self._device()
        with _plain_torch(device), self._all_or_nothing(goes_on=not first):
            data = self._read_training(X, y, sample_weight, censored, reset=first)
            if first or not hasattr(self, "_generator"):
                self._generator = check_random_state(self.random_state)
            seed = self._generator.randint(2**31)
            with self._drawing(seed, device) as generators:
                if first:
                    self._start(data, generators)
                else:
                    self._grow(data)
                rows = self._rows(data, device)
                network = self.model_.network
                nobody = torch.zeros(
                    network.n_models, len(rows), dtype=torch.bool, device=device
                )
                settings = self._settings(len(rows), n_epochs=1)
                if not getattr(self, "_optimizers", None):
                    self._optimizers = [optimizer_of(network, settings)]
                    if self._sharpens():
                        readout = self.model_.begin_sharp(generators.cpu).readout
                        self._optimizers.append(optimizer_of(readout, settings))
                history = self._train(
                    rows, nobody, settings, generators, self._optimizers[0]
                )
                if self._sharpens() and self._optimizers:
                    self._train_sharp(
                        rows, nobody, settings, generators, self._optimizers[1]
                    )
            self._keep(history, append=not first)
        return self

    @contextmanager
    def _all_or_nothing(self, *, goes_on: bool) -> Iterator[None]:
        """Leave the estimator as it was, unless what is done inside comes to its end.

        Parameters
        ----------
        goes_on : bool
            Whether the present network is trained, in place, and not another one.
        """
        before = dict(vars(self))
        if goes_on:
            model_before = dict(vars(self.model_))
            optimizers = getattr(self, "_optimizers", ())
            snapshot = Snapshot(self.model_.trained_parts, optimizers)
            draws_before = self._own_draws()
        try:
            yield
        except BaseException:  # Ctrl-C is none of Exception
            self.__dict__ = before
            if goes_on:
                self.model_.__dict__ = model_before
                snapshot.restore()
                if draws_before is not None:
                    self._generator.set_state(draws_before)
            raise

    def _own_draws(self) -> Any:
        """Return the state of the generator of `partial_fit`, None if it is others'."""
        generator: Any = getattr(self, "_generator", None)
        others = (None, self.random_state, check_random_state(None))
        is_own = all(generator is not each for each in others)
        return generator.get_state(legacy=False) if is_own else None

    @contextmanager
    def _drawing(self, seed: int, device: torch.device) -> Iterator[Generators]:
        """Yield what to draw from inside; torch's own generators stay as they are.

        Unless there is a backbone: its dropout and first weights can come from nowhere
        else. Torch's own are then seeded, and put back in the end, by one at a time.
        """
        if self.backbone is None:
            yield Generators.seeded(seed, device)
            return
        devices = [device] if device.type == "cuda" else []
        with _BACKBONES, torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            yield Generators()

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
            The targets themselves: what is censored cannot be calibrated on, and to
            leave such rows out would favour small targets.

        Returns
        -------
        HistogramRegressor
            This one. Quantiles and distributions stay what they were.
        """
        table = self._table(X)
        y = self._checked_y(y)
        y = y.reshape(len(y), -1)
        with _input_errors():
            check_consistent_length(table.numbers, y)
        if y.shape[1] != self.n_outputs_:
            raise InputError(
                f"y must have {self.n_outputs_} columns, as in fit, got shape {y.shape}"
            )
        with _plain_torch(self._device()):
            self.model_.calibrate(table, torch.tensor(y))
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
        if output_type == "mean":  # which needs no distribution
            table = self._table(X)
            return self._shaped(self.model_.mean(table))
        return self._reading(X, lambda d, _: getattr(d, output_type))

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
        table = self._table(X)
        logits = self.model_.read(table, lambda d, _: d.logits)  # (n, m, k)
        each = tuple(
            Histogram(bins, logits=logits[:, i])
            for i, bins in enumerate(self.model_.bins)
        )
        return each[0] if self.model_.is_flat else each

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
        levels = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
        if levels.ndim != 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise InputError(f"alpha must hold levels in [0, 1], got {alpha=}")
        found = self._reading(
            X, lambda d, _: d.quantiles(levels.tolist()).movedim(0, -1)
        )
        return found[..., 0] if isinstance(alpha, Real) else found

    def predict_interval(
        self, X: Any, coverage: float = 0.9, method: str = "central"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return an interval for the y of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        coverage : float in (0, 1)
        method : {"central", "shortest"}
            Equal probability on both sides, or the shortest interval. After
            `calibrate` the latter is widened or narrowed from the shortest one, see
            `histreg.tabular.conformal`.

        Returns
        -------
        lower, upper : ndarrays of shape (n,) or (n, m)
            After `calibrate` they cover what they promise, and are infinite where
            that takes it; before, they are those of the predicted distribution.
        """
        check_fraction("coverage", coverage)
        check_choice("method", method, conformal.METHODS)
        table = self._table(X)
        ends = self._shaped(self.model_.interval(table, coverage, method))
        return ends[..., 0], ends[..., 1]

    def predict_var(self, X: Any) -> NDArray[np.float64]:
        """Return the variance of each row's distribution: (n,) or (n, m)."""
        return self._reading(X, lambda d, _: d.variance)

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
        limits = np.atleast_1d(np.asarray(threshold, dtype=float))
        if limits.shape not in ((1,), (self.n_outputs_,)):
            raise InputError(
                "threshold must be one number, or one for each of the "
                f"{self.n_outputs_} targets, got shape {limits.shape}"
            )
        if np.isnan(limits).any():
            raise InputError(f"threshold must not be NaN, got {threshold=}")
        limits = np.broadcast_to(limits, (self.n_outputs_,))
        return self._reading(X, lambda d, i: d.prob(float(limits[i]), math.inf))

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
        return self._reading(
            X, lambda d, _: d.sample((n_samples,), generator=generator).movedim(0, -1)
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a folder, as JSON and safetensors.

        The folder is made if it is missing; a model in it is replaced, as a whole or
        not at all, also for readers in other threads and processes. Other files in the
        folder are left alone. Options that are code (``backbone``, a callable
        ``target``) are not saved: the backbone is to be given to `load` again.

        After `partial_fit`, the moments of the optimizer and the state of the random
        numbers are saved too, so that a loaded model continues exactly as the saved one
        would. That makes the folder about three times as large.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        described, tensors = self.model_.state()
        described_training, training_tensors = training_state.describe(
            TrainingState(
                getattr(self, "_optimizers", ()), getattr(self, "_generator", None)
            ),
            self.model_.trained_parts,
        )
        described |= described_training | {
            "options": self._options(),
            "has_own_bins": not isinstance(self._structure["bins"], str),
            "has_backbone": self._structure["backbone"] is not None,
            "feature_names": None if names is None else [str(name) for name in names],
            "n_seen": self.n_seen_,
            "n_clipped": self.n_clipped_,
            "n_growths": self.n_growths_,
            "history": {
                name: [x if math.isfinite(x or 0) else None for x in values]
                for name, values in self.history_.items()
            },
            "notes": self.notes_,
        }
        tensors |= training_tensors
        with model_files.errors_prefixed("the model cannot be saved"):
            model_schema.check_description(described)
            model_schema.check_tensors(described, tensors)
            self._with_options(described["options"], self.device)
        model_files.save(Path(path), described, tensors)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        backbone: nn.Module | None = None,
        device: str = "auto",
    ) -> HistogramRegressor:
        """Return the model that was saved into a folder: it predicts the same, bitwise.

        A file that is damaged, whatever its checksum says, is refused with an
        `InputError` that names it, before any weights are created.

        Parameters
        ----------
        path : str or Path
        backbone : nn.Module, optional
            For a model that was fitted with one: a module of the same shape.
        device : str
            Where to predict, see the class.
        """
        cls(device=device)._device()
        description = Path(path) / model_files.DESCRIPTION
        described, tensors = model_files.load(Path(path))
        with model_files.errors_prefixed(f"{description} is damaged"):
            model_schema.check_description(described)
            model = cls._with_options(described["options"], device)
        if described["has_backbone"] != (backbone is not None):
            raise InputError(
                "backbone must be given for a model that was fitted with one, and for "
                f"no other, got {type(backbone).__name__} for {path}"
            )
        weights = Path(path) / described["weights"]
        with model_files.errors_prefixed(f"{weights} is damaged"):
            model_schema.check_tensors(described, tensors)
        model.backbone = backbone
        blame = "is damaged" if backbone is None else "does not fit the given backbone"
        target = model._device()
        with (
            model_files.errors_prefixed(f"{weights} {blame}"),
            _plain_torch(target),
            model._drawing(0, target),
        ):
            model._check_size(described["labels"], tensors)
            model.model_ = Model.from_state(
                described,
                tensors,
                body_for=model._empty_body,
                objective_for=model._objective,
            ).to(target)
            training = training_state.restore(
                described, tensors, model.model_.trained_parts
            )
        model._optimizers = list(training.optimizers)
        if training.generator is not None:
            model._generator = training.generator
        if described["has_own_bins"]:
            model.bins = list(model.model_.bins)
        model._structure = {name: getattr(model, name) for name in STRUCTURE}
        if described["feature_names"] is not None:
            model.feature_names_in_ = np.array(described["feature_names"], dtype=object)
        model.n_features_in_ = len(model.model_.kinds)
        model.n_clipped_ = described["n_clipped"]
        model.n_seen_ = described.get("n_seen", 0)  # missing in older models
        model.n_growths_ = described.get("n_growths", 0)
        model.notes_ = described["notes"]
        model._learnt()
        model._keep_history(described["history"])
        return model

    def to_onnx(
        self, path: str | Path, alpha: Sequence[float] = (0.05, 0.5, 0.95)
    ) -> None:
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
        from histreg.tabular.onnx_files import export

        export(self.model_, Path(path), [float(level) for level in alpha])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_choice("activation", self.activation, ACTIVATIONS)
        if not callable(self.target):
            check_choice("target", self.target, TARGETS)
        if isinstance(self.bins, str):
            check_choice("bins", self.bins, spacings.NAMES)
        elif self.bins is None or isinstance(self.bins, (int, float)):
            raise TypeError(
                "bins must be a name such as 'auto', or Bins (their number is n_bins), "
                f"got bins={self.bins!r}"
            )
        else:
            checked_bins(self.bins)
        self._tails()
        if self.bins_grow not in (True, False, "auto"):
            raise InputError(
                "bins_grow must be True, False or 'auto', "
                f"got bins_grow={self.bins_grow!r}"
            )
        for size in _sizes(self.hidden_layer_sizes):
            check_count("hidden_layer_sizes", size, at_least=1)
        if self.embedding_width != "auto":
            check_count("embedding_width", self.embedding_width, at_least=0)  # type: ignore[arg-type]
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
        check_real("dropout", self.dropout)
        check_real("weight_decay", self.weight_decay)
        check_real("padding_in_sigmas", self.padding_in_sigmas)
        self._device()
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable, got {self.callback!r}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), got dropout={self.dropout}")
        if not 0 <= self.weight_decay < math.inf:
            raise InputError(
                "weight_decay must be finite and not negative, "
                f"got weight_decay={self.weight_decay}"
            )

    def _check_structure(self) -> None:
        """Raise if the network is to go on but would have to be another."""
        for name, fitted in self._structure.items():
            now = getattr(self, name)
            if now is not fitted and now != fitted:
                raise InputError(
                    f"{name} must stay as it was to go on training, {fitted!r}, "
                    f"got {name}={now!r}"
                )

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, censored: Any, *, reset: bool
    ) -> _Training:
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        table, kinds = self._read(X, reset=reset)
        y = self._checked_y(y)
        is_flat, y = y.ndim == 1, y.reshape(len(y), -1)
        with _input_errors():
            check_consistent_length(table.numbers, y)
        if not reset and y.shape[1] != self.n_outputs_:
            raise InputError(
                f"y must have {self.n_outputs_} columns, as before, got shape {y.shape}"
            )
        with _input_errors():
            weight = _check_sample_weight(
                sample_weight, table.numbers, dtype=np.float64
            )
        check_weight("sample_weight", torch.from_numpy(weight.copy()))
        flags = self._checked_censored(censored, y, is_flat=is_flat)
        table, y, weight, flags = sample_of(table, y, weight, flags)
        return _Training(
            table,
            kinds,
            torch.tensor(y),
            torch.tensor(weight),
            None if flags is None else torch.tensor(flags),
            is_flat,
        )

    def _checked_censored(
        self, censored: Any, y: NDArray[np.float64], *, is_flat: bool
    ) -> NDArray[np.bool_] | None:  # (n, m)
        if censored is None:
            return None
        if self.loss not in ON_BOUNDS:
            raise InputError(
                f"censored needs loss={ON_BOUNDS[0]!r}, which knows what to do with a "
                f"lower bound, got loss={self.loss!r}"
            )
        if self._tails() != ("clip", "clip"):
            raise InputError(
                "tails are fitted to targets that are known, and lower bounds would "
                f"make them too short, got tails={self.tails!r} and censored targets"
            )
        flags = np.asarray(censored)
        shape = y.shape[:1] if is_flat else y.shape
        if flags.shape != shape:
            raise InputError(
                f"censored must have shape {shape} like y, got shape {flags.shape}"
            )
        if flags.dtype != np.bool_:
            raise InputError(
                "censored must hold bool, True where y is a lower bound, got values "
                f"of type {flags.dtype}"
            )
        return flags.reshape(y.shape)

    def _table(self, X: Any) -> Table:
        """Return the table to predict for."""
        check_is_fitted(self)
        return self._read(X, reset=False)[0]

    def _read(self, X: Any, *, reset: bool) -> tuple[Table, tuple[str, ...]]:
        """Return a table after scikit-learn's checks, and the kinds of its columns."""
        if nw.dependencies.is_into_dataframe(X):
            with _input_errors():
                validate_data(self, X, skip_check_array=True, reset=reset)
            kinds = kinds_of(X) if reset else self.model_.kinds
            table = read_frame(X, kinds)
            with _input_errors():
                check_array(
                    table.numbers,
                    ensure_all_finite="allow-nan",
                    ensure_min_features=0,
                    input_name="X",
                    estimator=self,
                )
            return table, kinds
        if not reset and "label" in self.model_.kinds:
            raise InputError(
                "X must be a data frame, as in fit, whose labels are text or "
                f"categories, got {type(X).__name__}"
            )
        if not reset and TEMPORAL & set(self.model_.kinds):
            raise InputError(
                "X must be a data frame, as in fit, which tells times from numbers, "
                f"got {type(X).__name__}"
            )
        with _input_errors():
            numbers = validate_data(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
            )
        table = Table(numbers, np.empty((len(numbers), 0), dtype=object))
        return table, ("number",) * numbers.shape[1]

    def _checked_y(self, y: Any) -> NDArray[np.float64]:  # (n,) or (n, m)
        dtype = getattr(y, "dtype", None)
        if getattr(dtype, "kind", None) in ("m", "M"):
            raise InputError(f"y must hold numbers, got values of type {dtype}")
        with _input_errors():
            return check_array(
                y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=self
            )

    def _start(self, data: _Training, generators: Generators) -> None:
        """Learn columns and bins, and draw the first weights."""
        bins = self._bins_for(data.y)
        self._tell_of_resolution(data.y)
        scaling = NumberScaling.of(data.table.numbers)
        codes = LabelCodes.of(data.table.labels)
        objective = self._objective(bins, *center_and_scale(data.y))
        network = Stack(
            self._body(scaling, codes, generators.cpu),
            len(bins),
            objective.n_outputs,
            generator=generators.cpu,
        )
        self.model_ = Model(
            data.kinds, scaling, codes, objective, network, data.is_flat
        ).to(self._device())
        self._structure = {name: getattr(self, name) for name in STRUCTURE}
        self._optimizers = []
        self.n_seen_ = self.n_clipped_ = self.n_growths_ = 0
        self.notes_ = {}
        self._keep([])
        self._learnt()

    def _learnt(self) -> None:
        """Show what the model has learnt as attributes."""
        bins = self.model_.bins
        self.bins_ = bins[0] if self.model_.is_flat else bins
        self.n_outputs_ = len(bins)

    def _bins_for(self, y: Tensor) -> tuple[Bins, ...]:
        n_targets = y.shape[1]
        if isinstance(self.bins, str):
            return tuple(
                Bins.of(
                    each,
                    n_bins=int(self.n_bins),
                    sigma_in_bins=self.sigma_in_bins,
                    padding_in_sigmas=self.padding_in_sigmas,
                    spacing=self.bins,
                    tails=self._tails(),
                )
                for each in self._within_ranges(y)
            )
        given = checked_bins(self.bins)
        each = (given,) * n_targets if isinstance(given, Bins) else given
        if len(each) != n_targets:
            raise InputError(
                f"bins must be one Bins, or one for each of the {n_targets} columns of "
                f"y, got {len(each)}"
            )
        return each

    def _tell_of_resolution(self, y: Tensor) -> None:
        """Warn of targets that differ by too little for float64, as if they did not."""
        on_bins = self.loss not in ON_NUMBERS
        if on_bins and not isinstance(self.bins, str):
            return
        columns = self._within_ranges(y) if on_bins else list(y.T)
        for i, column in enumerate(columns):
            low, high = (each.item() for each in column.aminmax())
            spread, magnitude = high - low, max(abs(low), abs(high))
            by_rounding = LEAST_RELATIVE_SPREAD * magnitude
            least = (
                least_spread(magnitude, int(self.n_bins)) if on_bins else by_rounding
            )
            if not 0 < spread <= least:
                continue
            name = "y" if len(columns) == 1 else f"column {i} of y"
            remedy = (
                f"subtract a constant such as {low:g} from y"
                if least > SMALLEST_SPREAD
                else "multiply y by a large constant"
            )
            warnings.warn(
                f"{name} varies by only {spread:g} at a magnitude of {magnitude:g}, "
                "too little for float64 to resolve, so it is predicted as if it were "
                f"constant; {remedy} before fitting",
                stacklevel=4,
            )

    def _tails(self) -> tuple[str, str]:
        tails = checked_kinds(self.tails)
        if tails == ("clip", "clip"):
            return tails
        if self.y_range is not None:
            raise InputError(
                "tails go beyond a range that is not known, got "
                f"tails={self.tails!r} and y_range={self.y_range!r}"
            )
        if not isinstance(self.bins, str):
            raise InputError(
                "tails are fitted to bins that are laid, bins that are given have "
                f"their own, got tails={self.tails!r} and bins={self.bins!r}"
            )
        if self.bins_grow is True:
            raise InputError(
                "tails reach as far as y may, so that bins with them do not grow, got "
                f"tails={self.tails!r} and bins_grow=True"
            )
        return tails

    def _within_ranges(self, y: Tensor) -> list[Tensor]:
        """Return each target as its bins shall see it: in the known range, if any."""
        if self.y_range is None:
            return list(y.T)
        pairs = np.atleast_2d(np.asarray(self.y_range, dtype=np.float64))
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) not in (1, y.shape[1]):
            raise InputError(
                "y_range must be a pair (low, high), or one for each of the "
                f"{y.shape[1]} columns of y, got y_range={self.y_range!r}"
            )
        if not (np.isfinite(pairs).all() and (pairs[:, 0] < pairs[:, 1]).all()):
            raise InputError(
                "y_range must have low below high, both finite, "
                f"got y_range={self.y_range!r}"
            )
        pairs = np.broadcast_to(pairs, (y.shape[1], 2))
        return [
            torch.cat([column.clamp(low, high), as_float64([low, high])])
            for column, (low, high) in zip(y.T, pairs.tolist(), strict=True)
        ]

    def _grow(self, data: _Training) -> None:
        """Let the bins of each target reach around new y, if they may."""
        grows = self.bins_grow
        if grows == "auto":
            grows = isinstance(self.bins, str) and self.y_range is None
        if not grows:
            return
        old = self.model_.bins
        padding = min(self.sigma_in_bins * self.padding_in_sigmas, old[0].n_bins // 4)
        # Not before half of the padding is used up: each time costs resolution, and
        # what is smoothed beyond the end is little until then.
        new = tuple(
            bins
            if bins.has_tails or bins.grown(column, padding_in_bins=padding / 2) is bins
            else bins.grown(column, padding_in_bins=padding)
            for bins, column in zip(old, data.y.T, strict=True)
        )
        n_growths = sum(a is not b for a, b in zip(old, new, strict=True))
        if not n_growths:
            return
        objective = self.model_.objective
        objective = self._objective(new, objective.center, objective.scale)
        self.model_.rebin(objective, data.table, getattr(self, "_optimizers", ()))
        self.n_growths_ += n_growths
        self._learnt()

    def _objective(
        self, bins: Sequence[Bins], center: Tensor, scale: Tensor
    ) -> Objective:
        target = target_for(self.target, self.sigma_in_bins)
        return objective_of(self.loss, bins, center, scale, target)

    def _body(
        self,
        scaling: NumberScaling,
        codes: LabelCodes,
        generator: torch.Generator | None,
    ) -> TabularBody | CopiedBody:
        shape = (int(self.n_estimators), scaling.n_outputs, codes.n_codes)
        if self.backbone is not None:
            return CopiedBody(self.backbone, *shape)
        width = self.embedding_width
        if width == "auto":
            width = 8 if scaling.n_outputs <= MOST_EMBEDDED else 0
        return TabularBody(
            *shape,
            hidden_layer_sizes=[int(size) for size in _sizes(self.hidden_layer_sizes)],
            activation=self.activation,
            dropout=self.dropout,
            embedding_width=int(width),
            generator=generator,
        )

    def _empty_body(
        self, scaling: NumberScaling, codes: LabelCodes
    ) -> TabularBody | CopiedBody:
        """Return a body to load weights into: on the meta device, or the backbone."""
        if self.backbone is not None:
            return self._body(scaling, codes, None)
        with torch.device("meta"):
            return self._body(scaling, codes, None)

    def _check_size(
        self, labels: Sequence[Sequence[str]], tensors: dict[str, Tensor]
    ) -> None:
        """Raise if the described network has more parts than the file has tensors.

        The time to build it is thereby bounded by the size of the file.
        """
        readout = tensors.get(f"{model_schema.READOUT}weight")
        n_models = len(readout) if readout is not None and readout.ndim else 0
        if n_models != self.n_estimators:
            raise InputError(
                f"'{model_schema.READOUT}weight' must hold n_estimators="
                f"{self.n_estimators} networks, got {n_models}"
            )
        n_saved = sum(name.startswith(model_schema.BODY) for name in tensors)
        if self.backbone is None:
            n_layers, n_labels = len(_sizes(self.hidden_layer_sizes)), len(labels)
            if n_layers + n_labels > n_saved:
                raise InputError(
                    f"{model_files.DESCRIPTION} describes {n_layers} hidden layers and "
                    f"{n_labels} columns of labels, got only {n_saved} tensors"
                )
        elif n_saved != (n_own := n_models * len(self.backbone.state_dict())):
            raise InputError(
                f"backbone must have the {n_saved} tensors that were saved in its "
                f"{n_models} copies, got {n_own}"
            )

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            return torch.empty(0, device=self.device).device
        except (RuntimeError, AssertionError, TypeError) as error:
            raise InputError(
                "device must be one that this PyTorch has, or 'auto', "
                f"got device={self.device!r}"
            ) from error

    def _rows(self, data: _Training, device: torch.device) -> Rows:
        """Return what the network sees; tell of targets that it cannot."""
        self.model_.calibration = None  # of the network as it was
        bins = self.model_.bins
        n_clipped = n_outside(data.y, bins)
        if n_clipped and not self.n_clipped_:  # once, of a stream
            ranges = " and ".join(
                f"[{each.lowest:g}, {each.highest:g}]" for each in bins
            )
            warnings.warn(
                f"{n_clipped} of {data.y.numel()} targets lie outside the bins "
                f"{ranges} and are clipped for training",
                stacklevel=3,
            )
        self.n_clipped_ += n_clipped
        self._tell_of_tails(data.y)
        self.n_seen_ += data.y.numel()
        return Rows(
            tuple(each.to(device) for each in self.model_.inputs(data.table)),
            data.y.to(device, float64_on(device)),
            data.weight.to(device, torch.float32),
            None if data.censored is None else data.censored.to(device),
        )

    def _tell_of_tails(self, y: Tensor) -> None:
        """Warn if many more targets than a tail was fitted to lie in it."""
        for bins, column in zip(self.model_.bins, y.T, strict=True):
            lower, upper = (column < bins.borders[1], column >= bins.borders[-2])
            for tail, beyond in ((bins.lower_tail, lower), (bins.upper_tail, upper)):
                n_beyond = int(beyond.sum())
                if tail is not None and n_beyond > max(25, len(column) / 2):
                    warnings.warn(
                        f"{n_beyond} of {len(column)} targets lie in a tail of the "
                        "bins, where none is told from another; without tails, bins "
                        "would grow",
                        stacklevel=4,
                    )

    def _held_out(
        self, n: int, device: torch.device, generators: Generators
    ) -> Tensor:  # (M, n), bool
        """Return which rows each model is judged on: parts of one shuffle in turn."""
        held_out = torch.zeros(self.model_.network.n_models, n, dtype=torch.bool)
        n_judges = round(self.validation_fraction * n)
        if self.early_stopping and FEWEST_JUDGES <= n_judges < n:
            order = torch.randperm(n, generator=generators.cpu)
            for i, row in enumerate(held_out):
                row[order[(i * n_judges + torch.arange(n_judges)) % n]] = True
        return held_out.to(device)

    def _settings(self, n: int, n_epochs: int | None = None) -> Settings:
        batch_size = self.batch_size
        if batch_size == "auto":
            # Thirty-two steps an epoch or more, as far as batches stay sensible.
            batch_size = min(256, max(16, 2 ** int(math.log2(max(1, n // 32)))))
        return Settings(
            n_epochs=n_epochs or int(self.max_iter),
            batch_size=int(batch_size),
            learning_rate=self.learning_rate_init,
            weight_decay=self.weight_decay,
            patience=self.n_iter_no_change,
        )

    def _train(
        self,
        rows: Rows,
        held_out: Tensor,
        settings: Settings,
        generators: Generators,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> list[Epoch]:
        objective = self.model_.objective
        history = train(
            self.model_.network,
            rows,
            held_out,
            Measure(objective.loss_on(rows.y), objective.error),
            settings,
            optimizer=optimizer,
            on_epoch=self._report,
            generators=generators,
        )
        if not math.isfinite(history[-1].loss):
            self._optimizers = []  # their averages are no numbers either
            warnings.warn(
                f"the loss of epoch {len(history)} is no number, so the weights before "
                "it were kept; a lower learning_rate_init may help, got "
                f"learning_rate_init={self.learning_rate_init}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return history

    def _sharpens(self) -> bool:
        return (
            self.final_sigma_in_bins is not None
            and self.target == "gaussian"
            and self.loss in ON_TARGETS
        )

    def _train_sharp(
        self,
        rows: Rows,
        held_out: Tensor,
        settings: Settings,
        generators: Generators,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """Fit the second readout to sharper targets, on the frozen body."""
        model = self.model_
        sharp = model.begin_sharp(generators.cpu)
        objective = objective_of(
            self.loss,
            model.bins,
            model.objective.center,
            model.objective.scale,
            GaussianTarget(sigma_in_bins=self.final_sigma_in_bins),
        )
        model.network.body.requires_grad_(False)
        try:
            train(
                sharp,
                rows,
                held_out,
                Measure(objective.loss_on(rows.y), objective.error),
                settings,
                optimizer=optimizer or optimizer_of(sharp.readout, settings),
                generators=generators,
            )
        finally:
            model.network.body.requires_grad_(True)

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
        self._keep_history(found)

    def _keep_history(self, history: dict[str, list[Any]]) -> None:
        self.history_ = history
        self.n_iter_ = len(history["loss"])

    def _reading(
        self, X: Any, reading: Callable[[Histogram, int], Tensor]
    ) -> NDArray[np.float64]:
        """Return a reading of each distribution, see `Model.read`."""
        table = self._table(X)
        return self._shaped(self.model_.read(table, reading))

    def _shaped(self, values: Tensor) -> NDArray[np.float64]:
        """Return an array, without the dimension of targets if y had none."""
        return (values[:, 0] if self.model_.is_flat else values).numpy()

    def _options(self) -> dict[str, Any]:
        """Return the constructor's options that are no code, for JSON."""
        # What the network was built by, though it may have been set otherwise since.
        options = self.get_params(deep=False) | self._structure
        for name in ("backbone", "callback", "bins", "device"):
            del options[name]
        if callable(options["target"]):
            raise InputError(
                "save needs a target with a name; a callable one is code, which is "
                f"not saved, got target={options['target']!r}"
            )
        sizes = _sizes(options["hidden_layer_sizes"])
        options["hidden_layer_sizes"] = [int(size) for size in sizes]
        if not isinstance(options["tails"], str):
            options["tails"] = list(options["tails"])
        if options["y_range"] is not None:
            options["y_range"] = np.asarray(options["y_range"], dtype=float).tolist()
        is_seed = isinstance(self.random_state, int | np.integer)
        options["random_state"] = int(self.random_state) if is_seed else None  # type: ignore[arg-type]
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in options.items()
        }

    @classmethod
    def _with_options(cls, options: dict[str, Any], device: str) -> HistogramRegressor:
        """Return a regressor with options read from JSON, checked as in `fit`."""
        # JSON has lists alone.
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
        }
        regressor = cls(**given, device=device)
        regressor._check_parameters()
        return regressor


class _Training(NamedTuple):
    """What to learn from."""

    table: Table
    kinds: tuple[str, ...]
    y: Tensor  # (n, m)
    weight: Tensor  # (n,)
    censored: Tensor | None  # (n, m), bool
    is_flat: bool


def _sizes(given: Any) -> tuple[int, ...]:
    """Return sizes of layers as a tuple; one number is one layer."""
    return tuple(given) if np.iterable(given) else (given,)


_BACKBONES = threading.RLock()  # held by who draws from torch's own generators


@contextmanager
def _input_errors() -> Iterator[None]:
    """Let what scikit-learn's checks say of X, y and weights be an `InputError`."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


@contextmanager
def _plain_torch(device: torch.device) -> Iterator[None]:
    """Work as if the caller had entered no inference mode, no_grad or autocast."""
    with torch.inference_mode(False), torch.enable_grad(), without_autocast(device):
        yield
