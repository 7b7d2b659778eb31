"""HistogramForecaster beside seasonal naive, linear quantiles, N-HiTS and DeepAR.

Four public series: the oil temperature of ETTh1 and ETTh2 (two years of hours,
``HISTREG_DATA``), weekly carbon dioxide on Mauna Loa (statsmodels), and daily highest
temperatures in Seattle (vega_datasets). Each is divided by time into training,
development and test values. Choices were made on the development values, by models of
the training values; for the test, models are fitted once to all values before it. All
forecasts come from rolling origins, a horizon apart, without fitting again.

The CRPS is twice the mean pinball loss of 19 quantiles (0.05 to 0.95), the same for
every method, in units of y; the coverage is that of the 90 % interval. Times are those
of fit and forecasts, with one thread. Each run is a line of the results file; runs that
are in the file are skipped.

    python benchmarks/forecasting.py --out results/forecasting.jsonl
    python benchmarks/forecasting.py --out results/forecasting.jsonl --table
    python benchmarks/forecasting.py --out build/dev.jsonl --part development

N-HiTS is that of NeuralForecast and DeepAR that of GluonTS, both with at most 1,000
steps of their optimisers: N-HiTS' default, a fifth of DeepAR's. N-HiTS takes 128
windows in a step (1,024 by default; its own search tries both), which is three times
as fast. It stops early, by the last fifth of the values known: after 1,000 steps it has
learnt short series by heart, and its quantiles are all alike.

NeuralForecast, GluonTS, statsmodels and vega_datasets are for the benchmark only:
`make bench-forecasting` has an environment with them.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from histreg.forecasting import HistogramForecaster
from histreg.forecasting.windows import WindowShape
from histreg.study.engine.environment import environment

LEVELS = np.linspace(0.05, 0.95, 19)
N_SEEDS = 3
PARTS = ("development", "test")


class Series(NamedTuple):
    """Values of equal distance in time, and how they are to be forecast."""

    y: np.ndarray  # (n,)
    columns: np.ndarray  # (n, c), exogenous
    known: tuple[int, ...]  # of the columns, known ahead
    horizon: int
    window: int
    season: int
    starts: tuple[int, int]  # of the development and of the test values
    freq: str  # the distance of values, in pandas' letters

    def part(self, name: str) -> tuple[int, int]:
        """Return where a part starts and ends."""
        development, test = self.starts
        return (development, test) if name == PARTS[0] else (test, len(self.y))


# ---- series


def _waves(phase: np.ndarray) -> np.ndarray:  # (n,), in turns, -> (n, 2)
    return np.stack([np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)], axis=1)


def _ett(name: str) -> Series:
    path = Path(os.environ["HISTREG_DATA"]) / "ett" / f"{name}.csv.gz"
    frame = pd.read_csv(path)[: 20 * 30 * 24]
    columns = _waves(np.arange(len(frame)) / 24)
    # The months of the paper: twelve of training, four of validation, four of test.
    months = 30 * 24
    return Series(
        frame["OT"].to_numpy(float),
        columns,
        (0, 1),
        24,
        96,
        24,
        (12 * months, 16 * months),
        "h",
    )


def _co2() -> Series:
    import statsmodels.datasets

    weekly = statsmodels.datasets.co2.load_pandas().data["co2"]
    y = weekly.interpolate().to_numpy(float)  # 59 weeks of 2,284 are missing
    n = len(y)
    columns = _waves(np.arange(n) * 7 / 365.25)
    return Series(y, columns, (0, 1), 13, 104, 52, (n - 2 * 416, n - 416), "W")


def _seattle() -> Series:
    import vega_datasets

    frame = vega_datasets.data.seattle_weather()
    loads = frame[["precipitation", "temp_min", "wind"]].to_numpy(float)
    columns = np.hstack([loads, _waves(np.arange(len(frame)) / 365.25)])
    n = len(frame)
    return Series(
        frame["temp_max"].to_numpy(float),
        columns,
        (3, 4),
        7,
        28,
        1,
        (n - 2 * 245, n - 245),
        "D",
    )


SERIES: dict[str, Callable[[], Series]] = {
    "ETTh1": lambda: _ett("ETTh1"),
    "ETTh2": lambda: _ett("ETTh2"),
    "CO2": _co2,
    "Seattle": _seattle,
}


class Found(NamedTuple):
    """What a method forecasts."""

    quantiles: np.ndarray  # (o, h, q)
    interval: tuple[np.ndarray, np.ndarray] | None = None  # of 90 %, if it has its own


# ---- methods: learn from the values before `start`, forecast from these origins


def ours(**options: Any) -> Callable[..., Found]:
    """Return the forecaster, with columns if ``uses_columns``."""
    uses_columns = options.pop("uses_columns", False)
    recent = options.pop("recent", None)

    def run(series: Series, start: int, origins: np.ndarray, seed: int) -> Found:
        X = series.columns if uses_columns else None
        model = HistogramForecaster(
            series.horizon,
            window=series.window,
            known=series.known if uses_columns else (),
            random_state=seed,
            **options,
        )
        step = int(origins[1] - origins[0])
        stop = int(origins[-1]) + series.horizon
        past = series.y[:stop]
        backtest = model.backtest(
            past,
            None if X is None else X[:stop],
            start=start,
            step=step,
            recent=recent,
        )
        assert (backtest.origins == origins).all()
        quantiles = [d.quantiles(LEVELS.tolist()).T.numpy() for d in backtest.forecasts]
        return Found(np.stack(quantiles), (backtest.lower, backtest.upper))

    return run


def seasonal_naive(series: Series, start: int, origins: np.ndarray, _: int) -> Found:
    """Return the last season, with the quantiles of its errors in training."""
    steps = np.arange(series.horizon)

    def repeated(origins: np.ndarray) -> np.ndarray:  # (o, h)
        back = series.season - steps % series.season
        return series.y[origins[:, None] - back]

    past = np.arange(series.season, start - series.horizon + 1)
    errors = series.y[past[:, None] + steps] - repeated(past)  # (o, h)
    quantiles = np.quantile(errors, LEVELS, axis=0).T  # (h, q)
    return Found(repeated(origins)[..., None] + quantiles)


def linear_quantiles(
    series: Series, start: int, origins: np.ndarray, seed: int
) -> Found:
    """Return quantiles linear in the changes from the last value, by pinball loss.

    Adam with a falling rate; a fifth of the training windows, the last, stops it.
    """
    torch.manual_seed(seed)
    y = torch.tensor(series.y).unsqueeze(1)
    shape = WindowShape(series.window, series.horizon)
    nothing = torch.empty(len(y), 0, dtype=torch.float64)
    past = shape.origins(start)
    inputs = shape.inputs(y, nothing, past)
    size = inputs.changes.std()
    x = inputs.changes[:, 0] / size
    spread = x.std(dim=0)
    targets = (shape.targets(y, past) - inputs.last.unsqueeze(-1))[:, 0] / size
    q = torch.tensor(LEVELS)
    linear = nn.Linear(x.shape[1], series.horizon * len(q), dtype=torch.float64)
    nn.init.zeros_(linear.weight)

    def pinball(rows: torch.Tensor) -> torch.Tensor:
        quantiles = linear(x[rows] / spread).unflatten(1, (series.horizon, -1))
        error = targets[rows].unsqueeze(-1) - quantiles
        return torch.maximum(q * error, (q - 1) * error).mean()

    n_kept = len(x) * 4 // 5
    held_out = torch.arange(n_kept + series.horizon, len(x))
    best, best_state, stale = np.inf, None, 0
    optimizer = torch.optim.Adam(linear.parameters(), 3e-3)
    for _ in range(200):
        for rows in torch.randperm(n_kept).split(256):
            optimizer.zero_grad()
            pinball(rows).backward()
            optimizer.step()
        with torch.no_grad():
            score = pinball(held_out).item()
        stale += 1
        if score < best:
            best, stale = score, 0
            best_state = {k: v.clone() for k, v in linear.state_dict().items()}
        if stale == 5:
            for group in optimizer.param_groups:
                group["lr"] /= 3
        if stale == 10:
            break
    linear.load_state_dict(best_state)
    new = shape.inputs(y, nothing, torch.tensor(origins))
    with torch.no_grad():
        quantiles = linear(new.changes[:, 0] / size / spread)
    quantiles = quantiles.unflatten(1, (series.horizon, -1)).sort(dim=-1).values
    return Found((new.last.unsqueeze(-1) + quantiles * size).numpy())


def neural(name: str, **options: Any) -> Callable[..., Found]:
    """Return a model of NeuralForecast with its defaults and quantile loss."""

    def run(series: Series, start: int, origins: np.ndarray, seed: int) -> Found:
        import neuralforecast
        from neuralforecast.losses.pytorch import MQLoss

        logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
        model = getattr(neuralforecast.models, name)(
            h=series.horizon,
            input_size=series.window,
            loss=MQLoss(quantiles=LEVELS.tolist()),
            scaler_type="standard",
            random_seed=seed + 1,
            logger=False,
            enable_progress_bar=False,
            enable_checkpointing=False,
            alias="model",
            val_check_steps=50,
            early_stop_patience_steps=3,
            **options,
        )
        stop = int(origins[-1]) + series.horizon
        frame = pd.DataFrame(
            {"unique_id": "y", "ds": np.arange(stop), "y": series.y[:stop]}
        )
        forecaster = neuralforecast.NeuralForecast([model], freq=1)
        predicted = forecaster.cross_validation(
            frame,
            n_windows=None,
            val_size=start // 5,
            test_size=stop - start,
            step_size=int(origins[1] - origins[0]),
        )
        assert (predicted["cutoff"].unique() == origins - 1).all()
        columns = [c for c in predicted.columns if c.startswith("model")]
        values = predicted[columns].to_numpy(float)
        values = np.sort(values, axis=1)  # quantiles may cross
        return Found(values.reshape(len(origins), series.horizon, len(LEVELS)))

    return run


def deepar(series: Series, start: int, origins: np.ndarray, seed: int) -> Found:
    """Return quantiles of 100 paths of DeepAR, a Student t for each step."""
    from gluonts.dataset.common import ListDataset
    from gluonts.torch import DeepAREstimator

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.manual_seed(seed)
    np.random.seed(seed)
    first = pd.Period("2000-01-01 00:00", freq=series.freq)

    def until(ends: list[int]) -> ListDataset:
        rows = [{"start": first, "target": series.y[:end]} for end in ends]
        return ListDataset(rows, freq=series.freq)

    estimator = DeepAREstimator(
        freq=series.freq,
        prediction_length=series.horizon,
        context_length=series.window,
        trainer_kwargs={
            "max_epochs": 20,  # of 50 steps each
            "accelerator": "cpu",
            "logger": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "enable_checkpointing": True,  # it returns its best epoch
            "default_root_dir": tempfile.mkdtemp(),
        },
    )
    predictor = estimator.train(until([start]), cache_data=True)
    forecasts = predictor.predict(until(origins.tolist()))
    quantiles = [np.quantile(each.samples, LEVELS, axis=0).T for each in forecasts]
    return Found(np.stack(quantiles))


METHODS: dict[str, Callable[..., Found]] = {
    "HistogramForecaster": ours(),
    "HistogramForecaster with columns": ours(uses_columns=True),
    "HistogramForecaster, recent=500": ours(recent=500),
    "seasonal naive": seasonal_naive,
    "linear quantile regression": linear_quantiles,
    "N-HiTS (NeuralForecast)": neural("NHITS", windows_batch_size=128),
    "DeepAR (GluonTS)": deepar,
}
DETERMINISTIC = {"seasonal naive"}


# ---- running


def pinball(quantiles: np.ndarray, y: np.ndarray) -> float:
    """Return the mean pinball loss of (o, h, q) and (o, h)."""
    error = y[..., None] - quantiles
    return float(np.maximum(LEVELS * error, (LEVELS - 1) * error).mean())


def record(name: str, method: str, seed: int, part: str) -> dict[str, Any]:
    """Run a method on a part of a series and return its record."""
    series = SERIES[name]()
    start, stop = series.part(part)
    origins = np.arange(start, stop - series.horizon + 1, series.horizon)
    y = series.y[origins[:, None] + np.arange(series.horizon)]  # (o, h)
    started, began = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Lightning, about its own parts
        found = METHODS[method](series, start, origins, seed)
    elapsed_s, cpu_s = time.perf_counter() - started, time.process_time() - began
    # The 90 % interval of a method that has no other is that of its quantiles.
    lower, upper = found.interval or (found.quantiles[..., 0], found.quantiles[..., -1])
    packages = "neuralforecast gluonts pandas statsmodels vega_datasets"
    return {
        "series": name,
        "method": method,
        "seed": seed,
        "part": part,
        "crps": 2 * pinball(found.quantiles, y),
        "mae": float(np.abs(found.quantiles[..., len(LEVELS) // 2] - y).mean()),
        "coverage": float(((lower <= y) & (y <= upper)).mean()),
        "width": float((upper - lower).mean()),
        "elapsed_s": elapsed_s,
        "cpu_s": cpu_s,
        "horizon": series.horizon,
        "window": series.window,
        "n_known": start,
        "n_origins": len(origins),
        "environment": environment()
        | {name: version(name) for name in packages.split()},
    }


def table(records: list[dict[str, Any]]) -> str:
    """Return means over seeds as Markdown, one table per series."""
    frame = pd.DataFrame(records)
    parts = []
    for (name, part), group in frame.groupby(["series", "part"], sort=False):
        first = group.iloc[0]
        base = group[group.method == "HistogramForecaster"].cpu_s.mean()
        lines = [
            f"**{name}, {part} values**: {first.n_origins} origins, horizon "
            f"{first.horizon}, window {first.window}, {first.n_known:,} values known "
            "at the first",
            "",
            "| method | CRPS | MAE | coverage of 90 % | width | time | seeds |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for method in METHODS:
            runs = group[group.method == method]
            if len(runs) == 0:
                continue
            crps = f"{runs.crps.mean():.4f}"
            if len(runs) > 1:
                crps += f" ± {runs.crps.sem():.4f}"
            lines.append(
                f"| {method} | {crps} | {runs.mae.mean():.3f} "
                f"| {runs.coverage.mean():.3f} | {runs.width.mean():.2f} "
                f"| {runs.cpu_s.mean() / base:.2f} | {len(runs)} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def changes() -> str:
    """Return how much each series changes over a horizon, before the test and in it."""
    lines = ["| series | before the test | in it |", "|---|---:|---:|"]
    for name, load in SERIES.items():
        series = load()
        start, _ = series.part("test")
        ahead = np.abs(series.y[series.horizon :] - series.y[: -series.horizon])
        before, within = np.split(ahead, [start - series.horizon])
        lines.append(f"| {name} | {before.mean():.2f} | {within.mean():.2f} |")
    return "\n".join(lines)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, none if it is missing."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def main() -> None:
    """Run what is missing, or print the table of the results file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=PARTS, default="test")
    parser.add_argument("--series", nargs="*", default=list(SERIES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(N_SEEDS)))
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument(
        "--changes", action="store_true", help="only print by how much series change"
    )
    arguments = parser.parse_args()
    done = read(arguments.out)
    if arguments.table:
        print(table(done))
        return
    if arguments.changes:
        print(changes())
        return
    torch.set_num_threads(1)
    environment()  # the commit of the code that is running, not of later edits
    have = {(r["series"], r["method"], r["seed"], r["part"]) for r in done}
    for name in arguments.series:
        for method in arguments.methods:
            for seed in arguments.seeds[: 1 if method in DETERMINISTIC else None]:
                run = (name, method, seed, arguments.part)
                if run in have:
                    continue
                result = record(*run)
                with arguments.out.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(
                    f"{name:8s} {method:34s} seed {seed}: CRPS {result['crps']:.4f}, "
                    f"coverage {result['coverage']:.3f}, {result['cpu_s']:.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
