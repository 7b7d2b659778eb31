"""How forecast runs are computed: objectives, the forecaster and its training."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.heads import HistogramHead
from histreg.losses import HistogramLoss
from histreg.study.datasets import series
from histreg.study.engine.checkpoints import Checkpoint, check_like
from histreg.study.engine.runs import Outcome, RunContext, check_parts
from histreg.study.engine.seeding import seed_of
from histreg.study.methods import L2, HLGauss
from histreg.study.networks.single_training import NetworkTraining, spread_scores, under
from histreg.study.series.forecasters import (
    BODIES,
    Body,
    OverTime,
    projected_head,
    start_as_keras,
)
from histreg.study.series.runs import DIRECT, OVER_TIME, ForecastRun
from histreg.study.series.windows import SeriesWindows, windows_of

QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
N_SHOWN = 3  # windows whose forecasts are kept, of the first seed
SHOWN_SEED = 1
ROWS_AT_ONCE = 256  # windows that are evaluated together


def outcome_of(
    run: ForecastRun, context: RunContext, checkpoint: Checkpoint | None
) -> Outcome:
    """Train and evaluate a forecaster."""
    facts = series(run.dataset)
    table = facts.load(context.data_dir)
    parts = windows_of(facts, table, run.n_inputs, run.n_steps)
    with torch.random.fork_rng(devices=[]):
        training = ForecastTraining(run, parts, checkpoint)
        diverged_at = training.run_all(context)
    if diverged_at is not None:
        return Outcome({}, training.curves, diverged_at, table.sha256)
    metrics, curves = training.evaluate(parts["test"])
    epochs = {"epochs": training.epoch, "best epoch": training.best_epoch}
    return Outcome(metrics | epochs, curves | training.curves, data_sha256=table.sha256)


class ForecastObjective(ABC):
    """The loss of a forecaster, and the meaning of its outputs."""

    @abstractmethod
    def head(self, body: Body, kind: str) -> nn.Module:
        """Return the head that follows a body, see `ForecastRun.head`."""

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the mean loss over all windows and steps."""

    @abstractmethod
    def predict(self, outputs: Tensor) -> Tensor:
        """Return the forecast numbers: (b, n_steps, ...) -> (b, n_steps)."""

    def distribution(self, outputs: Tensor) -> Histogram | None:  # noqa: ARG002
        """Return the forecast distributions, if there are any."""
        return None


class Numbers(ForecastObjective):
    """The squared error of one output per step."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps = n_steps

    def head(self, body: Body, kind: str) -> nn.Module:
        """Return a head with one output per step."""
        if kind == DIRECT:
            return nn.Linear(body.n_features, self.n_steps)
        head = _head_of_steps(body, kind, self.n_steps, 1)
        return nn.Sequential(head, nn.Flatten())  # (b, n_steps, 1) -> (b, n_steps)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the mean squared error."""
        return F.mse_loss(outputs, y)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the outputs."""
        return outputs


class Histograms(ForecastObjective):
    """The histogram loss of one histogram per step, all on the same bins."""

    def __init__(self, n_steps: int, method: HLGauss, low: float, high: float) -> None:
        self.n_steps = n_steps
        self.bins: Bins = method.bins(low, high)
        self._loss = HistogramLoss(self.bins, sigma_in_bins=method.sigma_in_bins)

    def head(self, body: Body, kind: str) -> nn.Module:
        """Return a head with one row of logits per step."""
        if kind == DIRECT:
            return HistogramHead(body.n_features, self.bins, n_targets=self.n_steps)
        return _head_of_steps(body, kind, self.n_steps, self.bins.n_bins)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the mean histogram loss."""
        loss: Tensor = self._loss(outputs, y)
        return loss

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the means."""
        return self.distribution(outputs).mean

    def distribution(self, outputs: Tensor) -> Histogram:
        """Return the histograms."""
        return Histogram(self.bins, logits=outputs)


def _head_of_steps(body: Body, kind: str, n_steps: int, n_outputs: int) -> nn.Module:
    if kind == OVER_TIME:
        return OverTime(body.n_inputs, body.n_states, n_steps, n_outputs)
    return projected_head(kind, body.n_features, n_steps, n_outputs)


class Forecaster(nn.Module):
    """A body and a head; see `ForecastRun`."""

    def __init__(
        self, body: Body, head: nn.Module, *, reads_states: bool, subtracts_last: bool
    ) -> None:
        super().__init__()
        self.body, self.head = body, head
        self.reads_states, self.subtracts_last = reads_states, subtracts_last

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of the head: (b, n_inputs, c) -> (b, n_steps, ...)."""
        if self.subtracts_last:
            x = x - x[:, -1:]
        read = self.body.states(x) if self.reads_states else self.body(x)
        outputs: Tensor = self.head(read)
        return outputs


class ForecastTraining(NetworkTraining):
    """A forecaster in training."""

    def __init__(
        self,
        run: ForecastRun,
        parts: Mapping[str, SeriesWindows],
        checkpoint: Checkpoint | None,
    ) -> None:
        self.run, self.parts = run, parts
        self.objective = _objective(run, parts["train"])
        torch.manual_seed(seed_of(run.seed, "body", run.architecture))
        body = BODIES[run.architecture](parts["train"].values.shape[1], run.n_inputs)
        torch.manual_seed(seed_of(run.seed, "head", run.architecture))
        head = self.objective.head(body, run.head)
        network = Forecaster(
            body,
            head,
            reads_states=run.head == OVER_TIME,
            subtracts_last=run.subtracts_last,
        )
        if run.first_weights == "keras":
            for name, part in (("body", body), ("head", head)):
                torch.manual_seed(seed_of(run.seed, name, run.architecture))
                start_as_keras(part)
        optimizer = torch.optim.AdamW(
            network.parameters(),
            lr=run.learning_rate,
            weight_decay=run.weight_decay,
            fused=True,
        )
        super().__init__(
            network, optimizer, checkpoint, seed=run.seed, batch_size=run.batch_size
        )
        self.total = 0.0  # of the losses of this epoch
        self.best_epoch, self.best_loss = 0, math.inf
        self.best = copy.deepcopy(self.network.state_dict())
        self.curves: dict[str, list[float]] = {"train loss": [], "validation loss": []}
        self.restore(run.epochs)

    def run_all(self, context: RunContext) -> int | None:
        """Train to the end, and restore the best weights.

        Returns
        -------
        int or None
            The epoch in which the loss became NaN or infinite.
        """
        run, n = self.run, len(self.parts["train"])

        def report(done: float) -> None:
            context.report(done / run.epochs)

        while self.epoch < run.epochs and self.epoch - self.best_epoch < run.patience:
            if not self.train_epoch(n, report):
                return self.epoch + 1
            self._compare()
        self.network.load_state_dict(self.best)
        return None

    def loss(self, index: Tensor) -> Tensor:
        """Return the mean loss of some windows."""
        run, train = self.run, self.parts["train"]
        # A seed for each batch, so that training can continue after any of them.
        torch.manual_seed(seed_of(run.seed, "dropout", self.epoch + 1, self.batch))
        outputs = self.network(train.inputs(index))
        return self.objective.loss(outputs, _targets(run, train, index))

    def record_loss(self, loss: float) -> None:
        """Add up the losses of an epoch."""
        self.total += loss

    def _compare(self) -> None:
        """Evaluate the network after an epoch, and keep it if it is the best."""
        n_batches = -(-len(self.parts["train"]) // self.batch_size)
        self.curves["train loss"].append(self.total / n_batches)
        self.total = 0.0
        rows = self.parts["validation"]
        losses, squares = [], []
        for index, outputs in self.outputs(rows, ROWS_AT_ONCE):
            y = _targets(self.run, rows, index)
            losses.append(self.objective.loss(outputs, y).item() * len(y))
            if self.run.validation == "MSE":
                error = self.objective.predict(outputs).double() - y
                squares.append(error.square().mean(dim=-1).sum().item())
        criterion = math.fsum(losses) / len(rows)
        self.curves["validation loss"].append(criterion)
        if self.run.validation == "MSE":
            criterion = math.fsum(squares) / len(rows)
            self.curves.setdefault("validation MSE", []).append(criterion)
        if criterion < self.best_loss:
            self.best_epoch, self.best_loss = self.epoch, criterion
            self.best = copy.deepcopy(self.network.state_dict())

    @torch.no_grad()
    def evaluate(self, rows: SeriesWindows) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the metrics on a part, and the error of each step ahead."""
        run = self.run
        sums: dict[str, Tensor] = {}
        for some, outputs in self.outputs(rows, ROWS_AT_ONCE):
            y = _targets(run, rows, some).double()
            error = self.objective.predict(outputs).double() - y
            scores = {"MSE": error.square(), "MAE": error.abs()}
            spread = self.objective.distribution(outputs)
            if spread is not None:
                scores |= spread_scores(spread, y)
            for name, score in scores.items():
                total = score.double().sum(dim=0)  # (n_steps,)
                sums[name] = sums[name] + total if name in sums else total
        by_step = {name: total / len(rows) for name, total in sums.items()}
        metrics = {
            f"test {name}": errors.mean().item() for name, errors in by_step.items()
        }
        curves: dict[str, Any] = {
            f"{name} by step": _shown(errors) for name, errors in by_step.items()
        }
        if run.seed == SHOWN_SEED:
            curves["forecasts"] = [self._window(rows, i) for i in _some(len(rows))]
        return metrics, curves

    def _window(self, rows: SeriesWindows, i: int) -> dict[str, Any]:
        """Return a window for a figure: the history, the truth and the forecast."""
        one = slice(i, i + 1)
        outputs = self.network(rows.inputs(one))
        last = rows.last(one) if self.run.subtracts_last else torch.zeros(1, 1)
        window = {
            "window": i,
            "history": _shown(rows.inputs(one)[0, :, -1]),
            "truth": _shown(rows.targets(one)[0]),
            "mean": _shown((self.objective.predict(outputs) + last)[0]),
        }
        spread = self.objective.distribution(outputs)
        if spread is not None:
            quantiles = spread.quantiles(QUANTILES)[:, 0] + last  # (levels, n_steps)
            window["quantiles"] = {
                f"{level:g}": _shown(quantile)
                for level, quantile in zip(QUANTILES, quantiles, strict=True)
            }
        return window

    def extra_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the best weights, and the curves so far."""
        return {f"best.{k}": v for k, v in self.best.items()}, {
            "total": self.total,
            "best_epoch": self.best_epoch,
            "best_loss": self.best_loss if self.best_epoch else None,
            "curves": self.curves,
        }

    def restore_extra_state(
        self, tensors: dict[str, Tensor], notes: dict[str, Any]
    ) -> None:
        """Restore the state that `extra_state` returned."""
        number = (float, int)
        check_parts(notes, {"total": number, "best_epoch": int, "curves": dict})
        check_parts(notes["curves"], dict.fromkeys(self.curves, list))
        if notes["best_epoch"]:
            check_parts(notes, {"best_loss": number})
        best = under("best", tensors)
        for name, weight in self.best.items():
            check_like(name, best[name], weight)
        self.best = best
        self.total, self.curves = notes["total"], notes["curves"]
        self.best_epoch = notes["best_epoch"]
        self.best_loss = math.inf if not self.best_epoch else notes["best_loss"]


def _objective(run: ForecastRun, train: SeriesWindows) -> ForecastObjective:
    if isinstance(run.method, L2):
        return Numbers(run.n_steps)
    y = _targets(run, train, slice(None)) if run.subtracts_last else train.y
    return Histograms(run.n_steps, run.method, y.min().item(), y.max().item())


def _targets(run: ForecastRun, rows: SeriesWindows, index: Tensor | slice) -> Tensor:
    """Return the targets of some windows: y, or its distance from the last input."""
    y = rows.targets(index)
    return y - rows.last(index) if run.subtracts_last else y


def _some(n: int) -> list[int]:
    """Return numbers spread evenly over n."""
    return [n * (2 * i + 1) // (2 * N_SHOWN) for i in range(N_SHOWN)]


def _shown(values: Tensor) -> list[float]:
    """Return values rounded to four digits, enough for plots."""
    return [float(f"{value:.4g}") for value in values.tolist()]
