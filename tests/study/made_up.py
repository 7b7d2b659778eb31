"""Records that nobody computed, for tests of what is made from records."""

import json
import math
from collections.abc import Mapping

from histreg.study.atari.runs import ValueRun
from histreg.study.engine.runs import Outcome, Record
from histreg.study.measurements import Measurement
from histreg.study.methods import L2, HLGauss
from histreg.study.series.runs import ForecastRun, reading_of
from histreg.study.shapes.runs import ShapeRun
from histreg.study.sines.runs import SineRun
from histreg.study.tables.runs import TableRun
from histreg.study.tabular.runs import TabularRun

DIRECT = {"head": "direct", "first_weights": "pytorch", "validation": "loss"}
"""The fields of forecasters without a projection."""
SINE_HL = HLGauss(sigma_in_bins=2.0, padding_in_bins=0.0)


class Alone:
    """A context without a store: it remembers the shares that were told."""

    data_dir = None
    checkpoints = ()

    def __init__(self):
        self.shares = []

    def report(self, share):
        self.shares.append(share)


class Memory:
    """A checkpoint in memory."""

    def __init__(self):
        self.kept = None

    def load(self):
        return self.kept

    def is_due(self):
        return True

    def save(self, tensors, notes):
        notes = json.loads(json.dumps(notes))
        self.kept = {k: v.clone() for k, v in tensors.items()}, notes

    def reject(self, why):  # noqa: ARG002
        self.kept = None


class Keeping(Alone):
    """A context with a checkpoint, which may be left at any report."""

    def __init__(self, checkpoint, stop_after=math.inf):
        super().__init__()
        self.checkpoints = [checkpoint]
        self.left = stop_after

    def report(self, share):
        self.left -= 1
        if self.left < 0:
            raise InterruptedError
        super().report(share)


def record_of(run, metrics=(), curves=(), diverged_at=None):
    outcome = Outcome(dict(metrics), dict(curves), diverged_at)
    return Record(run, outcome, {}, 0.0, "2026-01-01T00:00:00+00:00")


def tabular_records(
    dataset,
    method,
    test_mae,
    *,
    part="test",
    diverged=(),
    changes=(),
    curves=(),
    **others,
):
    """Return a record for each number of a list, with seeds 1, 2, ...

    All metrics are the number unless `others`, such as ``train_RMSE``, have their own;
    the seeds in `diverged` have none. `changes` are those of the protocol; `curves`
    are one mapping for all seeds, or one for each.
    """
    records = []
    for seed, value in enumerate(test_mae, start=1):
        run = TabularRun.of(dataset, method, seed, part=part, **dict(changes))
        metrics = {f"{s} {k}": value for s in ("train", part) for k in ("MAE", "RMSE")}
        for name, given in others.items():
            if given is not None:
                metrics[name.replace("_", " ")] = given[seed - 1]
        if seed in diverged:
            records.append(record_of(run, diverged_at=7))
        else:
            is_for_all = isinstance(curves, Mapping) or not curves
            own = curves if is_for_all else curves[seed - 1]
            records.append(record_of(run, metrics, own))
    return records


def sine_record(
    method="l2", alpha=10.0, beta=0.0, *, rate=1e-3, seed=0, far=False, area=1.0, **more
):
    """Return the record of a sine; `curve` is its error at iterations 0, 5, ..."""
    is_l2 = method == "l2"
    support = (0.0, 1.0) if is_l2 else (-1.5, 11.5 if far else 1.5)
    how = L2() if is_l2 else SINE_HL
    run = SineRun(how, alpha, beta, support, rate, seed)
    if area is None:
        return record_of(run, {}, {"MSE": [1.0]}, diverged_at=1)
    curve = more.get("curve", [area, area])
    curves = {"iteration": list(range(0, 5 * len(curve), 5)), "MSE": curve}
    if "fit" in more:
        curves["fit"] = more["fit"]
    return record_of(run, {"area": area, "final MSE": curve[-1]}, curves)


def label_bias_record(dataset, sigmas, biases):
    curves = {"sigma_in_bins": sigmas, "label bias": biases}
    return record_of(Measurement("label-bias", dataset), {"width": 1.25}, curves)


def forecast_records(
    series,
    architecture,
    method,
    test_mse,
    *,
    changes=(),
    curves=(),
    diverged=(),
    own=(),
):
    """Return a record for each number of a list, with seeds 1, 2, ...

    MSE and MAE are the number unless `own` has a list of the metric; the seeds in
    `diverged` have none. `changes` are those of `reading_of`; `curves` are of the first
    seed.
    """
    records = []
    for seed, value in enumerate(test_mse, start=1):
        fields = {**reading_of(architecture), **dict(changes)}
        run = ForecastRun(series, architecture, method, seed, **fields)
        if seed in diverged:
            records.append(record_of(run, diverged_at=1))
            continue
        metrics = {"test MSE": value, "test MAE": value}
        metrics |= {name: given[seed - 1] for name, given in dict(own).items()}
        records.append(record_of(run, metrics, curves if seed == 1 else ()))
    return records


def value_records(game, method, test_mae, *, test_rmse=None, diverged=(), **changes):
    """Return a record for each number of a list, with seeds 1, 2, ...

    RMSE is twice the number unless it has its own; the seeds in `diverged` have none.
    """
    records = []
    rmse = test_rmse or [2 * value for value in test_mae]
    for seed, value in enumerate(test_mae, start=1):
        run = ValueRun(game, method, seed, **changes)
        if seed in diverged:
            records.append(record_of(run, diverged_at=1))
            continue
        metrics = {
            "test MAE": value,
            "test RMSE": rmse[seed - 1],
            "test MAE of the median": 0.25,
            "test RMSE of the mean": 0.5,
            "test states": 12345,
        }
        records.append(record_of(run, metrics))
    return records


def shape_records(table, predictor, test_crps, *, test_mae=None, **others):
    """Return a record for each number of a list, with seeds 0, 1, ...

    MAE is twice the number unless it has its own, of the mean and of the median alike,
    and the CRPS by quantiles is the CRPS; `others`, such as ``fit_seconds``, are one
    number for all.
    """
    mae = test_mae or [2 * value for value in test_crps]
    own = {name.replace("_", " "): value for name, value in others.items()}
    return [
        record_of(
            ShapeRun(table, predictor, seed),
            {
                "test CRPS": value,
                "test CRPS by quantiles": value,
                "test MAE": mae[seed],
                "test MAE of the median": mae[seed],
                **own,
            },
        )
        for seed, value in enumerate(test_crps)
    ]


def table_records(table, method, test_crps, *, first_fold=0, **others):
    """Return a record for each number of a list, with folds 0, 1, ...

    Errors are twice the number, the 90 % interval holds 0.9, and a fit takes a second;
    `others`, such as ``fit_seconds``, are one number for all.
    """
    own = {name.replace("_", " "): value for name, value in others.items()}
    return [
        record_of(
            TableRun(table, method, fold),
            {
                "test CRPS by quantiles": value,
                "test MAE": 2 * value,
                "test MAE of the median": 2 * value,
                "test RMSE": 2 * value,
                **{f"test coverage {c:g}": c for c in (0.5, 0.8, 0.9, 0.95)},
                "fit seconds": 1.0,
                "predict seconds per 1,000 rows": 0.5,
                **own,
            },
        )
        for fold, value in enumerate(test_crps, start=first_fold)
    ]


def naive_record(series, last=0.07, mean=0.06, zero=1.9):
    """Return the errors of forecasts that learn nothing; MAE is ten times MSE."""
    told = {"last value": last, "mean of inputs": mean, "zero": zero}
    metrics = {f"{how}, test MSE": error for how, error in told.items()}
    metrics |= {f"{how}, test MAE": 10 * error for how, error in told.items()}
    return record_of(Measurement("naive", series), metrics)
