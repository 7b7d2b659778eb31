"""Records made by hand, one set for each experiment."""

from histreg.study.catalogue import FORECAST_HL, RECOMMENDED, VALUE_HL
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L2,
    MDN,
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
    L1SoftmaxMean,
    L2Moments,
    L2MultiTask,
    L2SoftmaxMean,
    LinearRegression,
)
from histreg.study.series.runs import READING
from histreg.study.theory.biases import bound_example
from tests.study.made_up import (
    DIRECT,
    forecast_records,
    label_bias_record,
    naive_record,
    record_of,
    shape_records,
    sine_record,
    table_records,
    tabular_records,
    value_records,
)

BIAS = record_of(
    Measurement("bias"),
    {
        "discretisation factor": 0.2,
        "discretisation exponent": -20.0,
        "truncation factor": 0.3,
        "truncation exponent": -0.5,
    },
    {
        "sigma_in_bins": [0.1, 0.5, 2.0],
        "discretisation bias": [0.17, 1.5e-3, 1e-16],
        "padding_in_sigmas": [1.0, 2.0, 3.0],
        "truncation bias": [0.148, 0.0379, 0.00351],
        "surface sigma_in_bins": [0.1, 1.0],
        "surface offset": [-0.5, 0.0, 0.5],
        "surface bias": [[0.0, 0.1, -0.2], [0.0, 0.0, 0.05]],
    },
)
MINIMISER = "T4 minimiser from the mean target"  # at most 1e-6
EXAMPLE = bound_example("", None)
DENSITY = {"density": [0.5, 1.5], "borders": [0.0, 0.5, 1.0]}
SWEEP = [
    *tabular_records("pole", HLOneBin(), [5.0, 7.0], train_MAE=[2.0, 2.0]),
    *tabular_records("pole", HLUniform(0.1), [4.0, 6.0], train_MAE=[1.0, 2.0]),
    *tabular_records("pole", HLUniform(1e-5), [3.0, 3.0], train_MAE=[1.0, 1.0]),
    *tabular_records("pole", HLUniform(1e-3), [2.0, 2.0], train_MAE=[0.5, 0.5]),
]
BINS = [
    *tabular_records("pole", L2(), [1.0, 1.2], train_MAE=[0.5, 0.7]),
    *tabular_records("pole", HLOneBin(), [1.5, 1.7], train_MAE=[0.9, 0.9]),
    *tabular_records("pole", HLGauss(), [0.7, 0.9], train_MAE=[0.3, 0.5]),
    *tabular_records("pole", HLOneBin(10, 1.0), [6.0, 6.0], train_MAE=[5.0, 5.0]),
    *tabular_records("pole", HLGauss(0.1, 10, 1.0), [2.0, 4.0]),
]


def on_network(hidden, l2, hl):
    """Return records of both losses on Pole with other hidden layers."""
    changes = {"hidden": hidden}
    return [
        *tabular_records("pole", L2(), l2, changes=changes),
        *tabular_records("pole", HLGauss(), hl, changes=changes),
    ]


ARCHITECTURES = [
    # HL-Gauss is below by 0.3 and 0.5, below by 0.5 and 0.5, above by 1 and 1.
    *on_network((24, 24, 24), [1.0, 1.2], [0.7, 0.7]),
    *on_network((72, 72, 72), [0.9, 0.9], [0.4, 0.4]),
    *on_network((24,), [2.0, 4.0], [3.0, 5.0]),
]
OF_HL, OF_L2 = {"donor": HLGauss()}, {"donor": L2()}
FROZEN = {"has_frozen_body": True}
REPRESENTATION = [
    *tabular_records("pole", L2(), [1.0, 1.2]),
    *tabular_records("pole", L2(), [4.0, 4.4], changes=OF_HL | FROZEN),
    *tabular_records("pole", L2(), [1.3, 1.5], changes=OF_HL),
    *tabular_records("pole", L2(), [29.0, 29.2], changes=FROZEN),
    *tabular_records("pole", HLGauss(), [0.7, 0.8]),
    *tabular_records("pole", HLGauss(), [1.4, 1.5], changes=OF_L2 | FROZEN),
    *tabular_records("pole", HLGauss(), [0.6, 0.6], changes=OF_L2),
    *tabular_records("pole", HLGauss(), [18.0, 19.0], changes=FROZEN),
    *tabular_records("pole", L2SoftmaxMean(), [17.0, 20.0], changes=FROZEN),
    *tabular_records("pole", L1SoftmaxMean(), [16.0, 16.0], changes=FROZEN),
    *tabular_records("pole", L2SoftmaxMean(), [0.9, 0.7], changes=OF_HL | FROZEN),
]
AUXILIARY = [
    *tabular_records("pole", L2(), [1.0, 1.2], train_MAE=[0.5, 0.7]),
    *tabular_records("pole", L2MultiTask(0.0), [1.1, 1.3]),
    *tabular_records("pole", L2MultiTask(10.0), [0.8, 1.0]),
    *tabular_records("pole", L2MultiTask(0.1), [0.9, 1.1]),
    *tabular_records("pole", L2Moments(4), [1.3, 1.5]),
    *tabular_records("pole", L2Moments(2), [1.2, 1.4]),
    *tabular_records("pole", HLGauss(), [0.7, 0.7], train_MAE=[0.3, 0.3]),
]
STEADY = {
    "epoch": [1, 2, 3],
    "train MAE": [9.0, 6.0, 3.0],
    "train RMSE": [9.0, 8.0, 7.0],
    "gradient norm": [2.0, 2.0, 0.2],
    "excess loss": [2.0, 0.2, 0.002],
}
UNSTEADY = {
    **STEADY,
    "train MAE": [3.0, 2.0, 1.0],
    "gradient norm": [2.0, 200.0, 0.2],
}
TRAINING = [
    *tabular_records("pole", L2(), [3.0, 1.0], curves=[STEADY, UNSTEADY]),
    *tabular_records("pole", HLGauss(), [3.0], curves=[STEADY]),
]


def snapshot(y, *on):
    """Return a row of Bike with its probabilities, equal on some bins."""
    probs = [1 / len(on) if i in on else 0.0 for i in range(100)]
    return {"y": y, "probs": probs}


SNAPSHOTS = tabular_records(
    "bike",
    HLGauss(),
    [25.0],
    changes={"probes": ("snapshots",)},
    curves={
        "epoch": [1.0, 5.0, 50.0],
        "test snapshots": [
            [snapshot(100.0, *range(100)), snapshot(500.0, *range(100))],
            [snapshot(100.0, 10, 20), snapshot(500.0, 48, 49, 50, 51)],
            [snapshot(100.0, 18), snapshot(500.0, 49, 50)],
        ],
    },
)
ANNEALING = [
    *tabular_records("pole", HLGauss(0.25), [0.8, 0.8]),
    *tabular_records("pole", HLGaussAnnealed(0.25), [0.7, 0.6]),
    *tabular_records("pole", HLGauss(), [0.6, 0.6]),
    *tabular_records("pole", HLGaussAnnealed(), [0.9, 0.9]),
]
CORRUPTION = [
    record
    for share, worse in ((0.0, 0.0), (0.5, 10.0))
    for method, error in ((L2(), 1.0), (HLGauss(), 0.5))
    for record in tabular_records(
        "pole", method, [error + worse, error + worse], changes={"corrupted": share}
    )
]


def at_rate(rate, method, errors, on_validation, **options):
    """Return records on test and on validation rows at a learning rate."""
    changes = {"learning_rate": rate}
    return [
        *tabular_records("pole", method, errors, changes=changes, **options),
        *tabular_records(
            "pole", method, on_validation, changes=changes, part="validation", **options
        ),
    ]


RATES = [
    *at_rate(1e-3, L2(), [1.0, 1.2], [1.3, 1.3]),
    *at_rate(3e-3, L2(), [0.9, 0.9], [1.1, 1.1]),
    *at_rate(1e-2, L2(), [0.5, 0.5], [1.2, 1.2]),
    *at_rate(1e-3, MDN(2), [0.8, 0.8], [0.7, 0.7]),
    *at_rate(1e-3, MDN(4), [0.6, 0.6], [0.9, 0.9]),
    *at_rate(3e-3, MDN(4), [0.7, 0.7], [0.6, 0.6]),
    *at_rate(1e-3, HLGauss(), [0.7, 0.7], [0.8, 0.8]),
    *at_rate(1e-2, HLGauss(), [0.8, 0.8], [0.7, 0.7]),
]


def window(number, level, spread=None):
    """Return a forecast of two moments after three; a fan if there is a spread."""
    told = {
        "window": number,
        "history": [level - 3.0, level - 2.0, level - 1.0],
        "truth": [level, level + 1.0],
        "mean": [level + 0.1, level + 0.2],
    }
    if spread is not None:
        told["quantiles"] = {
            share: [level + (float(share) - 0.5) * spread] * 2
            for share in ("0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")
        }
    return told


NUMBERS = {"forecasts": [window(4, 0.0), window(12, 10.0)]}
FAN = {"forecasts": [window(4, 0.0, 20.0), window(12, 10.0, 40.0)]}


def forecasts(series, architecture, **changes):
    """Return records of both losses."""
    return [
        *forecast_records(
            series, architecture, L2(), [0.06, 0.08], changes=changes, curves=NUMBERS
        ),
        *forecast_records(
            series,
            architecture,
            FORECAST_HL,
            [0.3, 0.5],
            changes=changes,
            curves=FAN,
            own={
                "test CRPS": [0.1, 0.3],
                "test coverage 0.8": [0.7, 0.8],
                "test coverage 0.9": [0.9, 0.9],
            },
        ),
    ]


def values(errors=None, **changes):
    """Return records of both losses on games, two seeds each."""
    errors = errors or {
        # l2 and HL-Gauss: ratios of 1/2 and 1/2, of 1/2 and 2, and of 1/4 and 1/4.
        "Breakout": ([0.02, 0.04], [0.01, 0.02]),
        "Gravitar": ([0.01, 0.01], [0.005, 0.02]),
        "Pong": ([0.08, 0.04], [0.02, 0.01]),
    }
    return [
        record
        for game, both in errors.items()
        for method, numbers in zip((L2(), VALUE_HL), both, strict=True)
        for record in value_records(game, method, numbers, **changes)
    ]


def reading(l2, by_mse, by_loss, head, first_weights, series="ETTh1"):
    """Return one record of each of a linear forecaster's errors in a reading."""
    changes = {"head": head, "first_weights": first_weights}
    by_loss_changes = {**changes, "validation": "loss"}
    return [
        *forecast_records(series, "Linear", L2(), [l2], changes=changes),
        *forecast_records(series, "Linear", FORECAST_HL, [by_mse], changes=changes),
        *forecast_records(
            series, "Linear", FORECAST_HL, [by_loss], changes=by_loss_changes
        ),
    ]


# The paper has 0.07105 and 0.3826 on ETTh1, 0.1624 and 0.3389 on ETTh2.
READINGS = [
    *reading(0.07, 0.38, 0.27, "shared", "keras"),
    *reading(0.06, 0.33, 0.32, "direct", "pytorch"),
    *reading(0.16, 0.33, 0.25, "shared", "keras", series="ETTh2"),
]
REPLAYS = [
    record_of(
        Measurement("replays", name),
        {
            "frames": 1000,
            "episodes": 3,
            "resets after the end": 1,
            "resets at the time limit": 1,
            "rewarded share": 0.0625,
            "least return": -1.5,
            "mean return": 1234.5,
            "largest return": 20_000,
            "train episodes": 2,
            "test episodes": 1,
            "train states": 600,
            "test states": 300,
            **score,
        },
        {"start": [0, 302, 700], "stop": [301, 700, 1000], "is over": [1, 0, 0]},
    )
    for name, score in (("Alien", {"mean score": 1234.5}), ("Pong", {}))
]
SHAPES = [
    *shape_records("pareto", "uniform bins", [4.0, 8.0], fit_seconds=2.0),
    *shape_records("pareto", "auto bins", [2.0, 2.0], test_mae=[8.0, 8.0]),
    *shape_records("pareto", "sqrt bins", [3.0, 6.0]),
    *shape_records("pareto", "CatBoost", [4.0, 2.0]),
    *shape_records("pareto", "NGBoost", [40.0, 80.0]),
    *shape_records("bike", "uniform bins", [10.0]),
    *shape_records("bike", "CatBoost", [12.5]),
    *shape_records("diabetes", "uniform bins", [30.0, 20.0, 10.0]),
    *shape_records("diabetes", "auto bins", [30.0, 20.0, 10.0]),
]


def tables(first_fold):
    """Return ours and three peers: one everywhere, one on a table, one without ours."""
    options = {"first_fold": first_fold}
    return [
        *table_records(
            "yacht", "HistogramRegressor", [1.0], fit_seconds=6.0, **options
        ),
        *table_records("wage", "HistogramRegressor", [4.0], fit_seconds=8.0, **options),
        *table_records("yacht", "CatBoost", [2.0], fit_seconds=2.0, **options),
        *table_records("wage", "CatBoost", [2.0], fit_seconds=1.0, **options),
        *table_records("wage", "RealMLP", [5.0], fit_seconds=32.0, **options),
        *table_records("yacht", "constant", [10.0], **options),
        *table_records("wage", "constant", [10.0], **options),
        *table_records("slid", "constant", [3.0], **options),
    ]


RECORDS = {
    "sines": [sine_record(), sine_record("HL-Gauss", rate=1e-2, fit=[0.0, 1.0, 0.0])],
    "sines-reduced": [sine_record()],
    "overall": tabular_records("pole", L2(), [1.0, 2.0]),
    "overall-validation": tabular_records("pole", L2(), [1.0, 2.0]),
    "columns": [
        *tabular_records("ct", LinearRegression(), [6.0, 6.2]),
        *tabular_records("ct-385", LinearRegression(), [5.0, 5.2]),
    ],
    "architectures": ARCHITECTURES,
    "uniform": SWEEP,
    "head-start": tabular_records("pole", L2(), [1.0, 2.0]),
    "label-bias": [label_bias_record("pole", [0.0, 0.5, 1.0], [0.3, 0.1, 0.01])],
    "projected": tabular_records("pole", HLProjected(), [1.0, 2.0]),
    "targets": [record_of(Measurement("targets", "pole"), {}, DENSITY)],
    "bias": [BIAS],
    "bound": [record_of(Measurement("bound"), EXAMPLE.metrics, EXAMPLE.curves)],
    "theorems": [record_of(Measurement("theorems"), {MINIMISER: 1e-8})],
    "grid": tabular_records("pole", HLGauss(), [1.0, 2.0]),
    "bins": BINS,
    "sigma": [
        *tabular_records("pole", L2(), [1.0, 2.0]),
        *tabular_records("pole", HLGauss(0.5), [1.0, 2.0]),
    ],
    "rule-of-thumb": [
        *tabular_records("pole", L2(), [1.0, 2.0]),
        *tabular_records("pole", HLGauss(), [0.5, 0.7]),
        *tabular_records("pole", RECOMMENDED, [0.6, 0.6]),
    ],
    "representation": REPRESENTATION,
    "auxiliary": AUXILIARY,
    "training": TRAINING,
    "training-head-start": TRAINING,
    "snapshots": SNAPSHOTS,
    "annealing": ANNEALING,
    "corruption": CORRUPTION,
    "sensitivity": tabular_records(
        "pole", L2(), [1.0, 2.0], test_sensitivity=[30.0, 40.0]
    ),
    "rates": RATES,
    "forecasts": [naive_record("ETTh1"), *forecasts("ETTh1", "Linear")],
    "forecast-readings": READINGS,
    "forecasts-per-step": [
        naive_record("ETTh1"),
        *forecasts("ETTh1", "Linear", head="per-step"),
    ],
    "forecasts-pooled": [
        naive_record("ETTh1"),
        *forecasts("ETTh1", "GRU", **READING),
    ],
    "forecasts-direct": [
        naive_record("ETTh1"),
        *forecasts("ETTh1", "GRU", **DIRECT),
    ],
    "forecasts-of-change": [
        naive_record("ETTh1"),
        *forecasts("ETTh1", "GRU", **DIRECT, subtracts_last=True),
    ],
    "replays": REPLAYS,
    "values": values(),
    "values-textbook": values(target="textbook"),
    "values-by-text": values(target="textbook", learning_rate=1e-3),
    "shapes": SHAPES,
    "tables": tables(0),
    "tables-last": tables(4),
}
