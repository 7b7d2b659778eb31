"""HistogramRegressor: from a table to a distribution, as a scikit-learn estimator."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, Self

import narwhals as nw
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)
from torch import Tensor, nn

from histreg._checks import check_choice, check_count, check_weight
from histreg._names import INTERVALS, MODEL_JSON
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError, SparseInputError
from histreg.tabular import model_files, model_schema, training_state
from histreg.tabular.adamw import AdamW
from histreg.tabular.calibrated import CalibratedDistribution
from histreg.tabular.censoring import bounds_from, intervals_from
from histreg.tabular.column_groups import column_names, column_position, values_of
from histreg.tabular.columns import (
    TEMPORAL,
    Table,
    array_kinds,
    kinds_of,
    named_kinds,
    read_array,
    read_frame,
)
from histreg.tabular.fitting import (
    NetworkRows,
    check_size,
    empty_body_for,
    held_out_rows,
    new_model,
    objective_for,
    settings_for,
    sharpening_settings,
    sharpens,
    threads_for,
    train_model,
    train_sharp,
)
from histreg.tabular.model import Model
from histreg.tabular.networks import without_autocast
from histreg.tabular.objectives import ON_BOUNDS
from histreg.tabular.options import (
    blended_models,
    check_options,
    check_structure,
    device_of,
    json_options,
    options_from_json,
    structure_of,
    tail_kinds,
)
from histreg.tabular.predictions import (
    Predictions,
    checked_coverages,
    checked_levels,
    checked_thresholds,
)
from histreg.tabular.row_groups import RowGroups, group_names, names_of_values
from histreg.tabular.stacking import stack
from histreg.tabular.streaming import (
    RowStream,
    StreamedBatches,
    Survey,
    check_streamable,
    survey,
    surveyed_model,
)
from histreg.tabular.target_bins import (
    grown_bins,
    n_outside,
    warn_if_in_tails,
    warn_if_outside,
    warn_if_unresolved,
)
from histreg.tabular.training import (
    Batches,
    Epoch,
    Generators,
    Settings,
    Snapshot,
    optimizer_of,
)
from histreg.tabular.training_rows import TrainingRows, rows_of
from histreg.tabular.training_state import TrainingState
from histreg.targets import TargetFunction

RandomSource = int | np.random.RandomState | np.random.Generator | None
OUTPUT_TYPES = ("mean", "median", "mode", "quantiles")
SAVED = "_saved"  # the name of a model's bytes among its attributes
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class HistogramRegressor(RegressorMixin, BaseEstimator):
    """A network that predicts a distribution over bins for each row of a table.

    Numbers, missing values and labels (text or categories of a data frame) need no
    preprocessing. The bins cover the training targets. An ensemble of networks is
    trained by the histogram loss with early stopping, each with other rows held out.
    Its readout is then fitted again to sharper targets, so that the predicted spread is
    that of y and not of the smoothing. The prediction mixes the networks with ridge
    regression, boosted trees and, where they help, a Gaussian process or a forest, with
    the weights that are best on held-out rows.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int
    activation : {"relu", "gelu", "silu", "tanh"}
    dropout : float in [0, 1)
        After each hidden layer.
    n_waves : int or "auto"
        Number of waves that each number becomes, next to itself; 0 means none.
        ``"auto"`` is 4 for up to 128 columns and 0 for more, where they are slow and
        made predictions worse.
    embedding_width : int or "auto"
        Length of a learnt embedding of each number by waves, in place of fixed ones; 0
        means none. ``"auto"`` is 8 for up to 128 columns and 0 for more. Slower than
        ``n_waves``; it may help where targets are nearly exact.
    loss : str
        ``"histogram"`` (the histogram loss), or for comparison on the same network:
        ``"brier"``, ``"crps"``, ``"softmax_mean_l2"``, ``"softmax_mean_l1"``,
        ``"softmax_per_bin_l2"``, ``"mdn"`` (mixture of five Gaussians), and
        ``"l2"``, ``"l1"``, which predict one number and no distribution.
    target : {"gaussian", "one_bin", "uniform", "projected"} or callable
        How y becomes a histogram, see `histreg.targets`; a callable takes
        ``(y, bins)`` and returns ``(..., k)``.
    n_bins : int
        Number of bins, including the padding.
    sigma_in_bins : float
        Smoothing of the Gaussian target in training, in bin widths.
    padding_in_sigmas : float
        Padding on each side of the range of y.
    final_sigma_in_bins : float or None
        Smoothing of the targets that the readout is finally fitted to, with the body
        frozen. With None the predicted spread includes the smoothing. For Gaussian
        targets only.
    bins : str, Bins, or a sequence of one Bins per target
        A name places bins over the training targets, or over ``y_range``, evenly in a
        coordinate: ``"uniform"``, ``"sqrt"``, ``"log"``, ``"symlog"``, ``"quantile"``,
        or ``"auto"``, the first of these that resolves the targets (see
        `histreg.spacings`): uniform bins, unless a twentieth of the targets would fall
        into one of them, because of a long tail, or by chance where rows are few.
    tails : {"clip", "exponential", "gpd"}, or a pair of them
        What lies beyond the bins, below and above: nothing, or a tail fitted to the
        training targets (see `Bins.of`). Cannot be combined with ``y_range``, censored
        targets or explicit ``bins`` (use `Bins.with_tails` for those). Bins with a tail
        do not grow.
    y_range : (float, float), or a sequence of one pair per target, optional
        The range of y, if it is known: the bins cover it and their padding. Targets
        outside the bins are clipped for training (with ``loss="histogram"`` and
        ``"brier"``), counted in ``n_clipped_`` and reported by one warning.
    bins_grow : bool or "auto"
        Whether bins grow when training continues (`partial_fit`, or `fit` with
        ``warm_start``) and a y uses up half of the padding at an end, see `Bins.grown`;
        predictions do not jump. ``"auto"`` lets bins grow that were placed over
        training targets without tails, and keeps explicit ``bins`` and ``y_range``.
    n_estimators : int
        Number of networks, each with its own validation rows; the prediction is their
        mixture.
    blend_with : "auto", or a sequence of {"linear", "kernel", "trees", "forest"}
        Simple models that are mixed with the networks, with the weights that have the
        lowest CRPS on validation rows, see `histreg.tabular.blending`: ridge
        regression, a Gaussian process, boosted trees, and a forest of extremely
        randomised trees. The process is tried on at most 2,000 rows, or on 20,000 if
        their targets are nearly exact, the forest on at least 1,000 rows of such
        targets; they are kept if they lower the CRPS by 0.5 % and 2 %. ``"auto"`` is
        all of them for ``loss="histogram"`` and none for other losses; an empty
        sequence leaves the networks alone. Without effect on censored targets, in
        `partial_fit`, and with fewer than 30 validation rows.
    backbone : nn.Module, optional
        A module to use instead of the default body: (n, d) float32 -> (n, h). Its input
        is the scaled numbers, then labels as one-hot columns. A copy is trained,
        starting from the module's weights. Modules such as ``nn.Dropout`` draw from
        torch's global generators, which are seeded during the fit and restored after
        it; fits in several threads therefore run one at a time, and other threads
        should not draw from these generators meanwhile.
    learning_rate_init : float
    weight_decay : float
        Of AdamW.
    batch_size : int or "auto"
        ``"auto"`` is 256, less for fewer than 8,192 rows, at least 64.
    max_iter : int
        Maximum number of epochs.
    early_stopping : bool
        Keep the weights of the epoch that is best on validation rows, in the mean over
        the networks. After ``n_iter_no_change`` epochs without a better one the
        learning rate drops to a fifth, and after as many again training stops; after
        twice as many where targets are nearly exact (a CRPS below a tenth of their
        standard deviation). Best is the lowest CRPS with ``loss="histogram"`` and the
        lowest loss with others. Without effect if there would be fewer than five
        validation rows, of all networks together.
    validation_fraction : float in (0, 1), or "auto"
        Of each network. ``"auto"`` lets every row be one of validation once, up to
        10,000 rows, and is a tenth for more rows or one network.
    n_iter_no_change : int or "auto"
        ``"auto"`` is 5, and 3 for more than 10,000 rows (of the whole table, also in
        `fit_stream`), whose epochs have many steps.
    random_state : int, RandomState, Generator or None
    verbose : bool
        Print a line per epoch.
    warm_start : bool
        ``fit`` continues from the present weights, columns and bins.
    device : str
        ``"auto"`` is a CUDA device if there is one, else the CPU.
    callback : callable, optional
        Called with a `histreg.tabular.Epoch` after each epoch. If it raises, training
        ends and the estimator is left as it was before.

    Attributes
    ----------
    bins_ : Bins, or a tuple of them for y of shape (n, m)
        Those of the networks. Predicted distributions have 2, 4 or 8 bins for each of
        them where residuals of held-out rows are narrower than two bins, unless
        ``bins`` were given.
    history_ : dict of lists
        ``loss``, ``validation_loss``, ``validation_error`` (mean absolute error in
        units of y; for a censored target, by how much the mean is below it) and
        ``elapsed_s`` by epoch; validation is None without early stopping.
    n_iter_ : int
        Number of epochs trained.
    n_seen_ : int
        Number of training targets in the last `fit` and all calls of `partial_fit`
        since. Copies of a row that became one (see the notes) count once.
    n_clipped_ : int
        How many of them were outside the bins.
    n_growths_ : int
        How often bins of a target have grown since the first fit.
    notes_ : dict
        Anything that JSON can hold, saved and loaded with the model; empty at first.
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When fitted on a data frame with text as column names.

    Notes
    -----
    The order of rows does not matter. Whole-number weights equal copies of rows, to the
    bit, up to eight copies per row on average; other weights multiply the loss of their
    row. Copies are one row of their weight, so that none is held out while another is
    learnt, unless rows are so coarse that they repeat by chance. Results for a
    ``random_state`` are the same on one machine, also for fits in several threads, and
    close on others. Torch's global generators and settings have no effect and are not
    changed, except that small networks are trained with one of torch's threads: the
    number is restored afterwards.

    A `fit` or `partial_fit` that fails, because its input is refused, a callback raises
    or Ctrl-C is pressed, leaves the estimator as it was before the call.

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
    _structure: dict[str, Any]

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (96, 96, 96),
        *,
        activation: str = "relu",
        dropout: float = 0.1,
        n_waves: int | str = "auto",
        embedding_width: int | str = 0,
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
        n_estimators: int = 5,
        blend_with: str | Sequence[str] = "auto",
        backbone: nn.Module | None = None,
        learning_rate_init: float = 4e-3,
        weight_decay: float = 1e-2,
        batch_size: int | str = "auto",
        max_iter: int = 200,
        early_stopping: bool = True,
        validation_fraction: float | str = "auto",
        n_iter_no_change: int | str = "auto",
        random_state: RandomSource = None,
        verbose: bool = False,
        warm_start: bool = False,
        device: str = "auto",
        callback: Callable[[Epoch], None] | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.n_waves = n_waves
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
        self.blend_with = blend_with
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
        y_upper: ArrayLike | None = None,
    ) -> Self:
        """Learn columns, bins and weights.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            NaN is a missing value. Text and category columns of a pandas or polars
            frame are labels, those of dates and times become calendar columns (time,
            time of day, weekday and day of year); others are numbers. A column of an
            array of objects is one of labels if it has text that is no number.
        y : array-like of shape (n,) or (n, m)
            Finite numbers. If they differ by too little for float64 (by less than
            4e-13 of their magnitude for 100 bins, or by less than 1e-290), they are
            treated as equal, with a warning.
        sample_weight : array-like of shape (n,), optional
            Not negative; a row of weight 0 is ignored.
        censored : bool array-like of the shape of y, optional
            Where True, the target is only known to be greater than y, like the time of
            an event that has not happened yet; the loss is then the negative log
            probability of that. Needs ``loss="histogram"``, and at least one target
            per column of y that is not censored.
        y_upper : array-like of the shape of y, optional
            For targets that are known only to lie in an interval, y < target <=
            y_upper. Where both are equal, the target is known; where y is NaN or -inf,
            it is at most y_upper; where y_upper is NaN or inf, it is greater than y.
            The loss is minus the log probability of the interval. Not together with
            ``censored``; at least one interval or target per column must be finite.

        Returns
        -------
        HistogramRegressor
            The estimator itself.
        """
        check_options(self)
        goes_on = self.warm_start and hasattr(self, "model_")
        if goes_on:
            check_structure(self, self._structure)
        device = device_of(self.device)
        with _plain_torch(device), self._all_or_nothing(goes_on=goes_on):
            data, is_flat = self._read_training(
                X, y, sample_weight, censored, y_upper, reset=not goes_on
            )
            if data.other_end is not None and bool(
                data.other_end.isinf().all(dim=0).any()
            ):
                raise InputError(
                    "censored must leave at least one known target or finite interval "
                    f"in each column of y, got all {len(data.y)} targets of a column "
                    "censored"
                )
            seed = _random_state(self.random_state).randint(2**31)
            with self._drawing(seed, device) as generators:
                if goes_on:
                    self._grow(data)
                else:
                    self._start(data, generators, is_flat=is_flat)
                self.n_seen_ = self.n_clipped_ = 0
                rows = self._rows(data, device)
                self.model_.sharp = None  # it belongs to an earlier network
                self._optimizers: list[AdamW] = []
                held_out = held_out_rows(
                    self,
                    self.model_.network.n_models,
                    len(rows),
                    device,
                    generators.cpu,
                )
                settings = settings_for(self, len(rows))
                with threads_for(self.model_, settings):
                    history = self._train(rows, held_out, settings, generators)
                    if sharpens(self):
                        train_sharp(
                            self,
                            self.model_,
                            rows,
                            held_out,
                            sharpening_settings(settings),
                            generators,
                        )
                    if data.other_end is None:
                        names = blended_models(self)
                        # Given bins stay as they are.
                        divides = isinstance(self.bins, str)
                        stack(
                            self.model_,
                            names,
                            data,
                            rows,
                            held_out,
                            generators,
                            divides_bins=divides,
                        )
            self._keep(history)
        return self

    def fit_stream(
        self,
        rows: RowStream,
        *,
        sample_size: int = 100_000,
        epoch_size: int = 1_000_000,
    ) -> Self:
        """Learn columns, bins and weights from a table that need not fit into memory.

        One pass learns columns and bins from quantile sketches and keeps a sample of
        rows. The networks are then trained on the whole table, read in random order, a
        part at a time. A tenth of the table, but at most half of the sample and 10,000
        rows, is for validation; all networks share these rows. Ridge regression and
        boosted trees are fitted to the sample alone and mixed with the networks.

        Parameters
        ----------
        rows : RowStream
            Such as `histreg.tabular.ParquetRows`: one target, all known.
        sample_size : int
            The most rows to keep in memory, for validation and the simple models.
        epoch_size : int
            The most rows of an epoch. An epoch of a larger table goes on where the one
            before it stopped, so that ``max_iter`` and early stopping count such parts
            of a pass.

        Returns
        -------
        HistogramRegressor
            The estimator itself, as after `fit`. The sketches cannot be seeded: two
            fits with the same ``random_state`` differ a little once a column has more
            than 4,096 rows, see `histreg.tabular.summaries`. ``n_clipped_`` is
            estimated from a sketch too. Needs the extra ``stream``.
        """
        check_options(self)
        check_streamable(self, sample_size, epoch_size)
        device = device_of(self.device)
        with _plain_torch(device), self._all_or_nothing(goes_on=False):
            seed = _random_state(self.random_state).randint(2**31)
            draws = np.random.default_rng(seed)
            first_table = partial(self._read_table, reset=True)
            found = survey(self, rows, first_table, sample_size, draws)
            with self._drawing(seed, device) as generators:
                model = surveyed_model(self, found, generators)
                warn_if_unresolved(self, found.summary.targets(), stacklevel=2)
                self._begin(model)
                self._count_streamed(found)
                sample = found.sample.with_inputs(
                    self.model_.inputs(found.sample.inputs), device
                )
                held_out = torch.zeros(
                    self.model_.network.n_models, len(sample), dtype=torch.bool
                )
                held_out[:, : found.n_validation] = True
                held_out = held_out.to(device)
                settings = settings_for(self, found.n_training)
                batches = StreamedBatches(
                    rows, found, self.model_, settings, epoch_size, draws
                )
                with threads_for(self.model_, settings):
                    history = self._train(
                        sample, held_out, settings, generators, batches=batches
                    )
                    if sharpens(self):
                        train_sharp(
                            self,
                            self.model_,
                            sample,
                            held_out,
                            sharpening_settings(settings),
                            generators,
                            batches=batches,
                        )
                    stack(
                        self.model_,
                        blended_models(self),
                        found.sample,
                        sample,
                        held_out,
                        generators,
                        divides_bins=isinstance(self.bins, str),
                    )
            self._keep(history)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        censored: ArrayLike | None = None,
        y_upper: ArrayLike | None = None,
    ) -> Self:
        """Train for one more epoch on these rows, without validation.

        The first call learns the columns and the bins from its rows alone. If later
        targets lie outside, the bins grow and become wider for good, unless they have
        tails, or ``bins`` or ``y_range`` were given (see ``bins_grow``). The model is
        no longer calibrated, because `calibrate` was for the network before.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        y : array-like of shape (n,) or (n, m)
        sample_weight : array-like of shape (n,), optional
        censored : bool array-like of the shape of y, optional
            As in `fit`, but all targets may be censored.
        y_upper : array-like of the shape of y, optional
            As in `fit`, but all targets may be censored.

        Returns
        -------
        HistogramRegressor
            The estimator itself.
        """
        check_options(self)
        first = not hasattr(self, "model_")
        if not first:
            check_structure(self, self._structure)
        device = device_of(self.device)
        with _plain_torch(device), self._all_or_nothing(goes_on=not first):
            data, is_flat = self._read_training(
                X, y, sample_weight, censored, y_upper, reset=first
            )
            if first or not hasattr(self, "_generator"):
                self._generator = _random_state(self.random_state)
            seed = self._generator.randint(2**31)
            with self._drawing(seed, device) as generators:
                if first:
                    self._start(data, generators, is_flat=is_flat)
                else:
                    self._grow(data)
                rows = self._rows(data, device)
                network = self.model_.network
                no_validation = torch.zeros(
                    network.n_models, len(rows), dtype=torch.bool, device=device
                )
                settings = settings_for(self, len(rows), n_epochs=1)
                if not getattr(self, "_optimizers", None):
                    self._optimizers = [optimizer_of(network, settings)]
                    if sharpens(self):
                        readout = self.model_.begin_sharp(generators.cpu).readout
                        self._optimizers.append(optimizer_of(readout, settings))
                with threads_for(self.model_, settings):
                    history = self._train(
                        rows, no_validation, settings, generators, self._optimizers[0]
                    )
                    if sharpens(self) and self._optimizers:
                        train_sharp(
                            self,
                            self.model_,
                            rows,
                            no_validation,
                            settings,
                            generators,
                            optimizer=self._optimizers[1],
                        )
            self._keep(history, append=not first)
        return self

    @contextmanager
    def _all_or_nothing(self, *, goes_on: bool) -> Iterator[None]:
        """Restore the estimator if the code inside raises.

        Parameters
        ----------
        goes_on : bool
            Whether the present network is trained in place.
        """
        before = dict(vars(self))
        if goes_on:
            model_before = dict(vars(self.model_))
            optimizers = getattr(self, "_optimizers", ())
            snapshot = Snapshot(self.model_.trained_parts, optimizers)
            draws_before = self._generator_state()
        try:
            yield
        except BaseException:  # KeyboardInterrupt is not an Exception
            self.__dict__ = before
            if goes_on:
                self.model_.__dict__ = model_before
                snapshot.restore()
                if draws_before is not None:
                    self._generator.set_state(draws_before)
            raise

    def _generator_state(self) -> Any:
        """Return the state of `partial_fit`'s generator, None if others share it."""
        generator: Any = getattr(self, "_generator", None)
        shared = (None, self.random_state, check_random_state(None))
        is_own = all(generator is not other for other in shared)
        return generator.get_state(legacy=False) if is_own else None

    @contextmanager
    def _drawing(self, seed: int, device: torch.device) -> Iterator[Generators]:
        """Yield generators of a seed, without changing torch's global ones.

        A backbone can draw dropout and first weights from the global generators only.
        These are then seeded, and restored in the end, by one thread at a time.
        """
        if self.backbone is None:
            yield Generators.seeded(seed, device)
            return
        devices = [device] if device.type == "cuda" else []
        with _GLOBAL_GENERATORS, torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            yield Generators()

    def calibrate(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        groups: str | ArrayLike | None = None,
    ) -> Self:
        """Calibrate `predict_interval` on rows that were not trained on.

        Without rows, the predictions are used that `fit` made for its validation rows,
        each by networks and simple models that had not seen the row. No rows are set
        aside then, but what follows holds only approximately, because the prediction
        for a new row is that of all networks together. It needs a `fit` that blended
        (see ``blend_with``).

        From then on an interval of coverage c contains the y of a new row with
        probability at least c, and at most c + 1 / (n + 1) up to ties, over the draw of
        these n rows and the new one, if they are exchangeable. With fewer than
        c / (1 - c) rows the interval is infinite. With groups, this holds in every
        group, with as many rows in each; a group without rows has infinite intervals.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
        y : array-like of shape (n,) or (n, m), optional
            Known targets. Censored ones cannot be used, and leaving them out would
            favour small targets.
        groups : str or array-like of shape (n,), optional
            Calibrate each group of rows by itself. The name of a column of X with one
            value per group, or the group of each row; `predict_interval` then needs
            the groups of its rows too.

        Returns
        -------
        HistogramRegressor
            The estimator itself. Quantiles and distributions do not change.
        """
        check_is_fitted(self)
        if X is None and y is None:
            if groups is not None:
                raise InputError("calibrate by groups needs X and y, got neither")
            if self.model_.held_out is None:
                raise InputError(
                    "calibrate without rows needs predictions for validation rows of a "
                    "fit with blend_with='auto' in this process, which this model does "
                    "not have; give calibrate(X, y) rows that were not trained on"
                )
            self.model_.calibration = self.model_.held_out
            return self
        if X is None or y is None:
            raise InputError("calibrate needs both X and y, or neither, got one")
        table = self._table(X)
        y = self._checked_y(y)
        y = y.reshape(len(y), -1)
        with _input_errors():
            check_consistent_length(table.numbers, y)
        if y.shape[1] != self.n_outputs_:
            raise InputError(
                f"y must have {self.n_outputs_} columns, as in fit, got shape {y.shape}"
            )
        by_group = None
        if groups is not None:
            column = groups if isinstance(groups, str) else None
            by_group = RowGroups.of(self._group_names(table, groups), column)
        with _plain_torch(device_of(self.device)):
            self.model_.calibrate(table, torch.tensor(y), by_group)
        return self

    def _group_names(self, table: Table, groups: str | ArrayLike) -> list[str]:
        """Return the group of each row, from a column or as given."""
        if not isinstance(groups, str):
            return group_names(groups, len(table.numbers))
        place = column_position(column_names(self), groups, "groups")
        return names_of_values(values_of(table, place))

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
        return self._read(X, lambda p: getattr(p, output_type))

    def predict_all(self, X: Any, *, groups: ArrayLike | None = None) -> Predictions:
        """Return all that is predicted for these rows, from one run of the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        groups : array-like of shape (n,), optional
            See `predict_interval`.

        Returns
        -------
        Predictions
            With ``mean``, ``median``, ``mode``, ``variance``, ``quantiles(alpha)``,
            ``interval(coverage, method)``, ``prob_above(threshold)``, ``calibrated``
            and ``distribution``, each equal to the ``predict_*`` method of the same
            name. It holds the distributions, 8 bytes per bin and row.
        """
        return Predictions.concatenated(self.predict_in_chunks(X, groups=groups))

    def predict_in_chunks(
        self, X: Any, *, groups: ArrayLike | None = None
    ) -> Iterator[Predictions]:
        """Return an iterator over `predict_all` of a few thousand rows at a time.

        For tables whose distributions do not fit into memory: the network is run for
        the rows of one chunk when it is asked for.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        groups : array-like of shape (n,), optional
            See `predict_interval`.

        Returns
        -------
        iterator of Predictions
            In the order of the rows.
        """
        table, codes = self._rows_to_predict(X, groups)  # raises if it is not fitted
        return self.model_.predictions(table, codes)

    def _rows_to_predict(
        self, X: Any, groups: ArrayLike | None
    ) -> tuple[Table, Tensor | None]:
        """Return the table and the group of each row, if the model has groups."""
        table = self._table(X)
        calibration = self.model_.calibration
        known = None if calibration is None else calibration.groups
        if known is None or known.column is not None:
            if groups is not None:
                raise InputError(
                    "groups must be None unless the model was calibrated by groups "
                    "that are not a column, got groups for a model that was not"
                )
            groups = None if known is None else known.column
        codes = None
        if known is not None and groups is not None:
            codes = known.codes_of(self._group_names(table, groups))
        return table, codes

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
        return self.predict_all(X).distribution

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
        checked_levels(alpha)  # before any work is done
        return self._read(X, lambda p: p.quantiles(alpha))

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        method: str = "central",
        *,
        groups: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return an interval for the y of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        coverage : float or sequence of q floats in (0, 1)
        method : {"central", "shortest"}
            Equal probability on both sides, or the shortest interval. After
            `calibrate` it is widened or narrowed, see `histreg.tabular.conformal`.
        groups : array-like of shape (n,), optional
            The group of each row, if `calibrate` was given groups that are no column.

        Returns
        -------
        lower, upper : ndarrays of shape (n,) or (n, m); (n, q) or (n, m, q) for q
            Of the predicted distribution, or after `calibrate` with guaranteed
            coverage, infinite where that needs it.
        """
        checked_coverages(coverage)
        check_choice("method", method, INTERVALS)
        table, codes = self._rows_to_predict(X, groups)
        parts = self.model_.read(table, lambda p: p.interval(coverage, method), codes)
        lower, upper = map(np.concatenate, zip(*parts, strict=True))
        return lower, upper

    def predict_calibrated(
        self, X: Any, *, groups: ArrayLike | None = None
    ) -> CalibratedDistribution | tuple[CalibratedDistribution, ...]:
        """Return the distribution of each row, corrected by the calibration rows.

        With n calibration rows (of the row's group), y lies below its calibrated
        q-quantile with a probability within 1 / (n + 1) of q, see
        `histreg.tabular.calibrated`.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        groups : array-like of shape (n,), optional
            See `predict_interval`.

        Returns
        -------
        CalibratedDistribution, or a tuple of m of them
            With ``cdf(y)``, ``prob_above(t)``, ``quantiles(levels)``, ``bounds(y)``
            and ``histogram()``.
        """
        return self.predict_all(X, groups=groups).calibrated

    def predict_var(self, X: Any) -> NDArray[np.float64]:
        """Return the variance of each row's distribution: (n,) or (n, m)."""
        return self._read(X, lambda p: p.variance)

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
        checked_thresholds(threshold, self.n_outputs_)  # before any work is done
        return self._read(X, lambda p: p.prob_above(threshold))

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: RandomSource = None,
    ) -> NDArray[np.float64]:
        """Return draws from each row's distribution.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        n_samples : int
        random_state : int, RandomState, Generator or None

        Returns
        -------
        ndarray of shape (n, n_samples) or (n, m, n_samples)
            The targets of a row are drawn independently.
        """
        check_count("n_samples", n_samples, at_least=1)
        generator = torch.Generator()
        generator.manual_seed(int(_random_state(random_state).randint(2**31)))
        chunks = self.predict_in_chunks(X)  # one after the other, as draws are
        return np.concatenate([p.sample(n_samples, generator) for p in chunks])

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a folder, as JSON and safetensors.

        The folder is created if it is missing. A model in it is replaced atomically,
        also for readers in other threads and processes; other files in it are left
        alone. Code is not saved: pass the ``backbone`` to `load` again; a model with a
        callable ``target`` cannot be saved.

        After `partial_fit`, the moments of the optimizer and the state of the random
        numbers are saved too, so that a loaded model continues exactly as the saved one
        would. This makes the folder about three times as large.
        """
        check_is_fitted(self)
        model_files.save(Path(path), *self._described())

    def _described(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the fitted model as JSON values and tensors."""
        names = getattr(self, "feature_names_in_", None)
        described, tensors = self.model_.state()
        described_training, training_tensors = training_state.describe(
            TrainingState(
                getattr(self, "_optimizers", ()), getattr(self, "_generator", None)
            ),
            self.model_.trained_parts,
        )
        described |= described_training | {
            "options": json_options(self, self._structure),
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
        return described, tensors

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        backbone: nn.Module | None = None,
        device: str = "auto",
    ) -> HistogramRegressor:
        """Return a saved model; it predicts the same as before, to the bit.

        A damaged file is refused with an `InputError` that names it, before any weights
        are created.

        Parameters
        ----------
        path : str or Path
        backbone : nn.Module, optional
            A module of the same shape, if the model was fitted with one.
        device : str
            Where to predict, see the class.
        """
        device_of(device)
        description = Path(path) / MODEL_JSON
        described, tensors = model_files.load(Path(path))
        with model_files.errors_prefixed(f"{description} is damaged"):
            model_schema.check_description(described)
            model = cls._with_options(described["options"], device)
        if described["has_backbone"] != (backbone is not None):
            raise InputError(
                "backbone must be given if and only if the model was fitted with one, "
                f"got {type(backbone).__name__} for {path}"
            )
        weights = Path(path) / described["weights"]
        with model_files.errors_prefixed(f"{weights} is damaged"):
            model_schema.check_tensors(described, tensors)
        model.backbone = backbone
        problem = (
            "is damaged" if backbone is None else "does not fit the given backbone"
        )
        with model_files.errors_prefixed(f"{weights} {problem}"):
            model._restore(described, tensors)
        if described["feature_names"] is not None:
            model.feature_names_in_ = np.array(described["feature_names"], dtype=object)
        model.n_features_in_ = len(model.model_.kinds)
        model.n_clipped_ = described["n_clipped"]
        model.n_seen_ = described.get("n_seen", 0)  # missing in older models
        model.n_growths_ = described.get("n_growths", 0)
        model.notes_ = described["notes"]
        model._keep_history(described["history"])
        return model

    def _restore(self, described: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Build the network, and what else is not a number or a text, from a file."""
        device = device_of(self.device)
        with _plain_torch(device), self._drawing(0, device):
            check_size(self, described["labels"], tensors)
            self.model_ = Model.from_state(
                described,
                tensors,
                body_for=partial(empty_body_for, self),
                objective_for=partial(objective_for, self),
            ).to(device)
            training = training_state.restore(
                described, tensors, self.model_.trained_parts
            )
        self._optimizers = list(training.optimizers)
        if training.generator is not None:
            self._generator = training.generator
        if described["has_own_bins"]:
            self.bins = list(self.model_.objective.bins)
        self._structure = structure_of(self)
        self._show_bins()

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        """Return what pickles and copies are made of: all attributes as they are."""
        return object.__new__, (type(self),), super().__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        """Return what skops writes: of a fitted model what `save` does, as bytes.

        So a file of skops has no type that is to be trusted but this one.
        """
        state = dict(super().__getstate__())
        if not self.__sklearn_is_fitted__():
            return state
        if self._structure["backbone"] is not None:
            raise InputError(
                "a model with a backbone cannot be written without its code; use "
                "save, and pass the backbone to load"
            )
        described, tensors = self._described()
        for name in ("model_", "bins_", "_structure", "_optimizers", "_generator"):
            state.pop(name, None)
        if described["has_own_bins"]:
            state["bins"] = "auto"  # replaced when the model is restored
        return state | {SAVED: model_files.to_bytes(described, tensors)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.get(SAVED)
        super().__setstate__({k: v for k, v in state.items() if k != SAVED})
        if saved is None:
            return
        with model_files.errors_prefixed("the saved model is damaged"):
            described, tensors = model_files.from_bytes(saved)
            model_schema.check_description(described)
            model_schema.check_tensors(described, tensors)
            self._restore(described, tensors)

    def to_onnx(
        self,
        path: str | Path,
        alpha: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        coverage: float | None = None,
        calibrated: bool = False,
        takes_text: bool = False,
    ) -> None:
        """Write an ONNX model that returns mean and quantiles, scaling included.

        Parameters
        ----------
        path : str or Path
        alpha : sequence of q floats
            Levels of the quantiles.
        coverage : float in (0, 1), optional
            Return central intervals too, calibrated ones if the model is calibrated.
        calibrated : bool
            Return the quantiles of the calibrated distribution, see
            `predict_calibrated`.
        takes_text : bool
            Take labels and groups as text, instead of their positions in lists.

        Notes
        -----
        The runtime must have the operators of version 5 of the domain ``ai.onnx.ml``,
        such as TreeEnsemble; the tests use ONNX Runtime 1.31.

        Inputs: ``numbers`` (n, d) float64, the columns of numbers, with times as
        seconds since 1970 and durations in seconds, and, if there are
        columns of labels, ``codes`` (n, c) int64: the position of each label, from 1,
        in the lists that the model's metadata has under ``labels``, or 0 for an unknown
        label. If the model was calibrated by groups, and intervals or calibrated
        quantiles are written, ``groups`` (n,) int64: the position of each row's group,
        from 1, in the list that the metadata has under ``groups``, or 0 for another
        group, whose intervals are infinite. With ``takes_text`` these inputs are
        ``labels`` (n, c) and ``group_names`` (n,) of strings: the text of each label, a
        whole number without decimals; for a missing one any text that is not in the
        lists. Outputs: ``mean`` (n, m) and, for losses
        that predict a distribution, ``quantiles`` (n, m, q), and with a coverage
        ``lower`` and ``upper`` (n, m), float64. Needs the extra ``onnx``.
        """
        check_is_fitted(self)
        from histreg.tabular.onnx_files import export

        levels = [float(level) for level in alpha]
        export(
            self.model_,
            Path(path),
            levels,
            coverage,
            calibrated=calibrated,
            takes_text=takes_text,
        )

    @property
    def _doc_link_template(self) -> str:
        """The address of this class's page, for scikit-learn's HTML representation."""
        address = _documentation_address()
        return f"{address}/api/histogramregressor.html" if address else ""

    _doc_link_module = "histreg"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _read_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        censored: Any,
        y_upper: Any = None,
        *,
        reset: bool,
    ) -> tuple[TrainingRows[Table], bool]:
        """Return the rows to train on, and whether y has shape (n,)."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        table = self._read_table(X, reset=reset)
        other_end = None
        if y_upper is None:
            y = self._checked_y(y)
        else:
            if censored is not None:
                raise InputError("give censored or y_upper, got both")
            self._check_censoring("y_upper")
            y, other_end = intervals_from(y, y_upper)
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
        if censored is not None:
            self._check_censoring("censored")
            other_end = bounds_from(censored, y, is_flat=is_flat)
        if other_end is not None:
            other_end = other_end.reshape(y.shape)
        return rows_of(table, y, weight, other_end), is_flat

    def _check_censoring(self, argument: str) -> None:
        """Raise unless the options support censored targets."""
        if self.loss not in ON_BOUNDS:
            raise InputError(
                f"{argument} needs loss={ON_BOUNDS[0]!r}, the only loss for censored "
                f"targets, got loss={self.loss!r}"
            )
        if tail_kinds(self) != ("clip", "clip"):
            raise InputError(
                "tails cannot be combined with censored targets, which would make "
                f"them too short, got tails={self.tails!r}"
            )

    def _table(self, X: Any) -> Table:
        """Return the table to predict for."""
        check_is_fitted(self)
        return self._read_table(X, reset=False)

    def _read_table(self, X: Any, *, reset: bool) -> Table:
        """Return a table after scikit-learn's checks."""
        is_array = isinstance(X, np.ndarray)  # known sooner than what is a frame
        if not is_array and nw.dependencies.is_into_dataframe(X):
            with _input_errors():
                validate_data(self, X, skip_check_array=True, reset=reset)
            kinds = kinds_of(X) if reset else self.model_.kinds
            if not kinds:
                raise InputError(
                    "X must have at least one column, got a data frame without columns"
                )
            table = read_frame(X, kinds)
            with _input_errors():
                check_array(
                    table.numbers,
                    ensure_all_finite="allow-nan",
                    ensure_min_features=0,
                    input_name="X",
                    estimator=self,
                )
            return table
        if not is_array and issparse(X):
            raise SparseInputError(
                f"X must be dense, got a sparse {type(X).__name__} of shape {X.shape}; "
                "use X.toarray(), or a column of labels instead of one-hot columns"
            )
        is_of_objects = _is_of_objects(X)
        if reset:
            kinds = array_kinds(X) if is_of_objects else ()
        else:
            kinds = self.model_.kinds
        has_names = not reset and hasattr(self, "feature_names_in_")
        if "label" in kinds and is_of_objects and not has_names:
            with _input_errors():
                validate_data(self, X, skip_check_array=True, reset=reset)
            return read_array(X, kinds)
        if "label" in kinds:
            raise InputError(
                "X must be a data frame, as in fit, whose labels are text or "
                f"categories, got {type(X).__name__}"
            )
        if TEMPORAL & set(named_kinds(kinds)):
            raise InputError(
                "X must be a data frame, as in fit, to distinguish times from "
                f"numbers, got {type(X).__name__}"
            )
        with _input_errors():
            numbers = validate_data(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
            )
        n, d = numbers.shape
        return Table(numbers, np.empty((n, 0), dtype=object), ("number",) * d)

    def _checked_y(self, y: Any) -> NDArray[np.float64]:  # (n,) or (n, m)
        dtype = getattr(y, "dtype", None)
        if getattr(dtype, "kind", None) in ("m", "M"):
            raise InputError(f"y must hold numbers, got values of type {dtype}")
        with _input_errors():
            return check_array(
                y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=self
            )

    def _start(
        self, data: TrainingRows[Table], generators: Generators, *, is_flat: bool
    ) -> None:
        """Learn columns and bins, and draw the first weights."""
        model = new_model(self, data, generators, is_flat=is_flat)
        warn_if_unresolved(self, data.y, stacklevel=3)
        self._begin(model)

    def _begin(self, model: Model) -> None:
        """Take a model with first weights."""
        self.model_ = model.to(device_of(self.device))
        self._structure = structure_of(self)
        self._optimizers = []
        self.n_seen_ = self.n_clipped_ = self.n_growths_ = 0
        self.notes_ = {}
        self._keep([])
        self._show_bins()

    def _show_bins(self) -> None:
        """Set the attributes that describe the bins of the model."""
        bins = self.model_.objective.bins
        self.bins_ = bins[0] if self.model_.is_flat else bins
        self.n_outputs_ = len(bins)

    def _grow(self, data: TrainingRows[Table]) -> None:
        """Grow the bins of each target to cover new y, if allowed."""
        objective = self.model_.objective
        bins = grown_bins(self, objective.bins, data.y)
        n_growths = sum(a is not b for a, b in zip(objective.bins, bins, strict=True))
        if not n_growths:
            return
        self.model_.rebin(
            objective_for(self, bins, objective.center, objective.scale),
            data.inputs,
            getattr(self, "_optimizers", ()),
        )
        self.n_growths_ += n_growths
        self._show_bins()

    def _rows(self, data: TrainingRows[Table], device: torch.device) -> NetworkRows:
        """Return the network's inputs; count and warn of targets outside the bins."""
        self.model_.forget_held_out()  # it belongs to the previous network
        bins = self.model_.objective.bins
        n_clipped = n_outside(data.y, bins)
        if not self.n_clipped_:  # warn once in a stream
            warn_if_outside(self, n_clipped, data.y.numel(), bins, stacklevel=3)
        self.n_clipped_ += n_clipped
        warn_if_in_tails(data.y, bins, stacklevel=3)
        self.n_seen_ += data.y.numel()
        return data.with_inputs(self.model_.inputs(data.inputs), device)

    def _count_streamed(self, found: Survey) -> None:
        """Count the targets of a stream, and warn of those outside the bins."""
        [bins] = self.model_.objective.bins
        self.n_seen_ = found.summary.n_rows
        self.n_clipped_ = found.summary.n_outside(bins.lowest, bins.highest)
        warn_if_outside(self, self.n_clipped_, self.n_seen_, [bins], stacklevel=3)

    def _train(
        self,
        rows: NetworkRows,
        held_out: Tensor,
        settings: Settings,
        generators: Generators,
        optimizer: AdamW | None = None,
        batches: Batches | None = None,
    ) -> list[Epoch]:
        history = train_model(
            self.model_,
            rows,
            held_out,
            settings,
            generators,
            optimizer=optimizer,
            on_epoch=self._report,
            batches=batches,
        )
        if not math.isfinite(history[-1].loss):
            self._optimizers = []  # their averages are not finite either
            warnings.warn(
                f"The loss became NaN or infinite in epoch {len(history)}; the "
                "previous weights were kept. Try a lower learning_rate_init, got "
                f"learning_rate_init={self.learning_rate_init}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return history

    def _report(self, epoch: Epoch) -> None:
        if self.verbose:
            print(epoch)
        if self.callback is not None:
            self.callback(epoch)

    def _keep(self, history: list[Epoch], *, append: bool = False) -> None:
        names = ("loss", "validation_loss", "validation_error", "elapsed_s")
        lists = {name: [getattr(epoch, name) for epoch in history] for name in names}
        if append:
            lists = {name: self.history_[name] + lists[name] for name in names}
        self._keep_history(lists)

    def _keep_history(self, history: dict[str, list[Any]]) -> None:
        self.history_ = history
        self.n_iter_ = len(history["loss"])

    def _read(
        self, X: Any, reading: Callable[[Predictions], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return a reading of the predictions of all rows, some rows at a time."""
        table, groups = self._rows_to_predict(X, None)
        return np.concatenate(self.model_.read(table, reading, groups))

    @classmethod
    def _with_options(cls, options: dict[str, Any], device: str) -> HistogramRegressor:
        """Return a regressor with options read from JSON, checked as in `fit`."""
        regressor = cls(**options_from_json(options), device=device)
        check_options(regressor)
        return regressor


def _random_state(source: RandomSource) -> np.random.RandomState:
    """Return scikit-learn's kind of generator; a `Generator` is drawn from once."""
    if isinstance(source, np.random.Generator):
        return np.random.RandomState(int(source.integers(2**31)))
    return check_random_state(source)


_GLOBAL_GENERATORS = threading.RLock()  # held while they are seeded for a backbone


def _documentation_address() -> str:
    """Return the address in the package's metadata, nothing if it has none."""
    for entry in metadata("histreg").get_all("Project-URL", []):
        name, _, address = entry.partition(", ")
        if name == "Documentation":
            return address
    return ""


def _is_of_objects(X: Any) -> bool:
    """Whether X is an array that may hold text."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 2


@contextmanager
def _input_errors() -> Iterator[None]:
    """Raise the errors of scikit-learn's checks of X, y and weights as `InputError`."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


@contextmanager
def _plain_torch(device: torch.device) -> Iterator[None]:
    """Undo inference mode, no_grad and autocast of the caller."""
    with torch.inference_mode(False), torch.enable_grad(), without_autocast(device):
        yield
