"""How tabular runs are computed: rows, donors, checkpoints and training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from histreg.study.datasets import Table, dataset
from histreg.study.engine.checkpoints import (
    Checkpoint,
    SavedState,
    common_epoch,
    restoring,
)
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.engine.seeding import generator_for
from histreg.study.methods import LinearRegression, Method, NetworkMethod
from histreg.study.tabular.probes import PROBES
from histreg.study.tabular.runs import TabularRun, Training
from histreg.study.tabular.trainer import Examples, Fit, Start, train


def outcomes_of(runs: Sequence[TabularRun], context: RunContext) -> list[Outcome]:
    """Train the networks of a stack, or solve its linear regressions."""
    first = runs[0]
    data = dataset(first.dataset)
    table = data.load(context.data_dir)
    rows, others = split(table, first.seed, first.part)
    if isinstance(first.method, LinearRegression):
        metrics = _linear(first.method, rows, first.part, others)
        return [Outcome(metrics, data_sha256=table.sha256) for _ in runs]

    if first.corrupted:
        y = corrupted(rows.y, first.corrupted, data.y_range, first.seed)
        rows = Examples(rows.x, y)
    learning = _Learning(
        rows, {first.part: others}, first.training, data.y_range, first.seed
    )
    fits = learning.fits(runs, context)
    return [
        Outcome(
            fit.metrics if fit.diverged_at is None else {},
            _rounded(fit.curves),
            fit.diverged_at,
            table.sha256,
        )
        for fit in fits
    ]


@dataclass(frozen=True, eq=False)
class _Learning:
    """The properties that the runs of a stack share."""

    rows: Examples
    others: dict[str, Examples]
    training: Training
    value_range: tuple[float, float]
    seed: int

    def fits(self, runs: Sequence[TabularRun], context: RunContext) -> list[Fit]:
        """Train the networks of all runs, after their donors if they have any."""
        checkpoints = context.checkpoints
        donors = list(dict.fromkeys(run.donor for run in runs if run.donor is not None))
        n_before = self.training.epochs if donors else 0
        total = n_before + self.training.epochs
        for checkpoint in checkpoints:
            saved = checkpoint.load()
            if saved is not None and saved[1]["epoch"] >= total:
                with restoring(checkpoint):
                    raise ValueError(f"epoch {saved[1]['epoch']} of {total}")
        stages = [
            _Stage([checkpoint], range(n_before + 1, total + 1))
            for checkpoint in checkpoints
        ]
        bodies: dict[Method | None, Tensor | None] = {None: None}
        goes_on = common_epoch([stage.load() for stage in stages]) > 0
        if donors and not goes_on:
            before = [
                _Stage(
                    [
                        checkpoint
                        for run, checkpoint in zip(runs, checkpoints, strict=True)
                        if run.donor == donor
                    ],
                    range(1, n_before + 1),
                )
                for donor in (donors if checkpoints else ())
            ]
            trained = self._train(
                donors,
                checkpoints=before,
                on_epoch=lambda epoch: context.report(epoch / total),
            )
            bodies |= {d: fit.body for d, fit in zip(donors, trained, strict=True)}
        return self._train(
            [run.method for run in runs],
            starts=[Start(bodies.get(run.donor), run.has_frozen_body) for run in runs],
            probes=[PROBES[name]() for name in runs[0].probes],
            checkpoints=stages,
            on_epoch=lambda epoch: context.report((n_before + epoch) / total),
        )

    def _train(self, methods: Sequence[Method], **options: Any) -> list[Fit]:
        return train(
            [method for method in methods if isinstance(method, NetworkMethod)],
            self.rows,
            self.others,
            self.training,
            value_range=self.value_range,
            seed=self.seed,
            **options,
        )


class _Stage:
    """The checkpoint of one of two trainings that share the checkpoints of runs.

    Parameters
    ----------
    checkpoints : sequence of Checkpoint
        Checkpoints of all runs that use this training.
    epochs : range
        Epochs of this training; those of the second follow those of the first.
    """

    def __init__(self, checkpoints: Sequence[Checkpoint], epochs: range) -> None:
        self.checkpoints, self.epochs = checkpoints, epochs
        self.n_before = epochs.start - 1

    def load(self) -> SavedState | None:
        """Return the state that was saved last, if it belongs to this training."""
        saved = [checkpoint.load() for checkpoint in self.checkpoints]
        ours = [
            (tensors, {**notes, "epoch": notes["epoch"] - self.n_before})
            for tensors, notes in (state for state in saved if state is not None)
            if notes["epoch"] in self.epochs
        ]
        return ours[0] if len(ours) == len(self.checkpoints) else None

    def is_due(self) -> bool:
        """Return whether it is time to save."""
        return any(checkpoint.is_due() for checkpoint in self.checkpoints)

    def save(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Save the same state for all runs."""
        for checkpoint in self.checkpoints:
            epoch = notes["epoch"] + self.n_before
            checkpoint.save(tensors, {**notes, "epoch": epoch})

    def reject(self, why: Exception) -> None:
        """Discard the saved state of all runs."""
        for checkpoint in self.checkpoints:
            checkpoint.reject(why)


def corrupted(
    y: Tensor, share: float, value_range: tuple[float, float], seed: int
) -> Tensor:
    """Return targets with a share replaced by uniform draws from the range.

    The replaced targets of a smaller share are among those of a larger one, with the
    same draws.
    """
    n = round(share * len(y))
    chosen = torch.randperm(len(y), generator=generator_for(seed, "corrupted"))[:n]
    draws = torch.rand(len(y), generator=generator_for(seed, "draws"), dtype=y.dtype)[
        :n
    ]
    low, high = value_range
    return y.index_copy(0, chosen, low + draws * (high - low))


def split(table: Table, seed: int, part: str = "test") -> tuple[Examples, Examples]:
    """Return the training rows and the rows to predict, with standardised inputs.

    A fifth, rounded down, is predicted (one row of Bike less than if rounded up, as
    the authors' library does). Means and standard deviations are those of the rows to
    learn from; a constant column is divided by 1.
    """
    x, y = torch.tensor(table.X), torch.tensor(table.y)
    order = torch.randperm(len(y), generator=generator_for(seed, "split"))
    held_out = len(y) // 5
    others, learnt = order[:held_out], order[held_out:]
    if part == "validation":
        held_out = len(learnt) // 5
        others, learnt = learnt[:held_out], learnt[held_out:]
    mean, sd = x[learnt].mean(dim=0), x[learnt].std(dim=0, correction=0)
    # The sd of a constant column is rounding error, negligible beside its mean.
    varies = sd > 1e-12 * mean.abs().clamp(min=1e-300)
    x = (x - mean) / sd.where(varies, 1.0)
    return Examples(x[learnt], y[learnt]), Examples(x[others], y[others])


def _linear(
    method: LinearRegression, rows: Examples, part: str, others: Examples
) -> dict[str, float]:
    coefficients = method.fit(rows.x, rows.y)
    metrics = {}
    for name, examples in {"train": rows, part: others}.items():
        error: Tensor = method.predict(examples.x, coefficients) - examples.y
        metrics[f"{name} MAE"] = error.abs().mean().item()
        metrics[f"{name} RMSE"] = error.square().mean().sqrt().item()
    return metrics


def _rounded(curves: Any) -> Any:
    """Return curves rounded to five digits: they are for plots, and many."""
    if isinstance(curves, dict):
        return {name: _rounded(curve) for name, curve in curves.items()}
    if isinstance(curves, list):
        return [_rounded(value) for value in curves]
    return float(f"{curves:.5g}")
