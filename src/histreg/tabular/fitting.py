"""Fitting: the model that options describe, and the steps of its training.

Functions take the `HistogramRegressor` for its options; none changes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from histreg._names import MODEL_JSON
from histreg._threads import one_thread
from histreg.bins import Bins
from histreg.errors import InputError
from histreg.tabular import model_schema
from histreg.tabular.adamw import AdamW
from histreg.tabular.columns import LabelCodes, NumberScaling, Table, is_derived
from histreg.tabular.gradients import Measure
from histreg.tabular.model import Model
from histreg.tabular.networks import CopiedBody, Stack, TabularBody
from histreg.tabular.objectives import (
    ON_TARGETS,
    Objective,
    center_and_scale,
    objective_of,
    target_for,
)
from histreg.tabular.options import layer_sizes
from histreg.tabular.target_bins import bins_for
from histreg.tabular.training import (
    Batches,
    Epoch,
    Generators,
    Settings,
    optimizer_of,
    train,
)
from histreg.tabular.training_rows import TrainingRows

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

NetworkRows = TrainingRows[tuple[Tensor, ...]]

MAX_EMBEDDED_COLUMNS = 128  # for "auto" of embedding_width and n_waves
MOST_ROWS_IN_FOLDS = 10_000  # for validation_fraction="auto"
PATIENCE, PATIENCE_OF_MANY_ROWS = 5, 3  # for n_iter_no_change="auto"
MANY_ROWS = 10_000  # with more, an epoch has many steps and fewer epochs are enough
MIN_VALIDATION_ROWS = 5  # fewer say nothing about an epoch
NEAR_EXACT = 0.1  # a CRPS, in standard deviations of y
SHARPENING_EPOCHS, SHARPENING_PATIENCE = 20, 4
WORTH_THREADS = 2**29  # weights times rows of a training step; the default has 2**26


def new_model(
    options: HistogramRegressor,
    rows: TrainingRows[Table],
    generators: Generators,
    *,
    is_flat: bool,
) -> Model:
    """Return a model with the columns and bins of these rows and first weights."""
    table = rows.inputs
    bins, standard = bins_for(options, rows.finite_ends), center_and_scale(rows.y)
    if isinstance(options.bins, str):
        _check_resolved(bins, rows.y, *standard)
    return model_of(
        options,
        table.kinds,
        NumberScaling.of(table.numbers, is_derived=is_derived(table.kinds)),
        LabelCodes.of(table.labels),
        objective_for(options, bins, *standard),
        generators,
        is_flat=is_flat,
    )


def model_of(
    options: HistogramRegressor,
    kinds: tuple[str, ...],
    scaling: NumberScaling,
    codes: LabelCodes,
    objective: Objective,
    generators: Generators,
    *,
    is_flat: bool,
) -> Model:
    """Return a model with these columns and bins, and first weights."""
    network = Stack(
        body_for(options, scaling, codes, generators.cpu),
        len(objective.bins),
        objective.n_outputs,
        generator=generators.cpu,
    )
    return Model(kinds, scaling, codes, objective, network, is_flat)


def objective_for(
    options: HistogramRegressor,
    bins: Sequence[Bins],
    center: Tensor,
    scale: Tensor,
    sigma_in_bins: float | None = None,
) -> Objective:
    """Return the objective of the loss; ``sigma_in_bins`` is that of the options."""
    target = target_for(options.target, sigma_in_bins or options.sigma_in_bins)
    return objective_of(options.loss, bins, center, scale, target)


def _check_resolved(
    bins: Sequence[Bins], y: Tensor, center: Tensor, scale: Tensor
) -> None:
    """Raise if bins are one in standard units, by rounding, because of an outlier."""
    for i, own in enumerate(bins):
        if bool((((own.borders - center[i]) / scale[i]).diff() > 0).all()):
            continue
        farthest = y[(y[:, i] - center[i]).abs().argmax(), i].item()
        name = "y" if len(bins) == 1 else f"column {i} of y"
        raise InputError(
            f"{name} must not hold a target so far from the others that float64 cannot "
            f"tell these apart, got {farthest:g}; remove or clip it"
        )


def body_for(
    options: HistogramRegressor,
    scaling: NumberScaling,
    codes: LabelCodes,
    generator: torch.Generator | None,
) -> TabularBody | CopiedBody:
    """Return a body with first weights, or copies of the backbone."""
    shape = (int(options.n_estimators), scaling.n_outputs, codes.n_codes)
    if options.backbone is not None:
        return CopiedBody(options.backbone, *shape)
    is_wide = scaling.n_outputs > MAX_EMBEDDED_COLUMNS
    width, n_waves = options.embedding_width, options.n_waves
    if width == "auto":
        width = 0 if is_wide else 8
    if n_waves == "auto":
        n_waves = 0 if is_wide else 4
    sizes = layer_sizes(options.hidden_layer_sizes)
    return TabularBody(
        *shape,
        hidden_layer_sizes=[int(size) for size in sizes],
        activation=options.activation,
        dropout=options.dropout,
        embedding_width=int(width),
        n_waves=int(n_waves),
        generator=generator,
    )


def empty_body_for(
    options: HistogramRegressor, scaling: NumberScaling, codes: LabelCodes
) -> TabularBody | CopiedBody:
    """Return a body to load weights into: on the meta device, or the backbone."""
    if options.backbone is not None:
        return body_for(options, scaling, codes, None)
    with torch.device("meta"):
        return body_for(options, scaling, codes, None)


def check_size(
    options: HistogramRegressor,
    labels: Sequence[Sequence[str]],
    tensors: dict[str, Tensor],
) -> None:
    """Raise if the described network has more parts than a file has tensors.

    The time to build it is thereby bounded by the size of the file.
    """
    readout = tensors.get(f"{model_schema.READOUT}weight")
    n_models = len(readout) if readout is not None and readout.ndim else 0
    if n_models != options.n_estimators:
        raise InputError(
            f"'{model_schema.READOUT}weight' must hold n_estimators="
            f"{options.n_estimators} networks, got {n_models}"
        )
    n_saved = sum(name.startswith(model_schema.BODY) for name in tensors)
    if options.backbone is None:
        n_layers, n_labels = len(layer_sizes(options.hidden_layer_sizes)), len(labels)
        if n_layers + n_labels > n_saved:
            raise InputError(
                f"{MODEL_JSON} describes {n_layers} hidden layers and "
                f"{n_labels} columns of labels, got only {n_saved} tensors"
            )
    elif n_saved != (n_own := n_models * len(options.backbone.state_dict())):
        raise InputError(
            f"backbone must have the {n_saved} tensors that were saved in its "
            f"{n_models} copies, got {n_own}"
        )


def held_out_rows(
    options: HistogramRegressor,
    n_models: int,
    n: int,
    device: torch.device,
    generator: torch.Generator | None,
) -> Tensor:  # (M, n), bool
    """Return the validation rows of each model: consecutive parts of one shuffle.

    There are none without early stopping, or where those of all models would be fewer
    than `MIN_VALIDATION_ROWS`.
    """
    held_out = torch.zeros(n_models, n, dtype=torch.bool)
    share = options.validation_fraction
    if share == "auto":
        is_fold = n_models > 1 and n <= MOST_ROWS_IN_FOLDS
        share = 1 / n_models if is_fold else 0.1
    n_held_out = round(float(share) * n)
    n_judged = min(n_models * n_held_out, n)
    if options.early_stopping and n_judged >= MIN_VALIDATION_ROWS and n_held_out < n:
        order = torch.randperm(n, generator=generator)
        for i, row in enumerate(held_out):
            row[order[(i * n_held_out + torch.arange(n_held_out)) % n]] = True
    return held_out.to(device)


def settings_for(
    options: HistogramRegressor, n: int, n_epochs: int | None = None
) -> Settings:
    """Return the settings of training on n rows."""
    batch_size = options.batch_size
    if batch_size == "auto":
        # At least 32 steps an epoch, as far as batches stay sensible.
        batch_size = min(256, max(64, 2 ** int(math.log2(max(1, n // 32)))))
    patience = options.n_iter_no_change
    if patience == "auto":
        patience = PATIENCE if n <= MANY_ROWS else PATIENCE_OF_MANY_ROWS
    return Settings(
        n_epochs=n_epochs or int(options.max_iter),
        batch_size=int(batch_size),
        learning_rate=options.learning_rate_init,
        weight_decay=options.weight_decay,
        patience=int(patience),
        near_exact=NEAR_EXACT if options.loss == "histogram" else 0.0,
    )


def threads_for(model: Model, settings: Settings) -> AbstractContextManager[None]:
    """Return the context to train in: one thread, unless steps are worth more."""
    n_weights = sum(weight.numel() for weight in model.network.parameters())
    is_worth = n_weights * settings.batch_size >= WORTH_THREADS
    return nullcontext() if is_worth else one_thread()


def train_model(
    model: Model,
    rows: NetworkRows,
    held_out: Tensor,
    settings: Settings,
    generators: Generators,
    *,
    optimizer: AdamW | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    batches: Batches | None = None,
) -> list[Epoch]:
    """Train the network, and return its epochs; see `train` for the arguments."""
    return train(
        model.network,
        rows,
        held_out,
        measure_of(model.objective, None if batches else rows.y),
        settings,
        optimizer=optimizer,
        on_epoch=on_epoch,
        generators=generators,
        batches=batches,
    )


def measure_of(objective: Objective, y: Tensor | None) -> Measure:
    """Return the loss, score and error of an objective.

    They are prepared for y (n, m), if all targets that will come are known.
    """
    if y is not None:
        objective = objective.prepared_for(y)
    with_gradient = objective.loss_with_gradient if objective.has_gradient else None
    return Measure(objective.loss, objective.score, objective.error, with_gradient)


def sharpens(options: HistogramRegressor) -> bool:
    """Whether a second readout is fitted to sharper targets."""
    return (
        options.final_sigma_in_bins is not None
        and options.target == "gaussian"
        and options.loss in ON_TARGETS
    )


def sharpening_settings(settings: Settings) -> Settings:
    """Return the settings of the second readout: fewer epochs, no more patience."""
    return replace(
        settings,
        n_epochs=min(SHARPENING_EPOCHS, settings.n_epochs),
        patience=min(SHARPENING_PATIENCE, settings.patience),
        near_exact=0.0,
        n_drops=0,
    )


def train_sharp(
    options: HistogramRegressor,
    model: Model,
    rows: NetworkRows,
    held_out: Tensor,
    settings: Settings,
    generators: Generators,
    *,
    optimizer: AdamW | None = None,
    batches: Batches | None = None,
) -> None:
    """Fit the second readout to sharper targets, with the body frozen."""
    sharp = model.begin_sharp(generators.cpu)
    objective = objective_for(
        options,
        model.objective.bins,
        model.objective.center,
        model.objective.scale,
        options.final_sigma_in_bins,
    )
    model.network.body.requires_grad_(False)
    try:
        train(
            sharp,
            rows,
            held_out,
            measure_of(objective, None if batches else rows.y),
            settings,
            optimizer=optimizer or optimizer_of(sharp.readout, settings),
            generators=generators,
            batches=batches,
        )
    finally:
        model.network.body.requires_grad_(True)
