"""Streaming: a model of more rows than fit into memory.

A streamed fit reads the table several times, a part at a time:

1. One pass learns columns and bins from `TableSummary`, and keeps a sample of rows. A
   part of the sample is for validation, and no network is trained on it.
2. The networks are trained on all other rows, in parts that are read in random order.
   An epoch is at most ``epoch_size`` rows long, so that epochs of a large table are
   judged more often than once a pass.
3. Ridge regression and boosted trees are fitted to the sample, and mixed with the
   networks by its validation rows.

The result is the same kind of `Model` as that of rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._checks import check_count
from histreg.errors import InputError
from histreg.tabular.columns import Table, read_frame
from histreg.tabular.fitting import (
    MIN_VALIDATION_ROWS,
    NetworkRows,
    model_of,
    objective_for,
)
from histreg.tabular.model import Model
from histreg.tabular.objectives import center_and_scale
from histreg.tabular.options import tail_kinds
from histreg.tabular.summaries import TableSummary
from histreg.tabular.target_bins import bins_for
from histreg.tabular.training import Generators, Settings
from histreg.tabular.training_rows import TrainingRows

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

VALIDATION_SHARE = 0.1  # of the rows, for validation_fraction="auto"
MOST_VALIDATION_ROWS = 10_000
PIECE_ROWS = 4096  # that are scaled at once


class Part(NamedTuple):
    """Some rows of a table.

    Parameters
    ----------
    numbers : ndarray of shape (n,), int64
        Which rows of the table they are, from 0.
    X : data frame of n rows
        With the same columns and types in every part.
    y : ndarray of shape (n,), float64
        Finite.
    weight : ndarray of shape (n,), float64
        Positive.
    """

    numbers: NDArray[np.int64]
    X: Any
    y: NDArray[np.float64]
    weight: NDArray[np.float64]


class RowStream(Protocol):
    """A table that is read a part at a time, as often as needed."""

    @property
    def n_rows(self) -> int:
        """The number of rows; row numbers are below it, but need not all occur."""

    def parts(self, generator: np.random.Generator | None = None) -> Iterator[Part]:
        """Yield all rows once, in random order if there is a generator.

        Only rows that are yielded close to each other need to be well mixed; parts are
        trained on one after another.
        """


class Survey(NamedTuple):
    """What the first pass over a table learns.

    Parameters
    ----------
    summary : TableSummary
    sample : TrainingRows of a Table
        Rows that were drawn at random, those for validation first.
    n_validation : int
    validation : ndarray of int64
        The sorted row numbers of those for validation, which may include rows that do
        not occur.
    """

    summary: TableSummary
    sample: TrainingRows[Table]
    n_validation: int
    validation: NDArray[np.int64]

    @property
    def n_training(self) -> int:
        """How many rows the networks are trained on."""
        return self.summary.n_rows - self.n_validation


def check_streamable(
    options: HistogramRegressor, sample_size: int, epoch_size: int
) -> None:
    """Raise if options do not fit a streamed fit."""
    check_count("sample_size", sample_size, at_least=1)
    check_count("epoch_size", epoch_size, at_least=1)
    if tail_kinds(options) != ("clip", "clip"):
        raise InputError(
            "tails cannot be fitted to a stream, whose largest targets are not kept, "
            f"got tails={options.tails!r}; use tails='clip'"
        )
    if options.warm_start:
        raise InputError(
            "warm_start cannot be combined with fit_stream; use partial_fit to go on"
        )


def survey(
    options: HistogramRegressor,
    rows: RowStream,
    first_table: Callable[[Any], Table],
    sample_size: int,
    generator: np.random.Generator,
) -> Survey:
    """Read the whole table once.

    Parameters
    ----------
    options : HistogramRegressor
    rows : RowStream
    first_table : callable
        Reads the first data frame, and keeps the names of its columns.
    sample_size : int
        The most rows to keep.
    generator : numpy Generator
    """
    n_sample = min(sample_size, rows.n_rows)
    drawn = generator.choice(rows.n_rows, n_sample, replace=False)
    validation = np.sort(drawn[: _n_validation(options, rows.n_rows, n_sample)])
    others = np.sort(drawn[len(validation) :])
    summary: TableSummary | None = None
    kept: tuple[list[_Rows], list[_Rows]] = [], []
    for part in rows.parts():
        if not len(part.y):
            continue
        if summary is None:
            table = first_table(part.X)
            summary = TableSummary(table.kinds)
        else:
            table = read_frame(part.X, summary.kinds)
        summary.add(table, part.y, part.weight)
        for numbers, pieces in zip((validation, others), kept, strict=True):
            chosen = np.flatnonzero(is_among(part.numbers, numbers))
            pieces.append(_Rows(table, part.y, part.weight).at(chosen))
        del part, table  # before the next one is read
    if summary is None:
        raise InputError("rows must hold at least one row with a target, got none")
    n_validation = sum(len(piece.y) for piece in kept[0])
    sample = _Rows.joined([*kept[0], *kept[1]])
    if not len(sample.y):
        raise InputError(
            f"sample_size must leave rows with a target in the sample, got {n_sample} "
            "rows without one"
        )
    return Survey(
        summary,
        TrainingRows(
            sample.table,
            torch.from_numpy(sample.y).unsqueeze(1),
            torch.from_numpy(sample.weight / summary.mean_weight),
        ),
        n_validation,
        validation,
    )


def surveyed_model(
    options: HistogramRegressor, found: Survey, generators: Generators
) -> Model:
    """Return a model with the columns and bins of a survey, and first weights."""
    summary = found.summary
    bins = bins_for(options, summary.targets())
    return model_of(
        options,
        summary.kinds,
        summary.scaling(),
        summary.codes(),
        objective_for(options, bins, *center_and_scale(found.sample.y)),
        generators,
        is_flat=True,
    )


class StreamedBatches:
    """The batches of epochs over a stream, which goes on from epoch to epoch.

    Parameters
    ----------
    rows : RowStream
    found : Survey
        Its validation rows are left out.
    model : Model
        For its columns.
    settings : Settings
    epoch_size : int
        The most rows of an epoch.
    generator : numpy Generator
    """

    def __init__(
        self,
        rows: RowStream,
        found: Survey,
        model: Model,
        settings: Settings,
        epoch_size: int,
        generator: np.random.Generator,
    ) -> None:
        if not found.n_training:
            raise InputError(
                "rows must leave some to train on beside those for validation, got "
                f"{found.summary.n_rows} rows"
            )
        self._rows, self._found, self._model = rows, found, model
        self._device = model.network.readout.weight.device
        self._batch_size = settings.batch_size
        self._generator = generator
        n_steps = -(-min(epoch_size, found.n_training) // settings.batch_size)
        self.n_steps = max(settings.min_steps, n_steps)
        self._endless = self._batches()

    def __call__(self) -> Iterator[tuple[NetworkRows, Tensor]]:
        """Return the batches of one epoch; every model is trained on all their rows."""
        return islice(self._endless, self.n_steps)

    def _batches(self) -> Iterator[tuple[NetworkRows, Tensor]]:
        n_models = self._model.network.n_models
        # Rows of a small part wait for the next one: batch normalisation has no
        # statistics of one row.
        least = min(max(2, self._batch_size // 2), self._found.n_training)
        waiting: list[NetworkRows] = []
        while True:
            for part in self._rows.parts(self._generator):
                waiting.append(self._network_rows(part))
                del part  # before the next one is read
                if sum(map(len, waiting)) < least:
                    continue
                rows = waiting[0] if len(waiting) == 1 else joined(waiting)
                waiting.clear()
                # As even as they go: the last one must not be a single row.
                n_batches = max(1, round(len(rows) / self._batch_size))
                index = torch.arange(len(rows), device=self._device)
                for some in index.tensor_split(n_batches):
                    if len(some):
                        batch = slice_of(rows, int(some[0]), int(some[-1]) + 1)
                        ones = torch.ones(n_models, len(some), dtype=torch.bool)
                        yield batch, ones.to(self._device)
                        del batch
                del rows

    def _network_rows(self, part: Part) -> NetworkRows:
        is_training = ~is_among(part.numbers, self._found.validation)
        table = read_frame(part.X, self._model.kinds)
        pieces = []
        for some in np.array_split(np.flatnonzero(is_training), self._n_pieces(part)):
            # In pieces, because scaling takes many times the memory of its columns.
            pieces.append(self._model.inputs(table.at(some)))
        weight = part.weight[is_training] / self._found.summary.mean_weight
        rows = TrainingRows(
            table,
            torch.from_numpy(part.y[is_training]).unsqueeze(1),
            torch.from_numpy(weight),
        )
        inputs = tuple(torch.cat(of_kind) for of_kind in zip(*pieces, strict=True))
        return rows.with_inputs(inputs, self._device)

    @staticmethod
    def _n_pieces(part: Part) -> int:
        return max(1, -(-len(part.y) // PIECE_ROWS))


def joined(parts: Sequence[NetworkRows]) -> NetworkRows:
    """Return the rows of several parts as one."""
    inputs = zip(*(part.inputs for part in parts), strict=True)
    return TrainingRows(
        tuple(map(torch.cat, inputs)),
        torch.cat([part.y for part in parts]),
        torch.cat([part.weight for part in parts]),
    )


def slice_of(rows: NetworkRows, start: int, end: int) -> NetworkRows:
    """Return consecutive rows, without a copy."""
    return TrainingRows(
        tuple(tensor[start:end] for tensor in rows.inputs),
        rows.y[start:end],
        rows.weight[start:end],
    )


def is_among(
    numbers: NDArray[np.int64], ordered: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which numbers occur among sorted ones: (n,), (m,) -> (n,)."""
    if not len(ordered):
        return np.zeros(len(numbers), dtype=bool)
    places = np.searchsorted(ordered, numbers).clip(max=len(ordered) - 1)
    return ordered[places] == numbers


class _Rows(NamedTuple):
    """Rows of the sample, as they are read."""

    table: Table
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def at(self, rows: NDArray[np.int64]) -> _Rows:
        return _Rows(self.table.at(rows), self.y[rows], self.weight[rows])

    @classmethod
    def joined(cls, pieces: list[_Rows]) -> _Rows:
        tables = [piece.table for piece in pieces]
        return cls(
            Table(
                np.concatenate([table.numbers for table in tables]),
                np.concatenate([table.labels for table in tables]),
                tables[0].kinds,
            ),
            np.concatenate([piece.y for piece in pieces]),
            np.concatenate([piece.weight for piece in pieces]),
        )


def _n_validation(options: HistogramRegressor, n: int, n_sample: int) -> int:
    """Return how many rows of the sample are for validation, 0 if none are."""
    share = options.validation_fraction
    wanted = round((VALIDATION_SHARE if share == "auto" else float(share)) * n)
    number = min(wanted, MOST_VALIDATION_ROWS, n_sample // 2)
    is_enough = options.early_stopping and number >= MIN_VALIDATION_ROWS
    return number if is_enough else 0
